// Codes raw cells of dense tables as one byte each: the bin, or 255 for missing values.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "common/codes64.hpp"
#include "common/interrupt.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/binning/cells.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

inline uint8_t search_bin(const double* edges, int n_edges, double value) {
  if (std::isnan(value)) return kMissing;
  if (n_edges == 0 || value <= edges[0]) return 0;  // the most common case
  return static_cast<uint8_t>(std::lower_bound(edges, edges + n_edges, value) - edges);
}

// Finds the bins of n <= kBlockRows values of a column by binary search without branches, which the
// processor could not predict.
template <class Value>
void search_bins(const double* edges, int n_edges, const Value* values, int64_t n, uint8_t* out) {
  int32_t below[kBlockRows];  // lower bound on the number of edges below the value
  std::fill(below, below + n, 0);
  for (int size = n_edges, half; size > 0; size -= half) {
    half = (size + 1) / 2;
    for (int64_t i = 0; i < n; ++i)
      below[i] += half & -static_cast<int32_t>(values[i] > edges[below[i] + half - 1]);
  }
  for (int64_t i = 0; i < n; ++i)
    out[i] = std::isnan(values[i]) ? uint8_t{kMissing} : static_cast<uint8_t>(below[i]);
}

// Returns the largest `Value` that is not above the edge. Comparing a `Value` with it gives the
// same result as comparing with the edge.
template <class Value>
Value edge_below(double edge) {
  const auto near = static_cast<Value>(edge);
  return near > edge ? std::nextafter(near, -std::numeric_limits<Value>::infinity()) : near;
}

// Returns the length of a table of small integers that reaches beyond the last edge. Returns 0 if
// an edge lies outside (-1, kCount - 1), or is neither an integer nor halfway between two.
inline int integer_table_size(const double* edges, int n_edges) {
  const auto suits = [](double edge) {
    return edge > -1 && edge < SmallIntegers<double>::kCount - 1 &&
           edge + edge == std::floor(edge + edge);
  };
  if (!std::all_of(edges, edges + n_edges, suits)) return 0;
  return n_edges == 0 ? 1 : static_cast<int>(std::max(edges[n_edges - 1], 0.0)) + 2;
}

// Fills a table with the codes of the integers [0, n) and, at the end, the code of missing values.
// n is at least integer_table_size().
inline void fill_integer_codes(const double* edges, int n_edges, uint8_t* codes, int n) {
  int whole = 0;
  for (int bin = 0; bin < n_edges; ++bin) {
    const int last = static_cast<int>(std::floor(edges[bin]));
    for (; whole <= last; ++whole) codes[whole] = static_cast<uint8_t>(bin);
  }
  std::fill(codes + whole, codes + n, static_cast<uint8_t>(n_edges));
  codes[n] = kMissing;
}

// Looks up the bins of one column, in the precision of the table. It uses one of three methods: a
// table of small integers; intervals that leave few edges to compare; or binary search if some
// interval holds many edges. None has branches that the processor cannot predict.
template <class Value>
class ColumnLookup {
 public:
  ColumnLookup(const double* edges, int n_edges) {
    for (int e = 0; e < n_edges; ++e) edges_[e] = edge_below<Value>(edges[e]);
    std::fill(edges_.begin() + n_edges, edges_.end(), std::numeric_limits<Value>::infinity());
    while (n_edges >= 2 * half_) half_ *= 2;
    if ((has_integers_ = integer_table_size(edges, n_edges) > 0))
      fill_integer_codes(edges, n_edges, cells_.data(), kCells);
    else if (n_edges > 4)
      fill_intervals(n_edges);
  }

  // Codes at most kBlockRows values.
  void apply(const Value* values, int64_t n, uint8_t* out, bool use_simd) const {
    simd::with_vectors(use_simd, [=]() MDDF_INLINED { apply_body(values, n, out); });
  }

 private:
  MDDF_INLINE void apply_body(const Value* values, int64_t n, uint8_t* out) const {
    if (has_integers_ && look_up_integers(values, n, out)) return;
    int32_t bins[kBlockRows];
    if (intervals_)
      look_up_intervals(values, n, bins);
    else
      search(values, n, bins);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(bins[i]);
    for (int64_t i = 0; i < n; ++i)
      if (std::isnan(values[i])) out[i] = kMissing;
  }

