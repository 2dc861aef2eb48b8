// Gains of the splits of a leaf in single precision, for comparisons.
//
// Let G and H be the sums of the gradients and hessians of a leaf, g and h the sums on the left of
// a split. The gain is |g|^2 / (h + l2) + |G - g|^2 / (H - h + l2) - |G|^2 / (H + l2). With
// W = H + 2 l2 and p = (h + l2) / W it equals
//
//     |g - p G|^2 / (p (H - h + l2)) + |G|^2 (1 / W - 1 / (H + l2)).
//
// No large terms cancel in this form, so that single precision is enough: if all rows have the
// same gradient, the rounding errors enter as squares.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradient_boosting/score.hpp"

namespace mddf::gradient {

template <int kWidth, bool kHasCount, int kOutputs>
struct Compared {
  using ScorerOf = Scorer<kWidth, kHasCount, kOutputs>;
  static constexpr int kGradients = ScorerOf::kGradients;
  static constexpr int kHessian = ScorerOf::kHessian, kCount = ScorerOf::kCount;

  Sums<kWidth> all;
  float gradients[kGradients];
  float share, share_of_l2;  // p = h * share + share_of_l2
  float l2, change, unit;
  int32_t least_hessian, most_hessian, least_count, most_count;

  Compared(const ScorerOf& scorer, const Leaf<kWidth>& leaf)
      : all(leaf.sum),
        unit(static_cast<float>(scorer.unit)),
        least_hessian(scorer.least_hessian),
        least_count(scorer.least_count) {
    if (!kHasCount) least_hessian = std::max(least_hessian, least_count);
    most_hessian = all.of[kHessian] - least_hessian;
    most_count = all.of[kCount] - least_count;
    for (int j = 0; j < kGradients; ++j) gradients[j] = static_cast<float>(all.of[j]);
    constexpr double kMax = 1e30;  // fits into a float; leaf values are then nearly 0
    const double penalty = std::min(scorer.l2, kMax), weight = all.of[kHessian] + 2 * penalty;
    l2 = static_cast<float>(penalty);
    share = static_cast<float>(1 / weight);
    share_of_l2 = static_cast<float>(penalty / weight);
    change = static_cast<float>(scorer.squares(all) / weight - leaf.before);
  }

  // Gain in units of the scorer; 0 if a side has too few rows.
  MDDF_INLINE float improvement(const Sums<kWidth>& left) const {
    const int32_t hessian = left.of[kHessian], count = left.of[kCount];
    const float p = static_cast<float>(hessian) * share + share_of_l2;
    const float other = static_cast<float>(all.of[kHessian] - hessian) + l2;
    float squares = 0;
    for (int j = 0; j < kGradients; ++j) {
      const float more = static_cast<float>(left.of[j]) - gradients[j] * p;
      squares += more * more;
    }
    const float gain = (squares / (p * other) + change) * unit;
    bool allowed = (hessian >= least_hessian) & (hessian <= most_hessian);
    if (kHasCount) allowed &= (count >= least_count) & (count <= most_count);
    return allowed ? gain : 0;
  }
};

// Gains of the splits of a leaf under monotonic constraints, in double precision.
template <int kWidth, bool kHasCount, int kOutputs>
struct BoundedLeaf {
  const Scorer<kWidth, kHasCount, kOutputs>& scorer;
  const Leaf<kWidth>& leaf;
  int sign;

  double improvement(const Sums<kWidth>& left) const {
    return scorer.improvement(left, leaf, sign);
  }
};

}  // namespace mddf::gradient
