// Bins and codes of tables of which few cells are stored; the others are 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/watch.hpp"
#include "forest/apply_bins.hpp"
#include "forest/find_bins.hpp"

namespace mddf {

// Cells that are stored, column after column: those of column c lie in [start[c], start[c + 1]),
// each in another row.
template <class T>
struct SparseTable {
  const T* cells;
  const int32_t* row;
  const int64_t* start;
  int64_t n_rows, n_columns;
};

// The bins of columns [first, last), a count of 0 for those with more values than bins.
template <class T>
AllBins find_bins(const SparseTable<T>& table, int64_t first, int64_t last, int max_bins,
                  Watch& watch) {
  const bool wide = simd::supported();
  const T zero = 0;
  T cells[kBlockRows];
  AllBins bins;
  detail::DistinctValues distinct;
  for (int64_t c = first; c < last; ++c) {
    distinct.begin(max_bins);
    const int64_t end = table.start[c + 1];
    if (end - table.start[c] < table.n_rows) distinct.add(&zero, 1, wide);
    for (int64_t at = table.start[c]; at < end; at += kBlockRows) {
      const int64_t n = std::min(kBlockRows, end - at);
      read_cells(table.cells + at, n, cells);
      distinct.add(cells, n, wide);
    }
    if (distinct.few())
      bins.add(distinct.bins());
    else
      bins.counts.push_back(0);
    watch.worked(1024 + 4 * (end - table.start[c]));
  }
  return bins;
}

// Codes columns [first, last). False if a row is none of the table's.
template <class T>
bool apply_bins(const SparseTable<T>& table, const Bins& bins, int64_t first, int64_t last,
                const Codes& to, Watch& watch) {
  const auto edges = [&](int64_t c) { return bins.edges + bins.bin_start[c]; };
  std::vector<uint8_t> zeros(last - first);
  for (int64_t c = first; c < last; ++c)
    zeros[c - first] = search_bin(edges(c), bins.count(c) - 1, 0);
  for (int64_t row = 0; row < table.n_rows; ++row) {
    std::copy(zeros.begin(), zeros.end(), to.by_row + row * to.stride + first);
    watch.worked((last - first) / 16);
  }
  bool holds = true;
  for (int64_t c = first; c < last; ++c) {
    uint8_t* of_column = to.by_column ? to.by_column + c * table.n_rows : nullptr;
    if (of_column) std::memset(of_column, zeros[c - first], table.n_rows);
    for (int64_t at = table.start[c]; at < table.start[c + 1]; ++at) {
      const int64_t row = *const_cast<const volatile int32_t*>(table.row + at);  // see read_cell
      if (row < 0 || row >= table.n_rows) {
        holds = false;
        continue;
      }
      const auto value = read_cell<CellValue<T>>(table.cells + at);
      const uint8_t code = search_bin(edges(c), bins.count(c) - 1, value);
      to.by_row[row * to.stride + c] = code;
      if (of_column) of_column[row] = code;
    }
    watch.worked(16 * (table.start[c + 1] - table.start[c]) + table.n_rows / 16);
  }
  return holds;
}

}  // namespace mddf
