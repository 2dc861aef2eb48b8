// Gradients and hessians of a round, rounded to whole numbers.
//
// If there are more outputs than the sums have gradients, the gradients are projected at random,
// by a new projection in each round (L. Iosipoi and A. Vakhrushev, "SketchBoost", 2022). The
// hessian is the mean of the hessians of the outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

#include "common/random.hpp"
#include "gradient_boosting/exchange.hpp"
#include "gradient_boosting/fixed_point.hpp"
#include "gradient_boosting/score.hpp"
#include "gradient_boosting/team.hpp"

namespace mddf::gradient {

// Gradients and hessians of a round, `width` of each for a row of this shard, and their largest
// absolute values on all shards. `times.total` is also a sum over all shards.
struct Gradients {
  const std::vector<double>& gradient;
  const std::vector<double>& hessian;
  double largest_gradient, largest_hessian;
  int width;
  Multiplicity times;
  const std::vector<uint8_t>& is_drawn;  // rows that the tree is grown on; empty for all rows
  const Shards& shards;
  // Weights of the rows that replace the hessians in the search of splits; null if none do.
  const std::vector<double>* weights_of_splits = nullptr;
  // Keys by which gradients are rounded up or down; null if they are rounded to the nearest
  // number.
  const std::vector<uint32_t>* rounding_keys = nullptr;
};

// Largest absolute value.
inline double largest_in(const std::vector<double>& values, Team& team, bool use_simd) {
  double largest = 0;
  std::mutex merging;
  team.ranges(static_cast<int64_t>(values.size()), kFewRows, [&](int64_t first, int64_t last) {
    const double in_range = largest_of(values.data() + first, last - first, use_simd);
    std::lock_guard<std::mutex> lock(merging);
    largest = std::max(largest, in_range);
  });
  return largest;
}

template <int kWidth, bool kHasCount, int kOutputs>
class Rounded {
 public:
  using Sum = Sums<kWidth>;
  using ScorerOf = Scorer<kWidth, kHasCount, kOutputs>;
  static constexpr int kGradients = ScorerOf::kGradients;
  static constexpr int kHessian = ScorerOf::kHessian, kCount = ScorerOf::kCount;
  static constexpr int kBits = 30;  // largest number of bits of sums: they are 32-bit integers

  Rounded(int64_t n_rows, bool counts_rows, bool use_simd)
      : counts_rows_(counts_rows),
        use_simd_(use_simd),
        rows_(n_rows),
        order_(n_rows),
        n_drawn_(n_rows),
        squares_(n_rows) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  static int lanes(int width) { return std::min(width, kGradients); }

  void set(const Gradients& of, Random& random, Team& team) {
    const int n_lanes = lanes(of.width);
    find_drawn(of.is_drawn, team);
    const double *gradients = of.gradient.data(), *hessians = of.hessian.data();
    double largest_gradient = of.largest_gradient, largest_hessian = of.largest_hessian;
    if (of.width > n_lanes) {
      project(of, random, team);
      gradients = projected_.data();
      largest_gradient = of.shards.max(largest_in(projected_, team, use_simd_));
    }
    if (of.weights_of_splits) {
      hessians = of.weights_of_splits->data();
      largest_hessian = of.shards.max(largest_in(*of.weights_of_splits, team, use_simd_));
    } else if (of.width > 1) {
      find_means(of, team);
      hessians = means_.data();
      largest_hessian = of.shards.max(largest_in(means_, team, use_simd_));
    }
    // Hessians that count rows are whole numbers already, unless their sum is too large.
    const bool whole = counts_rows_ && of.times.total <= std::ldexp(1.0, kBits);
    const SizeOf gradient_size(largest_gradient), hessian_size(largest_hessian);
    std::vector<double> sums = absolute_sums(gradient_size, gradients, n_lanes, of, team);
    if (!whole) sums.push_back(absolute_sums(hessian_size, hessians, 1, of, team)[0]);
    of.shards.sum(sums);
    hessian_scale_ = 0;
    if (!whole) {
      hessian_scale_ = hessian_size.scale({sums.back()}, of.times, kBits);
      sums.pop_back();
    }
    scale_ = gradient_size.scale(sums, of.times, kBits);
    total_ = {};
    steepest_ = 0;
    flat_ = 0;
    if (of.rounding_keys) rounding_key_ = random.next();
    if (any()) round(gradients, hessians, n_lanes, of, team);
    add_up_statistics(of.shards);
  }

  // Whether any row has a gradient and a hessian other than 0.
  bool any() const { return scale_ != kNoScale && hessian_scale_ != kNoScale; }
  int scale() const { return scale_; }
  int hessian_scale() const { return hessian_scale_; }
  const std::vector<Sum>& rows() const { return rows_; }  // 0 for rows that were not drawn
  // The rows that were drawn, then the other rows.
  const std::vector<int32_t>& order() const { return order_; }
  int64_t n_drawn() const { return n_drawn_; }
  const Sum& total() const { return total_; }

