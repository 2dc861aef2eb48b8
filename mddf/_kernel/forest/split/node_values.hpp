// The targets of the samples of a node as integers, whose sums are exact.
//
// A target is a multiple of 2^-61 of a bound on all targets (see ValueTarget). In a node, the
// distance from its lowest target, times the weight, loses as many low bits as needed to keep the
// sum within 62 bits. The loss is less than the weight of the node times 2^-61 of the range of its
// targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "common/elementary.hpp"
#include "common/random.hpp"
#include "forest/data/bin_cells.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"

namespace mddf {

// With kOneOutput, the number of outputs is a compile-time constant.
template <bool kOneOutput>
class NodeValues {
 public:
  static constexpr bool kOne = kOneOutput;
  using Cell = int64_t;

  explicit NodeValues(const ValueTarget& target)
      : target_(target),
        total_(n_outputs() + 1),
        factor_(n_outputs()),
        min_target_(n_outputs()),
        max_target_(n_outputs()),
        shift_(n_outputs()),
        power_(n_outputs()) {}

  int n_outputs() const { return kOne ? 1 : target_.n_outputs; }
  // A cell has the weight of a sample and, for each output, its weighted distance (part).
  int stride() const { return n_outputs() + 1; }
  static void add(int64_t* to, const int64_t* cell, int n) {
    for (int j = 0; j < n; ++j) to[j] += cell[j];
  }
  // Adds a cell if the mask is -1; nothing if it is 0.
  static void add(int64_t* to, const int64_t* cell, int n, int64_t mask) {
    for (int j = 0; j < n; ++j) to[j] += cell[j] & mask;
  }

  // Whether all samples have the same targets.
  bool all_equal(const RowSample* samples, int64_t n) const {
    const int64_t* first = fixed(samples[0].row);
    for (int64_t i = 1; i < n; ++i)
      if (!std::equal(first, first + n_outputs(), fixed(samples[i].row))) return false;
    return true;
  }

  // Reads the targets of the samples of a node, and finds their range.
  void load_targets(const RowSample* samples, int64_t n) {
    const int k = n_outputs();
    if (static_cast<int64_t>(value_.size()) < n * k) {
      value_.resize(n * k);
      cell_.resize(n * (k + 1));
    }
    samples_ = samples;
    n_ = n;
    has_sum_ = false;
    for (int j = 0; j < k; ++j) min_target_[j] = max_target_[j] = fixed(samples[0].row)[j];
    for (int64_t first = 0; first < n; first += kAtOnce) {
      const int64_t last = std::min(first + kAtOnce, n);
      for (int64_t i = first; i < last; ++i)
        std::copy_n(fixed(samples[i].row), k, value_.begin() + i * k);
      for (int j = 0; j < k; ++j) {
        int64_t least = min_target_[j], most = max_target_[j];  // copies in registers
        for (int64_t i = first; i < last; ++i) {
          least = std::min(least, value_[i * k + j]);
          most = std::max(most, value_[i * k + j]);
        }
        min_target_[j] = least;
        max_target_[j] = most;
      }
    }
  }

  // Fills the cells and their total.
  void fill() {
    const int k = n_outputs();
    uint64_t weight = 0;
    for (int64_t i = 0; i < n_; ++i) weight += samples_[i].weight;
    const bool all_ones = weight == static_cast<uint64_t>(n_);
    const int weight_bits = bit_width(weight);
    total_[0] = static_cast<int64_t>(weight);
    for (int64_t i = 0; i < n_; ++i) cell_[i * (k + 1)] = samples_[i].weight;
    for (int j = 0; j < k; ++j) choose_shift(j, weight_bits);
    for (int64_t first = 0; first < n_; first += kAtOnce)
      for (int j = 0; j < k; ++j) total_[1 + j] += fill_output(j, first, all_ones);
  }

