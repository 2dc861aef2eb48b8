// Finds bins and codes cells of sparse tables. Cells that are not stored are 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/interrupt.hpp"
#include "common/simd.hpp"
#include "forest/binning/apply_bins.hpp"
#include "forest/binning/cells.hpp"
#include "forest/binning/find_bins.hpp"
#include "forest/binning/quantiles.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

// The stored cells, column after column. Cells [start[c], start[c + 1]) belong to column c, each to
// another row.
template <class T>
struct SparseCellsView {
  const T* cells;
  const int32_t* row;
  const int64_t* start;
  int64_t n_rows, n_columns;
};

namespace detail {

// Adds the bins of a column with n <= kBlockRows stored cells: one per distinct value, including 0
// if `has_others` (some cells are not stored).
template <class Value>
void add_few_cells(Value* cells, int64_t n, bool has_others, AllBins& bins) {
  Value* end = std::remove_if(cells, cells + n, [](Value cell) { return cell != cell; });
  if (has_others) *end++ = 0;
  std::sort(cells, end);
  bins.add(cells, std::unique(cells, end) - cells);
}

}  // namespace detail

// Finds the bins of columns [first, last). Columns with more values than bins get a count of 0.
template <class T>
AllBins find_bins(const SparseCellsView<T>& table, int64_t first, int64_t last, int max_bins,
                  Interrupt& interrupt) {
  const bool use_simd = simd::supported();
  const int64_t few = std::min<int64_t>(kBlockRows, max_bins) - 1;
  T zero = 0, cells[kBlockRows];
  AllBins bins;
  detail::DistinctValues distinct;
  for (int64_t c = first; c < last; ++c) {
    const int64_t start = table.start[c], n_stored = table.start[c + 1] - start;
    const bool has_others = n_stored < table.n_rows;
    if (n_stored <= few) {
      for (int64_t i = 0; i < n_stored; ++i)
        cells[i] = read_cell<T>(table.cells + start + i) + 0;  // -0.0 is 0.0
      detail::add_few_cells(cells, n_stored, has_others, bins);
      interrupt.poll(64 + 16 * n_stored);
      continue;
    }
    distinct.begin(max_bins);
    if (has_others) distinct.add(&zero, 1, use_simd);
    for (int64_t i = 0; i < n_stored; i += kBlockRows) {
      const int64_t n = std::min(kBlockRows, n_stored - i);
      read_cells(table.cells + start + i, n, cells);
      distinct.add(cells, n, use_simd);
      interrupt.poll(4 * n);
    }
    if (distinct.few())
      bins.add(distinct.bins());
    else
      bins.counts.push_back(0);
    interrupt.poll(1024);
  }
  return bins;
}

// Codes columns [first, last). Returns false if a row index is not in the table.
template <class T>
bool apply_bins(const SparseCellsView<T>& table, const Bins& bins, int64_t first, int64_t last,
                const Codes& to, Interrupt& interrupt) {
  std::vector<uint8_t> zeros(last - first);
  for (int64_t c = first; c < last; ++c)
    zeros[c - first] = search_bin(bins.edges + bins.bin_start[c], bins.count(c) - 1, 0);
  for (int64_t row = 0; row < table.n_rows; ++row) {
    std::copy(zeros.begin(), zeros.end(), to.by_row + row * to.stride + first);
    interrupt.poll(1 + (last - first) / 16);
  }
  bool holds = true;
  T cells[kBlockRows];
  uint8_t codes[kBlockRows];
  for (int64_t c = first; c < last; ++c) {
    uint8_t* of_column = to.by_column ? to.by_column + c * table.n_rows : nullptr;
    if (of_column) std::memset(of_column, zeros[c - first], table.n_rows);
    interrupt.poll(1 + table.n_rows / 16);
    const int64_t end = table.start[c + 1];
    for (int64_t at = table.start[c]; at < end; at += kBlockRows) {
      const int64_t n = std::min(kBlockRows, end - at);
      read_cells(table.cells + at, n, cells);
      search_bins(bins.edges + bins.bin_start[c], bins.count(c) - 1, cells, n, codes);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row =
            *const_cast<const volatile int32_t*>(table.row + at + i);  // see read_cell
        if (row < 0 || row >= table.n_rows) {
          holds = false;
          continue;
        }
        to.by_row[row * to.stride + c] = codes[i];
        if (of_column) of_column[row] = codes[i];
      }
      interrupt.poll(16 * n);
    }
  }
  return holds;
}

}  // namespace mddf
