#include "bindings/boosting.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/boosting_arrays.hpp"
#include "bindings/call.hpp"
#include "boosting/paths.hpp"
#include "boosting/ranked.hpp"
#include "boosting/search.hpp"
#include "boosting/vote.hpp"

namespace mddf::boosting {

using namespace nb::literals;

namespace {

template <class T, class Node, class Get>
auto column(const std::vector<Node>& nodes, Get get) {
  std::vector<T> values;
  values.reserve(nodes.size());
  for (const Node& node : nodes) {
    values.push_back(static_cast<T>(get(node)));
  }
  return to_numpy(std::move(values));
}

std::unique_ptr<RankedFeatures> rank_features(const Given& x_given) {
  const Array<double, 2> x(x_given, "x");
  check(x.shape(0) > 0 && x.shape(1) > 0, "x must have at least one row and one column");
  check(x.shape(0) < 0xffffffffULL && x.shape(1) < 0x7fffffffULL,
        "x must have fewer than 2**32 - 1 rows and 2**31 - 1 columns");
  return without_gil(nullptr, [&](Interrupt& interrupt) {
    return std::make_unique<RankedFeatures>(x.data(), x.shape(0), x.shape(1), interrupt);
  });
}

SearchMode mode_named(const std::string& name) {
  if (name == "layerwise") {
    return SearchMode::layerwise;
  }
  if (name == "greedy") {
    return SearchMode::greedy;
  }
  check(name == "stumps", "mode must be 'layerwise', 'greedy' or 'stumps', got '" + name + "'");
  return SearchMode::stumps;
}

nb::tuple search(const RankedFeatures& features, const Given& signed_weight_given,
                 const Given& penalty_given, double scale, int max_depth, const std::string& mode) {
  const Array<double, 1> signed_weight(signed_weight_given, "signed_weight");
  const Array<double, 1> penalty(penalty_given, "penalty");
  const SearchMode search_mode = mode_named(mode);
  check_length("signed_weight", signed_weight.size(), features.n_rows());
  require_finite(signed_weight, "signed_weight");
  check(penalty.size() > 0, "penalty must have at least one entry");
  require_finite(penalty, "penalty");
  check(std::isfinite(scale) && scale >= 0.0,
        "scale must be finite and >= 0, got " + std::to_string(scale));
  check(max_depth >= 1, "max_depth must be at least 1, got " + std::to_string(max_depth));
  FoundTree found = without_gil(nullptr, [&](Interrupt& interrupt) {
    return search_tree(features, signed_weight.data(),
                       Penalty{penalty.data(), penalty.size(), scale}, max_depth, search_mode,
                       interrupt);
  });
  const auto& nodes = found.nodes;
  return nb::make_tuple(column<std::int32_t>(nodes, [](const TreeNode& n) { return n.feature; }),
                        column<double>(nodes, [](const TreeNode& n) { return n.threshold; }),
                        column<std::int32_t>(nodes, [](const TreeNode& n) { return n.left; }),
                        column<std::int32_t>(nodes, [](const TreeNode& n) { return n.right; }),
                        column<std::int8_t>(nodes, [](const TreeNode& n) { return n.label; }),
                        column<double>(nodes, [](const TreeNode& n) { return n.gain; }),
                        to_numpy(std::move(found.prediction)), found.edge);
}

// The arrays of an ensemble's trees, in the order in which Python passes them.
struct TreeArguments {
  Array<std::int32_t, 1> feature;
  Array<double, 1> threshold;
  Array<std::int32_t, 1> left, right;
  Array<std::int8_t, 1> label;
  Array<std::int64_t, 1> start;