  // Takes a node of divided rows with a single output, of which only sums are known.
  void take(const ValueSums& sums) {
    min_target_[0] = sums.least;
    max_target_[0] = sums.most;
    total_[0] = static_cast<int64_t>(sums.weight);
    choose_shift(0, bit_width(sums.weight));
    has_sum_ = true;
    // The sum of the distances from the lowest target, of 128 bits.
    const uint64_t offset = static_cast<uint64_t>(sums.least + ValueSums::kOffset);
    const uint64_t low = offset * sums.weight;
    sum_low_ = sums.low - low;
    sum_high_ = sums.high - multiply_high(offset, sums.weight) - (sums.low < low);
  }
  // Sets the sum of the parts of such a node.
  void set_total(int64_t part) { total_[1] = part; }

  // Converts sums of parts and weights of an output to a sum of targets, as a share of the bound on
  // all targets.
  double in_units(int j, double part, double weight) const {
    return (part * power_[j] + static_cast<double>(min_target_[j]) * weight) * kUnit;
  }
  // Unit of an output, as a share of the largest unit.
  double unit(int j) const { return std::sqrt(target_.scale[j]); }
  int64_t fixed_value(uint32_t row, int j) const { return fixed(row)[j]; }
  int shift(int j) const { return shift_[j]; }
  int64_t least() const { return min_target_[0]; }  // for a single output
  // Distance of a target from the lowest target, and the target at a distance.
  int64_t distance(int64_t i, int j) const { return value_[i * n_outputs() + j] - min_target_[j]; }
  double at_distance(int j, double distance) const {
    return (distance + static_cast<double>(min_target_[j])) * kUnit;
  }

  int64_t value(int64_t i) const { return value_[i]; }  // for a single output
  const int64_t* cell(int64_t i) const { return cell_.data() + i * stride(); }
  const int64_t* total() const { return total_.data(); }
  // Factor of the squared sums of an output.
  double factor(int j) const { return factor_[j]; }

  // Returns the sum of the parts of some samples after fill(), for a single output. `weight` is the
  // sum of their weights.
  int64_t sum_of(const RowSample* samples, int64_t n, int64_t weight) const {
    const bool all_ones = weight == n;
    const int shift = shift_[0];
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t distance = static_cast<uint64_t>(*fixed(samples[i].row) - min_target_[0]);
      sum += weighted(distance, samples[i].weight, shift, all_ones);
    }
    return sum;
  }
  // Returns the decrease of the squared error by a split with a single output, from the weights and
  // the sums of parts of both sides.
  double gain(double left, int64_t part_left, double right, int64_t part_right) const {
    const double mean = static_cast<double>(part_left + part_right) / (left + right);
    const double distance = static_cast<double>(part_left) - left * mean;
    return factor_[0] * (left + right) * (distance * distance / (left * right));
  }

  // Appends the means of the samples. They come from exact sums, rounded once or twice.
  void append_means(std::vector<double>& to) const {
    const int k = n_outputs();
    for (int j = 0; j < k; ++j) {
      double mean = static_cast<double>(min_target_[j]);
      if (min_target_[j] < max_target_[j]) mean += distance_of_mean(j);
      mean = std::clamp(mean, static_cast<double>(min_target_[j]),
                        static_cast<double>(max_target_[j]));
      to.push_back(mean * kUnit);
    }
  }
  // Appends the medians of the samples; if two values are in the middle, their mean.
  void append_medians(std::vector<double>& to) {
    const int k = n_outputs();
    for (int j = 0; j < k; ++j) {
      in_order_.clear();
      int64_t weight = 0;
      for (int64_t i = 0; i < n_; ++i) {
        in_order_.emplace_back(value_[i * k + j], samples_[i].weight);
        weight += samples_[i].weight;
      }
      std::sort(in_order_.begin(), in_order_.end());
      size_t at = 0;
      int64_t up_to = in_order_[0].second;
      while (2 * up_to < weight) up_to += in_order_[++at].second;
      const double low = static_cast<double>(in_order_[at].first);
      const size_t next = at + (2 * up_to == weight);
      to.push_back((low / 2 + static_cast<double>(in_order_[next].first) / 2) * kUnit);
    }
  }
  // Appends the targets of a row.
  void append_row(uint32_t row, std::vector<double>& to) const {
    for (int j = 0; j < n_outputs(); ++j) to.push_back(static_cast<double>(fixed(row)[j]) * kUnit);
  }
  // Appends a target, for a single output.
  void append_target(int64_t fixed, std::vector<double>& to) const {
    to.push_back(static_cast<double>(fixed) * kUnit);
  }

