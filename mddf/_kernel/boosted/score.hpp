// What splits are worth.
//
// Gradients and hessians are whole numbers of 32 bits, and so are their sums: these depend on
// neither the order of the rows nor the number of threads. What a split improves in a leaf is
// rounded to a multiple of a power of two, so that sums over leaves are exact, too.
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

// How sums become scores, in one round.
template <int kWidth, bool kCounted, int kOutputs = kWidth - 1 - kCounted>
struct Scorer {
  static constexpr int kGradients = kOutputs;
  static constexpr int kHessian = kWidth - 1, kCount = kHessian - kCounted;

  double l2;        // in units of the hessian
  double rounding;  // 1.5 2^52 times the unit of scores
  int32_t least_hessian, least_count;
  bool constant;           // hessian of each row: reciprocals are multiplied
  bool monotonic = false;  // some column is

  using Sum = Sums<kWidth>;

  // Whether there is anything in a place of the sums.
  static constexpr bool uses(int place) { return place < kGradients || place >= kCount; }

  MDDF_INLINE static double squares(const int32_t* of) {
    double sum = 0;
    for (int j = 0; j < kGradients; ++j) sum += static_cast<double>(of[j]) * of[j];
    return sum;
  }
  // What a leaf that is not split has: its part of the score.
  double of_leaf(const Sum& sum) const {
    const double weight = sum.of[kHessian] + l2;
    if (!(weight > 0)) return 0;
    return constant ? squares(sum.of) * (1 / weight) : squares(sum.of) / weight;
  }
  MDDF_INLINE double rounded(double score) const { return (score + rounding) - rounding; }

  // Whether both sides have enough.
  MDDF_INLINE bool allowed(int32_t hessian, int32_t count, const Sum& all) const {
    return (hessian >= least_hessian) & (all.of[kHessian] - hessian >= least_hessian) &
           (count >= least_count) & (all.of[kCount] - count >= least_count);
  }
  bool allowed(const Sum& left, const Sum& all) const {
    return allowed(left.of[kHessian], left.of[kCount], all);
  }

  // By how much a split improves a leaf; 0 where it leaves too little on a side: the leaf then
  // stays as it is.
  template <bool kConstant>
  MDDF_INLINE double improvement_as(const Sum& left, const Sum& all, double before) const {
    const Sum right = all.without(left);
    const double of_left = squares(left.of), of_right = squares(right.of);
    const double weight_left = left.of[kHessian] + l2, weight_right = right.of[kHessian] + l2;
    double gain;
    if constexpr (kConstant)
      gain = (of_left * (1 / weight_left) + of_right * (1 / weight_right)) - before;
    else
      gain =
          (of_left * weight_right + of_right * weight_left) / (weight_left * weight_right) - before;
    return allowed(left, all) ? rounded(gain) : 0;
  }
  double improvement(const Sum& left, const Sum& all, double before) const {
    return constant ? improvement_as<true>(left, all, before)
                    : improvement_as<false>(left, all, before);
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
  double bounded(const Sum& left, const Sum& all, const Limits& limits, int sign) const {
    if (!allowed(left, all)) return 0;
    const Sum right = all.without(left);
    const double at_left = limits.clip(value(left)), at_right = limits.clip(value(right));
    if (sign * (at_right - at_left) < 0) return 0;
    const double before = score_at(all, limits.clip(value(all)));
    return rounded((score_at(left, at_left) + score_at(right, at_right)) - before);
  }
  // Whether a leaf is split at all.
  bool splits(const Sum& left, const Sum& all, const Limits& limits, int sign) const {
    if (!allowed(left, all)) return false;
    if (!monotonic) return true;
    return sign * (limits.clip(value(all.without(left))) - limits.clip(value(left))) >= 0;
  }
};

// A leaf whose splits are searched.
template <int kWidth>
struct Leaf {
  Sums<kWidth> sum;
  double before;  // its part of the score
  Limits limits;
};

}  // namespace mddf::gradient
