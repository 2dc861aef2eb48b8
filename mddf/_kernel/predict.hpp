// Sending rows down the trees.
#pragma once

#include <algorithm>
#include <cstdint>

#include "samples.hpp"
#include "trees.hpp"

namespace mddf {

// Calls emit(i, index of the leaf) for i in [0, n), where row(i) gives the bins of row i. Several
// rows are on their way at once, so that one's loads hide behind the others'.
template <bool kCategories, class Row, class Emit>
void walk(const uint64_t* tree, int64_t n, Row row, Emit emit) {
  constexpr int kLanes = 16;
  const auto step = [tree](uint32_t index, const uint8_t* bins) {
    const uint64_t n = tree[index];
    if constexpr (kCategories) {
      return node::is_leaf(n) ? index : node::next(n, tree, bins[node::column(n)]);
    } else {
      const uint32_t child = node::payload(n) + node::numeric_goes_right(n, bins[node::column(n)]);
      return node::is_leaf(n) ? index : child;  // a leaf's column is 0: safe to read
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    uint32_t index[kLanes] = {};
    const uint8_t* bins[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) bins[lane] = row(i + lane);
    for (bool moved = true; moved;) {
      uint32_t changes = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint32_t next = step(index[lane], bins[lane]);
        changes |= next ^ index[lane];
        index[lane] = next;
      }
      moved = changes != 0;
    }
    for (int lane = 0; lane < kLanes; ++lane) emit(i + lane, index[lane]);
  }
  for (; i < n; ++i) {
    const uint8_t* bins = row(i);
    uint32_t index = 0;
    for (uint32_t next; (next = step(index, bins)) != index;) index = next;
    emit(i, index);
  }
}

template <class Row, class Emit>
void walk_tree(const Trees& trees, int64_t t, int64_t n, Row row, Emit emit) {
  if (trees.has_categorical)
    walk<true>(trees.tree(t), n, row, emit);
  else
    walk<false>(trees.tree(t), n, row, emit);
}

// Adds a leaf's class distribution to out.
inline void add_leaf(const Trees& trees, uint64_t leaf, double* out) {
  const uint32_t value = node::payload(leaf);
  if (value & kPureBit) {
    out[value ^ kPureBit] += 1;
    return;
  }
  for (uint32_t e = trees.leaf_start[value]; e < trees.leaf_start[value + 1]; ++e)
    out[trees.leaf_class[e]] += trees.leaf_probability[e];
}

// Rows that are predicted together: their bins stay in the second cache while the trees pass.
inline int64_t block_rows(int64_t stride) {
  return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(stride, 1), 64, 4096);
}

// Adds the sum over the trees of the class distributions to out (n_rows x n_classes).
inline void add_probabilities(const Trees& trees, const BinMatrix& bins, double* out) {
  const int64_t block = block_rows(bins.stride);
  for (int64_t first = 0; first < bins.n_rows; first += block) {
    const int64_t n = std::min(block, bins.n_rows - first);
    for (int64_t t = 0; t < trees.n_trees(); ++t) {
      const uint64_t* tree = trees.tree(t);
      walk_tree(
          trees, t, n, [&](int64_t i) { return bins.row(first + i); },
          [&](int64_t i, uint32_t leaf) {
            add_leaf(trees, tree[leaf], out + (first + i) * trees.n_classes);
          });
    }
  }
}

// Writes the index of the leaf that each row ends in (n_rows x n_trees, counted within the tree).
inline void leaf_indices(const Trees& trees, const BinMatrix& bins, int64_t* out) {
  const int64_t block = block_rows(bins.stride);
  const int64_t n_trees = trees.n_trees();
  for (int64_t first = 0; first < bins.n_rows; first += block) {
    const int64_t n = std::min(block, bins.n_rows - first);
    for (int64_t t = 0; t < n_trees; ++t)
      walk_tree(
          trees, t, n, [&](int64_t i) { return bins.row(first + i); },
          [&](int64_t i, uint32_t leaf) { out[(first + i) * n_trees + t] = leaf; });
  }
}

}  // namespace mddf
