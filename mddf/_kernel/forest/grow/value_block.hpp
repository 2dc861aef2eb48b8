// Grows a block of regression trees on one set of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/reserve.hpp"
#include "common/span.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/grower.hpp"
#include "forest/grow/row_counts.hpp"
#include "forest/grow/value_rules.hpp"
#include "forest/predict/walker.hpp"
#include "forest/split/absolute_search.hpp"
#include "forest/split/node_labels.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/value_search.hpp"
#include "forest/tree/pruning.hpp"
#include "forest/tree/value_trees.hpp"

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
class ValueBlockGrower {
 public:
  ValueBlockGrower(const ValueBlockGrower&) = delete;
  ValueBlockGrower(const ValueTraining& data, const GrowOptions& options, const Sampling& sampling,
                   const HeldOut& held_out, Interrupt& interrupt)
      : interrupt_(interrupt),
        data_(data),
        prunes_(options.prune > 0),
        sampling_(sampling),
        counts_(sampling_, data.matrix.n_rows, interrupt),
        held_out_(held_out),
        grower_(data, options, interrupt) {}

  // Grows a tree for each seed. `importances` has a row of n_columns for each tree, or is null.
  GrownValueTrees grow(const Span<uint64_t>& seeds, double* importances) {
    GrownValueTrees trees;
    trees.n_outputs = data_.target.n_outputs;
    trees.n_columns = data_.bins.n_columns;
    for (int64_t t = 0; t < seeds.size; ++t) {
      Random random(seeds[t]);
      take_samples(random);
      grower_.grow(random, trees, importances ? importances + t * data_.bins.n_columns : nullptr);
      if (held_out_.sums) predict_held_out(trees.view());
      if (t == 0) {  // the other trees will have about the same size
        reserve_times(trees.nodes, seeds.size);
        reserve_times(trees.leaf_value, seeds.size);
      }
    }
    if (prunes_) drop_unused_leaves(trees);
    trees.shrink();
    return trees;
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
    return counts_[row] * (sampling_.weights ? sampling_.weights[row] : 1.0);
  }
  int exponent_of_weights() const {
    if (!sampling_.weights) return 0;
    double most = 0;
    bool whole = true;
    for (int64_t row = 0; row < data_.matrix.n_rows; ++row) {
      const double weight = weight_of(row);
      most = std::max(most, weight);
      whole &= weight == std::floor(weight);
    }
    return weight_exponent(most, whole);
  }

  void predict_held_out(const ValueTreesView& trees) {
    walk_held_out(trees, held_out_, counts_, data_.matrix, walker_, interrupt_,
                  [&](int64_t position, uint64_t leaf) {
                    add_leaf_exactly(trees, leaf, held_out_.sums + 2 * position * trees.n_outputs);
                  });
  }

  Interrupt& interrupt_;
  const ValueTraining& data_;
  const bool prunes_;
  const Sampling sampling_;
  RowCounts counts_;
  Walker walker_;
  const HeldOut held_out_;
  Grower<ValueRules<Node, Search>> grower_;
  std::vector<RowSample> all_samples_;  // the samples of every tree, if there is no bootstrap
};

template <class Node, class Search>
GrownValueTrees grow_with(const ValueTraining& data, const GrowOptions& options,
                          const Sampling& sampling, const HeldOut& held_out,
                          const Span<uint64_t>& seeds, double* importances, Interrupt& interrupt) {
  // 25 KB, for which the stack may have no room: then there would be no exception.
  const auto grower = std::make_unique<ValueBlockGrower<Node, Search>>(data, options, sampling,
                                                                       held_out, interrupt);
  return grower->grow(seeds, importances);
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

inline GrownValueTrees grow_block(const ValueTraining& data, const GrowOptions& options,
                                  const Sampling& sampling, const HeldOut& held_out,
                                  const Span<uint64_t>& seeds, double* importances,
                                  Interrupt& interrupt) {
  const bool one = data.target.n_outputs == 1;
  const bool counts = data.target.labels && counts_weights(sampling);
  const auto chosen = [&] {
    using One = NodeValues<true>;
    using Several = NodeValues<false>;
    constexpr Loss entropy = Loss::kEntropy, poisson = Loss::kPoisson;
    switch (options.loss) {
      case Loss::kPoisson:
        return one ? &grow_with<One, ValueSearch<One, poisson>>
                   : &grow_with<Several, ValueSearch<Several, poisson>>;
      case Loss::kEntropy:
        return one      ? &grow_with<One, ValueSearch<One, entropy>>
               : counts ? &grow_with<NodeLabels, ValueSearch<NodeLabels, entropy>>
                        : &grow_with<Several, ValueSearch<Several, entropy>>;
      case Loss::kAbsoluteError:
        return one ? &grow_with<One, AbsoluteSearch<true>>
                   : &grow_with<Several, AbsoluteSearch<false>>;
      default:
        return one      ? &grow_with<One, ValueSearch<One>>
               : counts ? &grow_with<NodeLabels, ValueSearch<NodeLabels>>
                        : &grow_with<Several, ValueSearch<Several>>;
    }
  }();
  return chosen(data, options, sampling, held_out, seeds, importances, interrupt);
}

}  // namespace mddf
