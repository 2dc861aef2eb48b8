// Views of the cells of a table, and of the codes to write.
#pragma once

#include <cstdint>

namespace mddf {

// A strided two-dimensional view; strides count elements.
template <class T>
struct CellsView {
  const T* data;
  int64_t n_rows, n_columns, row_stride, column_stride;
};

// Destination of the codes of a table: by rows, which are `stride` apart, and by columns unless
// null.
struct Codes {
  uint8_t* by_row;
  int64_t stride;
  uint8_t* by_column;
};

// Reads a cell of the user's table. Another thread may change the cell at any time. The compiler
// must not read it twice, so that checks of the value stay true.
template <class Value = double, class T>
Value read_cell(const T* cell) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  Value value = static_cast<Value>(*cell);
  asm("" : "+x"(value));  // hides the origin of the value; a volatile read is slower
  return value;
#else
  return static_cast<Value>(*const_cast<const volatile T*>(cell));
#endif
}

}  // namespace mddf
