// Options of boosted trees as a Python object, which is checked when it is constructed.
#pragma once

#include <cstdint>

#include "bindings/arrays.hpp"
#include "gradient_boosting/options.hpp"

namespace mddf::gradient {

// Checked options for the columns of a table.
struct BoostOptions {
  Options options;
  int64_t n_columns = -1;      // number of columns that the table must have; -1 for any
  bool linear_leaves = false;  // the booster then needs positions of the codes
};

// The parts of the bindings of gradient boosting.
void bind_boost_options(nb::module_& m);
void bind_gradient_trees(nb::module_& m);

}  // namespace mddf::gradient
