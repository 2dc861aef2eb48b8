// Tables as users have them, and as trees see them: one byte per cell.
#pragma once

#include <array>
#include <cstdint>

#include "common/wide.hpp"

namespace mddf {

constexpr int kMissing = 255;   // the bin code of a missing (or unseen) value
constexpr int kMostBins = 255;  // codes 0 .. 254

// A set of codes.
struct CodeSet {
  std::array<uint64_t, 4> words{};
  void insert(int code) { words[code >> 6] |= uint64_t{1} << (code & 63); }
  void erase(int code) { words[code >> 6] &= ~(uint64_t{1} << (code & 63)); }
  bool contains(int code) const { return (words[code >> 6] >> (code & 63)) & 1; }
};

// Lets memory come into the second cache: far more lines can be on their way to it than to the
// first one. Compilers leave out calls of a function that seems to do nothing: it must be inline.
MDDF_INLINE void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address, 0, 2);
#else
  (void)address;
#endif
}

// A strided two-dimensional view; strides count elements.
template <class T>
struct Table {
  const T* data;
  int64_t n_rows, n_columns, row_stride, column_stride;
};

// Where the codes of a table go: by rows, which lie `stride` apart, and by columns, of all rows,
// unless that is null.
struct Codes {
  uint8_t* by_row;
  int64_t stride;
  uint8_t* by_column;
};

// A cell of the user's table. Another thread may write into it at any time, so that a compiler must
// not read it a second time: what was found out about the first value has to hold.
template <class Value = double, class T>
Value read_cell(const T* cell) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  Value value = static_cast<Value>(*cell);
  asm("" : "+x"(value));  // where it came from is forgotten; a volatile read is slower
  return value;
#else
  return static_cast<Value>(*const_cast<const volatile T*>(cell));
#endif
}

// The bins of all columns: those of column c lie in [bin_start[c], bin_start[c + 1]). A bin is
// known by its upper edge (infinity for the last one) and by the value that stands for it.
struct Bins {
  const double* edges;
  const double* values;
  const int64_t* bin_start;
  const uint8_t* categorical;
  int64_t n_columns;
  int count(int64_t column) const {
    return static_cast<int>(bin_start[column + 1] - bin_start[column]);
  }
};

}  // namespace mddf
