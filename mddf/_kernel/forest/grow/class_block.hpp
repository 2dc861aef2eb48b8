// forest/grow: the functions that the bindings call to grow trees. Input: a training set, options,
// a sampling, and a seed for each tree. Output: trees, predictions of held-out rows, and
// importances. This header grows blocks of classification trees, value_block.hpp blocks of
// regression trees. grower.hpp grows a single tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/reserve.hpp"
#include "common/span.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/class_rules.hpp"
#include "forest/grow/grower.hpp"
#include "forest/grow/row_counts.hpp"
#include "forest/predict/predict.hpp"
#include "forest/predict/walker.hpp"
#include "forest/split/criterion.hpp"
#include "forest/tree/pruning.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

constexpr uint32_t kMaxCounted = UINT16_MAX;  // largest count of a row in the samples of a tree

inline CountedSample sample_of(const CountedSample&, int64_t row, uint16_t label, uint32_t count,
                               const double*) {
  return {static_cast<uint32_t>(row), label, static_cast<uint16_t>(count)};
}
inline WeightedSample sample_of(const WeightedSample&, int64_t row, uint16_t label, uint32_t count,
                                const double* weights) {
  return {static_cast<uint32_t>(row), label, (weights ? weights[row] : 1) * count};
}

template <class Sample, class Criterion>
class BlockGrower {
 public:
  BlockGrower(const BlockGrower&) = delete;
  BlockGrower(const TrainingSet& data, const GrowOptions& options, const Sampling& sampling,
              const HeldOut& held_out, Interrupt& interrupt)
      : interrupt_(interrupt),
        data_(data),
        options_(options),
        sampling_(sampling),
        counts_(sampling_, data.matrix.n_rows, interrupt),
        held_out_(held_out),
        grower_(data, options, interrupt) {}

  // Grows a tree for each seed. `importances` has a row of n_columns for each tree, or is null.
  GrownTrees grow(const Span<uint64_t>& seeds, double* importances) {
    GrownTrees trees;
    trees.n_classes = data_.target.n_classes;
    trees.n_columns = data_.bins.n_columns;
    for (int64_t t = 0; t < seeds.size; ++t) {
      Random random(seeds[t]);
      grow_one(random, trees, importances ? importances + t * data_.bins.n_columns : nullptr);
      if (held_out_.sums) predict_held_out(trees.view());
      if (t == 0)
        reserve_times(trees.nodes, seeds.size);  // the other trees will have about the same size
    }
    if (options_.prune > 0) drop_unused_leaves(trees);
    trees.shrink();
    return trees;
  }

 private:
  void grow_one(Random& random, GrownTrees& trees, double* importances) {
    if (!counts_.change() && !all_samples_.empty()) {
      grower_.samples() = all_samples_;
    } else {
      counts_.draw(random);
      if constexpr (std::is_same_v<Sample, CountedSample>)
        if (counts_.most() > kMaxCounted) {
          if (!heavy_) heavy_.emplace(data_, options_, interrupt_);
          take_samples(heavy_->samples());
          return heavy_->grow(random, trees, importances);
        }
      take_samples(grower_.samples());
      if (!counts_.change()) all_samples_ = grower_.samples();
    }
    grower_.grow(random, trees, importances);
  }

  // If sums are whole numbers, samples are in the order of the rows of the table, which are then
  // read in sequence. Rounded sums depend on the order; samples are then in the order of the
  // sampling, which depends only on the content of the rows.
  template <class Any>
  void take_samples(std::vector<Any>& samples) {
    const int64_t n_rows = data_.matrix.n_rows;
    size_t n = 0;
    for (int64_t row = 0; row < n_rows; ++row) n += counts_[row] > 0;
    samples.resize(n + 1);
    n = 0;
    const auto take = [&](int64_t row) {
      samples[n] = sample_of(Any{}, row, data_.target.labels[row], counts_[row], sampling_.weights);
      n += samples[n].weight > 0;
    };
    if constexpr (std::is_same_v<Any, CountedSample> && std::is_same_v<Criterion, Gini>)
      for (int64_t row = 0; row < n_rows; ++row) take(row);
    else
      for (const int32_t row : distinct_rows()) take(row);
    if (n == 0)
      throw std::invalid_argument("no row with positive weight is left to grow a tree on");
    samples.resize(n);
    if constexpr (std::is_same_v<Any, WeightedSample>)
      if (sampling_.balance) balance_classes(samples);
  }

  // The rows of the sampling without repetitions.
  const std::vector<int32_t>& distinct_rows() {
    if (distinct_.empty()) {
      std::vector<bool> named(data_.matrix.n_rows);
      for (const int32_t row : sampling_.rows) {
        if (!named[row]) distinct_.push_back(row);
        named[row] = true;
      }
    }
    return distinct_;
  }

  void balance_classes(std::vector<WeightedSample>& samples) {
    std::vector<double> weight(data_.target.n_classes, 0);
    double total = 0, n_present = 0;
    for (const auto& sample : samples) weight[sample.label] += sample.weight;
    for (const double w : weight) total += w, n_present += w > 0;
    // Factors stay finite for classes with a very small weight.
    for (auto& sample : samples)
      sample.weight = sample.weight / weight[sample.label] * (total / n_present);
  }

  void predict_held_out(const TreesView& trees) {
    walk_held_out(trees, held_out_, counts_, data_.matrix, walker_, interrupt_,
                  [&](int64_t position, uint64_t leaf) {
                    add_leaf(trees, leaf, held_out_.sums + position * data_.target.n_classes);
                  });
  }

  Interrupt& interrupt_;
  const TrainingSet& data_;
  const GrowOptions options_;
  const Sampling sampling_;
  RowCounts counts_;
  Walker walker_;
  const HeldOut held_out_;
  Grower<ClassRules<Sample, Criterion>> grower_;
  std::optional<Grower<ClassRules<WeightedSample, Criterion>>>
      heavy_;  // for trees in which a row is drawn too often
  std::vector<int32_t> distinct_;
  std::vector<Sample> all_samples_;  // the samples of every tree, if there is no bootstrap
};

inline GrownTrees grow_block(const TrainingSet& data, const GrowOptions& options,
                             const Sampling& sampling, const HeldOut& held_out,
                             const Span<uint64_t>& seeds, double* importances,
                             Interrupt& interrupt) {
  const auto grow = [&](auto sample, auto criterion) {
    // 180 KB, for which the stack may have no room: then there would be no exception.
    const auto grower = std::make_unique<BlockGrower<decltype(sample), decltype(criterion)>>(
        data, options, sampling, held_out, interrupt);
    return grower->grow(seeds, importances);
  };
  if (sampling.weights)
    return options.entropy ? grow(WeightedSample{}, Entropy{}) : grow(WeightedSample{}, Gini{});
  return options.entropy ? grow(CountedSample{}, Entropy{}) : grow(CountedSample{}, Gini{});
}

}  // namespace mddf
