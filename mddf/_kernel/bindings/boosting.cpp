// Python bindings of searches for trees with labels, and of predictions by them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baselines/ranked.hpp"
#include "baselines/search.hpp"
#include "baselines/vote.hpp"
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

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

std::unique_ptr<RankedFeatures> rank_features(In<double, 2> x) {
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

nb::tuple search(const RankedFeatures& features, In<double, 1> signed_weight, In<double, 1> penalty,
                 double scale, int max_depth, const std::string& mode) {
  const SearchMode search_mode = mode_named(mode);
  check_length("signed_weight", signed_weight.size(), features.n_rows());
  check_finite("signed_weight", signed_weight);
  check(penalty.size() > 0, "penalty must have at least one entry");
  check_finite("penalty", penalty);
  check(std::isfinite(scale) && scale >= 0.0,
        "scale must be finite and >= 0, got " + std::to_string(scale));
  check(max_depth >= 1, "max_depth must be at least 1, got " + std::to_string(max_depth));
  FoundTree result = without_gil(nullptr, [&](Interrupt& interrupt) {
    return search_tree(features, signed_weight.data(),
                       Penalty{penalty.data(), penalty.size(), scale}, max_depth, search_mode,
                       interrupt);
  });
  const auto& nodes = result.nodes;
  return nb::make_tuple(column<int32_t>(nodes, [](const TreeNode& n) { return n.feature; }),
                        column<double>(nodes, [](const TreeNode& n) { return n.threshold; }),
                        column<int32_t>(nodes, [](const TreeNode& n) { return n.left; }),
                        column<int32_t>(nodes, [](const TreeNode& n) { return n.right; }),
                        column<int8_t>(nodes, [](const TreeNode& n) { return n.label; }),
                        column<double>(nodes, [](const TreeNode& n) { return n.gain; }),
                        to_numpy(std::move(result.prediction)), result.edge);
}

// The trees of an ensemble, checked for rows with n_features columns.
FlatTrees checked_trees(size_t n_features, const In<int32_t, 1>& feature,
                        const In<double, 1>& threshold, const In<int32_t, 1>& left,
                        const In<int32_t, 1>& right, const In<int8_t, 1>& label,
                        const In<int64_t, 1>& start) {
  const size_t n_nodes = feature.size();
  check_length("threshold", threshold.size(), n_nodes);
  check_length("left", left.size(), n_nodes);
  check_length("right", right.size(), n_nodes);
  check_length("label", label.size(), n_nodes);
  check(start.size() > 0, "start must have at least one entry");
  const FlatTrees trees{feature.data(), threshold.data(), left.data(),      right.data(),
                        label.data(),   start.data(),     start.size() - 1, n_nodes};
  if (const char* problem = trees.problem(n_features)) refuse(problem);
  return trees;
}

auto predict_labels(In<double, 2> x, In<int32_t, 1> feature, In<double, 1> threshold,
                    In<int32_t, 1> left, In<int32_t, 1> right, In<int8_t, 1> label,
                    In<int64_t, 1> start) {
  const FlatTrees trees = checked_trees(x.shape(1), feature, threshold, left, right, label, start);
  std::vector<int8_t> labels(trees.n_trees * x.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    tree_labels(trees, x.data(), x.shape(0), x.shape(1), labels.data(), interrupt);
  });
  return to_numpy<int8_t, 2>(std::move(labels), {trees.n_trees, x.shape(0)});
}

auto predict_votes(In<double, 2> x, In<double, 1> weight, In<int32_t, 1> feature,
                   In<double, 1> threshold, In<int32_t, 1> left, In<int32_t, 1> right,
                   In<int8_t, 1> label, In<int64_t, 1> start) {
  const FlatTrees trees = checked_trees(x.shape(1), feature, threshold, left, right, label, start);
  check_length("weight", weight.size(), trees.n_trees);
  std::vector<double> votes(x.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    tree_votes(trees, weight.data(), x.data(), x.shape(0), x.shape(1), votes.data(), interrupt);
  });
  return to_numpy(std::move(votes));
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
      .def(nb::new_(&rank_features), "x"_a.noconvert())
      .def("search", &search, "signed_weight"_a.noconvert(), "penalty"_a.noconvert(), "scale"_a,
           "max_depth"_a, "mode"_a,
           R"(Find the tree with labels in {-1, +1} that maximises edge / 2 - scale * penalty[size].

Parameters
----------
signed_weight : float64 array of shape (n_rows,)
    Weight times label of every row, finite; the absolute values should sum to 1.
penalty : float64 array of shape (n,), n >= 1
    Penalty by size of the tree. For sizes of n and more, the last entry applies.
scale : float
    Multiplies the penalty, >= 0.
max_depth : int
    At least 1.
mode : {"layerwise", "greedy", "stumps"}
    "layerwise": a constant, the best stump, then the best tree with one more layer of
    leaves than the last, and so on; size counts nodes. "greedy": one tree, breadth first,
    where a split must increase the criterion. "stumps": a constant or a stump (size 1), and
    with max_depth >= 2 the best stump with the same split on both sides (size 2).

Returns
-------
feature, threshold, left, right, label, gain : arrays of shape (n_nodes,)
    The tree: int32, float64, int32, int32, int8, float64. Leaves have feature -1; values
    up to the threshold go left; gain is the increase of the edge by a split.
prediction : int8 array of shape (n_rows,)
    Predicted label of each row.
edge : float
    sum_i signed_weight_i * prediction_i.)");
}

void bind_trees(nb::module_& m) {
  m.def("tree_labels", &predict_labels, "x"_a.noconvert(), "feature"_a.noconvert(),
        "threshold"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
        "label"_a.noconvert(), "start"_a.noconvert(), R"(Predict labels of rows by each tree.

Parameters
----------
x : float64 array of shape (n_rows, n_features)
    Rows.
feature, threshold, left, right, label : arrays of shape (n_nodes,)
    Nodes of all trees one after another, as `RankedFeatures.search` returns them. Children
    count from the start of their tree and come after their parent.
start : int64 array of shape (n_trees + 1,)
    First node of each tree, and n_nodes.

Returns
-------
int8 array of shape (n_trees, n_rows)
    The labels.)");
  m.def("tree_votes", &predict_votes, "x"_a.noconvert(), "weight"_a.noconvert(),
        "feature"_a.noconvert(), "threshold"_a.noconvert(), "left"_a.noconvert(),
        "right"_a.noconvert(), "label"_a.noconvert(), "start"_a.noconvert(),
        R"(Compute the weighted sum of the labels predicted by trees.

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

}  // namespace
}  // namespace mddf::boosting

void bind_boosting(nanobind::module_& m) {
  mddf::boosting::bind_features(m);
  mddf::boosting::bind_trees(m);
}
