// Codes of all cells, one byte each, in the layout that trees read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/interrupt.hpp"
#include "common/prefetch.hpp"

namespace mddf {

class NonzeroRows;

// Prefetches a row of codes. Rows with more than kMaxFetched columns are not prefetched, because
// trees read few of their cells.
constexpr int64_t kMaxFetched = 1024;
inline void prefetch_row(const uint8_t* bins, int64_t n_columns) {
  constexpr int64_t kLine = 64;
  for (int64_t c = 0; c < n_columns; c += kLine) prefetch(bins + c);
}

// Codes by rows (the few rows of a small node stay in the cache), by columns, or both (large nodes
// read columns). If there is neither, samples refer to lines of nonzero_rows.
struct BinMatrix {
  const uint8_t* data;
  int64_t n_rows, n_columns;
  const uint8_t* by_column = nullptr;
  const NonzeroRows* nonzero_rows = nullptr;

  const uint8_t* row(int64_t r) const { return data + r * n_columns; }

  // Cells of a column, `step` bytes apart, in the layout that is faster for a node with n samples.
  struct Column {
    const uint8_t* data;
    int64_t step;
    uint8_t operator[](int64_t row) const { return data[row * step]; }
  };
  Column column(int64_t c, int64_t n_samples) const {
    if (by_column && (!data || n_samples * n_columns > kCacheBytes))
      return {by_column + c * n_rows, 1};
    return {data + c, n_columns};
  }
  static constexpr int64_t kCacheBytes = int64_t{1} << 19;
};

// A 64-bit hash of the codes and the label of each row. Sorting by it gives an order that depends
// neither on the order of the table nor on the machine.
inline void row_hashes(const BinMatrix& matrix, int64_t n_columns, const uint16_t* labels,
                       uint64_t* out, Interrupt& interrupt) {
  for (int64_t r = 0; r < matrix.n_rows; ++r) {
    const uint8_t* row = matrix.row(r);
    uint64_t hash = (uint64_t{labels[r]} + 1) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    for (int64_t c = 0; c < n_columns; c += 8) {
      uint64_t word = 0;  // combined by shifts, for the same value with every byte order
      for (int64_t j = 0; j < std::min<int64_t>(8, n_columns - c); ++j)
        word |= uint64_t{row[c + j]} << (8 * j);
      hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
      hash ^= hash >> 31;
    }
    out[r] = hash;
    interrupt.poll(n_columns + 1);
  }
}

}  // namespace mddf
