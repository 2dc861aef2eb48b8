// A block of trees on one set of rows: bootstrap, growth, and what the trees say of held-out rows.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "forest/grow.hpp"

namespace mddf {

// Draws positions in [0, size): uniformly, or in proportion to integer weights given as their
// cumulative sums.
class BootstrapDraw {
 public:
  BootstrapDraw(const uint64_t* cumulative, int64_t size) : cumulative_(cumulative), size_(size) {
    if (!cumulative) return;
    // A first guess per share of the total makes the search take constant time on average.
    guide_.resize(size);
    const uint64_t total = cumulative[size - 1];
    int64_t position = 0;
    for (int64_t share = 0; share < size; ++share) {
      const uint64_t least =
          static_cast<uint64_t>(static_cast<double>(total) * (static_cast<double>(share) / size));
      while (cumulative[position] <= least && position + 1 < size) ++position;
      guide_[share] = static_cast<int32_t>(position);
    }
  }
  int64_t operator()(Random& random) const {
    if (!cumulative_) return static_cast<int64_t>(random.below(size_));
    const uint64_t total = cumulative_[size_ - 1];
    const uint64_t at = random.below(total);
    int64_t position = guide_[std::min<int64_t>(
        size_ - 1,
        static_cast<int64_t>(static_cast<double>(at) / static_cast<double>(total) * size_))];
    while (position > 0 && cumulative_[position - 1] > at) --position;
    while (cumulative_[position] <= at) ++position;
    return position;
  }

 private:
  const uint64_t* cumulative_;
  int64_t size_;
  std::vector<int32_t> guide_;
};

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
        draw_(sampling.cumulative, sampling.rows.size),
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
    }
    trees.shrink();
    return trees;
  }

 private:
  // Samples in the order of the rows, whatever the order in which they are drawn.
  void take_samples(Random& random) {
    auto& samples = grower_.samples();
    const bool bootstrap = sampling_.n_draws > 0;
    if (!bootstrap && !all_samples_.empty()) {
      samples = all_samples_;
      return;
    }
    const int64_t n_rows = data_.matrix.n_rows;
    counts_.assign(n_rows, 0);
    if (bootstrap)
      for (int64_t i = 0; i < sampling_.n_draws; ++i) {
        ++counts_[sampling_.rows[draw_(random)]];
        watch_.worked(8);
      }
    else
      for (int64_t i = 0; i < sampling_.rows.size; ++i) ++counts_[sampling_.rows[i]];
    watch_.worked(8 * n_rows);
    samples.resize(n_rows + 1);
    size_t n = 0;
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
    if (!bootstrap) all_samples_ = samples;
  }

  void balance_classes(std::vector<WeightedSample>& samples) {
    std::vector<double> weight(data_.target.n_classes, 0);
    double total = 0, n_present = 0;
    for (const auto& sample : samples) weight[sample.label] += sample.weight;
    for (const double w : weight) total += w, n_present += w > 0;
    for (auto& sample : samples) sample.weight *= total / (n_present * weight[sample.label]);
  }

  void predict_held_out(const TreesView& trees) {
    const int64_t t = trees.n_trees() - 1;
    const Span<int32_t>& from = held_out_.rows;
    positions_.clear();
    for (int64_t i = 0; i < from.size; ++i)
      if (!held_out_.out_of_bag || counts_[from[i]] == 0)
        positions_.push_back(static_cast<int32_t>(i));
    const int64_t n = static_cast<int64_t>(positions_.size());
    for (int64_t first = 0; first < n; first += kRowsBetweenLooks) {
      const int32_t* positions = positions_.data() + first;
      const int64_t here = std::min(kRowsBetweenLooks, n - first);
      watch_.worked(kWorkPerRow * here);
      walker_.walk(
          trees, t, here, [&](int64_t i) { return data_.matrix.row(from[positions[i]]); },
          [&](int64_t i, uint32_t leaf) {
            const int64_t position = positions[i];
            add_leaf(trees, trees.tree(t)[leaf],
                     held_out_.sums + position * data_.target.n_classes);
            ++held_out_.n_trees[position];
          });
    }
  }

  static constexpr int64_t kRowsBetweenLooks = int64_t{1} << 14;

  Watch& watch_;
  const TrainingSet& data_;
  const Sampling sampling_;
  const BootstrapDraw draw_;
  const HeldOut held_out_;
  TreeGrower<Sample, Criterion> grower_;
  std::vector<uint32_t> counts_;     // how often each row was drawn
  std::vector<Sample> all_samples_;  // without a bootstrap: every tree's samples
  std::vector<int32_t> positions_;
  Walker walker_;
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
