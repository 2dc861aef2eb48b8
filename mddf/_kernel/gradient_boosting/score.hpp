// Scores of splits.
//
// Gradients, hessians and their sums are whole numbers of 32 bits. Sums therefore depend neither
// on the order of the rows nor on the number of threads. The splits of a column are compared in
// single precision (`Compared`). The gain of the best split is computed in double precision and
// rounded, so that a rounding error is never mistaken for a gain.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/bounds.hpp"
#include "common/simd.hpp"

namespace mddf::gradient {

// Sums over rows. The first numbers are gradients, the last number is the hessian. If rows are
// counted in addition to the hessian (`kHasCount`), the number before the last is their count.
template <int kWidth>
struct alignas(kWidth * sizeof(int32_t)) Sums {
  int32_t of[kWidth] = {};

  MDDF_INLINE void add(const Sums& other) {
    for (int j = 0; j < kWidth; ++j) of[j] += other.of[j];
  }
  MDDF_INLINE void subtract(const Sums& other) {
    for (int j = 0; j < kWidth; ++j) of[j] -= other.of[j];
  }
  MDDF_INLINE Sums without(const Sums& other) const {
    Sums rest;
    for (int j = 0; j < kWidth; ++j) rest.of[j] = of[j] - other.of[j];
    return rest;
  }
};

// A leaf while its splits are searched.
template <int kWidth>
struct Leaf {
  Sums<kWidth> sum;
  double before;  // its score without a split
  Bounds limits;  // of its value by monotonic constraints, in units of gradient over hessian
};

// Conversion of sums to scores in one round.
template <int kWidth, bool kHasCount, int kOutputs = kWidth - 1 - kHasCount>
struct Scorer {
  static constexpr int kGradients = kOutputs;
  static constexpr int kHessian = kWidth - 1, kCount = kHessian - kHasCount;

  double l2;        // in units of the hessian
  double rounding;  // 1.5 2^52 times the unit of scores
  double unit;      // factor of scores that are compared as whole numbers, below 2^30 in total
  int32_t least_hessian, least_count;
  bool monotonic = false;  // whether any column has a monotonic constraint

  using Sum = Sums<kWidth>;

  // Whether a position of the sums is used.
  static constexpr bool uses(int place) { return place < kGradients || place >= kCount; }

  static double squares(const Sum& sum) {
    double squares = 0;
    for (int j = 0; j < kGradients; ++j) squares += static_cast<double>(sum.of[j]) * sum.of[j];
    return squares;
  }
  // Score of a leaf that is not split.
  double of_leaf(const Sum& sum) const {
    const double weight = sum.of[kHessian] + l2;
    return weight > 0 ? squares(sum) / weight : 0;
  }
  double rounded(double score) const { return (score + rounding) - rounding; }

  // Whether both sides of a split have enough rows and hessian.
  bool allowed(const Sum& left, const Sum& all) const {
    const int32_t hessian = left.of[kHessian], count = left.of[kCount];
    return (hessian >= least_hessian) & (all.of[kHessian] - hessian >= least_hessian) &
           (count >= least_count) & (all.of[kCount] - count >= least_count);
  }
  // Gain of a split of a leaf. It is 0 if a side has too few rows: the leaf then stays undivided.
  double improvement(const Sum& left, const Leaf<kWidth>& leaf, int sign) const {
    if (!allowed(left, leaf.sum)) return 0;
    if (monotonic) return bounded(left, leaf, sign);
    return rounded((of_leaf(left) + of_leaf(leaf.sum.without(left))) - leaf.before);
  }

  double value(const Sum& sum) const {
    const double weight = sum.of[kHessian] + l2;
    return weight > 0 ? sum.of[0] / weight : 0;
  }
  // Score of a leaf with a given value.
  double score_at(const Sum& sum, double value) const {
    return 2 * value * sum.of[0] - (sum.of[kHessian] + l2) * value * value;
  }
  // Gain under monotonic constraints: values are within limits, and do not decrease (sign 1) or
  // increase (sign -1) to the right.
  double bounded(const Sum& left, const Leaf<kWidth>& leaf, int sign) const {
    const Sum right = leaf.sum.without(left);
    const double at_left = leaf.limits.clip(value(left)), at_right = leaf.limits.clip(value(right));
    if (sign * (at_right - at_left) < 0) return 0;
    const double before = score_at(leaf.sum, leaf.limits.clip(value(leaf.sum)));
    return rounded((score_at(left, at_left) + score_at(right, at_right)) - before);
  }
  // Whether a leaf may be split.
  bool splits(const Sum& left, const Sum& all, const Bounds& limits, int sign) const {
    if (!allowed(left, all)) return false;
    if (!monotonic) return true;
    return sign * (limits.clip(value(all.without(left))) - limits.clip(value(left))) >= 0;
  }
};

}  // namespace mddf::gradient
