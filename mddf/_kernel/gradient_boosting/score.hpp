// What splits are worth.
//
// Gradients and hessians are whole numbers of 32 bits, and so are their sums: these depend on
// neither the order of the rows nor the number of threads. Places to split a column are compared in
// single precision (`Compared`); what the best one improves is computed in double precision, and
// rounded, so that nothing is split for the sake of rounding.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/wide.hpp"

namespace mddf::gradient {

// Sums over rows: gradients, from the front; the last number is the hessian, and where rows have to
// be counted beside it, the one before it is their number.
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

// Limits of a leaf's value, in units of gradient over hessian.
struct Limits {
  double least = -HUGE_VAL, most = HUGE_VAL;
  double clip(double value) const { return value < least ? least : value > most ? most : value; }
};

// A leaf whose splits are searched.
template <int kWidth>
struct Leaf {
  Sums<kWidth> sum;
  double before;  // its part of the score
  Limits limits;
};

// How sums become scores, in one round.
template <int kWidth, bool kCounted, int kOutputs = kWidth - 1 - kCounted>
struct Scorer {
  static constexpr int kGradients = kOutputs;
  static constexpr int kHessian = kWidth - 1, kCount = kHessian - kCounted;

  double l2;        // in units of the hessian
  double rounding;  // 1.5 2^52 times the unit of scores
  double unit;      // of scores that are compared as whole numbers: below 2^30 in all leaves
  int32_t least_hessian, least_count;
  bool monotonic = false;  // some column is

  using Sum = Sums<kWidth>;

  // Whether there is anything in a place of the sums.
  static constexpr bool uses(int place) { return place < kGradients || place >= kCount; }

  static double squares(const Sum& sum) {
    double squares = 0;
    for (int j = 0; j < kGradients; ++j) squares += static_cast<double>(sum.of[j]) * sum.of[j];
    return squares;
  }
  // What a leaf that is not split has: its part of the score.
  double of_leaf(const Sum& sum) const {
    const double weight = sum.of[kHessian] + l2;
    return weight > 0 ? squares(sum) / weight : 0;
  }
  double rounded(double score) const { return (score + rounding) - rounding; }

  // Whether both sides have enough.
  bool allowed(const Sum& left, const Sum& all) const {
    const int32_t hessian = left.of[kHessian], count = left.of[kCount];
    return (hessian >= least_hessian) & (all.of[kHessian] - hessian >= least_hessian) &
           (count >= least_count) & (all.of[kCount] - count >= least_count);
  }
  // By how much a split improves a leaf; 0 where it leaves too little on a side: the leaf then
  // stays as it is.
  double improvement(const Sum& left, const Leaf<kWidth>& leaf, int sign) const {
    if (!allowed(left, leaf.sum)) return 0;
    if (monotonic) return bounded(left, leaf, sign);
    return rounded((of_leaf(left) + of_leaf(leaf.sum.without(left))) - leaf.before);
  }

  double value(const Sum& sum) const {
    const double weight = sum.of[kHessian] + l2;
    return weight > 0 ? sum.of[0] / weight : 0;
  }
  // The part of a leaf's score if its value is this one.
  double score_at(const Sum& sum, double value) const {
    return 2 * value * sum.of[0] - (sum.of[kHessian] + l2) * value * value;
  }
  // Of one gradient, with values within limits that do not fall (sign 1) or rise (-1) to the right.
  double bounded(const Sum& left, const Leaf<kWidth>& leaf, int sign) const {
    const Sum right = leaf.sum.without(left);
    const double at_left = leaf.limits.clip(value(left)), at_right = leaf.limits.clip(value(right));
    if (sign * (at_right - at_left) < 0) return 0;
    const double before = score_at(leaf.sum, leaf.limits.clip(value(leaf.sum)));
    return rounded((score_at(left, at_left) + score_at(right, at_right)) - before);
  }
  // Whether a leaf is split at all.
  bool splits(const Sum& left, const Sum& all, const Limits& limits, int sign) const {
    if (!allowed(left, all)) return false;
    if (!monotonic) return true;
    return sign * (limits.clip(value(all.without(left))) - limits.clip(value(left))) >= 0;
  }
};

}  // namespace mddf::gradient
