// Search for the tree with labels in {-1, +1} that has the least penalised weighted error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "baselines/ranked.hpp"
#include "common/interrupt.hpp"

namespace mddf::boosting {

struct TreeNode {
  std::int32_t feature = -1;  // -1: leaf
  std::uint32_t code = 0;     // rows with a code <= this go left
  double threshold = 0.0;
  std::int32_t left = -1, right = -1;
  double sum = 0.0;   // of the signed weights of the node's rows
  double gain = 0.0;  // of the split: what it added to the edge
  std::int8_t label = 1;
};

struct FoundTree {
  std::vector<TreeNode> nodes;          // nodes[0] is the root, children follow their parent
  std::vector<std::int8_t> prediction;  // of every row
  double edge = 0.0;                    // sum of signed weight times prediction
};

enum class SearchMode { layerwise, greedy, stumps };

// Penalty of a tree by its number of nodes. Beyond the last entry, the last entry applies.
struct Penalty {
  const double* values;
  std::size_t size;
  double scale;
  double operator()(std::size_t n) const { return scale * values[n < size ? n : size - 1]; }
};

// Returns the tree that maximises edge / 2 - penalty(size) among those that the mode visits, where
// edge = sum_i signed_weight_i h(x_i). Scores that differ by less than 1e-11 of the total absolute
// weight are ties. At ties, the smaller tree, the lower feature and the lower threshold win.
//   layerwise: a constant, the best stump, then one more layer of leaves at a time.
//   greedy:    one tree, breadth first; a node is split only if that increases the criterion.
//   stumps:    a constant or a stump (size 1 in the penalty), and the best stump with the same
//              split on both sides (size 2).
FoundTree search_tree(const RankedFeatures& features, const double* signed_weight,
                      const Penalty& penalty, int max_depth, SearchMode mode, Interrupt& interrupt);

}  // namespace mddf::boosting
