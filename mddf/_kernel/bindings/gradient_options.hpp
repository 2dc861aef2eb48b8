// Options of boosted trees as a Python object, which is checked when it is constructed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "gradient_boosting/options.hpp"

namespace mddf::gradient {

// Options for the columns of a table.
class BoostOptions {
 public:
  BoostOptions(const std::string& loss, int n_classes, bool symmetric, double learning_rate,
               int max_depth, int max_leaf_nodes, int64_t min_samples_leaf, double l2,
               int64_t max_features, double subsample, int64_t n_copies, double quantile,
               double category_smoothing, std::optional<In<int8_t, 1>> monotonic,
               std::optional<In<uint8_t, 2>> interactions, const std::string& counting,
               bool wide_vectors, double tweedie_power, int n_outputs,
               std::optional<double> slope_l2, bool newton_splits, int64_t histogram_bytes);
  const Options& options() const { return options_; }
  // Whether leaves are linear functions; the booster then needs positions of the codes.
  bool linear_leaves() const { return linear_leaves_; }
  // Number of columns that the table must have; -1 for any.
  int64_t n_columns() const { return n_columns_; }

 private:
  Options options_;
  int64_t n_columns_ = -1;
  bool linear_leaves_ = false;
};

// The parts of the bindings of gradient boosting.
void bind_boost_options(nb::module_& m);
void bind_gradient_trees(nb::module_& m);

}  // namespace mddf::gradient
