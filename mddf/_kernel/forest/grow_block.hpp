// A block of trees on one set of rows: bootstrap, growth, and what the trees say of held-out rows.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/room.hpp"
#include "forest/grow.hpp"
#include "forest/row_counts.hpp"

namespace mddf {

inline void check_count(uint32_t count, const CountedSample&) {
  if (count > 65535)
    throw std::invalid_argument("a row was drawn more than 65535 times for one tree: draw fewer");
}
inline void check_count(uint32_t, const WeightedSample&) {}

inline bool set_sample(CountedSample& sample, int64_t row, uint16_t label, uint32_t count,
                       const double*) {
  sample = {static_cast<uint32_t>(row), label, static_cast<uint16_t>(count)};
  return count > 0;
}
inline bool set_sample(WeightedSample& sample, int64_t row, uint16_t label, uint32_t count,
                       const double* weights) {
  sample = {static_cast<uint32_t>(row), label, weights[row] * count};
  return sample.weight > 0;
}

template <class Sample, class Criterion>
class BlockGrower {
 public:
  BlockGrower(const BlockGrower&) = delete;
  BlockGrower(const TrainingSet& data, const GrowOptions& options, const Sampling& sampling,
              const HeldOut& held_out, Watch& watch)
      : watch_(watch),
        data_(data),
        sampling_(sampling),
        counts_(sampling_, data.matrix.n_rows, watch),
        held_out_(held_out),
        grower_(data, options, watch) {}

  // One tree per seed. `importances`, if wanted, has one row of n_columns per tree.
  GrownTrees grow(const Span<uint64_t>& seeds, double* importances) {
    GrownTrees trees;
    trees.n_classes = data_.target.n_classes;
    trees.n_columns = data_.bins.n_columns;
    for (int64_t t = 0; t < seeds.size; ++t) {
      Random random(seeds[t]);
      take_samples(random);
      grower_.grow(random, trees, importances ? importances + t * data_.bins.n_columns : nullptr);
      if (held_out_.sums) predict_held_out(trees.view());
      if (t == 0) make_room(trees.nodes, seeds.size);  // the others will be about as large
    }
    trees.shrink();
    return trees;
  }

 private:
  // Samples in the order of the rows, whatever the order in which they are drawn.
  void take_samples(Random& random) {
    auto& samples = grower_.samples();
    if (!counts_.change() && !all_samples_.empty()) {
      samples = all_samples_;
      return;
    }
    const int64_t n_rows = data_.matrix.n_rows;
    counts_.draw(random);
    size_t n = 0;
    for (int64_t row = 0; row < n_rows; ++row) n += counts_[row] > 0;
    samples.resize(n + 1);
    n = 0;
    uint32_t most = 0;
    for (int64_t row = 0; row < n_rows; ++row) {
      most = std::max(most, counts_[row]);
      n += set_sample(samples[n], row, data_.target.labels[row], counts_[row], sampling_.weights);
    }
    check_count(most, samples[0]);
    if (n == 0)
      throw std::invalid_argument("no row with positive weight is left to grow a tree on");
    samples.resize(n);
    if constexpr (std::is_same_v<Sample, WeightedSample>)
      if (sampling_.balance) balance_classes(samples);
    if (!counts_.change()) all_samples_ = samples;
  }

  void balance_classes(std::vector<WeightedSample>& samples) {
    std::vector<double> weight(data_.target.n_classes, 0);
    double total = 0, n_present = 0;
    for (const auto& sample : samples) weight[sample.label] += sample.weight;
    for (const double w : weight) total += w, n_present += w > 0;
    for (auto& sample : samples) sample.weight *= total / (n_present * weight[sample.label]);
  }

  void predict_held_out(const TreesView& trees) {
    walk_held_out(trees, held_out_, counts_, data_.matrix, walker_, watch_,
                  [&](int64_t position, uint64_t leaf) {
                    add_leaf(trees, leaf, held_out_.sums + position * data_.target.n_classes);
                  });
  }

  Watch& watch_;
  const TrainingSet& data_;
  const Sampling sampling_;
  RowCounts counts_;
  Walker walker_;
  const HeldOut held_out_;
  TreeGrower<Sample, Criterion> grower_;
  std::vector<Sample> all_samples_;  // without a bootstrap: every tree's samples
};

inline GrownTrees grow_block(const TrainingSet& data, const GrowOptions& options,
                             const Sampling& sampling, const HeldOut& held_out,
                             const Span<uint64_t>& seeds, double* importances, Watch& watch) {
  const auto grow = [&](auto sample, auto criterion) {
    BlockGrower<decltype(sample), decltype(criterion)> grower(data, options, sampling, held_out,
                                                              watch);
    return grower.grow(seeds, importances);
  };
  if (sampling.weights)
    return options.entropy ? grow(WeightedSample{}, Entropy{}) : grow(WeightedSample{}, Gini{});
  return options.entropy ? grow(CountedSample{}, Entropy{}) : grow(CountedSample{}, Gini{});
}

}  // namespace mddf
