// Writing trees whose leaves hold means.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "forest/split/node_values.hpp"
#include "forest/tree/tree_writer.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

class ValueWriter : public NodeWriter<GrownValueTrees> {
 public:
  // A leaf of samples that were looked at, and their weight.
  template <bool kOne>
  void mean_leaf(uint32_t index, const NodeValues<kOne>& node, double weight) {
    leaf(index, next_row<kOne>(), weight);
    node.append_means(trees_->leaf_value);
  }
  // A leaf of samples whose targets are all those of this row.
  template <bool kOne>
  void row_leaf(uint32_t index, const NodeValues<kOne>& node, uint32_t row, double weight) {
    leaf(index, next_row<kOne>(), weight);
    node.append_row(row, trees_->leaf_value);
  }
  // The same, of samples that were looked at: all have the target of the i-th one.
  void value_leaf(uint32_t index, const NodeValues<true>& node, int i, double weight) {
    leaf(index, next_row<true>(), weight);
    node.append_value(i, trees_->leaf_value);
  }

 private:
  template <bool kOne>
  uint32_t next_row() const {
    const size_t row =
        kOne ? trees_->leaf_value.size() : trees_->leaf_value.size() / trees_->n_outputs;
    if (row > UINT32_MAX) throw std::length_error("too many leaves in one block of trees");
    return static_cast<uint32_t>(row);
  }
};

}  // namespace mddf