  // Upper bound of the total score of the leaves of any tree, if each leaf has at least
  // `least_weight`. It is the smaller one of two bounds: the score of a tree with a leaf for each
  // row, and the score of a leaf with all gradients at their limit.
  double most_score(const Gradients& of, double least_weight, Team& team) const {
    double most = 0;
    if (steepest_ > 0) {
      constexpr int kDigits = 20;
      int exponent;
      std::frexp(steepest_, &exponent);
      const float unit = std::ldexp(1.0F, kDigits - exponent);
      std::mutex merging;
      team.ranges(n_rows(), kFewRows, [&](int64_t first, int64_t last) {
        const double sum = whole_sum(of.times, unit, first, last);
        std::lock_guard<std::mutex> lock(merging);
        most += sum;
      });
      most = std::ldexp(of.shards.sum(most), exponent - kDigits);
    }
    // Rows with a hessian of 0 have no score of their own; a bound of their part is added.
    if (flat_ > 0) most = 2 * (most + flat_ * flat_ / least_weight);
    const double together = std::ldexp(1.0, 2 * kBits) * kGradients / least_weight;
    return most > 0 ? std::min(most, together) : 1;
  }

 private:
  static constexpr int64_t kBlock = 256;  // rows of a block, which stays in the cache; not tuned

  int64_t n_rows() const { return static_cast<int64_t>(rows_.size()); }

  void find_drawn(const std::vector<uint8_t>& is_drawn, Team& team) {
    if (is_drawn.empty()) return;  // all rows are drawn, as in all rounds before
    const auto n_in = [&](int64_t first, int64_t last) {
      return std::accumulate(is_drawn.begin() + first, is_drawn.begin() + last, int64_t{0});
    };
    n_drawn_ = n_in(0, n_rows());
    partitioned_.resize(n_rows());
    team.ranges(n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      int32_t* rows = partitioned_.data() + first;
      int64_t n = 0, others = last - first;
      // Each row is written to both ends, and one of the ends moves: a branch on random draws
      // would be predicted wrongly half of the time.
      for (int64_t i = first; i < last; ++i) {
        const bool drawn = is_drawn[i] != 0;
        rows[n] = rows[others - 1] = static_cast<int32_t>(i);
        n += drawn;
        others -= !drawn;
      }
      const int64_t n_before = n_in(0, first);
      std::copy_n(rows, n, order_.begin() + n_before);
      std::copy(rows + n, rows + last - first, order_.begin() + n_drawn_ + first - n_before);
    });
  }

  void project(const Gradients& of, Random& random, Team& team) {
    std::vector<double> signs(of.width * kGradients);
    for (double& sign : signs) sign = random.below(2) ? 1 : -1;
    projected_.resize(n_rows() * kGradients);
    team.ranges(n_rows(), kFewRows / kGradients, [&](int64_t first, int64_t last) {
      const double *from = of.gradient.data(), *sign = signs.data();
      double* to = projected_.data();
      const int width = of.width;
      simd::with_vectors(use_simd_, [=]() MDDF_INLINED {
        for (int64_t i = first; i < last; ++i) {
          double sums[kGradients] = {};
          for (int k = 0; k < width; ++k)
            for (int j = 0; j < kGradients; ++j)
              sums[j] += from[i * width + k] * sign[k * kGradients + j];
          std::copy_n(sums, kGradients, to + i * kGradients);
        }
      });
    });
  }

