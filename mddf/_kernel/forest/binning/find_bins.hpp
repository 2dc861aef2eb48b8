// forest/binning: finds the bins of columns and codes cells by them.
//
// Input: raw cells, dense or sparse. Output: bins, or one byte per cell. Tables with no more rows
// than bins have a faster method (rank_bins.hpp).
//
// This header finds the bins of dense columns.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "common/interrupt.hpp"
#include "common/midpoint.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/binning/cells.hpp"
#include "forest/binning/quantiles.hpp"
#include "forest/binning/rank_bins.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

namespace detail {

// Collects the distinct values of a column while they are few. Small integers, the most common
// values, are counted. Other values are stored in a hash table.
class DistinctValues {
 public:
  void begin(size_t most) {
    for (auto& copy : counts_) copy.fill(0);
    slots_.fill(-1);
    keys_.clear();
    max_values_ = most;
    last_ = 0;  // no double has the key 0
    few_ = only_integers_ = true;
  }
  template <class Value>
  void add(const Value* values, int64_t n, bool use_simd) {
    only_integers_ = only_integers_ && count(values, n, use_simd);
    if (only_integers_) return;
    for (int64_t i = 0; i < n && few_; ++i) {
      if (std::isnan(values[i])) continue;
      // Also -0.0, whose key would differ from that of 0.0.
      const bool small = values[i] >= 0 && values[i] < kIntegers;
      if (const int whole = small ? static_cast<int>(values[i]) : -1; small && whole == values[i])
        ++counts_[0][whole];
      else
        add_key(ordered_key(values[i]));
    }
  }
  // Adds counts[0] zeros, counts[1] ones, and so on.
  void add_counts(const uint32_t* counts, int n) {
    for (int whole = 0; whole < n; ++whole) counts_[0][whole] += counts[whole];
  }
  // Whether further values can change the result.
  bool needs_more_values() const { return few_ || only_integers_; }
  // Whether all values are small integers or missing.
  bool only_integers() const { return only_integers_; }
  // Whether the values so far have at most max_values_ distinct values.
  bool few() {
    size_t n_integers = 0;
    for (int whole = 0; whole < kIntegers; ++whole) n_integers += count(whole) > 0;
    return few_ = few_ && keys_.size() + n_integers <= max_values_;
  }
  // Returns one bin per distinct value. To be called once, after the last value.
  ColumnBins bins() {
    for (int whole = 0; whole < kIntegers; ++whole)
      if (count(whole) > 0) keys_.push_back(ordered_key(whole));
    std::sort(keys_.begin(), keys_.end());
    ColumnBins bins;
    for (const uint64_t key : keys_) {
      const double value = from_ordered_key(key);
      if (!bins.values.empty()) bins.edges.push_back(midpoint(bins.values.back(), value));
      bins.values.push_back(value);
    }
    if (bins.values.empty())
      bins.values.push_back(0);  // no value present: one bin that no cell uses
    return bins;
  }

  // Returns bins of about equal weight. All values must be small integers.
  ColumnBins counted_bins() const {
    double total = 0;
    for (int whole = 0; whole < kIntegers; ++whole) total += count(whole);
    QuantileBins<double> bins(total, static_cast<int>(max_values_));
    for (int whole = 0; whole < kIntegers; ++whole)
      if (count(whole) > 0) bins.add(whole, count(whole));
    return bins.finish();
  }

 private:
  static constexpr int kIntegers = SmallIntegers<double>::kCount;
  static constexpr size_t kSlots = 1024;

  // Returns false if a value is not a small integer.
  template <class Value>
  bool count(const Value* values, int64_t n, bool use_simd) {
    return simd::with_vectors(use_simd, [=]() MDDF_INLINED {
      typename SmallIntegers<Value>::Bits at[kBlockRows];
      if (!SmallIntegers<Value>::find_indices(values, n, kIntegers, kIntegers, at)) return false;
      for (int64_t i = 0; i < n; ++i) ++counts_[i % kCopies][at[i]];
      return true;
    });
  }
  double count(int whole) const {
    double sum = 0;
    for (const auto& copy : counts_) sum += copy[whole];
    return sum;
  }

  void add_key(uint64_t key) {
    if (key == last_) return;
    last_ = key;
    size_t slot = (key * 0x9e3779b97f4a7c15u) >> 54;
    while (slots_[slot] >= 0 && keys_[slots_[slot]] != key) slot = (slot + 1) & (kSlots - 1);
    if (slots_[slot] >= 0) return;
    few_ = keys_.size() < max_values_;
    if (!few_) return;
    slots_[slot] = static_cast<int16_t>(keys_.size());
    keys_.push_back(key);
  }