  FlatTrees checked(std::size_t n_features) const {
    const std::size_t n_nodes = feature.size();
    check_length("threshold", threshold.size(), n_nodes);
    check_length("left", left.size(), n_nodes);
    check_length("right", right.size(), n_nodes);
    check_length("label", label.size(), n_nodes);
    check(start.size() > 0, "start must have at least one entry");
    const FlatTrees trees{feature.data(), threshold.data(), left.data(),      right.data(),
                          label.data(),   start.data(),     start.size() - 1, n_nodes};
    const char* problem = trees.problem(n_features);
    check(problem == nullptr, problem == nullptr ? "" : problem);
    return trees;
  }
};

auto predict_labels(const Given& x_given, const Given& feature, const Given& threshold,
                    const Given& left, const Given& right, const Given& label, const Given& start) {
  const Array<double, 2> x(x_given, "x");
  const TreeArguments arguments{{feature, "feature"}, {threshold, "threshold"}, {left, "left"},
                                {right, "right"},     {label, "label"},         {start, "start"}};
  const FlatTrees trees = arguments.checked(x.shape(1));
  std::vector<std::int8_t> labels(trees.n_trees * x.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    tree_labels(trees, x.data(), x.shape(0), x.shape(1), labels.data(), interrupt);
  });
  return to_numpy<std::int8_t, 2>(std::move(labels), {trees.n_trees, x.shape(0)});
}

auto predict_votes(const Given& x_given, const Given& weight_given, const Given& feature,
                   const Given& threshold, const Given& left, const Given& right,
                   const Given& label, const Given& start) {
  const Array<double, 2> x(x_given, "x");
  const Array<double, 1> weight(weight_given, "weight");
  const TreeArguments arguments{{feature, "feature"}, {threshold, "threshold"}, {left, "left"},
                                {right, "right"},     {label, "label"},         {start, "start"}};
  const FlatTrees trees = arguments.checked(x.shape(1));
  check_length("weight", weight.size(), trees.n_trees);
  std::vector<double> votes(x.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    tree_votes(trees, weight.data(), x.data(), x.shape(0), x.shape(1), votes.data(), interrupt);
  });
  return to_numpy(std::move(votes));
}

bool is_int8(const Given& values) { return values.dtype() == nb::dtype<std::int8_t>(); }

template <class Value>
std::vector<double> edges_of(const Given& values_given, const Given& signed_weight_given) {
  const Array<Value, 2> values(values_given, "values");
  const Array<double, 1> signed_weight(signed_weight_given, "signed_weight");
  check_length("signed_weight", signed_weight.size(), values.shape(1));
  std::vector<double> edges(values.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    learner_edges(values.data(), values.shape(0), values.shape(1), signed_weight.data(),
                  edges.data(), interrupt);
  });
  return edges;
}

auto edges_of_learners(const Given& values, const Given& signed_weight) {
  return to_numpy(is_int8(values) ? edges_of<std::int8_t>(values, signed_weight)
                                  : edges_of<double>(values, signed_weight));
}

void require_sample(std::size_t n_rows, const Array<double, 1>& y, const Array<double, 1>& weight) {
  check(n_rows > 0, "values must have at least one column");
  check_length("y", y.size(), n_rows);
  check_length("weight", weight.size(), n_rows);
  require_finite(y, "y");
  require_finite(weight, "weight");
  check(std::all_of(weight.data(), weight.data() + n_rows, [](double w) { return w > 0.0; }),
        "weight must be positive");
}

nb::tuple path_to_python(BoostingPath&& path) {
  return nb::make_tuple(to_numpy(std::move(path.learner)), to_numpy(std::move(path.step)),
                        to_numpy(std::move(path.objective)), to_numpy(std::move(path.edge)),
                        to_numpy(std::move(path.n_learners)));
}

// Calls back into Python from a long run.
Report report_to(const nb::callable& progress) {
  return [&progress](std::size_t n_rounds) {
    nb::gil_scoped_acquire acquire;
    progress(n_rounds);
  };
}

QuadPenalty penalty_named(const std::string& name) {
  if (name == "none") {
    return QuadPenalty::none;
  }
  if (name == "l1") {
    return QuadPenalty::l1;
  }
  if (name == "l2") {
    return QuadPenalty::l2;
  }
  check(name == "linf", "penalty must be 'none', 'l1', 'l2' or 'linf', got '" + name + "'");
  return QuadPenalty::linf;
}

template <class Value>
BoostingPath quadboost(const Given& values_given, const Given& y_given, const Given& weight_given,
                       const QuadSettings& settings, const Report& report) {
  const Array<Value, 2> values(values_given, "values");
  const Array<double, 1> y(y_given, "y"), weight(weight_given, "weight");
  require_sample(values.shape(1), y, weight);
  if constexpr (!std::is_integral_v<Value>) {
    require_finite(values, "values");
  }
  return without_gil(nullptr, [&](Interrupt& interrupt) {
    return quadboost_path(values.data(), values.shape(0), values.shape(1), y.data(), weight.data(),
                          settings, report, interrupt);
  });
}

