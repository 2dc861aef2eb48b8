// Losses: where boosting begins, gradients and hessians, and what is left to gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "boosted/exponentials.hpp"
#include "boosted/fixed_point.hpp"
#include "boosted/options.hpp"
#include "common/elementary.hpp"

namespace mddf::gradient {

// The least number that at least such a share of the weight does not exceed.
inline double weighted_quantile(std::vector<double> values, const std::vector<double>& weights,
                                double share) {
  const auto n = static_cast<int64_t>(values.size());
  if (n == 0) return 0;
  if (weights.empty()) {
    const auto at = static_cast<int64_t>(std::ceil(share * static_cast<double>(n))) - 1;
    const auto place = values.begin() + std::clamp<int64_t>(at, 0, n - 1);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  }
  std::vector<std::pair<double, double>> pairs(n);
  double total = 0, sum = 0;
  for (int64_t i = 0; i < n; ++i) pairs[i] = {values[i], weights[i]};
  std::sort(pairs.begin(), pairs.end());
  for (const auto& pair : pairs) total += pair.second;
  for (const auto& pair : pairs) {
    sum += pair.second;
    if (sum >= share * total) return pair.first;
  }
  return pairs.back().first;
}

// Of rows with targets: numbers, or classes as numbers. Raw predictions are `width` numbers a row.
class LossOf {
 public:
  explicit LossOf(const Options& options) : options_(options), width_(options.width()) {}

  // The constant raw prediction that is best, or nearly.
  std::vector<double> start(const std::vector<double>& y, const std::vector<double>& weights,
                            bool whole) const {
    const auto share = [](double mean) { return std::clamp(mean, 1e-7, 1 - 1e-7); };
    switch (options_.loss) {
      case Loss::kSquared:
        return {exact_mean(y, weights, whole)};
      case Loss::kAbsolute:
      case Loss::kHuber:
        return {weighted_quantile(y, weights, 0.5)};
      case Loss::kQuantile:
        return {weighted_quantile(y, weights, options_.quantile)};
      case Loss::kPoisson:
      case Loss::kGamma:
        return {logarithm(std::max(exact_mean(y, weights, whole), 1e-7))};
      case Loss::kLogistic:
      case Loss::kExponential: {
        const double p = share(exact_mean(y, weights, whole));
        return {logarithm(p / (1 - p)) * (options_.loss == Loss::kLogistic ? 1 : 0.5)};
      }
      case Loss::kSoftmax:
        break;
    }
    std::vector<double> scores(width_), is_class(y.size());
    for (int k = 0; k < width_; ++k) {
      for (size_t i = 0; i < y.size(); ++i) is_class[i] = y[i] == k;
      scores[k] = logarithm(share(exact_mean(is_class, weights, whole)));
    }
    return scores;
  }

  // Looks at all rows once a round, before their gradients are asked for.
  void prepare(const std::vector<double>& raw, const std::vector<double>& y,
               const std::vector<double>& weights) {
    if (options_.loss != Loss::kHuber) return;
    std::vector<double> sizes(y.size());
    for (size_t i = 0; i < y.size(); ++i) sizes[i] = std::fabs(y[i] - raw[i]);
    large_ = weighted_quantile(std::move(sizes), weights, options_.quantile);
  }

  // Negative gradients and hessians of n rows, `width` of each for a row. The rows should be so few
  // that their numbers stay near.
  void gradients(const double* raw, const double* y, int64_t n, double* gradient,
                 double* hessian) const {
    simd::with_vectors(options_.wide(), [=]() MDDF_INLINED {
      switch (options_.loss) {
        case Loss::kSquared:
          return of_numbers<Loss::kSquared>(raw, y, n, gradient, hessian);
        case Loss::kAbsolute:
          return of_numbers<Loss::kAbsolute>(raw, y, n, gradient, hessian);
        case Loss::kQuantile:
          return of_numbers<Loss::kQuantile>(raw, y, n, gradient, hessian);
        case Loss::kHuber:
          return of_numbers<Loss::kHuber>(raw, y, n, gradient, hessian);
        case Loss::kPoisson:
          return of_numbers<Loss::kPoisson>(raw, y, n, gradient, hessian);
        case Loss::kGamma:
          return of_numbers<Loss::kGamma>(raw, y, n, gradient, hessian);
        case Loss::kLogistic:
          return of_numbers<Loss::kLogistic>(raw, y, n, gradient, hessian);
        case Loss::kExponential:
          return of_numbers<Loss::kExponential>(raw, y, n, gradient, hessian);
        case Loss::kSoftmax:
          return of_classes(raw, y, n, gradient, hessian);
      }
    });
  }

