#include "bindings/gradient_options.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bindings/inputs.hpp"

namespace mddf::gradient {
namespace {

using nb::arg;

constexpr std::array<std::pair<const char*, Loss>, 11> kLosses{{{"squared_error", Loss::kSquared},
                                                                {"absolute_error", Loss::kAbsolute},
                                                                {"quantile", Loss::kQuantile},
                                                                {"huber", Loss::kHuber},
                                                                {"poisson", Loss::kPoisson},
                                                                {"gamma", Loss::kGamma},
                                                                {"tweedie", Loss::kTweedie},
                                                                {"custom", Loss::kCustom},
                                                                {"log_loss", Loss::kLogistic},
                                                                {"exponential", Loss::kExponential},
                                                                {"softmax", Loss::kSoftmax}}};

Loss loss_named(const std::string& name) {
  for (const auto& [known, loss] : kLosses)
    if (name == known) return loss;
  refuse("loss: no loss is called " + name);
}

void check_share(const char* name, double value, bool zero) {
  check(value <= 1 && (zero ? value >= 0 : value > 0),
        std::string(name) + ": expected a share, got " + std::to_string(value));
}

void check_positive(const char* name, double value, bool zero) {
  check(std::isfinite(value) && (zero ? value >= 0 : value > 0),
        std::string(name) + ": expected a finite number above 0, got " + std::to_string(value));
}

// Whether the loss takes several outputs. Medians and Huber's threshold are of one output.
bool takes_outputs(Loss loss) {
  switch (loss) {
    case Loss::kSquared:
    case Loss::kPoisson:
    case Loss::kGamma:
    case Loss::kTweedie:
    case Loss::kCustom:
      return true;
    default:
      return false;
  }
}

// The losses of the outputs of a row are computed together.
constexpr int kMaxOutputs = 1024;

Options checked_options(Options options) {
  if (options.loss == Loss::kSoftmax) check_range("n_classes", options.n_classes, 2, 65535);
  check_positive("learning_rate", options.learning_rate, false);
  check_positive("l2", options.l2, true);
  check_positive("category_smoothing", options.category_smoothing, true);
  check_share("subsample", options.subsample, false);
  check_share("quantile", options.quantile, true);
  if (options.symmetric)
    check_range("max_depth", options.max_depth, 1, kDeepestSymmetric);
  else
    check_range("max_depth", options.max_depth, 0, INT32_MAX);
  check_range("max_leaf_nodes", options.max_leaf_nodes, 1, kMaxLeafNodes);
  check_at_least("min_samples_leaf", options.min_samples_leaf, 1);
  check_at_least("max_features", options.max_features, 1);
  check_at_least("n_copies", options.n_copies, 1);
  check(
      options.tweedie_power >= 1 && options.tweedie_power <= 2,
      "tweedie_power: expected a number from 1 to 2, got " + std::to_string(options.tweedie_power));
  check_range("n_outputs", options.n_outputs, 1, takes_outputs(options.loss) ? kMaxOutputs : 1);
  return options;
}

constexpr const char* kOptions = R"(Options of boosted trees.

Parameters
----------
loss : str
    "squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie",
    "log_loss", "exponential", "softmax", or "custom", for which the caller sets the gradients.
n_classes : int
    Number of classes, for softmax.
symmetric : bool
    Whether all leaves of a level have the same split.
learning_rate : float
max_depth : int
    From 1 to 16 for symmetric trees; for leaf-wise trees, 0 means no limit.
max_leaf_nodes : int
    For leaf-wise trees.
min_samples_leaf : int
    Number of rows, without regard to weights.
l2 : float
    Added to the hessians of leaves.
max_features : int
    Columns drawn for each level or node.
subsample : float
    Share of the rows that each tree is grown on.
n_copies : int
    Number of copies of the training rows, one after another. Trees use the copies in turn.
quantile : float
    For the quantile loss; for Huber's loss, the share of residuals in its quadratic part.
category_smoothing : float
    Number of rows without gradient that are added to each category before sorting.
monotonic : int8 array of shape (n_columns,) or None
    1: raw predictions must not decrease with the column; -1: they must not increase.
interactions : uint8 array of shape (n_groups, n_columns) or None
    Groups of columns. A path only uses columns of one group.
counting : str
    Search method of symmetric trees: "sorted", "histograms" or "cheaper". Changes only the time.
wide_vectors : bool
    Use vector instructions if the processor has them. They change only the time.
tweedie_power : float
    Power of the variance of the loss "tweedie", from 1 to 2.
n_outputs : int
    Length of a raw prediction, for "custom" and for losses of numbers without medians.
slope_l2 : float or None
    Penalty of the slopes of linear leaves, for positions from -1 to 1; None: constant leaves.
newton_splits : bool
    Whether second derivatives count in the scores of splits, or each row by its weight.
histogram_bytes : int
    Most memory of the histograms of a tree; others are counted again. Changes only the time.)";

BoostOptions boost_options(const std::string& loss, int n_classes, bool symmetric,
                           double learning_rate, int max_depth, int max_leaf_nodes,
                           int64_t min_samples_leaf, double l2, int64_t max_features,
                           double subsample, int64_t n_copies, double quantile,
                           double category_smoothing, std::optional<In<int8_t, 1>> monotonic,
                           std::optional<In<uint8_t, 2>> interactions, const std::string& counting,
                           bool wide_vectors, double tweedie_power, int n_outputs,
                           std::optional<double> slope_l2, bool newton_splits,
                           int64_t histogram_bytes) {
  int64_t n_columns = -1;
  Options options;
  options.loss = loss_named(loss);
  options.n_classes = n_classes;
  options.symmetric = symmetric;
  options.learning_rate = learning_rate;
  options.max_depth = max_depth;
  options.max_leaf_nodes = max_leaf_nodes;
  options.min_samples_leaf = min_samples_leaf;
  options.l2 = l2;
  options.max_features = max_features;
  options.subsample = subsample;
  options.n_copies = n_copies;
  options.quantile = quantile;
  options.category_smoothing = category_smoothing;
  options.wide_vectors = wide_vectors;
  options.tweedie_power = tweedie_power;
  options.n_outputs = n_outputs;
  check(newton_splits || !monotonic, "newton_splits: expected with monotonic");
  options.newton_splits = newton_splits;
  check_at_least("histogram_bytes", histogram_bytes, 0);
  options.histogram_bytes = histogram_bytes;
  if (slope_l2) {
    check_positive("slope_l2", *slope_l2, false);
    check(!options.quantile_leaves(), "slope_l2: not with a loss whose leaves are quantiles");
    check(!monotonic, "slope_l2: not with monotonic");
    options.slope_l2 = *slope_l2;
  }
  check(counting == "cheaper" || counting == "sorted" || counting == "histograms",
        "counting: expected cheaper, sorted or histograms, got " + counting);
  options.counting = counting == "sorted"       ? Counting::kSortedRows
                     : counting == "histograms" ? Counting::kHistograms
                                                : Counting::kCheaper;
  if (monotonic) {
    check_each("monotonic", *monotonic, "-1, 0 or 1",
               [](int8_t sign) { return -1 <= sign && sign <= 1; });
    check(options.width() == 1, "monotonic: not with several classes or outputs");
    n_columns = static_cast<int64_t>(monotonic->shape(0));
    const auto signs = as_span(*monotonic);
    if (std::any_of(signs.begin(), signs.end(), [](int8_t sign) { return sign != 0; }))
      options.monotonic.assign(signs.begin(), signs.end());
  }
  if (interactions) {
    const auto n = static_cast<int64_t>(interactions->shape(1));
    check(!monotonic || n == n_columns, "interactions: expected a column for each of monotonic");
    check(interactions->shape(0) > 0, "interactions: expected a group");
    n_columns = n;
    options.n_groups = static_cast<int64_t>(interactions->shape(0));
    options.interactions.assign(interactions->data(), interactions->data() + interactions->size());
  }
  return {checked_options(std::move(options)), n_columns, slope_l2.has_value()};
}

}  // namespace

