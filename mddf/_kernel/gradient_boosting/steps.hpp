// Limits of the value that a leaf gets in one round.
//
// The Newton step of a leaf is G / H, where G and H are the sums of the negative gradients and the
// second derivatives of its rows. It is exact if the curvature is constant along the step. The
// curvature of losses with an exponential changes by a factor of up to e^v along a step v, so that
// their Newton steps can be too long by any factor. Three limits prevent that:
//
// - The curvature has a least value, so that a step is finite (`kLeastCurvature`).
// - A step x longer than `free_step` is replaced by one that grows with log(x). Shorter steps are
//   unchanged.
// - `cannot_rise` decides from G, H and the step whether the loss of the rows of the leaf can have
//   risen. If it can, the loss of the rows is computed and the step is halved (`Shortener`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/elementary.hpp"
#include "gradient_boosting/options.hpp"

namespace mddf::gradient {

// Newton steps up to this size are unchanged.
//
// The best step of a leaf with the Poisson or gamma loss is log(1 + x) for a Newton step x that is
// too long. From 1 on, 1 + log(x) is close to it. The Tweedie loss lies between these losses.
//
// A leaf of a single class has no best step with the logistic loss, and usual fits take steps of
// several units (1 / p if the class has the probability p). LogitBoost limits steps to 4. A limit
// of 8 or more does not change fits at the default learning rate and penalty. Fits without a
// penalty at a learning rate of 0.3 are about as good with 8 as with 4.
inline double free_step(Loss loss) {
  switch (loss) {
    case Loss::kPoisson:
    case Loss::kGamma:
    case Loss::kTweedie:
      return 1;
    case Loss::kLogistic:
    case Loss::kSoftmax:
      return 8;
    default:
      return HUGE_VAL;
  }
}

// Least sum of second derivatives of a leaf, as a share of its gradient. Sums have about 50 bits,
// so that smaller sums are mostly rounding errors.
constexpr double kLeastCurvature = 0x1p-40;

// Step of a leaf (or of one of its outputs) before it is multiplied by the learning rate.
inline double newton_step(Loss loss, double gradient, double hessian, double l2) {
  const double free = free_step(loss);
  double weight = hessian + l2;
  if (free < HUGE_VAL) weight = std::max(weight, kLeastCurvature * std::fabs(gradient));
  if (!(weight > 0)) return 0;
  const double step = gradient / weight, size = std::fabs(step);
  if (size <= free) return step;
  return std::copysign(free * (1 + logarithm(size / free)), step);
}

// Factor of the steps: the learning rate, at most 2 for losses with exponentials. In leaves of a
// single class, or of zero targets, these losses decrease however long a step is, while the loss
// of rows that were not drawn would increase without limit. Twice the Newton step is too long at
// any curvature.
inline double step_rate(Loss loss, double learning_rate) {
  const bool falls_forever = Options::needs_exponential(loss) || loss == Loss::kSoftmax;
  return falls_forever ? std::min(learning_rate, 2.0) : learning_rate;
}

// (e^x - 1 - x) / x^2 for x > 0. Along a step x, a loss with curvature e^t at t rises by this
// number times x^2 above its tangent; with a constant curvature of 1 the number is 1/2.
inline double excess(double x) {
  if (x < 1e-3) return 0.5 + x / 6 + x * x / 24;
  return (exponential(std::min(x, 500.0)) - 1 - x) / (x * x);
}

// A step of a leaf: the sum over its rows of the negative gradients times their steps, the sum of
// the second derivatives times squared steps, and bounds of the steps of all rows and outputs.
struct StepOfLeaf {
  double descent = 0, curvature = 0, least = 0, most = 0;

  // Adds the step `value` of one output, whose rows have sums of gradients and hessians.
  void add(double gradient, double hessian, double value) {
    descent += gradient * value;
    curvature += hessian * value * value;
    include(value, 0);
  }
  // Adds steps of up to `reach` on both sides of `value`, whose sum over the rows is 0.
  void add_linear(double value, double linear_descent, double linear_curvature, double reach) {
    descent += linear_descent;
    curvature += linear_curvature;
    include(value, reach);
  }

 private:
  void include(double value, double reach) {
    least = std::min(least, value - reach);
    most = std::max(most, value + reach);
  }
};

// Whether it is certain that a step does not increase the loss of the rows of its leaf.
inline bool cannot_rise(Loss loss, const StepOfLeaf& step, double learning_rate) {
  if (loss == Loss::kAbsolute || loss == Loss::kQuantile) return learning_rate <= 1;
  if (loss == Loss::kCustom)
    return true;  // its loss is not known, so that nothing can be shortened
  const double descent = step.descent, least = step.least, most = step.most;
  double curvature = step.curvature;
  if (descent < 0) return false;
  switch (loss) {
    case Loss::kSquared:
    case Loss::kHuber:  // its hessians belong to parabolas that are never below the loss
      return curvature <= 2 * descent;
    case Loss::kPoisson:  // its curvature decreases with the raw prediction
      if (most <= 0) return curvature <= 2 * descent;
      break;
    case Loss::kGamma:
      if (least >= 0) return curvature <= 2 * descent;
      break;
    default:
      break;
  }
  // The curvature of softmax along the step is the variance of the values under the probabilities
  // p, which is at most twice the sum of p (1 - p) value^2. It grows with the range of the values.
  if (loss == Loss::kSoftmax) curvature *= 2;
  return curvature * excess(most - least) <= descent;
}

}  // namespace mddf::gradient
