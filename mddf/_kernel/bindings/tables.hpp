// Numeric tables and their bins as arguments from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

// A numeric table with any strides.
template <class T>
using AnyTable = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
CellsView<T> as_cells(const AnyTable<T>& x) {
  check(reinterpret_cast<uintptr_t>(x.data()) % alignof(T) == 0, "x: expected aligned numbers");
  return {x.data(), static_cast<int64_t>(x.shape(0)), static_cast<int64_t>(x.shape(1)), x.stride(0),
          x.stride(1)};
}

// Bins of some columns, without the values that represent them.
inline Bins as_bins(const In<double, 1>& edges, const In<int64_t, 1>& bin_start,
                    const uint8_t* categorical, int64_t n_columns) {
  check_length("bin_start", bin_start.shape(0), n_columns + 1);
  const int64_t* start = bin_start.data();
  check(start[0] == 0 && start[n_columns] == static_cast<int64_t>(edges.shape(0)),
        "bin_start: expected to begin with 0 and end with the number of edges");
  for (int64_t c = 0; c < n_columns; ++c)
    check(start[c + 1] - start[c] >= 1 && start[c + 1] - start[c] <= kMaxBins,
          "bin_start: expected 1 to 255 bins a column");
  return {edges.data(), nullptr, start, categorical, n_columns};
}

}  // namespace mddf
