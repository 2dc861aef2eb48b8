// Grows a block of classification trees on one set of rows. Included only by the source files that
// instantiate it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "forest/data/samples.hpp"
#include "forest/grow/block_grower.hpp"
#include "forest/grow/class_rules.hpp"
#include "forest/split/criterion.hpp"

namespace mddf {

inline BootstrapSample sample_of(const BootstrapSample&, int64_t row, uint16_t label,
                                 uint32_t count, const double*) {
  return {static_cast<uint32_t>(row), label, static_cast<uint16_t>(count)};
}
inline WeightedSample sample_of(const WeightedSample&, int64_t row, uint16_t label, uint32_t count,
                                const double* weights) {
  return {static_cast<uint32_t>(row), label, (weights ? weights[row] : 1) * count};
}

template <class Sample, class Criterion>
class ClassBlock : public BlockGrower<ClassBlock<Sample, Criterion>, TrainingSet> {
  using Base = BlockGrower<ClassBlock, TrainingSet>;
  using Base::block_, Base::counts_, Base::data_, Base::interrupt_;

 public:
  ClassBlock(const TrainingSet& data, const Block& block, Interrupt& interrupt)
      : Base(data, block, interrupt), grower_(data, block.options, interrupt) {}

  void grow_tree(Random& random, GrownTrees& trees, double* importances) {
    if (!counts_.change() && !all_samples_.empty()) {
      grower_.samples() = all_samples_;
    } else {
      counts_.draw(random);
      if constexpr (std::is_same_v<Sample, BootstrapSample>)
        if (counts_.most() > kMaxSampleCount) {
          if (!heavy_) heavy_.emplace(data_, block_.options, interrupt_);
          take_samples(heavy_->samples());
          return heavy_->grow(random, trees, importances);
        }
      take_samples(grower_.samples());
      if (!counts_.change()) all_samples_ = grower_.samples();
    }
    grower_.grow(random, trees, importances);
  }

 private:
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
      samples[n] =
          sample_of(Any{}, row, data_.target.labels[row], counts_[row], block_.sampling.weights);
      n += samples[n].weight > 0;
    };
    if constexpr (std::is_same_v<Any, BootstrapSample> && std::is_same_v<Criterion, Gini>)
      for (int64_t row = 0; row < n_rows; ++row) take(row);
    else
      for (const int32_t row : distinct_rows()) take(row);
    if (n == 0)
      throw std::invalid_argument("no row with positive weight is left to grow a tree on");
    samples.resize(n);
    if constexpr (std::is_same_v<Any, WeightedSample>)
      if (block_.sampling.balance) balance_classes(samples);
  }

  // The rows of the sampling without repetitions.
  const std::vector<int32_t>& distinct_rows() {
    if (distinct_.empty()) {
      std::vector<bool> is_listed(data_.matrix.n_rows);
      for (const int32_t row : block_.sampling.rows) {
        if (!is_listed[row]) distinct_.push_back(row);
        is_listed[row] = true;
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

  Grower<ClassRules<Sample, Criterion>> grower_;
  std::optional<Grower<ClassRules<WeightedSample, Criterion>>>
      heavy_;  // for trees in which a row is drawn too often
  std::vector<int32_t> distinct_;
  std::vector<Sample> all_samples_;  // the samples of every tree, if there is no bootstrap
};

template <class Criterion>
GrownTrees grow_classes(const TrainingSet& data, const Block& block, Interrupt& interrupt) {
  // 180 KB, for which the stack may have no room: then there would be no exception.
  if (block.sampling.weights)
    return std::make_unique<ClassBlock<WeightedSample, Criterion>>(data, block, interrupt)->grow();
  return std::make_unique<ClassBlock<BootstrapSample, Criterion>>(data, block, interrupt)->grow();
}

}  // namespace mddf