  // The loss of a row, but for what does not depend on the prediction.
  double of(const double* raw, double y) const {
    const double f = raw[0], rest = y - f, size = std::fabs(rest);
    switch (options_.loss) {
      case Loss::kSquared:
        return rest * rest / 2;
      case Loss::kAbsolute:
        return size;
      case Loss::kQuantile:
        return rest >= 0 ? options_.quantile * rest : (options_.quantile - 1) * rest;
      case Loss::kHuber:
        return size <= large_ ? rest * rest / 2 : large_ * (size - large_ / 2);
      case Loss::kPoisson:
        return exponential(as_exponent(f)) - y * f;
      case Loss::kGamma:
        return f + y * exponential(as_exponent(-f));
      case Loss::kLogistic:
        return std::max(f, 0.0) + logarithm(1 + exponential(-std::fabs(f))) - y * f;
      case Loss::kExponential:
        return exponential(as_exponent(y > 0 ? -f : f));
      case Loss::kSoftmax:
        break;
    }
    const double most = *std::max_element(raw, raw + width_);
    double sum = 0;
    for (int k = 0; k < width_; ++k) sum += exponential(raw[k] - most);
    return logarithm(sum) + most - raw[static_cast<int>(y)];
  }

 private:
  template <Loss kLoss>
  MDDF_INLINE void of_numbers(const double* raw, const double* y, int64_t n, double* gradient,
                              double* hessian) const {
    const double quantile = options_.quantile, large = large_;
    if constexpr (Options::needs_exponential(kLoss)) {  // they go where the hessians will be
      for (int64_t i = 0; i < n; ++i) hessian[i] = as_exponent(exponent<kLoss>(raw[i], y[i]));
      exponentials(hessian, n);
    }
    for (int64_t i = 0; i < n; ++i)
      of_number<kLoss>(y[i], y[i] - raw[i], quantile, large, gradient[i], hessian[i]);
  }

  template <Loss kLoss>
  MDDF_INLINE static double exponent(double f, double y) {
    if (kLoss == Loss::kExponential) return y > 0 ? -f : f;
    return kLoss == Loss::kPoisson ? f : -f;
  }

  // `hessian` is the exponential of the raw prediction or of minus it, where the loss needs that.
  template <Loss kLoss>
  MDDF_INLINE static void of_number(double y, double rest, double quantile, double large,
                                    double& gradient, double& hessian) {
    const double power = hessian;
    hessian = 1;
    if constexpr (kLoss == Loss::kSquared) {
      gradient = rest;
    } else if constexpr (kLoss == Loss::kAbsolute) {
      gradient = (rest > 0) - (rest < 0);
    } else if constexpr (kLoss == Loss::kQuantile) {
      gradient = rest >= 0 ? quantile : quantile - 1;
    } else if constexpr (kLoss == Loss::kHuber) {  // a parabola that touches where it is linear
      const double size = std::fabs(rest);
      const bool is_large = size > large;
      gradient = is_large ? std::copysign(large, rest) : rest;
      hessian = is_large ? large / size : 1;
    } else if constexpr (kLoss == Loss::kPoisson) {
      hessian = power;
      gradient = y - power;
    } else if constexpr (kLoss == Loss::kGamma) {
      hessian = y * power;
      gradient = hessian - 1;
    } else if constexpr (kLoss == Loss::kLogistic) {
      const double p = 1 / (1 + power);
      gradient = y - p;
      hessian = p * (1 - p);
    } else {
      hessian = power;
      gradient = y > 0 ? power : -power;
    }
  }

  MDDF_INLINE void of_classes(const double* raw, const double* y, int64_t n, double* gradient,
                              double* hessian) const {
    const int width = width_;
    for (int64_t i = 0; i < n; ++i) {
      const double* of_row = raw + i * width;
      double most = of_row[0];
      for (int k = 1; k < width; ++k) most = of_row[k] > most ? of_row[k] : most;
      for (int k = 0; k < width; ++k) gradient[i * width + k] = as_exponent(of_row[k] - most);
    }
    exponentials(gradient, n * width);
    for (int64_t i = 0; i < n; ++i) {
      double *to = gradient + i * width, *to_hessian = hessian + i * width;
      double sum = 0;
      for (int k = 0; k < width; ++k) sum += to[k];
      const double share = 1 / sum;
      for (int k = 0; k < width; ++k) {
        const double p = to[k] * share;
        to[k] = -p;
        to_hessian[k] = p * (1 - p);
      }
      to[static_cast<int>(y[i])] += 1;
    }
  }

  const Options& options_;
  int width_;
  double large_ = 0;  // residuals above it count as large
};

}  // namespace mddf::gradient
