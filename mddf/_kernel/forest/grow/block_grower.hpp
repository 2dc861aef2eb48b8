// Grows a block of trees, for classes and for values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/reserve.hpp"
#include "forest/grow/blocks.hpp"
#include "forest/grow/grower.hpp"
#include "forest/grow/row_counts.hpp"
#include "forest/predict/predict.hpp"
#include "forest/predict/traversal.hpp"
#include "forest/tree/pruning.hpp"

namespace mddf {

inline GrownTrees no_trees(const TrainingSet& data) {
  GrownTrees trees;
  trees.n_classes = data.target.n_classes;
  trees.n_columns = data.bins.n_columns;
  return trees;
}
inline GrownValueTrees no_trees(const ValueTraining& data) {
  GrownValueTrees trees;
  trees.n_outputs = data.target.n_outputs;
  trees.n_columns = data.bins.n_columns;
  return trees;
}

// The trees of a block have about the same size as the first one.
inline void reserve_like_first(GrownTrees& trees, int64_t n_trees) {
  reserve_times(trees.nodes, n_trees);
}
inline void reserve_like_first(GrownValueTrees& trees, int64_t n_trees) {
  reserve_times(trees.nodes, n_trees);
  reserve_times(trees.leaf_value, n_trees);
}

// Adds the prediction of a leaf to the sums of a held-out row.
inline void add_held_out(const TreesView& trees, uint64_t leaf, double* sums, int64_t row) {
  add_leaf(trees, leaf, sums + row * trees.n_classes);
}
inline void add_held_out(const ValueTreesView& trees, uint64_t leaf, double* sums, int64_t row) {
  add_leaf_exactly(trees, leaf, sums + 2 * row * trees.n_outputs);
}

// Calls grow_tree(tree number, trees, importances of the tree) for each tree.
template <class Trees, class GrowTree>
void grow_each(Trees& trees, int64_t n_trees, const GrowOptions& options, double* importances,
               const GrowTree& grow_tree) {
  for (int64_t t = 0; t < n_trees; ++t) {
    grow_tree(t, importances ? importances + t * trees.n_columns : nullptr);
    if (t == 0) reserve_like_first(trees, n_trees);
  }
  if (options.prune > 0) drop_unused_leaves(trees);
  trees.shrink();
}

// `Derived` has take_samples(), and grow_tree(random, trees, importances).
template <class Derived, class Data>
class BlockGrower {
 public:
  BlockGrower(const BlockGrower&) = delete;
  BlockGrower(const Data& data, const Block& block, Interrupt& interrupt)
      : interrupt_(interrupt),
        data_(data),
        block_(block),
        counts_(block.sampling, data.matrix.n_rows, interrupt) {}

  auto grow() {
    auto trees = no_trees(data_);
    grow_each(trees, block_.seeds.size, block_.options, block_.importances,
              [&](int64_t t, double* importances) {
                Random random(block_.seeds[t]);
                static_cast<Derived*>(this)->grow_tree(random, trees, importances);
                if (block_.held_out.sums) predict_held_out(trees.view());
              });
    return trees;
  }

 protected:
  Interrupt& interrupt_;
  const Data& data_;
  const Block& block_;
  RowCounts counts_;

 private:
  // Adds the predictions of the last tree for the held-out rows to their sums.
  template <class View>
  void predict_held_out(const View& trees) {
    constexpr int64_t kAtOnce = int64_t{1} << 14;
    const HeldOut& held_out = block_.held_out;
    const int64_t t = trees.n_trees() - 1;
    std::vector<int32_t> positions;
    for (int64_t next = 0; next < held_out.rows.size;) {
      positions.clear();
      for (; next < held_out.rows.size && static_cast<int64_t>(positions.size()) < kAtOnce; ++next)
        if (!held_out.out_of_bag || counts_[held_out.rows[next]] == 0)
          positions.push_back(static_cast<int32_t>(next));
      const auto n = static_cast<int64_t>(positions.size());
      interrupt_.poll(kWorkPerRow * n);
      traversal_.run(
          trees, t, n, [&](int64_t i) { return data_.matrix.row(held_out.rows[positions[i]]); },
          [&](int64_t i, uint32_t leaf) {
            add_held_out(trees, trees.tree(t)[leaf], held_out.sums, positions[i]);
            ++held_out.n_trees[positions[i]];
          });
    }
  }

  Traversal traversal_;
};

// Grows a tree for each seed on divided rows.
template <class Rules, class Data, class Rows>
auto grow_on_divided(const Data& data, const DividedBlock& block, Rows& rows,
                     Interrupt& interrupt) {
  // Growers are too large for some stacks, on which there would be no exception.
  const auto grower = std::make_unique<Grower<Rules>>(data, block.options, interrupt);
  auto trees = no_trees(data);
  grow_each(trees, block.seeds.size, block.options, block.importances,
            [&](int64_t t, double* importances) {
              Random random(block.seeds[t]);
              for (int64_t draw = 0; draw < block.n_draws; ++draw) random.next();
              grower->grow(rows, random, trees, importances);
            });
  return trees;
}

}  // namespace mddf