  // The low bits that parts lose, for targets in this range and a weight of so many bits; and the
  // factor of the squared sums of an output then.
  static int shift_for(int64_t range, int weight_bits) {
    return std::max(0, bit_width(static_cast<uint64_t>(range)) + weight_bits - 62);
  }
  double factor_for(int j, int shift) const {
    return target_.scale[j] * detail::power_of_two(2 * (shift - ValueTarget::kBits));
  }

  // Returns distance * weight / 2^shift, rounded down. all_ones (every weight is one) allows
  // simpler loops.
  static int64_t weighted(uint64_t distance, uint64_t weight, int shift, bool all_ones) {
    if (all_ones) return static_cast<int64_t>(distance >> shift);
    const uint64_t low = distance * weight;
    if (shift == 0) return static_cast<int64_t>(low);
    return static_cast<int64_t>(multiply_high(distance, weight) << (64 - shift) | low >> shift);
  }

 private:
  static constexpr double kUnit = 0x1p-61;
  static constexpr int64_t kAtOnce = 256;  // samples at a time; their values stay in the cache

  // Fills the cells of an output for the samples from `first` on, up to kAtOnce. Returns their sum.
  int64_t fill_output(int j, int64_t first, bool all_ones) {
    const int k = n_outputs(), shift = shift_[j];
    const int64_t last = std::min(first + kAtOnce, n_), least = min_target_[j];
    int64_t sum = 0;
    for (int64_t i = first; i < last; ++i) {
      const uint64_t distance = static_cast<uint64_t>(value_[i * k + j] - least);
      const int64_t part = weighted(distance, samples_[i].weight, shift, all_ones);
      cell_[i * (k + 1) + 1 + j] = part;
      sum += part;
    }
    return sum;
  }

  const int64_t* fixed(uint32_t row) const { return target_.fixed + int64_t{row} * n_outputs(); }

  void choose_shift(int j, int weight_bits) {
    shift_[j] = shift_for(max_target_[j] - min_target_[j], weight_bits);
    factor_[j] = factor_for(j, shift_[j]);
    power_[j] = static_cast<double>(uint64_t{1} << shift_[j]);
    total_[1 + j] = 0;
  }

  // Returns the distance of the mean from the lowest target.
  double distance_of_mean(int j) const {
    if (has_sum_) return mean_of(sum_high_, sum_low_, static_cast<uint64_t>(total_[0]));
    const int k = n_outputs();
    uint64_t weight = 0;
    uint64_t low = 0, high = 0;  // halves of a 128-bit sum
    for (int64_t i = 0; i < n_; ++i) {
      const uint64_t distance = static_cast<uint64_t>(value_[i * k + j] - min_target_[j]);
      const uint64_t part = distance * samples_[i].weight;
      weight += samples_[i].weight;
      low += part;
      high += multiply_high(distance, samples_[i].weight) + (low < part);
    }
    return mean_of(high, low, weight);
  }
  static double mean_of(uint64_t high, uint64_t low, uint64_t weight) {
    return (std::ldexp(static_cast<double>(high), 64) + static_cast<double>(low)) /
           static_cast<double>(weight);
  }

  const ValueTarget target_;
  const RowSample* samples_ = nullptr;
  int64_t n_ = 0;
  std::vector<int64_t> value_, cell_;
  std::vector<int64_t> total_;  // sum of all cells
  std::vector<double> factor_;
  std::vector<int64_t> min_target_, max_target_;
  std::vector<int> shift_;
  std::vector<double> power_;  // 2^shift
  std::vector<std::pair<int64_t, uint32_t>> in_order_;
  // Of a node of divided rows: the halves of the sum of the distances from the lowest target.
  bool has_sum_ = false;
  uint64_t sum_low_ = 0, sum_high_ = 0;
};

}  // namespace mddf
