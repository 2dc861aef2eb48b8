// Trees whose leaves hold predictions of one or more numeric targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/reserve.hpp"
#include "common/span.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// The payload of a leaf is a row of a table of values with n_outputs columns. Values are in [-1,
// 1]; the caller multiplies them by a power of two.
struct ValueTreesView : NodesView {
  int n_outputs = 0;
  Span<double> leaf_value;

  int width() const { return n_outputs; }  // length of a prediction
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

// Joins blocks to the block that one call would have grown.
inline GrownValueTrees join_blocks(const std::vector<ValueTreesView>& blocks,
                                   Interrupt& interrupt) {
  GrownValueTrees to;
  to.n_columns = blocks[0].n_columns;
  to.n_outputs = blocks[0].n_outputs;
  for (const ValueTreesView& trees : blocks) {
    const size_t n_before = to.leaf_value.size() / to.n_outputs;
    require(n_before + trees.leaf_value.size / trees.n_outputs <= UINT32_MAX,
            "trees: too many leaves in one block");
    to.leaf_value.insert(to.leaf_value.end(), trees.leaf_value.begin(), trees.leaf_value.end());
    const auto new_payload = [n_before](uint32_t payload) {
      return static_cast<uint32_t>(n_before + payload);
    };
    append_nodes(trees, new_payload, to, interrupt);
  }
  to.shrink();
  return to;
}

// Adds the values of a leaf to out.
inline void add_leaf(const ValueTreesView& trees, uint64_t leaf, double* out) {
  const double* values = trees.values(leaf);
  for (int j = 0; j < trees.n_outputs; ++j) out[j] += values[j];
}

// Adds the values of a leaf as two columns for each output: a multiple of 2^-33, and the remainder
// as a multiple of 2^-66. Sums over up to 2^20 trees are exact and do not depend on the order of
// trees.
inline void add_leaf_exactly(const ValueTreesView& trees, uint64_t leaf, double* out) {
  const double* values = trees.values(leaf);
  for (int j = 0; j < trees.n_outputs; ++j) {
    const double coarse = std::nearbyint(values[j] * 0x1p33) * 0x1p-33;
    out[2 * j] += coarse;
    out[2 * j + 1] += std::nearbyint((values[j] - coarse) * 0x1p66) * 0x1p-66;
  }
}

}  // namespace mddf