  static constexpr int kCells = SmallIntegers<Value>::kCount, kMaxSteps = 4;

  void fill_intervals(int n_edges) {
    const Intervals<Value> intervals(edges_.data(), n_edges, kCells);
    std::array<int32_t, kMaxBins> at;
    for (int first = 0; first < n_edges; first += kBlockRows)
      intervals.find(&edges_[first], std::min<int64_t>(kBlockRows, n_edges - first), &at[first]);
    int edge = 0;
    for (int cell = 0; cell < kCells; ++cell) {
      cells_[cell] = static_cast<uint8_t>(edge);
      const int first = edge;
      while (edge < n_edges && at[edge] == cell) ++edge;
      steps_ = std::max(steps_, edge - first);
    }
    if (steps_ <= kMaxSteps) intervals_ = intervals;
  }
  // Returns false if a value is neither a small integer nor missing.
  MDDF_INLINE bool look_up_integers(const Value* values, int64_t n, uint8_t* out) const {
    typename SmallIntegers<Value>::Bits at[kBlockRows];
    if (!SmallIntegers<Value>::find_indices(values, n, kCells, kCells, at)) return false;
    for (int64_t i = 0; i < n; ++i) out[i] = cells_[at[i]];
    return true;
  }
  MDDF_INLINE void look_up_intervals(const Value* values, int64_t n, int32_t* bins) const {
    int32_t at[kBlockRows];
    intervals_->find(values, n, at);
    for (int64_t i = 0; i < n; ++i) bins[i] = cells_[at[i]];
    for (int step = 0; step < steps_; ++step)
      for (int64_t i = 0; i < n; ++i) bins[i] += values[i] > edges_[bins[i]];
  }
  // Counts the edges below each value by binary search.
  MDDF_INLINE void search(const Value* values, int64_t n, int32_t* bins) const {
    std::fill(bins, bins + n, 0);
    for (int half = half_; half > 0; half /= 2)
      for (int64_t i = 0; i < n; ++i) bins[i] += half & -(values[i] > edges_[bins[i] + half - 1]);
  }

  bool has_integers_ = false;
  std::optional<Intervals<Value>> intervals_;
  int steps_ = 0, half_ = 1;
  std::array<uint8_t, kCells + 1> cells_;  // codes of small integers, or first bins of intervals
  std::array<Value, 256 + kMaxSteps> edges_;
};

// Codes a category. The values of a categorical column are its codes.
template <class Value>
uint8_t code_of(Value category, int count) {
  return category >= 0 && category < count ? static_cast<uint8_t>(category) : uint8_t{kMissing};
}

// Codes the wanted columns of a table (null: all columns) block by block. If there are enough rows,
// it prepares lookup tables first.
template <class T>
class BlockCoder {
 public:
  using Value = CellValue<T>;

  BlockCoder(const CellsView<T>& table, const Bins& bins, const uint8_t* wanted, int64_t n_rows)
      : table_(table),
        bins_(bins),
        wanted_(wanted),
        n_rows_(n_rows),
        lookups_(table.n_columns),
        values_(kBlockColumns<T> * kBlockRows),
        codes_(values_.size()) {
    for (int64_t column = 0; column < table.n_columns; column += kGroupColumns)
      groups_.push_back(group_of(column, std::min(column + kGroupColumns, table.n_columns)));
  }

  // Codes n <= kBlockRows rows from `row` on. Groups of columns with integer tables are coded row
  // by row, in the order of memory, if all their cells are in the tables. Other columns are coded
  // one by one.
  void code(int64_t row, int64_t n, uint8_t* out, int64_t out_stride) {
    for (Group& group : groups_) group.suits = group.most > 0;
    for (int64_t i = row; i < row + n; ++i) {
      const T* cells = table_.data + i * table_.row_stride;
      const T* next = i + 1 < table_.n_rows ? cells + table_.row_stride : cells;
      for (Group& group : groups_)
        group.suits = group.suits && code_by_row(group, cells, next, out + i * out_stride);
    }
    for (const Group& group : groups_)
      for (int64_t c = group.column; !group.suits && c < group.end; c += kBlockColumns<T>)
        code_by_column(row, n, c, std::min(c + kBlockColumns<T>, group.end), out, out_stride);
  }

