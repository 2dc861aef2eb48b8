// Finds the bins of tables with no more rows than bins, such as gene expression data. Every
// distinct value gets a bin.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/interrupt.hpp"
#include "common/reserve.hpp"
#include "common/simd.hpp"
#include "forest/binning/cells.hpp"
#include "forest/binning/quantiles.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

namespace detail {

// Capacity for the values of a column, a multiple of kFilled, and for the rank of missing values.
constexpr int64_t kFilled = 8, kMaxRows = 256;
static_assert(kMaxRows % kFilled == 0 && kMaxRows >= kMaxBins && kMaxRows > kMissing);

#ifdef MDDF_AVX2

// Counts for each of n values how many are lower, by comparing all pairs. n is a multiple of
// kFilled.
template <class Value>
MDDF_TARGET_AVX2 void count_lower(const Value* values, int64_t n, int32_t* below) {
  using Count = std::conditional_t<sizeof(Value) == 4, int32_t,
                                   int64_t>;  // the size of Value: compiles to vectors
  constexpr int kTogether = 4;                // values that share each load
  for (int64_t i = 0; i < n; i += kTogether) {
    Count counts[kTogether] = {};
    for (int64_t j = 0; j < n; ++j)
      for (int k = 0; k < kTogether; ++k) counts[k] += values[j] < values[i + k];
    for (int k = 0; k < kTogether; ++k) below[i + k] = static_cast<int32_t>(counts[k]);
  }
}

#endif

// The distinct values of a column in ascending order, and the rank of each cell among them.
template <class Value>
class Ranks {
 public:
  // Ranks n cells. The rank of NaN is kMissing.
  void find(const Value* cells, int64_t n, [[maybe_unused]] bool use_simd) {
#ifdef MDDF_AVX2
    if (use_simd) {
      if (!count<float>(cells, n)) count<Value>(cells, n);
      return close_gaps(n);
    }
#endif
    Value* const begin = values_.data();
    Value* end = std::copy_if(cells, cells + n, begin, [](Value v) { return v == v; });
    std::sort(begin, end);
    end = std::unique(begin, end);
    n_values_ = end - begin;
    for (int64_t i = 0; i < n; ++i)
      ranks_[i] = cells[i] == cells[i]
                      ? static_cast<int32_t>(std::lower_bound(begin, end, cells[i]) - begin)
                      : kMissing;
  }
  const Value* values() const { return values_.data(); }
  int64_t n_values() const { return n_values_; }
  int32_t operator[](int64_t i) const { return ranks_[i]; }

 private:
#ifdef MDDF_AVX2
  // Counts lower cells, which leaves gaps after equal cells. For few cells this is faster than
  // sorting. Cells are compared as type Compared. Returns false if different cells are equal in
  // that type.
  template <class Compared>
  bool count(const Value* cells, int64_t n) {
    constexpr Compared kNaN = std::numeric_limits<Compared>::quiet_NaN();
    const int64_t n_filled = (n + kFilled - 1) / kFilled * kFilled;
    std::array<Compared, kMaxRows> compared;
    for (int64_t i = 0; i < n_filled; ++i)
      compared[i] = i < n ? static_cast<Compared>(cells[i]) : kNaN;
    count_lower(compared.data(), n_filled, ranks_.data());
    std::fill_n(values_.begin(), n, std::numeric_limits<Value>::quiet_NaN());
    bool differ = false;
    for (int64_t i = 0; i < n; ++i) {
      if (cells[i] != cells[i]) {
        ranks_[i] = kMissing;
        continue;
      }
      Value& value = values_[ranks_[i]];
      differ |= value < cells[i] || value > cells[i];
      value = cells[i];
    }
    return !differ;
  }
#endif
  void close_gaps(int64_t n) {
    n_values_ = 0;
    for (int64_t i = 0; i < n; ++i) n_values_ += values_[i] == values_[i];
    if (n_values_ == n) return;
    std::array<int32_t, kMaxRows> closed;
    closed[kMissing] = kMissing;
    for (int64_t i = 0, at = 0; i < n; ++i) {
      closed[i] = static_cast<int32_t>(at);
      const Value value = values_[i];
      values_[at] = value;
      at += value == value;
    }
    for (int64_t i = 0; i < n; ++i) ranks_[i] = closed[ranks_[i]];
  }

  std::array<Value, kMaxRows> values_;
  std::array<int32_t, kMaxRows> ranks_;
  int64_t n_values_ = 0;
};

}  // namespace detail

// Finds the bins of columns [first, last). Also codes their cells unless `codes` is null. Rows
// without weight are left out; null weights leave none out.
template <class T>
AllBins bin_by_rank(const CellsView<T>& table, const double* weights, int64_t first, int64_t last,
                    const Codes* codes, Interrupt& interrupt) {
  using Value = CellValue<T>;
  constexpr int64_t kWidth = kBlockColumns<T>, kRowPlaces = detail::kMaxRows;
  const bool use_simd = simd::supported();
  const int64_t n_rows = table.n_rows, n_columns = last - first;
  bool is_reserved = false;
  AllBins bins;
  std::vector<Value> block(kWidth * kBlockRows), cells(kWidth * kRowPlaces);
  std::vector<uint8_t> coded(kWidth * kRowPlaces);
  detail::Ranks<Value> ranks;
  for (int64_t column = first; column < last; column += kWidth) {
    const int64_t width = std::min(kWidth, last - column);
    for (int64_t row = 0; row < n_rows; row += kBlockRows) {
      const int64_t n = std::min(kBlockRows, n_rows - row);
      read_block(table, row, n, column, width, block.data());
      for (int64_t j = 0; j < width; ++j)
        for (int64_t i = 0; i < n; ++i)
          cells[j * kRowPlaces + row + i] = !weights || weights[row + i] > 0
                                                ? block[j * kBlockRows + i] + 0  // -0.0 is 0.0
                                                : std::numeric_limits<Value>::quiet_NaN();
    }
    for (int64_t j = 0; j < width; ++j) {
      const Value* of_column = &cells[j * kRowPlaces];
      ranks.find(of_column, n_rows, use_simd);
      bins.add(ranks.values(), ranks.n_values());
      for (int64_t i = 0; codes && i < n_rows; ++i)
        coded[j * kRowPlaces + i] = static_cast<uint8_t>(ranks[i]);
      if (codes && codes->by_column)
        std::memcpy(codes->by_column + (column + j) * n_rows, &coded[j * kRowPlaces], n_rows);
    }
    for (int64_t i = 0; codes && i < n_rows; ++i)
      for (int64_t j = 0; j < width; ++j)
        codes->by_row[i * codes->stride + column + j] = coded[j * kRowPlaces + i];
    interrupt.poll(16 * n_rows * width);
    // A sixteenth of the columns predicts the number of bins of the others.
    if (const int64_t done = column + width - first; done >= n_columns / 16 && !is_reserved) {
      const auto n_bins = static_cast<int64_t>(bins.values.size()) * n_columns / done;
      reserve_large(bins.edges, n_bins + n_bins / 16);
      reserve_large(bins.values, n_bins + n_bins / 16);
      is_reserved = true;
    }
  }
  return bins;
}

}  // namespace mddf
