// Boosted trees in arrays.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "forest/data/bins.hpp"
#include "gradient_boosting/linear_leaves.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

// The splits and leaves of tree t begin at first_split[t] and first_leaf[t].
//
// A code goes left if it is in the set of the split. If the split has no set (-1), a code goes
// left if (code + shift) modulo 256 is at most the threshold. With shift 1, a missing value (code
// 255) is lower than all other codes.
//
// In a symmetric tree, the number of a leaf has a bit for each split, which is 1 if the row goes
// right; the first split has the highest bit. In a leaf-wise tree, children are splits of the
// tree, or -1 - number for a leaf.
struct BoostedTrees {
  int width;
  std::vector<int64_t> first_split{0}, first_leaf{0};
  std::vector<int32_t> column, set, left, right;
  std::vector<uint8_t> shift, threshold;
  std::vector<double> gain;
  std::vector<uint64_t> sets;  // four words each
  std::vector<double> values;  // `width` values of each leaf
  // Weight of the training rows in each leaf, drawn or not. If several numbers of a symmetric tree
  // denote one leaf, the first has the weight and the others have 0.
  std::vector<double> weight;
  // Slopes of linear leaves; empty if leaves are constant. The slopes of leaf l of all trees are
  // [first_slope[l], first_slope[l + 1]), with a column of the table and `width` numbers for each.
  std::vector<int64_t> first_slope;
  std::vector<int32_t> slope_column;
  std::vector<double> slopes;

  int64_t n_trees() const { return static_cast<int64_t>(first_split.size()) - 1; }

  void add_split(const Split& split, const Column& of, double score_unit) {
    column.push_back(of.number);
    gain.push_back(split.score * score_unit);
    shift.push_back(split.missing_left);
    threshold.push_back(static_cast<uint8_t>(split.place + split.missing_left));
    set.push_back(-1);
    if (!of.categorical) return;
    set.back() = static_cast<int32_t>(sets.size() / 4);
    CodeSet on_left;
    for (int code = 0; code < of.n_bins; ++code)
      if (!split.right[code]) on_left.insert(code);
    if (split.missing_left) on_left.insert(kMissing);
    sets.insert(sets.end(), on_left.words.begin(), on_left.words.end());
  }

  void add_slopes(const Columns& columns, const LeafValues& of_leaf, int leaf) {
    for (int64_t s = of_leaf.first_slope[leaf]; s < of_leaf.first_slope[leaf + 1]; ++s) {
      slope_column.push_back(columns[of_leaf.slope_column[s]].number);
      slopes.insert(slopes.end(), of_leaf.slopes.begin() + s * width,
                    of_leaf.slopes.begin() + (s + 1) * width);
    }
    first_slope.push_back(static_cast<int64_t>(slope_column.size()));
  }

  // Appends a tree with the values and weights of its leaves.
  void add(const Columns& columns, const Grown& tree, bool symmetric, const LeafValues& of_leaf,
           std::vector<double> weight_of) {
    for (const Split& split : tree.splits) add_split(split, columns[split.column], tree.score_unit);
    const auto add_leaf = [&](int leaf) {
      values.insert(values.end(), of_leaf.constants.begin() + leaf * width,
                    of_leaf.constants.begin() + (leaf + 1) * width);
      weight.push_back(std::exchange(weight_of[leaf], 0));
      if (of_leaf.are_linear()) add_slopes(columns, of_leaf, leaf);
    };
    if (symmetric) {
      for (const uint16_t leaf : tree.leaf_of_path) add_leaf(leaf);
    } else {
      for (int leaf = 0; leaf < tree.n_leaves(); ++leaf) add_leaf(leaf);
      left.insert(left.end(), tree.left.begin(), tree.left.end());
      right.insert(right.end(), tree.right.begin(), tree.right.end());
    }
    first_split.push_back(static_cast<int64_t>(column.size()));
    first_leaf.push_back(static_cast<int64_t>(values.size()) / width);
  }
};

}  // namespace mddf::gradient
