// Grows completely random regression subtrees of at most 64 samples, with one target.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.hpp"
#include "common/random.hpp"
#include "common/wide.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/small/small_nodes.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/value_writer.hpp"

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
           !options.limits_leaves() && !options.weighs_splits() &&
           options.loss == Loss::kSquaredError && data.target.n_outputs == 1;
  }

  // Grows the subtree below a node with different targets.
  MDDF_TARGET_AVX2 void grow(Node node, const RowSample* samples, int n, Random& random) {
    samples_ = samples;
    node_.load_targets(samples, n);
    node_.fill();
    for (int i = 0; i < n; ++i) part_[i] = node_.cell(i)[1];
    Base::enter(samples, n, data_.matrix);
    node.sum = node_.total()[1];
    Base::grow_from(node, random);
  }

 private:
  static constexpr bool kSearches = false;

  void on_node(const Node&) {}

  MDDF_TARGET_AVX2 int64_t on_split(const Node& node, const Split& split, uint64_t right) {
    if (!writer_.wants_importances()) return 0;
    const uint64_t left = node.mask & ~right;
    // The sum is computed for the smaller side and subtracted for the larger side. The choice has
    // no branch, because the processor could not predict it.
    const uint64_t is_left = _mm_popcnt_u64(left) < _mm_popcnt_u64(right);
    const int64_t counted = sum_parts(right ^ ((left ^ right) & -is_left));
    const int64_t on_right = is_left * node.sum + (1 - 2 * static_cast<int64_t>(is_left)) * counted;
    writer_.gain(split.column,
                 node_.gain(weight_of(left), node.sum - on_right, weight_of(right), on_right));
    return on_right;
  }

  // The mask usually has few samples. The first three are added without branches; place kSmall
  // holds 0.
  MDDF_TARGET_AVX2 int64_t sum_parts(uint64_t mask) const {
    int64_t sum = 0;
    for (int few = 0; few < 3; ++few, mask &= mask - 1)
      sum += part_[mask ? lowest_bit(mask) : kSmall];
    for (; mask; mask &= mask - 1) sum += part_[lowest_bit(mask)];
    return sum;
  }

  MDDF_TARGET_AVX2 bool place(const Node& node) {
    const int first = lowest_bit(node.mask);
    for (uint64_t rest = node.mask & (node.mask - 1); rest; rest &= rest - 1)
      if (node_.value(lowest_bit(rest)) != node_.value(first)) return true;
    writer_.value_leaf(node.index, node_, first, static_cast<double>(weight_of(node.mask)));
    return false;
  }

  MDDF_TARGET_AVX2 void mixed_leaf(const Node& node) {
    std::array<RowSample, kSmall> members;
    int n = 0;
    for (uint64_t rest = node.mask; rest; rest &= rest - 1)
      members[n++] = samples_[lowest_bit(rest)];
    leaf_.load_targets(members.data(), n);
    writer_.mean_leaf(node.index, leaf_, static_cast<double>(weight_of(node.mask)));
  }

  const RowSample* samples_ = nullptr;
  NodeValues<true> node_, leaf_;
  std::array<int64_t, kSmall + 1> part_{};  // weighted distances of the samples; the last is 0
};

#endif

}  // namespace mddf