 private:
  static constexpr int64_t kGroupColumns = 128, kMinGroupColumns = 8;
  // Fewest rows for which lookup tables of small integers and of intervals are prepared.
  static constexpr int64_t kRowsOfTables = 256, kRowsOfIntervals = 1024;

  // A group of adjacent columns. If all have integer tables, `codes` has the codes of all columns
  // for 0, then for 1, and so on: rows often have the same value in many columns.
  struct Group {
    int64_t column, end;
    int most = 0;  // integers in the tables; 0 without tables
    std::vector<uint8_t> codes{};
    bool suits = false;
  };

  Group group_of(int64_t column, int64_t end) const {
    Group group{column, end};
    if (n_rows_ < kRowsOfTables || table_.column_stride != 1 || end - column < kMinGroupColumns)
      return group;
    int most = std::is_same_v<T, uint8_t> ? 256 : 0;  // every byte
    for (int64_t c = column; c < end; ++c) {
      const int here = bins_.categorical[c] ? 0 : integer_table_size(edges(c), n_edges(c));
      if (here == 0) return group;
      most = std::max(most, here);
    }
    group.most = most;
    const int64_t n = end - column;
    group.codes.resize((most + 1) * n);
    std::vector<uint8_t> of_column(most + 1);
    for (int64_t c = column; c < end; ++c) {
      fill_integer_codes(edges(c), n_edges(c), of_column.data(), most);
      for (int whole = 0; whole <= most; ++whole)
        group.codes[whole * n + c - column] = of_column[whole];
    }
    return group;
  }
  const double* edges(int64_t column) const { return bins_.edges + bins_.bin_start[column]; }
  int n_edges(int64_t column) const { return bins_.count(column) - 1; }

  // Codes the cells of a group in one row, and prefetches the cells of `next`. Returns false if a
  // cell is not in the tables.
  bool code_by_row(const Group& group, const T* cells, const T* next, uint8_t* out) const {
    return simd::with_vectors(
        use_simd_, [&]() MDDF_INLINED { return code_by_row_body(group, cells, next, out); });
  }
  static MDDF_INLINE bool code_by_row_body(const Group& group, const T* cells, const T* next,
                                           uint8_t* out) {
    constexpr int64_t kInLine = 64 / sizeof(T);
    const int64_t n = group.end - group.column;
    const int most = group.most;
    const uint8_t* codes = group.codes.data();
    cells += group.column;
    out += group.column;
    for (int64_t j = 0; j < n; j += kInLine) prefetch(next + group.column + j);
    if constexpr (std::is_same_v<T, uint8_t>) {
      for (int64_t j = 0; j < n; ++j) out[j] = codes[cells[j] * n + j];
      return true;
    }
    Value values[kGroupColumns];
    typename SmallIntegers<Value>::Bits at[kGroupColumns];
    read_cells(cells, n, values);
    if (!SmallIntegers<Value>::find_indices(values, n, most, most, at)) return false;
    for (int64_t j = 0; j < n; ++j) out[j] = codes[at[j] * n + j];
    return true;
  }

  bool is_wanted(int64_t column) const { return !wanted_ || wanted_[column]; }