  // Counts of each small integer, and of missing values. With several copies, equal values in a row
  // do not wait for the previous store.
  static constexpr int kCopies = 2;
  std::array<std::array<uint32_t, kIntegers + 1>, kCopies> counts_;
  std::array<int16_t, kSlots> slots_;
  std::vector<uint64_t> keys_;
  size_t max_values_ = 0;
  uint64_t last_ = 0;
  bool few_ = true, only_integers_ = true;
};

}  // namespace detail

// Reads the columns of a table block by block. Cells of rows without weight count as missing.
template <class T>
class ColumnReader {
 public:
  using Value = CellValue<T>;

  ColumnReader(const CellsView<T>& table, const double* weights)
      : table_(table), weights_(weights), values_(kBlockColumns<T> * kBlockRows) {}

  // Calls visit(column, values, n) for each column of a block. The block has n rows from `row` on.
  template <class Visit>
  void read(int64_t row, int64_t n, int64_t column, int64_t width, Visit visit) {
    read_block(table_, row, n, column, width, values_.data());
    for (int64_t i = 0; weights_ && i < n; ++i)
      for (int64_t j = 0; j < width && !(weights_[row + i] > 0); ++j)
        values_[j * kBlockRows + i] = std::numeric_limits<Value>::quiet_NaN();
    for (int64_t j = 0; j < width; ++j) visit(column + j, &values_[j * kBlockRows], n);
  }

 private:
  const CellsView<T>& table_;
  const double* weights_;
  std::vector<Value> values_;
};

using Run = std::pair<int64_t, int64_t>;

// Splits ascending numbers into runs of consecutive numbers, none longer than `most`. A run is its
// first number and its length.
inline std::vector<Run> neighbours(const std::vector<int64_t>& numbers, int64_t most) {
  std::vector<Run> runs;
  for (const int64_t number : numbers) {
    if (runs.empty() || runs.back().second == most ||
        number != runs.back().first + runs.back().second)
      runs.emplace_back(number, 0);
    ++runs.back().second;
  }
  return runs;
}

// Finds the bins of some columns by copying and sorting their values. Several columns are copied at
// a time if that takes at most kGroupBytes. `Value` is the type of the cells if every weight is 1,
// else WeightedValue.
template <class Value, class T>
void find_bins_by_sorting(ColumnReader<T>& reader, const double* weights, int64_t n_rows,
                          const std::vector<int64_t>& columns, int64_t first, int max_bins,
                          std::vector<ColumnBins>& bins, Interrupt& interrupt) {
  constexpr int64_t kWidth = kBlockColumns<T>, kGroupBytes = int64_t{1} << 24;
  const int64_t group_size = std::clamp<int64_t>(
      kGroupBytes / (static_cast<int64_t>(sizeof(Value)) * std::max<int64_t>(n_rows, 1)), 1,
      kWidth);
  std::vector<Value> scratch(n_rows), group(group_size * n_rows);
  for (const Run& run : neighbours(columns, group_size)) {
    const int64_t column = run.first, width = run.second;
    std::array<Value*, kWidth> end;
    for (int64_t j = 0; j < width; ++j) end[j] = group.data() + j * n_rows;
    for (int64_t row = 0; row < n_rows; row += kBlockRows) {
      const int64_t n = std::min(kBlockRows, n_rows - row);
      reader.read(row, n, column, width, [&](int64_t c, const auto* values, int64_t) {
        Value*& to = end[c - column];
        for (int64_t i = 0; i < n; ++i) {
          const auto value = values[i] + 0;  // -0.0 and 0.0 are one value
          if constexpr (std::is_arithmetic_v<Value>)
            *to = value;
          else
            *to = {value, weights[row + i]};
          to += value == value;
        }
      });
      interrupt.poll(n * width);
    }
    for (int64_t j = 0; j < width; ++j) {
      Value* values = group.data() + j * n_rows;
      bins[column + j - first] =
          find_quantile_bins(values, scratch.data(), end[j] - values, max_bins);
      interrupt.poll(16 * n_rows);
    }
  }
}

