// From raw cells to one byte each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "common/watch.hpp"
#include "common/wide.hpp"
#include "forest/binning.hpp"
#include "forest/cells.hpp"

namespace mddf {

inline uint8_t search_bin(const double* edges, int n_edges, double value) {
  if (std::isnan(value)) return kMissing;
  return static_cast<uint8_t>(std::lower_bound(edges, edges + n_edges, value) - edges);
}

// The largest number of type Value that is not above the edge: no number of that type lies between
// them.
template <class Value>
Value edge_below(double edge) {
  const auto near = static_cast<Value>(edge);
  return near > edge ? std::nextafter(near, -std::numeric_limits<Value>::infinity()) : near;
}

// Looks up the bins of one column, in the precision of the table: by a table of whole numbers, by
// intervals that narrow the search to the few edges of one, or, where these are not few, by
// halving. None of them branches on what no processor can foresee.
template <class Value>
class ColumnLookup {
 public:
  ColumnLookup(const double* edges, int n_edges) {
    for (int e = 0; e < n_edges; ++e) edges_[e] = edge_below<Value>(edges[e]);
    std::fill(edges_.begin() + n_edges, edges_.end(), std::numeric_limits<Value>::infinity());
    while (n_edges >= 2 * half_) half_ *= 2;
    const auto is_half = [](double edge) { return edge + edge == std::floor(edge + edge); };
    if (n_edges == 0 || (edges[0] > -1 && edges[n_edges - 1] < kCells &&
                         std::all_of(edges, edges + n_edges, is_half)))
      fill_whole(n_edges);
    else if (n_edges > 4)
      fill_intervals(n_edges);
  }

  // Codes at most kBlockRows values.
  void apply(const Value* values, int64_t n, uint8_t* out, [[maybe_unused]] bool wide) const {
#ifdef MDDF_AVX2
    if (wide) return apply_avx2(values, n, out);
#endif
    apply_body(values, n, out);
  }

 private:
#ifdef MDDF_AVX2
  MDDF_TARGET_AVX2 void apply_avx2(const Value* values, int64_t n, uint8_t* out) const {
    apply_body(values, n, out);
  }
#endif
  MDDF_INLINE void apply_body(const Value* values, int64_t n, uint8_t* out) const {
    if (has_wholes_ && look_up_whole(values, n, out)) return;
    int32_t bins[kBlockRows];
    if (intervals_)
      look_up(values, n, bins);
    else
      search(values, n, bins);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(bins[i]);
    for (int64_t i = 0; i < n; ++i)
      if (std::isnan(values[i])) out[i] = kMissing;
  }

  static constexpr int kCells = Wholes<Value>::kMost, kMostSteps = 4;

  void fill_whole(int n_edges) {
    int whole = 0;
    for (int bin = 0; bin < n_edges; ++bin)
      for (; static_cast<Value>(whole) <= edges_[bin]; ++whole)
        cells_[whole] = static_cast<uint8_t>(bin);
    std::fill(cells_.begin() + whole, cells_.end(), static_cast<uint8_t>(n_edges));
    cells_[kCells] = kMissing;
    has_wholes_ = true;
  }
  void fill_intervals(int n_edges) {
    const Intervals<Value> intervals(edges_.data(), n_edges, kCells);
    std::array<int32_t, kMostBins> at;
    for (int first = 0; first < n_edges; first += kBlockRows)
      intervals.find(&edges_[first], std::min<int64_t>(kBlockRows, n_edges - first), &at[first],
                     false);
    int edge = 0;
    for (int cell = 0; cell < kCells; ++cell) {
      cells_[cell] = static_cast<uint8_t>(edge);
      const int first = edge;
      while (edge < n_edges && at[edge] == cell) ++edge;
      steps_ = std::max(steps_, edge - first);
    }
    if (steps_ <= kMostSteps) intervals_ = intervals;
  }
  // False if some value is neither a small whole number nor missing.
  MDDF_INLINE bool look_up_whole(const Value* values, int64_t n, uint8_t* out) const {
    typename Wholes<Value>::Bits at[kBlockRows];
    if (!Wholes<Value>::places(values, n, kCells, at)) return false;
    for (int64_t i = 0; i < n; ++i) out[i] = cells_[at[i]];
    return true;
  }
  MDDF_INLINE void look_up(const Value* values, int64_t n, int32_t* bins) const {
    int32_t at[kBlockRows];
    intervals_->find_body(values, n, at);
    for (int64_t i = 0; i < n; ++i) bins[i] = cells_[at[i]];
    for (int step = 0; step < steps_; ++step)
      for (int64_t i = 0; i < n; ++i) bins[i] += values[i] > edges_[bins[i]];
  }
  // How many edges lie below each value.
  MDDF_INLINE void search(const Value* values, int64_t n, int32_t* bins) const {
    std::fill(bins, bins + n, 0);
    for (int half = half_; half > 0; half /= 2)
      for (int64_t i = 0; i < n; ++i) bins[i] += half & -(values[i] > edges_[bins[i] + half - 1]);
  }