  // Codes columns [column, end) of n rows, column by column.
  void code_by_column(int64_t row, int64_t n, int64_t column, int64_t end, uint8_t* out,
                      int64_t out_stride) {
    std::array<int64_t, kBlockColumns<T>> columns;
    int64_t width = 0;
    for (int64_t c = column; c < end; ++c)
      if (is_wanted(c)) columns[width++] = c;
    if (width == 0) return;
    read_block(table_, row, n, column, end - column, values_.data());
    for (int64_t j = 0; j < width; ++j)
      code_column(columns[j], &values_[(columns[j] - column) * kBlockRows], n,
                  &codes_[j * kBlockRows]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j)
        out[(row + i) * out_stride + columns[j]] = codes_[j * kBlockRows + i];
  }
  void code_column(int64_t c, const Value* values, int64_t n, uint8_t* codes) {
    if (bins_.categorical[c]) {
      for (int64_t i = 0; i < n; ++i) codes[i] = code_of(values[i], bins_.count(c));
    } else if (is_looked_up(c)) {
      if (!lookups_[c]) lookups_[c] = std::make_unique<Lookup>(edges(c), n_edges(c));
      lookups_[c]->apply(values, n, codes, use_simd_);
    } else {
      search_bins(edges(c), n_edges(c), values, n, codes);
    }
  }
  // Intervals take longer to prepare than tables of small integers.
  bool is_looked_up(int64_t c) const {
    if (n_rows_ < kRowsOfTables) return false;
    return n_rows_ >= kRowsOfIntervals || integer_table_size(edges(c), n_edges(c)) > 0;
  }

  using Lookup = ColumnLookup<Value>;
  const CellsView<T>& table_;
  const Bins& bins_;
  const uint8_t* wanted_;
  const int64_t n_rows_;
  const bool use_simd_ = simd::supported();
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<Lookup>> lookups_;  // made when they are needed
  std::vector<Value> values_;
  std::vector<uint8_t> codes_;
};

// Transposes n <= kBlockRows rows of codes. Columns begin `stride` bytes apart in `to`.
inline void copy_by_columns(const uint8_t* codes, int64_t row_stride, int64_t n, int64_t n_columns,
                            uint8_t* to, int64_t stride) {
  int64_t n_transposed = 0;
#ifdef MDDF_AVX2
  if (n_columns >= kTransposedColumns && simd::supported()) {
    n_transposed = n - n % kTransposedRows;
    std::array<const uint8_t*, kBlockRows> rows;
    for (int64_t i = 0; i < n_transposed; ++i) rows[i] = codes + i * row_stride;
    for (int64_t c = 0; c < n_columns; c += kTransposedColumns) {  // the last group overlaps
      const int64_t column = std::min(c, n_columns - kTransposedColumns);
      for (int64_t i = 0; i < n_transposed; i += kTransposedRows)
        transpose_codes(rows.data() + i, column, to + column * stride + i, stride);
    }
  }
#endif
  for (int64_t c = 0; c < n_columns; ++c)
    for (int64_t i = n_transposed; i < n; ++i) to[c * stride + i] = codes[i * row_stride + c];
}

// Codes rows [first, last) of the table. Columns that are not wanted may keep their old codes; null
// wants all. A categorical cell holds its code; other values in it count as missing.
template <class T>
void apply_bins(const CellsView<T>& table, const Bins& bins, int64_t first, int64_t last,
                const uint8_t* wanted, const Codes& to, Interrupt& interrupt) {
  using Value = CellValue<T>;
  constexpr int64_t kFewRows = 8;
  if (last - first < kFewRows) {  // a block would cost more than it saves
    for (int64_t row = first; row < last; ++row)
      for (int64_t c = 0; c < table.n_columns; ++c) {
        if (wanted && !wanted[c]) continue;
        const T* at = table.data + row * table.row_stride + c * table.column_stride;
        const Value cell = read_cell<Value>(at);
        uint8_t& code = to.by_row[row * to.stride + c];
        if (bins.categorical[c])
          code = code_of(cell, bins.count(c));
        else
          code = search_bin(bins.edges + bins.bin_start[c], bins.count(c) - 1, cell);
        if (to.by_column) to.by_column[c * table.n_rows + row] = code;
      }
    return;
  }
  BlockCoder<T> coder(table, bins, wanted, last - first);
  for (int64_t row = first; row < last; row += kBlockRows) {
    const int64_t n = std::min(kBlockRows, last - row);
    interrupt.poll(2 * n * table.n_columns);
    coder.code(row, n, to.by_row, to.stride);
    if (to.by_column)
      copy_by_columns(to.by_row + row * to.stride, to.stride, n, table.n_columns,
                      to.by_column + row, table.n_rows);
  }
}

}  // namespace mddf