// Finds the bins of columns [first, last). A first pass finishes columns with few distinct values
// and columns of small integers, which it counts. The values of the other columns are sorted.
template <class Value, class T>
AllBins find_bins_of_many(const CellsView<T>& table, const double* weights, int64_t first,
                          int64_t last, int max_bins, Interrupt& interrupt) {
  constexpr int64_t kFirstGroup = 256, kBlocksBetweenLooks = 32, kWidth = kBlockColumns<T>;
  const bool use_simd = simd::supported();
  const int64_t n_rows = table.n_rows;
  ColumnReader<T> reader(table, weights);
  std::vector<ColumnBins> result(last - first);
  std::vector<int64_t> many;
  std::vector<detail::DistinctValues> distinct(std::min(kFirstGroup, last - first));
  for (int64_t start = first; start < last; start += kFirstGroup) {
    const int64_t end = std::min(start + kFirstGroup, last);
    const auto of = [&](int64_t column) -> auto& { return distinct[column - start]; };
    for (int64_t c = start; c < end; ++c) of(c).begin(max_bins);
    for (int64_t row = 0, looks = 1; row < n_rows; row += kBlockRows, ++looks) {
      const int64_t n = std::min(kBlockRows, n_rows - row);
      bool any = false;
      for (int64_t c = start; c < end; c += kWidth) {
        const int64_t width = std::min(kWidth, end - c);
        if (std::none_of(&of(c), &of(c) + width,
                         [](auto& values) { return values.needs_more_values(); }))
          continue;
        any = true;
        reader.read(row, n, c, width, [&](int64_t column, const auto* values, int64_t n_values) {
          of(column).add(values, n_values, use_simd);
          if (looks % kBlocksBetweenLooks == 0) of(column).few();
        });
        interrupt.poll(2 * n * width);
      }
      if (!any) break;
    }
    for (int64_t c = start; c < end; ++c) {
      if (of(c).few())
        result[c - first] = of(c).bins();
      else if (std::is_arithmetic_v<Value> && of(c).only_integers())
        result[c - first] = of(c).counted_bins();
      else
        many.push_back(c);
    }
  }
  if (!many.empty())
    find_bins_by_sorting<Value>(reader, weights, n_rows, many, first, max_bins, result, interrupt);
  AllBins bins;
  for (const ColumnBins& of_column : result) bins.add(of_column);
  return bins;
}

// Finds the bins of byte tables with contiguous rows by counting, row by row. Neighbouring columns
// have separate counts, so that no store waits for another.
inline AllBins find_bins_of_bytes(const CellsView<uint8_t>& table, int64_t first, int64_t last,
                                  int max_bins, Interrupt& interrupt) {
  constexpr int64_t kTogether = 64;  // columns at a time: one cache line of a row
  constexpr int64_t kAhead = 16;     // rows that are prefetched
  constexpr int kBytes = 256;
  // The padding spreads the counts of zeros over the sets of the cache.
  constexpr int kApart = kBytes + 16;
  std::vector<uint32_t> counts(kTogether * kApart);
  AllBins bins;
  for (int64_t start = first; start < last; start += kTogether) {
    const int64_t width = std::min(kTogether, last - start);
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t row = 0; row < table.n_rows; ++row) {
      const uint8_t* cells = table.data + row * table.row_stride + start;
      // The processor does not prefetch rows that are far apart by itself. A row may end in another
      // cache line than it begins.
      const uint8_t* next = cells + std::min(kAhead, table.n_rows - 1 - row) * table.row_stride;
      prefetch(next);
      prefetch(next + width - 1);
      for (int64_t j = 0; j < width; ++j) ++counts[j * kApart + cells[j]];
      interrupt.poll(width);
    }
    for (int64_t j = 0; j < width; ++j) {
      detail::DistinctValues distinct;
      distinct.begin(max_bins);
      distinct.add_counts(&counts[j * kApart], kBytes);
      bins.add(distinct.few() ? distinct.bins() : distinct.counted_bins());
    }
  }
  return bins;
}

template <class T>
AllBins find_bins(const CellsView<T>& table, const double* weights, int64_t first, int64_t last,
                  int max_bins, Interrupt& interrupt) {
  if (table.n_rows <= max_bins) return bin_by_rank(table, weights, first, last, nullptr, interrupt);
  if constexpr (std::is_same_v<T, uint8_t>)
    if (!weights && table.column_stride == 1)
      return find_bins_of_bytes(table, first, last, max_bins, interrupt);
  if (weights)
    return find_bins_of_many<WeightedValue>(table, weights, first, last, max_bins, interrupt);
  return find_bins_of_many<CellValue<T>>(table, weights, first, last, max_bins, interrupt);
}

}  // namespace mddf
