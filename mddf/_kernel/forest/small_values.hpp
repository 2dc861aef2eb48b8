// Small completely random subtrees of one numeric target.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.hpp"
#include "forest/node_values.hpp"
#include "forest/small_nodes.hpp"
#include "forest/value_writer.hpp"

namespace mddf {

#ifdef MDDF_AVX2

class SmallValues : public SmallNodes<SmallValues, ValueWriter> {
  using Base = SmallNodes<SmallValues, ValueWriter>;
  friend Base;

 public:
  SmallValues(const ValueTraining& data, const GrowOptions& options, ColumnPool& pool,
              ValueWriter& writer)
      : Base(data, options, pool, writer), node_(data.target), leaf_(data.target) {}

  // Whether subtrees can be grown this way.
  static bool suits(const ValueTraining& data, const GrowOptions& options) {
    return options.wide() && options.random_thresholds && options.max_features == 1 &&
           !options.limits_leaves() && data.target.n_outputs == 1;
  }

  // Grows the subtree below a node whose targets are not all the same.
  MDDF_TARGET_AVX2 void grow(Node node, const RowSample* samples, int n, Random& random) {
    samples_ = samples;
    node_.look(samples, n);
    node_.fill();
    Base::enter(samples, n);
    find_equals();
    Base::grow_from(node, random);
  }

 private:
  static constexpr bool kSearches = false;

  // Numbers the different targets: most often, there are as many as samples.
  void find_equals() {
    constexpr int kSlots = 256;
    std::array<uint8_t, kSlots> first;
    first.fill(kSmall);
    for (int i = 0; i < n_samples_; ++i) {
      const int64_t value = node_.value(i);
      int at = static_cast<int>((static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15u) >> 56);
      while (first[at] < kSmall && node_.value(first[at]) != value) at = (at + 1) % kSlots;
      if (first[at] == kSmall) {
        first[at] = static_cast<uint8_t>(i);
        equal_[i] = 0;
      }
      first_[i] = first[at];
      equal_[first[at]] |= uint64_t{1} << i;
    }
  }

  void on_node(const Node&) {}

  MDDF_TARGET_AVX2 void on_split(const Node& node, const Split& split, uint64_t right) {
    if (!writer_.wants_importances()) return;
    const uint64_t left = node.mask & ~right;
    int64_t on_left[2] = {0, 0}, on_right[2] = {0, 0};
    add_up(left, on_left);
    add_up(right, on_right);
    writer_.gain(split.column, node_.gain(on_left[0], on_left[1], on_right[0], on_right[1]));
  }

  MDDF_TARGET_AVX2 void add_up(uint64_t mask, int64_t* sums) const {
    for (; mask; mask &= mask - 1) {
      const int64_t* cell = node_.cell(lowest_bit(mask));
      sums[0] += cell[0];
      sums[1] += cell[1];
    }
  }

  MDDF_TARGET_AVX2 bool place(const Node& node) {
    const int i = lowest_bit(node.mask);
    if (node.mask & ~equal_[first_[i]]) return true;
    writer_.row_leaf(node.index, node_, samples_[i].row);
    return false;
  }

  MDDF_TARGET_AVX2 void mixed_leaf(const Node& node) {
    std::array<RowSample, kSmall> members;
    int n = 0;
    for (uint64_t rest = node.mask; rest; rest &= rest - 1)
      members[n++] = samples_[lowest_bit(rest)];
    leaf_.look(members.data(), n);
    writer_.mean_leaf(node.index, leaf_);
  }

  const RowSample* samples_ = nullptr;
  NodeValues<true> node_, leaf_;
  std::array<uint8_t, kSmall> first_;     // the first sample with the same target
  std::array<uint64_t, kSmall> equal_{};  // and all of them, kept with that one
};

#endif

}  // namespace mddf