  void find_means(const Gradients& of, Team& team) {
    means_.resize(n_rows());
    team.ranges(n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const double* of_row = of.hessian.data() + i * of.width;
        double sum = 0;
        for (int k = 0; k < of.width; ++k) sum += of_row[k];
        means_[i] = sum / of.width;
      }
    });
  }

  // Sums over the rows of this shard; see `SizeOf::sums`.
  std::vector<double> absolute_sums(const SizeOf& size, const double* values, int width,
                                    const Gradients& of, Team& team) const {
    std::vector<double> sums(width);
    std::mutex merging;
    team.ranges(n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      const std::vector<double> part = size.sums(values, first, last, width, of.times, use_simd_);
      std::lock_guard<std::mutex> lock(merging);  // exact in any order
      for (int j = 0; j < width; ++j) sums[j] += part[j];
    });
    return sums;
  }

  // Replaces the statistics of this shard by those of all.
  void add_up_statistics(const Shards& shards) {
    std::vector<double> sums(total_.of, total_.of + kWidth);
    sums.push_back(flat_);
    double steepest = steepest_;
    shards.sum_and_max(sums.data(), kWidth + 1, &steepest, 1);
    for (int j = 0; j < kWidth; ++j) total_.of[j] = static_cast<int32_t>(sums[j]);
    flat_ = sums[kWidth];
    steepest_ = static_cast<float>(steepest);
  }

  // Statistics of a range of rows; see the members of the same names.
  struct RangeStatistics {
    Sum total;
    float steepest = 0;
    double flat = 0;
  };

  void round(const double* gradients, const double* hessians, int n_lanes, const Gradients& of,
             Team& team) {
    std::mutex merging;
    team.ranges(n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      RangeStatistics range;
      simd::with_vectors(use_simd_, [&]() MDDF_INLINED {
        for (int64_t begin = first; begin < last; begin += kBlock)
          round_block(gradients + begin * n_lanes, hessians + begin, n_lanes, of, begin,
                      std::min(kBlock, last - begin), range);
      });
      std::lock_guard<std::mutex> lock(merging);
      total_.add(range.total);
      steepest_ = std::max(steepest_, range.steepest);
      flat_ += range.flat;
    });
  }

  MDDF_INLINE void round_block(const double* gradients, const double* hessians, int n_lanes,
                               const Gradients& of, int64_t begin, int64_t n,
                               RangeStatistics& range) {
    const double unit = std::ldexp(1.0, scale_), hessian_unit = std::ldexp(1.0, hessian_scale_);
    double count[kBlock], squares[kBlock];
    int32_t numbers[kWidth][kBlock];
    float quotient[kBlock];
    for (int64_t i = 0; i < n; ++i) count[i] = squares[i] = 0;
    for (int64_t i = 0; i < n; ++i) count[i] = of.is_drawn.empty() ? 1 : of.is_drawn[begin + i];
    if (kHasCount)
      for (int64_t i = 0; i < n; ++i) numbers[kCount][i] = static_cast<int32_t>(count[i]);
    if (of.times.of)
      for (int64_t i = 0; i < n; ++i) count[i] *= of.times.of[begin + i];
    for (int j = 0; j < n_lanes; ++j)
      for (int64_t i = 0; i < n; ++i) {
        const double rounded = of.rounding_keys
                                   ? std::floor(gradients[i * n_lanes + j] * unit +
                                                share_up((*of.rounding_keys)[begin + i] + j))
                                   : nearest(gradients[i * n_lanes + j] * unit);
        squares[i] += rounded * rounded;
        numbers[j][i] = static_cast<int32_t>(count[i] * rounded);
      }
    for (int j = n_lanes; j < kGradients; ++j) std::fill_n(numbers[j], n, 0);
    int n_flat = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double rounded = nearest(hessians[i] * hessian_unit);
      const bool steep = (rounded > 0) & (count[i] > 0);
      numbers[kHessian][i] = static_cast<int32_t>(count[i] * rounded);
      quotient[i] = steep ? static_cast<float>(squares[i]) / static_cast<float>(rounded) : 0;
      n_flat += (count[i] > 0) & !(rounded > 0);
    }
    for (int64_t i = 0; i < n; ++i) squares_[begin + i] = quotient[i];
    for (int64_t i = 0; i < n; ++i)
      for (int j = 0; j < kWidth; ++j)
        rows_[begin + i].of[j] = ScorerOf::uses(j) ? numbers[j][i] : 0;
    for (int j = 0; j < kWidth; ++j)
      for (int64_t i = 0; i < n && ScorerOf::uses(j); ++i) range.total.of[j] += numbers[j][i];
    for (int64_t i = 0; i < n; ++i)
      range.steepest = quotient[i] > range.steepest ? quotient[i] : range.steepest;
    for (int64_t i = 0; i < n && n_flat > 0; ++i)
      for (int j = 0; j < n_lanes && numbers[kHessian][i] == 0; ++j)
        range.flat += std::fabs(numbers[j][i]);
  }

  // Share of the rounds in which a number is rounded up if its fraction is above 1 - share: uniform
  // in [0, 1), and different for each row and round.
  double share_up(uint32_t key) const {
    return static_cast<double>(Random(rounding_key_ ^ key).next() >> 11) * 0x1p-53;
  }

  double whole_sum(const Multiplicity& times, float unit, int64_t first, int64_t last) const {
    double sum = 0;
    simd::with_vectors(use_simd_, [&]() MDDF_INLINED {
      const float* squares = squares_.data();
      if (times.of) {
        for (int64_t i = first; i < last; ++i)
          sum += times.of[i] * (static_cast<int32_t>(squares[i] * unit) + 1);
        return;
      }
      int64_t whole = last - first;
      for (int64_t i = first; i < last; ++i) whole += static_cast<int32_t>(squares[i] * unit);
      sum = static_cast<double>(whole);
    });
    return sum;
  }

  bool counts_rows_;           // hessians are 1 for each row
  uint64_t rounding_key_ = 0;  // of the round
  bool use_simd_;
  std::vector<Sum> rows_;
  std::vector<int32_t> order_, partitioned_;
  int64_t n_drawn_;
  std::vector<double> projected_, means_;
  int scale_ = kNoScale, hessian_scale_ = kNoScale;
  Sum total_;
  // For each row, the sum of its squared gradients divided by its hessian; the largest of these
  // quotients; and the sum of the absolute gradients of rows whose hessian is 0.
  std::vector<float> squares_;
  float steepest_ = 0;
  double flat_ = 0;
};

}  // namespace mddf::gradient
