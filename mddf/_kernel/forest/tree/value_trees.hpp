// Trees whose leaves hold the means of one or more numeric targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/reserve.hpp"
#include "common/span.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// A leaf's payload is the row of its values in a table of n_outputs columns. Values lie in [-1, 1]:
// the caller knows by which power of two they are to be multiplied.
struct ValueTreesView : NodesView {
  int n_outputs = 0;
  Span<double> leaf_value;

  int width() const { return n_outputs; }  // of a prediction
  const double* values(uint64_t leaf) const {
    return leaf_value.data + int64_t{node::payload(leaf)} * n_outputs;
  }
};

struct GrownValueTrees : GrownNodes {
  int n_outputs = 0;
  std::vector<double> leaf_value;

  ValueTreesView view() const { return {nodes_view(), n_outputs, leaf_value}; }
  void shrink() {
    shrink_if_loose(nodes);
    shrink_if_loose(leaf_value);
  }
};

inline TreeFacts check_trees(const ValueTreesView& trees, Interrupt& interrupt) {
  require(trees.n_outputs >= 1, "trees: n_outputs must be at least 1");
  require(trees.leaf_value.size % trees.n_outputs == 0,
          "trees: leaf_value must have one value for each leaf and output");
  for (const double value : trees.leaf_value)
    require(std::abs(value) <= 1, "trees: a leaf's value must be in [-1, 1]");
  const int64_t n_leaves = trees.leaf_value.size / trees.n_outputs;
  const auto is_value = [n_leaves](uint32_t payload) { return payload < n_leaves; };
  return check_nodes(trees, is_value, interrupt);
}

// Adds a leaf's values to out.
inline void add_leaf(const ValueTreesView& trees, uint64_t leaf, double* out) {
  const double* values = trees.values(leaf);
  for (int j = 0; j < trees.n_outputs; ++j) out[j] += values[j];
}

// The same to two columns for each output: multiples of 2^-33, and what is left of the value as one
// of 2^-66. Sums over up to 2^20 trees are exact and so do not depend on their order.
inline void add_leaf_exactly(const ValueTreesView& trees, uint64_t leaf, double* out) {
  const double* values = trees.values(leaf);
  for (int j = 0; j < trees.n_outputs; ++j) {
    const double coarse = std::nearbyint(values[j] * 0x1p33) * 0x1p-33;
    out[2 * j] += coarse;
    out[2 * j + 1] += std::nearbyint((values[j] - coarse) * 0x1p66) * 0x1p-66;
  }
}

}  // namespace mddf
