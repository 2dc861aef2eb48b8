#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

#include <algorithm>
#include <cmath>

namespace mddf {
namespace {

using nb::arg;

// Trees of gradient boosting: a node's children stand side by side behind it, a leaf has none.
struct BoostedNodes {
  const int32_t* column;
  const int32_t* left;  // 0 for leaves
  const double* split;  // values up to it go left; what a leaf adds
  const int32_t* set;   // which set goes left instead, or -1
  const bool* missing_left;
  const uint64_t* sets;  // four words each
};

constexpr int kSetBits = 256;
constexpr int64_t kRows = 64;  // that go down a tree together

bool goes_left(const BoostedNodes& nodes, int32_t node, double x) {
  if (std::isnan(x)) return nodes.missing_left[node];
  if (nodes.set[node] < 0) return x <= nodes.split[node];
  if (!(x >= 0 && x < kSetBits)) return nodes.missing_left[node];
  const auto code = static_cast<unsigned>(x);
  return nodes.sets[4 * nodes.set[node] + code / 64] >> (code % 64) & 1;
}

double leaf_value(const BoostedNodes& nodes, int32_t node, const double* x) {
  while (nodes.left[node] > 0)
    node = nodes.left[node] + (goes_left(nodes, node, x[nodes.column[node]]) ? 0 : 1);
  return nodes.split[node];
}

void add_boosted(In<double, 2> X, In<int32_t, 1> roots, In<int32_t, 1> column, In<int32_t, 1> left,
                 In<double, 1> split, In<int32_t, 1> set, In<bool, 1> missing_left,
                 In<uint64_t, 2> sets, InOut<double, 2> out) {
  const auto n_nodes = static_cast<int32_t>(column.shape(0));
  check_length("left", left.shape(0), column.shape(0));
  check_length("split", split.shape(0), column.shape(0));
  check_length("set", set.shape(0), column.shape(0));
  check_length("missing_left", missing_left.shape(0), column.shape(0));
  check(sets.shape(1) == 4, "sets: expected 4 words for each set");
  check(out.shape(0) == X.shape(0) && out.shape(1) > 0,
        "out: expected one row per row of X and one column per score");
  // Without a way out of the loop, which is read many nodes at a time.
  const auto n_columns = static_cast<int32_t>(X.shape(1));
  const auto n_sets = static_cast<int32_t>(sets.shape(0));
  bool left_fits = true, column_fits = true, set_fits = true;
  for (int32_t i = 0; i < n_nodes; ++i) {
    const int32_t child = left.data()[i];
    left_fits &= (child == 0) | ((child > i) & (child < n_nodes - 1));
    column_fits &= column.data()[i] >= 0 && column.data()[i] < n_columns;
    set_fits &= set.data()[i] >= -1 && set.data()[i] < n_sets;
  }
  check(left_fits, "left: expected nodes behind their parents");
  check(column_fits, "column: expected columns of X");
  check(set_fits, "set: expected rows of sets, or -1");
  check_each("roots", roots, "nodes", [=](int32_t root) { return root >= 0 && root < n_nodes; });
  const BoostedNodes nodes{column.data(), left.data(),         split.data(),
                           set.data(),    missing_left.data(), sets.data()};
  const auto n_rows = static_cast<int64_t>(X.shape(0));
  const auto n_scores = static_cast<int64_t>(out.shape(1));
  const auto n_trees = static_cast<int64_t>(roots.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    for (int64_t first = 0; first < n_rows; first += kRows) {
      interrupt.poll(kRows * n_trees * 10);
      const int64_t last = std::min(first + kRows, n_rows);
      for (int64_t tree = 0; tree < n_trees; ++tree)
        for (int64_t row = first; row < last; ++row)
          out.data()[row * n_scores + tree % n_scores] +=
              leaf_value(nodes, roots.data()[tree], X.data() + row * int64_t{n_columns});
    }
  });
}

}  // namespace
}  // namespace mddf

void bind_boosted(nanobind::module_& m) {
  using namespace mddf;
  m.def("add_boosted", &add_boosted, arg("X").noconvert(), arg("roots").noconvert(),
        arg("column").noconvert(), arg("left").noconvert(), arg("split").noconvert(),
        arg("set").noconvert(), arg("missing_left").noconvert(), arg("sets").noconvert(),
        arg("out").noconvert(),
        R"(Add what the trees of gradient boosting say of rows.

Parameters
----------
X : float64 array of shape (n_rows, n_columns)
    Numbers, codes of categories below 256, NaN.
roots : int32 array of shape (n_trees,)
    Trees add to the scores in turn.
column, left : int32 arrays of shape (n_nodes,)
    What a node asks for, and its left child, which the right one follows; 0 for leaves.
split : float64 array of shape (n_nodes,)
    Values up to it go left; what a leaf adds.
set : int32 array of shape (n_nodes,)
    The row of `sets` whose codes go left, instead; -1 for none.
missing_left : bool array of shape (n_nodes,)
sets : uint64 array of shape (n_sets, 4)
out : float64 array of shape (n_rows, n_scores))");
}