  bool has_wholes_ = false;
  std::optional<Intervals<Value>> intervals_;
  int steps_ = 0, half_ = 1;
  std::array<uint8_t, kCells + 1> cells_;  // codes of whole numbers, or first bins of the intervals
  std::array<Value, 256 + kMostSteps> edges_;
};

// A categorical column's values are its codes already.
template <class Value>
uint8_t code_of(Value category, int count) {
  return category >= 0 && category < count ? static_cast<uint8_t>(category) : uint8_t{kMissing};
}

// Codes rows [first, last) of the table into out (row-major, out_stride bytes a row) and,
// if wanted, into by_column (one column after the other, all rows of the table). A categorical cell
// holds its code already; anything that is not one of them counts as missing.
template <class T>
void apply_bins(const Table<T>& table, const Bins& bins, int64_t first, int64_t last, uint8_t* out,
                int64_t out_stride, uint8_t* by_column, Watch& watch) {
  using Value = CellValue<T>;
  const auto cell = [&](int64_t row, int64_t c) {
    return read_cell<Value>(table.data + row * table.row_stride + c * table.column_stride);
  };
  if (last - first < 256) {  // too few to prepare anything
    for (int64_t row = first; row < last; ++row)
      for (int64_t c = 0; c < table.n_columns; ++c) {
        uint8_t& code = out[row * out_stride + c];
        if (bins.categorical[c])
          code = code_of(cell(row, c), bins.count(c));
        else
          code = search_bin(bins.edges + bins.bin_start[c], bins.count(c) - 1, cell(row, c));
        if (by_column) by_column[c * table.n_rows + row] = code;
      }
    return;
  }
  std::vector<ColumnLookup<Value>> lookups;
  lookups.reserve(table.n_columns);
  for (int64_t c = 0; c < table.n_columns; ++c)
    lookups.emplace_back(bins.edges + bins.bin_start[c], bins.count(c) - 1);
  const bool wide = simd::supported();
  std::vector<Value> values(kBlockColumns<T> * kBlockRows);
  std::vector<uint8_t> codes(values.size());
  for (int64_t start = first; start < last; start += kBlockRows) {
    const int64_t n = std::min(kBlockRows, last - start);
    watch.worked(2 * n * table.n_columns);
    for (int64_t group = 0; group < table.n_columns; group += kBlockColumns<T>) {
      const int64_t width = std::min(kBlockColumns<T>, table.n_columns - group);
      read_block(table, start, n, group, width, values.data());
      for (int64_t j = 0; j < width; ++j) {
        const int64_t c = group + j;
        if (bins.categorical[c])
          for (int64_t i = 0; i < n; ++i)
            codes[j * kBlockRows + i] = code_of(values[j * kBlockRows + i], bins.count(c));
        else
          lookups[c].apply(&values[j * kBlockRows], n, &codes[j * kBlockRows], wide);
        if (by_column) std::copy_n(&codes[j * kBlockRows], n, by_column + c * table.n_rows + start);
      }
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < width; ++j)
          out[(start + i) * out_stride + group + j] = codes[j * kBlockRows + i];
    }
  }
}

}  // namespace mddf