void bind_boost_options(nb::module_& m) {
  nb::class_<BoostOptions>(m, "BoostOptions", kOptions)
      .def(nb::new_(&boost_options), arg("loss"), nb::kw_only(), arg("n_classes") = 2,
           arg("symmetric") = true, arg("learning_rate") = 0.1, arg("max_depth") = 6,
           arg("max_leaf_nodes") = 31, arg("min_samples_leaf") = 1, arg("l2") = 0.0,
           arg("max_features") = INT32_MAX, arg("subsample") = 1.0, arg("n_copies") = 1,
           arg("quantile") = 0.5, arg("category_smoothing") = 10.0,
           arg("monotonic").none().noconvert() = nb::none(),
           arg("interactions").none().noconvert() = nb::none(), arg("counting") = "cheaper",
           arg("wide_vectors") = true, arg("tweedie_power") = 1.5, arg("n_outputs") = 1,
           arg("slope_l2").none() = nb::none(), arg("newton_splits") = true,
           arg("histogram_bytes") = Options().histogram_bytes)
      .def_prop_ro("linear_leaves", [](const BoostOptions& of) { return of.linear_leaves; })
      .def_prop_ro("symmetric", [](const BoostOptions& of) { return of.options.symmetric; });
}

}  // namespace mddf::gradient