nb::tuple run_quadboost(const Given& values, const Given& y, const Given& weight,
                        const std::string& penalty, double lambda, double alpha_max,
                        std::int64_t n_rounds, double tolerance, const nb::callable& progress,
                        bool wide_vectors) {
  check(lambda >= 0.0 && std::isfinite(lambda),
        "lambda_ must be finite and >= 0, got " + std::to_string(lambda));
  check(alpha_max > 0.0, "alpha_max must be > 0, got " + std::to_string(alpha_max));
  check(n_rounds >= 0, "n_rounds must be >= 0, got " + std::to_string(n_rounds));
  check(tolerance >= 0.0, "tolerance must be >= 0, got " + std::to_string(tolerance));
  const QuadSettings settings{penalty_named(penalty),
                              lambda,
                              alpha_max,
                              static_cast<std::size_t>(n_rounds),
                              tolerance,
                              wide_vectors};
  const Report report = report_to(progress);
  return path_to_python(is_int8(values)
                            ? quadboost<std::int8_t>(values, y, weight, settings, report)
                            : quadboost<double>(values, y, weight, settings, report));
}

nb::tuple run_adaboost(const Given& values_given, const Given& y_given, const Given& weight_given,
                       std::int64_t n_rounds, double least_error, const nb::callable& progress) {
  const Array<std::int8_t, 2> values(values_given, "values");
  const Array<double, 1> y(y_given, "y"), weight(weight_given, "weight");
  require_sample(values.shape(1), y, weight);
  check(values.shape(0) > 0, "values must have at least one row");
  check(without_gil(nullptr,
                    [&](Interrupt& interrupt) {
                      return all_signs(values.data(), values.shape(0), values.shape(1), interrupt);
                    }),
        "values must be -1 or +1");
  check(std::all_of(y.data(), y.data() + y.size(), [](double v) { return v == 1.0 || v == -1.0; }),
        "y must be -1 or +1");
  check(n_rounds >= 0, "n_rounds must be >= 0, got " + std::to_string(n_rounds));
  check(least_error > 0.0 && least_error < 0.5,
        "least_error must lie in (0, 0.5), got " + std::to_string(least_error));
  const Report report = report_to(progress);
  return path_to_python(without_gil(nullptr, [&](Interrupt& interrupt) {
    return adaboost_path(values.data(), values.shape(0), values.shape(1), y.data(), weight.data(),
                         static_cast<std::size_t>(n_rounds), least_error, report, interrupt);
  }));
}

void bind_features(nb::module_& m) {
  nb::class_<RankedFeatures>(
      m, "RankedFeatures",
      R"(Features replaced by the ranks of their distinct values, for exact threshold searches.

Parameters
----------
x : float64 array of shape (n_rows, n_features)
    Finite values, at least one row and one column.

Raises
------
ValueError
    If x is empty, not finite, or of another dtype, number of dimensions or layout.)")
      .def(nb::new_(&rank_features), "x"_a)
      .def_prop_ro("n_rows", &RankedFeatures::n_rows, "Number of rows.")
      .def_prop_ro("n_features", &RankedFeatures::n_features, "Number of columns.")
      .def_prop_ro(
          "code_bytes", &RankedFeatures::code_bytes,
          R"(Bytes of a rank: 1 up to 256 distinct values per feature, 2 up to 65536, else 4.)")
      .def("search", &search, "signed_weight"_a, "penalty"_a, "scale"_a, "max_depth"_a, "mode"_a,
           R"(Find the tree with labels in {-1, +1} that maximises edge / 2 - scale * penalty[size].

Parameters
----------
signed_weight : float64 array of shape (n_rows,)
    Weight times label of every row, finite; the absolute values should sum to 1.
penalty : float64 array of shape (n,), n >= 1
    By size of the tree; sizes of n and more cost what the last entry says.
scale : float
    Multiplies the penalty, >= 0.
max_depth : int
    At least 1.
mode : {"layerwise", "greedy", "stumps"}
    "layerwise": a constant, the best stump, then the best tree with one more layer of
    leaves than the last, and so on; size counts nodes. "greedy": one tree, breadth first,
    where a split must raise the criterion. "stumps": a constant or a stump (size 1), and
    with max_depth >= 2 the best stump followed by one question on both sides (size 2).

Returns
-------
feature, threshold, left, right, label, gain : arrays of shape (n_nodes,)
    The tree: int32, float64, int32, int32, int8, float64. Leaves have feature -1; values
    up to the threshold go left; gain is what a split added to the edge.
prediction : int8 array of shape (n_rows,)
    The label that every row gets.
edge : float
    sum_i signed_weight_i * prediction_i.)");
}

