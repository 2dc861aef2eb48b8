// Grows a block of regression trees on one set of rows. Included only by the source files that
// instantiate it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "forest/data/samples.hpp"
#include "forest/grow/block_grower.hpp"
#include "forest/grow/value_rules.hpp"
#include "forest/split/node_labels.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/value_search.hpp"

namespace mddf {

// Exponent of the power of two by which weights are multiplied before they are rounded to whole
// numbers. It is 0 for small whole weights. Otherwise the largest weight gets 31 bits.
inline int weight_exponent(double most, bool whole) {
  if (whole && most <= INT32_MAX) return 0;
  int exponent;
  std::frexp(most, &exponent);
  return 31 - exponent;
}

template <class Node, class Search>
class ValueBlock : public BlockGrower<ValueBlock<Node, Search>, ValueTraining> {
  using Base = BlockGrower<ValueBlock, ValueTraining>;
  using Base::block_, Base::counts_, Base::data_;

 public:
  ValueBlock(const ValueTraining& data, const Block& block, Interrupt& interrupt)
      : Base(data, block, interrupt), grower_(data, block.options, interrupt) {}

  void grow_tree(Random& random, GrownValueTrees& trees, double* importances) {
    take_samples(random);
    grower_.grow(random, trees, importances);
  }

 private:
  void take_samples(Random& random) {
    auto& samples = grower_.samples();
    if (!counts_.change() && !all_samples_.empty()) {
      samples = all_samples_;
      return;
    }
    counts_.draw(random);
    samples.clear();
    const int exponent = exponent_of_weights();
    for (int64_t row = 0; row < data_.matrix.n_rows; ++row) {
      const double weight = weight_of(row);
      // A positive weight is not rounded to 0.
      if (weight > 0)
        samples.push_back(
            {static_cast<uint32_t>(row),
             static_cast<uint32_t>(std::max(1.0, std::nearbyint(std::ldexp(weight, exponent))))});
    }
    if (samples.empty())
      throw std::invalid_argument("no row with positive weight is left to grow a tree on");
    if (!counts_.change()) all_samples_ = samples;
  }

  double weight_of(int64_t row) const {
    return counts_[row] * (block_.sampling.weights ? block_.sampling.weights[row] : 1.0);
  }
  int exponent_of_weights() const {
    if (!block_.sampling.weights) return 0;
    double most = 0;
    bool whole = true;
    for (int64_t row = 0; row < data_.matrix.n_rows; ++row) {
      const double weight = weight_of(row);
      most = std::max(most, weight);
      whole &= weight == std::floor(weight);
    }
    return weight_exponent(most, whole);
  }

  Grower<ValueRules<Node, Search>> grower_;
  std::vector<RowSample> all_samples_;  // the samples of every tree, if there is no bootstrap
};

template <class Node, class Search>
GrownValueTrees grow_with(const ValueTraining& data, const Block& block, Interrupt& interrupt) {
  // 25 KB, for which the stack may have no room: then there would be no exception.
  return std::make_unique<ValueBlock<Node, Search>>(data, block, interrupt)->grow();
}

// Whether the total weight of a tree is a whole number of at most 31 bits, as NodeLabels requires.
inline bool counts_weights(const Sampling& sampling) {
  int64_t longest = 1;
  for (int64_t part = 1; part < sampling.parts.size; ++part)
    longest = std::max(longest, sampling.parts.data[part] - sampling.parts.data[part - 1]);
  const int64_t times =
      sampling.whole_parts ? longest : std::max<int64_t>(1, sampling.parts.size - 1);
  const double n_rows = sampling.n_draws > 0
                            ? static_cast<double>(sampling.n_draws) * static_cast<double>(times)
                            : static_cast<double>(sampling.rows.size);
  double most = 1;
  for (int64_t i = 0; sampling.weights && i < sampling.rows.size; ++i) {
    const double weight = sampling.weights[sampling.rows.data[i]];
    if (weight != std::floor(weight)) return false;
    most = std::max(most, weight);
  }
  return n_rows * most <= INT32_MAX;
}

// Trees whose leaves hold means. NodeLabels has the same bits as NodeValues in less time; the
// Poisson deviance does without it.
template <Loss kLoss>
GrownValueTrees grow_values(const ValueTraining& data, const Block& block, Interrupt& interrupt) {
  using One = NodeValues<true>;
  using Several = NodeValues<false>;
  if (data.target.n_outputs == 1)
    return grow_with<One, ValueSearch<One, kLoss>>(data, block, interrupt);
  if constexpr (kLoss != Loss::kPoisson)
    if (data.target.labels && counts_weights(block.sampling))
      return grow_with<NodeLabels, ValueSearch<NodeLabels, kLoss>>(data, block, interrupt);
  return grow_with<Several, ValueSearch<Several, kLoss>>(data, block, interrupt);
}

template <Loss kLoss>
GrownValueTrees grow_divided_by(const ValueTraining& data, const DividedBlock& block,
                                DividedValueRows& rows, Interrupt& interrupt) {
  using Node = NodeValues<true>;
  return grow_on_divided<ValueRules<Node, ValueSearch<Node, kLoss>>>(data, block, rows, interrupt);
}

}  // namespace mddf
