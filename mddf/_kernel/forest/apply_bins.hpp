// From raw cells to one byte each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/watch.hpp"
#include "common/wide.hpp"
#include "forest/binning.hpp"

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

// Looks up the bins of one column, in the precision of the table: by a table of whole numbers, by a
// uniform grid over the edges that narrows the search to the few edges of one cell, or, where these
// are not few, by halving. None of them branches on what no processor can foresee.
template <class Value>
class ColumnLookup {
 public:
  static constexpr int64_t kMostAtOnce = 128;

  ColumnLookup(const double* edges, int n_edges) {
    for (int e = 0; e < n_edges; ++e) edges_[e] = edge_below<Value>(edges[e]);
    std::fill(edges_.begin() + n_edges, edges_.end(), std::numeric_limits<Value>::infinity());
    while (n_edges >= 2 * half_) half_ *= 2;
    const auto is_half = [](double edge) { return edge + edge == std::floor(edge + edge); };
    if (n_edges == 0 || (edges[0] > -1 && edges[n_edges - 1] < kCells &&
                         std::all_of(edges, edges + n_edges, is_half)))
      fill_whole();
    else if (n_edges > 4)
      fill_grid(n_edges);
  }

  // Codes at most kMostAtOnce values.
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
    int32_t bins[kMostAtOnce];
    if (way_ == kGrid)
      look_up(values, n, bins);
    else if (way_ == kHalving || !look_up_whole(values, n, bins))
      search(values, n, bins);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(bins[i]);
    for (int64_t i = 0; i < n; ++i)
      if (std::isnan(values[i])) out[i] = kMissing;
  }

  enum Way { kWhole, kGrid, kHalving };
  using Bits = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  static constexpr int kCells = 1024, kMostSteps = 4;
  static constexpr Value kUnits = sizeof(Value) == 4 ? 0x1p23 : 0x1p52;

  void fill_whole() {
    for (int whole = 0, bin = 0; whole < kCells; ++whole) {
      while (static_cast<Value>(whole) > edges_[bin]) ++bin;
      cells_[whole] = static_cast<uint8_t>(bin);
    }
    way_ = kWhole;
  }
  void fill_grid(int n_edges) {
    low_ = edges_[0];
    const Value width = edges_[n_edges - 1] - low_;
    scale_ = (kCells - 1) / width;
    if (!(width > 0) || !std::isfinite(width) || !std::isfinite(scale_)) return;
    int edge = 0;
    for (int cell = 0; cell < kCells; ++cell) {
      cells_[cell] = static_cast<uint8_t>(edge);
      const int first = edge;
      while (edge < n_edges && cell_of(edges_[edge]) == static_cast<Bits>(cell)) ++edge;
      steps_ = std::max(steps_, edge - first);
    }
    if (steps_ <= kMostSteps) way_ = kGrid;
  }
  // False if some value is neither a small whole number nor missing.
  MDDF_INLINE bool look_up_whole(const Value* values, int64_t n, int32_t* bins) const {
    Bits cells[kMostAtOnce], n_others = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Value near = shifted(values[i]);
      cells[i] = whole(near);
      n_others += Bits{near - kUnits != values[i]} & Bits{values[i] == values[i]};
    }
    if (n_others > 0) return false;
    for (int64_t i = 0; i < n; ++i) bins[i] = cells_[cells[i]];
    return true;
  }
  MDDF_INLINE void look_up(const Value* values, int64_t n, int32_t* bins) const {
    Bits cells[kMostAtOnce];
    for (int64_t i = 0; i < n; ++i) cells[i] = cell_of(values[i]);
    for (int64_t i = 0; i < n; ++i) bins[i] = cells_[cells[i]];
    for (int step = 0; step < steps_; ++step)
      for (int64_t i = 0; i < n; ++i) bins[i] += values[i] > edges_[bins[i]];
  }
  // How many edges lie below each value.
  MDDF_INLINE void search(const Value* values, int64_t n, int32_t* bins) const {
    std::fill(bins, bins + n, 0);
    for (int half = half_; half > 0; half /= 2)
      for (int64_t i = 0; i < n; ++i) bins[i] += half & -(values[i] > edges_[bins[i] + half - 1]);
  }
  // A number of at least 0, or NaN taken for 0, to the nearest whole number below kCells: by adding
  // one so large that the last bits count units. Unlike conversions this makes vectors of any type.
  static MDDF_INLINE Value shifted(Value value) {
    value = value > 0 ? value : 0;
    return (value < kCells - 1 ? value : kCells - 1) + kUnits;
  }
  static MDDF_INLINE Bits whole(Value shifted) {
    Bits bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    return bits & (kCells - 1);
  }
  MDDF_INLINE Bits cell_of(Value value) const { return whole(shifted((value - low_) * scale_)); }

  Way way_ = kHalving;
  int steps_ = 0, half_ = 1;
  Value low_ = 0, scale_ = 0;
  std::array<uint8_t, kCells> cells_;  // codes of whole numbers, or first bins of the grid
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
  using Value = std::conditional_t<std::is_same_v<T, float>, float, double>;
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
  // A block of cells at a time: so many rows, and as many columns as a cache line holds.
  constexpr int64_t kRows = ColumnLookup<Value>::kMostAtOnce;
  constexpr int64_t kGroup = 64 / static_cast<int64_t>(sizeof(T));
  const bool wide = simd::supported();
  std::vector<Value> values(kGroup * kRows);
  std::vector<uint8_t> codes(kGroup * kRows);
  for (int64_t start = first; start < last; start += kRows) {
    const int64_t n = std::min(kRows, last - start);
    watch.worked(2 * n * table.n_columns);
    for (int64_t group = 0; group < table.n_columns; group += kGroup) {
      const int64_t width = std::min(kGroup, table.n_columns - group);
      const int64_t next = std::min(group + kGroup, table.n_columns - 1);
      for (int64_t i = 0; i < n; ++i) {
        prefetch(table.data + (start + i) * table.row_stride + next * table.column_stride);
        for (int64_t j = 0; j < width; ++j) values[j * kRows + i] = cell(start + i, group + j);
      }
      for (int64_t j = 0; j < width; ++j) {
        const int64_t c = group + j;
        if (bins.categorical[c])
          for (int64_t i = 0; i < n; ++i)
            codes[j * kRows + i] = code_of(values[j * kRows + i], bins.count(c));
        else
          lookups[c].apply(&values[j * kRows], n, &codes[j * kRows], wide);
        if (by_column) std::copy_n(&codes[j * kRows], n, by_column + c * table.n_rows + start);
      }
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < width; ++j)
          out[(start + i) * out_stride + group + j] = codes[j * kRows + i];
    }
  }
}

}  // namespace mddf