void bind_trees(nb::module_& m) {
  m.def("tree_labels", &predict_labels, "x"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "label"_a, "start"_a, R"(Labels that trees give to rows.

Parameters
----------
x : float64 array of shape (n_rows, n_features)
    Rows.
feature, threshold, left, right, label : arrays of shape (n_nodes,)
    Nodes of all trees one after another, as `RankedFeatures.search` returns them. Children
    count from the start of their tree and come after their parent.
start : int64 array of shape (n_trees + 1,)
    Where the nodes of each tree start; the last entry is n_nodes.

Returns
-------
int8 array of shape (n_trees, n_rows)
    The labels.)");
  m.def("tree_votes", &predict_votes, "x"_a, "weight"_a, "feature"_a, "threshold"_a, "left"_a,
        "right"_a, "label"_a, "start"_a, R"(Weighted sum of the labels that trees give to rows.

Parameters
----------
x : float64 array of shape (n_rows, n_features)
    Rows.
weight : float64 array of shape (n_trees,)
    Weight of every tree.
feature, threshold, left, right, label, start
    As in `tree_labels`.

Returns
-------
float64 array of shape (n_rows,)
    The sums.)");
}

void bind_edges(nb::module_& m) {
  m.def("learner_edges", &edges_of_learners, "values"_a, "signed_weight"_a,
        R"(Inner products of the rows of `values`, shape (n_learners, n_rows), with `signed_weight`.

Parameters
----------
values : int8 or float64 array of shape (n_learners, n_rows)
    Values of learners on rows.
signed_weight : float64 array of shape (n_rows,)
    Weight times label.

Returns
-------
float64 array of shape (n_learners,)
    The edges.)");
}

void bind_quadboost(nb::module_& m) {
  m.def("quadboost_path", &run_quadboost, "values"_a, "y"_a, "weight"_a, "penalty"_a, "lambda_"_a,
        "alpha_max"_a, "n_rounds"_a, "tolerance"_a, "progress"_a, "wide_vectors"_a = true,
        R"(Run QuadBoost: greedy coordinate descent on the weighted quadratic risk plus a penalty.

Parameters
----------
values : int8 or float64 array of shape (n_learners, n_rows)
    Finite values of the learners.
y : float64 array of shape (n_rows,)
    Targets.
weight : float64 array of shape (n_rows,)
    Positive, sum 1.
penalty : {"none", "l1", "l2", "linf"}
    See QuadBoostClassifier.
lambda_ : float
    Strength of "l1" and "l2", >= 0.
alpha_max : float
    Largest absolute weight of "linf", > 0.
n_rounds : int
    Most rounds.
tolerance : float
    Stop when the best decrease is no larger.
progress : callable
    Called now and then with the number of rounds made since the last call.
wide_vectors : bool
    Use vector instructions where the processor has them.

Returns
-------
learner : int64 array of shape (n,)
    The learner moved in each of the n rounds made.
step : float64 array of shape (n,)
    Change of its weight.
objective : float64 array of shape (n,)
    After the round.
correlation : float64 array of shape (n,)
    Of the learner with the residual before the round.
n_learners : int64 array of shape (n,)
    With weight other than 0 after the round.)");
}

void bind_adaboost(nb::module_& m) {
  m.def("adaboost_path", &run_adaboost, "values"_a, "y"_a, "weight"_a, "n_rounds"_a,
        "least_error"_a, "progress"_a,
        R"(Run discrete AdaBoost over fixed learners; a negative edge takes the complement.

Parameters
----------
values : int8 array of shape (n_learners, n_rows)
    Values in {-1, +1}.
y : float64 array of shape (n_rows,)
    Labels in {-1, +1}.
weight : float64 array of shape (n_rows,)
    Positive, sum 1.
n_rounds : int
    Most rounds; fewer when no learner is better than chance.
least_error : float
    Smaller errors count as this and end the run; in (0, 0.5).
progress : callable
    Called now and then with the number of rounds made since the last call.

Returns
-------
learner, step, objective, edge, n_learners
    As in `quadboost_path`, with the weighted mean of exp(-y f) as objective and the edge in
    place of the correlation.)");
}

}  // namespace

void bind_boosting(nb::module_& m) {
  bind_features(m);
  bind_trees(m);
  bind_edges(m);
  bind_quadboost(m);
  bind_adaboost(m);
}

}  // namespace mddf::boosting
