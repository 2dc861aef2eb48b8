// Sending rows down the trees.
#pragma once

#include <algorithm>
#include <cstdint>

#include "forest/samples.hpp"
#include "forest/trees.hpp"

namespace mddf {

// Calls emit(i, index of the leaf) for i in [0, n), where row(i) gives the bins of row i. Several
// rows are on their way at once, so that one's loads hide behind the others'; one that has arrived
// makes room for the next.
template <bool kCategories, class Row, class Emit>
void walk(const uint64_t* tree, int64_t n, Row row, Emit emit) {
  constexpr int kLanes = 12, kSteps = 3;
  const auto step = [tree](uint32_t index, const uint8_t* bins) {
    const uint64_t n = tree[index];
    if constexpr (kCategories) {
      return node::is_leaf(n) ? index : node::next(n, tree, bins[node::column(n)]);
    } else {
      const uint32_t child = node::payload(n) + node::numeric_goes_right(n, bins[node::column(n)]);
      return node::is_leaf(n) ? index : child;  // a leaf's column is 0: safe to read
    }
  };
  uint32_t index[kLanes];
  const uint8_t* bins[kLanes];
  int64_t id[kLanes];
  int64_t entered = 0;
  int lanes = 0;
  for (; lanes < kLanes && entered < n; ++lanes, ++entered) {
    index[lanes] = 0;
    bins[lanes] = row(entered);
    id[lanes] = entered;
  }
  while (lanes > 0) {
    if (lanes == kLanes) {
      for (int s = 0; s < kSteps; ++s)
        for (int lane = 0; lane < kLanes; ++lane) index[lane] = step(index[lane], bins[lane]);
    } else {
      for (int s = 0; s < kSteps; ++s)
        for (int lane = 0; lane < lanes; ++lane) index[lane] = step(index[lane], bins[lane]);
    }
    for (int lane = 0; lane < lanes; ++lane) {
      if (!node::is_leaf(tree[index[lane]])) continue;
      emit(id[lane], index[lane]);
      if (entered < n) {
        index[lane] = 0;
        bins[lane] = row(entered);
        id[lane] = entered++;
      } else {
        --lanes;
        index[lane] = index[lanes];
        bins[lane] = bins[lanes];
        id[lane] = id[lanes];
        --lane;
      }
    }
  }
}

template <class Row, class Emit>
void walk_tree(const NodesView& trees, int64_t t, int64_t n, Row row, Emit emit) {
  if (trees.has_categorical)
    walk<true>(trees.tree(t), n, row, emit);
  else
    walk<false>(trees.tree(t), n, row, emit);
}

constexpr int64_t kWorkPerRow = 64;  // of its way down a tree

// Adds a leaf's class distribution to out.
inline void add_leaf(const TreesView& trees, uint64_t leaf, double* out) {
  const uint32_t value = node::payload(leaf);
  if (value & kPureBit) {
    out[value ^ kPureBit] += 1;
    return;
  }
  for (uint32_t e = trees.leaf_start[value]; e < trees.leaf_start[value + 1]; ++e)
    out[trees.leaf_class[e]] += trees.leaf_probability[e];
}

// Rows that are predicted together: their bins stay in the second cache while the trees pass.
inline int64_t block_rows(int64_t n_columns) {
  return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(n_columns, 1), 64, 4096);
}

// Adds the sum over the trees of what leaves hold to out (n_rows x width).
template <class View>
void add_leaves(const View& trees, const BinMatrix& bins, double* out, Watch& watch) {
  const int64_t block = block_rows(bins.n_columns);
  for (int64_t first = 0; first < bins.n_rows; first += block) {
    const int64_t n = std::min(block, bins.n_rows - first);
    for (int64_t t = 0; t < trees.n_trees(); ++t) {
      const uint64_t* tree = trees.tree(t);
      watch.worked(kWorkPerRow * n);
      walk_tree(
          trees, t, n, [&](int64_t i) { return bins.row(first + i); },
          [&](int64_t i, uint32_t leaf) {
            add_leaf(trees, tree[leaf], out + (first + i) * trees.width());
          });
    }
  }
}

// Writes the index of the leaf that each row ends in (n_rows x n_trees, counted within the tree).
inline void leaf_indices(const NodesView& trees, const BinMatrix& bins, int64_t* out,
                         Watch& watch) {
  const int64_t block = block_rows(bins.n_columns);
  const int64_t n_trees = trees.n_trees();
  for (int64_t first = 0; first < bins.n_rows; first += block) {
    const int64_t n = std::min(block, bins.n_rows - first);
    for (int64_t t = 0; t < n_trees; ++t) {
      watch.worked(kWorkPerRow * n);
      walk_tree(
          trees, t, n, [&](int64_t i) { return bins.row(first + i); },
          [&](int64_t i, uint32_t leaf) { out[(first + i) * n_trees + t] = leaf; });
    }
  }
}

}  // namespace mddf
