// Writes trees whose leaves hold means or medians.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "common/bounds.hpp"
#include "forest/split/node_values.hpp"
#include "forest/tree/tree_writer.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

class ValueWriter : public NodeWriter<GrownValueTrees> {
 public:
  using NodeWriter::NodeWriter;

  // Writes a leaf of samples that were summed, with their weight.
  template <class Node>
  void mean_leaf(uint32_t index, const Node& node, double weight) {
    leaf(index, mean_payload(node), weight);
  }
  // Writes a leaf of samples that all have the targets of a row.
  template <class Node>
  void row_leaf(uint32_t index, const Node& node, uint32_t row, double weight) {
    leaf(index, next_row<Node::kOne>(), weight);
    node.append_row(row, trees_->leaf_value);
  }
  // The same from the target, for a single output.
  void target_leaf(uint32_t index, const NodeValues<true>& node, int64_t fixed, double weight) {
    leaf(index, next_row<true>(), weight);
    node.append_target(fixed, trees_->leaf_value);
  }

  // Payload of a leaf of samples that were summed: their means or medians.
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
  // Clips the value of the last leaf (with one output) to bounds.
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
