// Writing trees whose leaves hold means.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "forest/split/bounds.hpp"
#include "forest/split/node_values.hpp"
#include "forest/tree/tree_writer.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

class ValueWriter : public NodeWriter<GrownValueTrees> {
 public:
  using NodeWriter::NodeWriter;

  // A leaf of samples that were looked at, and their weight.
  template <class Node>
  void mean_leaf(uint32_t index, const Node& node, double weight) {
    leaf(index, mean_payload(node), weight);
  }
  // A leaf of samples whose targets are all those of this row.
  template <class Node>
  void row_leaf(uint32_t index, const Node& node, uint32_t row, double weight) {
    leaf(index, next_row<Node::kOne>(), weight);
    node.append_row(row, trees_->leaf_value);
  }
  // The same, of samples that were looked at: all have the target of the i-th one.
  void value_leaf(uint32_t index, const NodeValues<true>& node, int i, double weight) {
    leaf(index, next_row<true>(), weight);
    node.append_value(i, trees_->leaf_value);
  }

  // What a leaf with samples that were looked at holds: their means, or their medians.
  template <class Node>
  uint32_t mean_payload(const Node& node) {
    const uint32_t row = next_row<Node::kOne>();
    node.append_means(trees_->leaf_value);
    return row;
  }
  template <class Node>
  uint32_t median_payload(Node& node) {
    const uint32_t row = next_row<Node::kOne>();
    node.append_medians(trees_->leaf_value);
    return row;
  }
  // Keeps the last of the leaves, of one output, within bounds.
  void clip_last(const Bounds& bounds) {
    trees_->leaf_value.back() = bounds.clip(trees_->leaf_value.back());
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
