// The cells of the user's table, and where their codes go.
#pragma once

#include <cstdint>

namespace mddf {

// A strided two-dimensional view; strides count elements.
template <class T>
struct CellsView {
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

}  // namespace mddf
