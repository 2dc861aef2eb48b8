// forest/predict: predictions by trees. Input: views of trees and rows. Output: leaves, or sums
// over trees. This header handles all trees and coded rows, traversal.hpp a single tree, and
// predict_numbers.hpp rows that are not coded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/interrupt.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/predict/traversal.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

constexpr int64_t kFewRows = 8;  // too few rows to go down a tree together

// Adds the class distribution of a leaf to out.
inline void add_leaf(const TreesView& trees, uint64_t leaf, double* out) {
  const uint32_t value = node::payload(leaf);
  if (value & kPureBit) {
    out[value ^ kPureBit] += 1;
    return;
  }
  for (uint32_t e = trees.leaf_start[value]; e < trees.leaf_start[value + 1]; ++e)
    out[trees.leaf_class[e]] += trees.leaf_probability[e];
}

// Number of rows, of n >= 1, that are predicted together. For small trees, it is a batch that stays
// in the second-level cache. For large trees, it is more, so that each tree is loaded only once.
// All blocks have about the same size, since a short last block would load all trees once more.
inline int64_t block_rows(const NodesView& trees, int64_t n) {
  constexpr int64_t kSmallTree = int64_t{1} << 15, kLargeBytes = int64_t{1} << 23;
  const bool small = trees.nodes.size <= kSmallTree * trees.n_trees();
  const int64_t bytes = small ? kBatchBytes : kLargeBytes, most = small ? 16384 : 32768;
  const int64_t rows = std::clamp<int64_t>(bytes / std::max<int64_t>(trees.n_columns, 1), 64, most);
  const int64_t n_blocks = (n + rows - 1) / rows;
  return (n + n_blocks - 1) / n_blocks;
}

// Largest number of rows whose leaf indices are written together. Each tree writes one column of
// the output, so the output of a block should stay in the second-level cache. Large trees have no
// limit, because every block loads them again.
inline int64_t rows_of_small_output(const NodesView& trees) {
  constexpr int64_t kOutputBytes = int64_t{1} << 18, kSmallTree = int64_t{1} << 10;
  const int64_t n_trees = std::max<int64_t>(trees.n_trees(), 1);
  if (trees.nodes.size > kSmallTree * n_trees) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(256, kOutputBytes / (8 * n_trees));
}

// Calls emit(row, tree, index of the leaf) for all rows and trees. The calls for a row are in the
// order of the trees. At most `most_rows` rows go down the trees together.
template <class Emit>
void for_each_leaf(const NodesView& trees, const BinMatrix& bins, Interrupt& interrupt, Emit emit,
                   int64_t most_rows = std::numeric_limits<int64_t>::max()) {
  const int64_t n_trees = trees.n_trees();
  if (bins.n_rows < kFewRows) {
    const auto tree = [&](int64_t t) { return trees.tree(t); };
    const auto row = [&](int64_t i) { return bins.row(i); };
    interrupt.poll(kWorkPerRow * n_trees * bins.n_rows);
    if (trees.has_categorical)
      traverse_few(bins.n_rows, n_trees, tree, row, NextByCode<true>{}, emit);
    else
      traverse_few(bins.n_rows, n_trees, tree, row, NextByCode<false>{}, emit);
    return;
  }
  Traversal traversal;
  const int64_t block = std::min(block_rows(trees, bins.n_rows), most_rows);
  for (int64_t first = 0; first < bins.n_rows; first += block) {
    const int64_t n = std::min(block, bins.n_rows - first);
    for (int64_t t = 0; t < n_trees; ++t) {
      interrupt.poll(kWorkPerRow * n);
      traversal.run(
          trees, t, n, [&](int64_t i) { return bins.row(first + i); },
          [&](int64_t i, uint32_t leaf) { emit(first + i, t, leaf); });
    }
  }
}

// Adds the sum of the leaf values over the trees to out (n_rows x width).
template <class View>
void add_leaves(const View& trees, const BinMatrix& bins, double* out, Interrupt& interrupt) {
  for_each_leaf(trees, bins, interrupt, [&](int64_t row, int64_t t, uint32_t leaf) {
    add_leaf(trees, trees.tree(t)[leaf], out + row * trees.width());
  });
}

// Writes the index of the leaf that each row ends in (n_rows x n_trees, counted within the tree).
inline void leaf_indices(const NodesView& trees, const BinMatrix& bins, int64_t* out,
                         Interrupt& interrupt) {
  const int64_t n_trees = trees.n_trees();
  for_each_leaf(
      trees, bins, interrupt,
      [&](int64_t row, int64_t t, uint32_t leaf) { out[row * n_trees + t] = leaf; },
      rows_of_small_output(trees));
}

}  // namespace mddf
