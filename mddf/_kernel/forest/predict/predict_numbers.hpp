// Predictions for numeric rows that are not coded. This saves time if a few trees read few cells of
// a wide table.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/interrupt.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cells_view.hpp"
#include "forest/predict/predict.hpp"
#include "forest/predict/traversal.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// A numeric node or a leaf, with the largest number that goes left.
struct Cut {
  uint64_t word;
  double most;
  operator uint64_t() const { return word; }
};

// Nodes of trees without categorical splits.
inline std::vector<Cut> cuts_of(const NodesView& trees, const Bins& bins, Interrupt& interrupt) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  interrupt.poll(4 * trees.nodes.size);
  std::vector<Cut> cuts;
  cuts.reserve(trees.nodes.size);
  for (const uint64_t n : trees.nodes) {
    if (node::is_leaf(n)) {  // the column does not matter, since a leaf leads to itself
      cuts.push_back({node::make(kLeaf, 0, 0, node::payload(n)), kInfinity});
      continue;
    }
    const int64_t column = node::column(n);
    const auto bin = static_cast<int>(node::threshold(n)) - static_cast<int>(node::kind(n) & 1);
    double most = kInfinity;
    if (bin < 0)
      most = -kInfinity;
    else if (bin < bins.count(column))
      most = bins.edges[bins.bin_start[column] + bin];
    cuts.push_back({n, most});
  }
  return cuts;
}

// Next node of a numeric row, whose cells are `stride` apart; NaN is missing.
template <class T>
struct NextByNumber {
  int64_t stride;
  uint32_t operator()(const Cut* tree, uint32_t index, const T* cells) const {
    const Cut& cut = tree[index];
    const auto value = read_cell<double>(cells + node::column(cut) * stride);
    const bool missing_right = value != value && node::kind(cut) == kNumeric;
    const uint32_t child = node::payload(cut) + ((value > cut.most) | missing_right);
    return node::is_leaf(cut) ? index : child;
  }
};

// Adds the sum of the leaf values over the trees to out (n_rows x width), for rows [first, last).
template <class View, class T>
void add_leaves_of_numbers(const View& trees, const Bins& bins, const CellsView<T>& x,
                           int64_t first, int64_t last, double* out, Interrupt& interrupt) {
  const std::vector<Cut> cuts = cuts_of(trees, bins, interrupt);
  const auto tree = [&](int64_t t) { return cuts.data() + trees.tree_start[t]; };
  for (int64_t row = first; row < last; row += kFewRows) {
    const int64_t n = std::min(kFewRows, last - row);
    interrupt.poll(kWorkPerRow * trees.n_trees() * n);
    traverse_few(
        n, trees.n_trees(), tree, [&](int64_t i) { return x.data + (row + i) * x.row_stride; },
        NextByNumber<T>{x.column_stride},
        [&](int64_t i, int64_t t, uint32_t leaf) {
          add_leaf(trees, trees.tree(t)[leaf], out + (row + i) * trees.width());
        });
  }
}

}  // namespace mddf
