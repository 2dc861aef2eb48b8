// How far the value of a leaf may go in one round.
//
// Newton's step G / H of a leaf, with G the sum of the negative gradients and H that of the second
// derivatives of its rows, is right where the curvature stays as it is along the step. That of
// losses with an exponential changes by a factor of up to e^v along a step v, so that their Newton
// steps can overshoot by any factor. Three things hold them:
//
// - a floor of the curvature, so that a step is finite (`kLeastCurvature`);
// - a bound: a step x beyond `free_step` grows with its logarithm only. Steps within are unchanged;
// - whether the loss of the leaf's rows can have risen is read from G, H and the step alone
//   (`cannot_rise`). Where it can, the rows are looked at and the step is halved (`Shortener`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/elementary.hpp"
#include "gradient_boosting/options.hpp"

namespace mddf::gradient {

// Newton steps up to this size are taken as they are. The best step of a leaf of Poisson's or the
// gamma loss is log(1 + x) for a Newton step x that overshoots, which 1 + log(x) follows from 1 on.
// Pure leaves of the logistic losses have no best step, and usual fits take steps of several units
// (1 / p of a leaf of one class with probability p). LogitBoost cuts them at 4. From 8 on, fits at
// the default rate and penalty keep their bits, and those without a penalty at a rate of 0.3 are
// about as good as with 4.
inline double free_step(Loss loss) {
  switch (loss) {
    case Loss::kPoisson:
    case Loss::kGamma:
      return 1;
    case Loss::kLogistic:
    case Loss::kSoftmax:
      return 8;
    default:
      return HUGE_VAL;
  }
}

// The least sum of second derivatives of a leaf, as a share of its gradient. Sums have about 50
// bits, so that less is not told from 0.
constexpr double kLeastCurvature = 0x1p-40;

// The step of a leaf, or of one of its outputs, before the learning rate.
inline double newton_step(Loss loss, double gradient, double hessian, double l2) {
  const double free = free_step(loss);
  double weight = hessian + l2;
  if (free < HUGE_VAL) weight = std::max(weight, kLeastCurvature * std::fabs(gradient));
  if (!(weight > 0)) return 0;
  const double step = gradient / weight, size = std::fabs(step);
  if (size <= free) return step;
  return std::copysign(free * (1 + logarithm(size / free)), step);
}

// What steps are multiplied by. In leaves of one class, or of zeros, losses with exponentials fall
// however long a step is; of the rows that were not drawn they would rise without limit. Twice
// Newton's step is too far at any curvature.
inline double step_rate(Loss loss, double learning_rate) {
  const bool falls_forever = Options::needs_exponential(loss) || loss == Loss::kSoftmax;
  return falls_forever ? std::min(learning_rate, 2.0) : learning_rate;
}

// (e^x - 1 - x) / x^2 for x above 0: by how much more than at a constant curvature of 1 a loss
// rises along a step x, over x^2, whose curvature grows by e^x.
inline double excess(double x) {
  if (x < 1e-3) return 0.5 + x / 6 + x * x / 24;
  return (exponential(std::min(x, 500.0)) - 1 - x) / (x * x);
}

// Whether the loss of the rows of a leaf is not higher after it gets these values, for certain.
// `gradient` and `hessian`: sums over the rows of each of the `width` outputs.
inline bool cannot_rise(Loss loss, const double* gradient, const double* hessian,
                        const double* value, int width, double learning_rate) {
  if (loss == Loss::kAbsolute || loss == Loss::kQuantile) return learning_rate <= 1;
  double descent = 0, curvature = 0, least = 0, most = 0;
  for (int k = 0; k < width; ++k) {
    descent += gradient[k] * value[k];
    curvature += hessian[k] * value[k] * value[k];
    least = std::min(least, value[k]);
    most = std::max(most, value[k]);
  }
  if (descent < 0) return false;
  switch (loss) {
    case Loss::kSquared:
    case Loss::kHuber:  // whose hessians are those of parabolas that are never below the loss
      return curvature <= 2 * descent;
    case Loss::kPoisson:  // whose curvature falls where the raw prediction does
      if (value[0] <= 0) return curvature <= 2 * descent;
      break;
    case Loss::kGamma:
      if (value[0] >= 0) return curvature <= 2 * descent;
      break;
    default:
      break;
  }
  // Of several classes, the variance of the values by the probabilities p is at most twice the sum
  // of p (1 - p) value^2, and the curvature grows by their range.
  if (loss == Loss::kSoftmax) curvature *= 2;
  return curvature * excess(most - least) <= descent;
}

}  // namespace mddf::gradient
