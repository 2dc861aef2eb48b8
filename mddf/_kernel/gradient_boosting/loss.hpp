// Losses: the initial prediction, gradients and hessians, and the loss of rows.
//
// A new loss has a case in each of `start`, `with_loss`, `loss_of` and `of_number`, a bound of its
// steps in `steps.hpp`, and a name in `bindings/gradient_options.cpp`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/elementary.hpp"
#include "gradient_boosting/exponentials.hpp"
#include "gradient_boosting/fixed_point.hpp"
#include "gradient_boosting/options.hpp"
#include "gradient_boosting/shard_quantiles.hpp"

namespace mddf::gradient {

// The least value such that at least `share` of the weight belongs to values up to it.
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

// The same over the values of all shards. If there are several, weights must be whole numbers.
inline double quantile_of_all(std::vector<double> values, const RowWeights& weights, double share,
                              const Shards& shards) {
  if (!shards.are_several()) return weighted_quantile(std::move(values), weights.of, share);
  return quantiles_of_shards(
      values, [](int64_t) { return 0; }, 1, weights.of, weights.are_any, share, shards)[0];
}

// The numbers of one output, from rows of `width` numbers.
inline std::vector<double> column_of(const std::vector<double>& rows, int output, int width) {
  std::vector<double> column(rows.size() / width);
  for (size_t i = 0; i < column.size(); ++i) column[i] = rows[i * width + output];
  return column;
}

// The share of a class, from which its score is computed. A class without rows, or with all rows,
// would have an infinite score.
inline double bounded_share(double mean) {
  return mean > 0 && mean < 1 ? mean : std::clamp(mean, 1e-7, 1 - 1e-7);
}

// Loss of rows whose targets are numbers, or numbers of classes. A raw prediction has `width`
// numbers.
class LossFunction {
 public:
  explicit LossFunction(const Options& options) : options_(options), width_(options.width()) {}

  // The raw prediction before the first tree: the best constant for the rows of all shards, or
  // nearly so.
  std::vector<double> start(const std::vector<double>& y, const RowWeights& weights,
                            const Shards& shards) const {
    if (options_.target_width() > 1) {
      std::vector<double> of_outputs(width_);
      for (int k = 0; k < width_; ++k)
        of_outputs[k] = start_of_numbers(column_of(y, k, width_), weights, shards);
      return of_outputs;
    }
    switch (options_.loss) {
      default:
        return {start_of_numbers(y, weights, shards)};
      case Loss::kCustom:
        return std::vector<double>(width_);
      case Loss::kLogistic:
      case Loss::kExponential: {
        const double p = bounded_share(exact_mean(y, weights, shards));
        return {logarithm(p / (1 - p)) * (options_.loss == Loss::kLogistic ? 1 : 0.5)};
      }
      case Loss::kSoftmax:
        break;
    }
    std::vector<double> scores(width_), is_class(y.size());
    for (int k = 0; k < width_; ++k) {
      for (size_t i = 0; i < y.size(); ++i) is_class[i] = y[i] == k;
      scores[k] = logarithm(bounded_share(exact_mean(is_class, weights, shards)));
    }
    return scores;
  }

  // Sets the least value of Huber's threshold from the targets, less their offsets if there are
  // any; called once before the first round.
  void set_least_large(const std::vector<double>& y, const RowWeights& weights,
                       const Shards& shards) {
    if (options_.loss == Loss::kHuber) least_large_ = kLeastLarge * spread(y, weights, shards);
  }

  // Updates Huber's threshold from the residuals of all rows; called once before each round.
  void prepare(const std::vector<double>& raw, const std::vector<double>& y,
               const RowWeights& weights, const Shards& shards) {
    if (options_.loss != Loss::kHuber) return;
    std::vector<double> sizes(y.size());
    for (size_t i = 0; i < y.size(); ++i) sizes[i] = std::fabs(y[i] - raw[i]);
    const double quantile = quantile_of_all(std::move(sizes), weights, options_.quantile, shards);
    large_ = std::max(least_large_, std::min(large_, quantile));
  }

  // Absolute residual above which Huber's loss is linear.
  double large() const { return large_; }
  void set_large(double large) { large_ = large; }

  // Largest number of rows of a call, so that their temporary arrays stay in the cache. Not tuned.
  static constexpr int64_t kMaxRows = 1024;
  int64_t rows_together() const { return std::max<int64_t>(1, kMaxRows / width_); }

  // Computes the negative gradients and the hessians of n rows, `width` of each for a row, and the
  // losses unless `losses` is null. Losses omit terms that do not depend on the prediction. If
  // rows have several targets, the loss of a row is the sum of their losses.
  void gradients(const double* raw, const double* y, int64_t n, double* gradient, double* hessian,
                 double* losses) const {
    with_loss([=](auto loss) MDDF_INLINED {
      if constexpr (loss() == Loss::kSoftmax) {
        of_classes(raw, y, n, gradient, hessian, losses);
      } else {
        of_numbers<loss()>(raw, y, n * width_, gradient, hessian);
        if (losses) losses_of_rows<loss()>(raw, y, n, losses);
      }
    });
  }

  // Computes only the losses.
  void losses(const double* raw, const double* y, int64_t n, double* losses) const {
    std::vector<double> powers(options_.loss == Loss::kSoftmax ? n * width_ : 0);
    double* to_powers = powers.data();
    with_loss([=](auto loss) MDDF_INLINED {
      if constexpr (loss() == Loss::kSoftmax)
        of_classes(raw, y, n, to_powers, nullptr, losses);
      else
        losses_of_rows<loss()>(raw, y, n, losses);
    });
  }

 private:
  // The best constant for one target.
  double start_of_numbers(const std::vector<double>& y, const RowWeights& weights,
                          const Shards& shards) const {
    switch (options_.loss) {
      case Loss::kSquared:
        return exact_mean(y, weights, shards);
      case Loss::kAbsolute:
      case Loss::kHuber:
        return quantile_of_all(y, weights, 0.5, shards);
      case Loss::kQuantile:
        return quantile_of_all(y, weights, options_.quantile, shards);
      default: {  // losses with a logarithmic link
        const double mean = exact_mean(y, weights, shards);
        return mean > 0 ? logarithm(mean) : -kMaxExponent / 2;
      }
    }
  }

  // Calls work with the loss as a compile-time constant, in code for wide vectors if there are
  // any.
  template <class Work>
  void with_loss(const Work& work) const {
    simd::with_vectors(options_.uses_simd(), [&]() MDDF_INLINED {
      switch (options_.loss) {
        case Loss::kSquared:
          return work(std::integral_constant<Loss, Loss::kSquared>());
        case Loss::kAbsolute:
          return work(std::integral_constant<Loss, Loss::kAbsolute>());
        case Loss::kQuantile:
          return work(std::integral_constant<Loss, Loss::kQuantile>());
        case Loss::kHuber:
          return work(std::integral_constant<Loss, Loss::kHuber>());
        case Loss::kPoisson:
          return work(std::integral_constant<Loss, Loss::kPoisson>());
        case Loss::kGamma:
          return work(std::integral_constant<Loss, Loss::kGamma>());
        case Loss::kTweedie:
          return work(std::integral_constant<Loss, Loss::kTweedie>());
        case Loss::kLogistic:
          return work(std::integral_constant<Loss, Loss::kLogistic>());
        case Loss::kExponential:
          return work(std::integral_constant<Loss, Loss::kExponential>());
        case Loss::kSoftmax:
          return work(std::integral_constant<Loss, Loss::kSoftmax>());
        case Loss::kCustom:  // has no gradients and losses here
          return;
      }
    });
  }

  template <Loss kLoss>
  MDDF_INLINE void losses_of_rows(const double* raw, const double* y, int64_t n,
                                  double* losses) const {
    if (width_ == 1) return losses_of_numbers<kLoss>(raw, y, n, losses);
    double of_outputs[kMaxRows];
    const int64_t width = width_, together = kMaxRows / width;
    for (int64_t row = 0; row < n; row += together) {
      const int64_t last = row + together < n ? row + together : n;
      losses_of_numbers<kLoss>(raw + row * width, y + row * width, (last - row) * width,
                               of_outputs);
      for (int64_t i = row; i < last; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < width; ++k) sum += of_outputs[(i - row) * width + k];
        losses[i] = sum;
      }
    }
  }

  template <Loss kLoss>
  MDDF_INLINE void losses_of_numbers(const double* raw, const double* y, int64_t n,
                                     double* losses) const {
    const double quantile = options_.quantile, large = large_;
    if constexpr (kLoss == Loss::kTweedie) {
      tweedie_losses(raw, y, n, losses);
      return;
    } else if constexpr (kLoss == Loss::kLogistic) {
      for (int64_t i = 0; i < n; ++i) losses[i] = as_exponent(-std::fabs(raw[i]));
      exponentials(losses, n);
      for (int64_t i = 0; i < n; ++i) losses[i] += 1;
      logarithms(losses, n);
    } else if constexpr (Options::needs_exponential(kLoss)) {
      for (int64_t i = 0; i < n; ++i) losses[i] = as_exponent(exponent<kLoss>(raw[i], y[i]));
      exponentials(losses, n);
    }
    for (int64_t i = 0; i < n; ++i)
      losses[i] = loss_of<kLoss>(y[i], raw[i], losses[i], quantile, large);
  }

  // The Tweedie loss with the power p is e^((2 - p) f) / (2 - p) - y e^((1 - p) f) / (1 - p). The
  // constant 1 / (2 - p) - y / (1 - p) is left out, so that the loss has the Poisson loss (at p =
  // 1) and the gamma loss (at p = 2) as limits.
  MDDF_INLINE void tweedie_losses(const double* raw, const double* y, int64_t n,
                                  double* losses) const {
    const double first = 1 - options_.tweedie_power, second = 2 - options_.tweedie_power;
    double powers[kMaxRows];
    for (int64_t i = 0; i < n; ++i) powers[i] = as_exponent(first * raw[i]);
    for (int64_t i = 0; i < n; ++i) losses[i] = as_exponent(second * raw[i]);
    exponentials(powers, n);
    exponentials(losses, n);
    for (int64_t i = 0; i < n; ++i)
      losses[i] = raw[i] * (power_ratio(as_exponent(second * raw[i]), losses[i]) -
                            y[i] * power_ratio(as_exponent(first * raw[i]), powers[i]));
  }

  // (e^x - 1) / x, from x and e^x. The series has an error below 1e-17 for the small x for which
  // the difference would lose digits.
  MDDF_INLINE static double power_ratio(double x, double power) {
    const bool is_small = x < 1e-3 && x > -1e-3;
    const double series = 1 + x * (1 / 2.0 + x * (1 / 6.0 + x * (1 / 24.0 + x * (1 / 120.0))));
    return is_small ? series : (power - 1) / (is_small ? 1 : x);
  }

  // `power` is the exponential (or for the logistic loss the logarithm) that the loss needs.
  template <Loss kLoss>
  MDDF_INLINE static double loss_of(double y, double f, double power, double quantile,
                                    double large) {
    const double rest = y - f, size = std::fabs(rest);
    if constexpr (kLoss == Loss::kSquared) return rest * rest / 2;
    if constexpr (kLoss == Loss::kAbsolute) return size;
    if constexpr (kLoss == Loss::kQuantile) return (rest >= 0 ? quantile : quantile - 1) * rest;
    if constexpr (kLoss == Loss::kHuber)
      return size <= large ? rest * rest / 2 : large * (size - large / 2);
    if constexpr (kLoss == Loss::kPoisson) return power - y * f;
    if constexpr (kLoss == Loss::kGamma) return f + y * power;
    if constexpr (kLoss == Loss::kLogistic) return (f > 0 ? f : 0) + power - y * f;
    return power;
  }

  template <Loss kLoss>
  MDDF_INLINE void of_numbers(const double* raw, const double* y, int64_t n, double* gradient,
                              double* hessian) const {
    if constexpr (kLoss == Loss::kTweedie) return of_tweedie(raw, y, n, gradient, hessian);
    const double quantile = options_.quantile, large = large_;
    if constexpr (Options::needs_exponential(kLoss)) {  // stored in place of the hessians
      for (int64_t i = 0; i < n; ++i) hessian[i] = as_exponent(exponent<kLoss>(raw[i], y[i]));
      exponentials(hessian, n);
    }
    for (int64_t i = 0; i < n; ++i)
      of_number<kLoss>(y[i], y[i] - raw[i], quantile, large, gradient[i], hessian[i]);
  }

  MDDF_INLINE void of_tweedie(const double* raw, const double* y, int64_t n, double* gradient,
                              double* hessian) const {
    const double first = 1 - options_.tweedie_power, second = 2 - options_.tweedie_power;
    for (int64_t i = 0; i < n; ++i) gradient[i] = as_exponent(first * raw[i]);
    for (int64_t i = 0; i < n; ++i) hessian[i] = as_exponent(second * raw[i]);
    exponentials(gradient, n);
    exponentials(hessian, n);
    for (int64_t i = 0; i < n; ++i) {
      const double target_part = y[i] * gradient[i], mean_part = hessian[i];
      gradient[i] = target_part - mean_part;
      hessian[i] = second * mean_part - first * target_part;
    }
  }

  template <Loss kLoss>
  MDDF_INLINE static double exponent(double f, double y) {
    if (kLoss == Loss::kExponential) return y > 0 ? -f : f;
    return kLoss == Loss::kPoisson ? f : -f;
  }

  // On entry, `hessian` holds e^f or e^-f (f is the raw prediction) if the loss needs it.
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
      gradient = rest > 0 ? quantile : rest < 0 ? quantile - 1 : 0;  // 0 at ties
    } else if constexpr (kLoss == Loss::kHuber) {
      // The hessian is the curvature of a parabola that touches the linear part from above.
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

  // The largest of n numbers. Four independent maxima let the processor work on them in parallel.
  MDDF_INLINE static double largest_number(const double* of, int n) {
    double most[4] = {of[0], of[0], of[0], of[0]};
    int k = 0;
    for (; k + 4 <= n; k += 4)
      for (int j = 0; j < 4; ++j) most[j] = of[k + j] > most[j] ? of[k + j] : most[j];
    for (; k < n; ++k) most[0] = of[k] > most[0] ? of[k] : most[0];
    for (int j = 1; j < 4; ++j) most[0] = most[j] > most[0] ? most[j] : most[0];
    return most[0];
  }

  // Softmax: gradients and hessians (unless `hessian` is null) and losses (unless null).
  MDDF_INLINE void of_classes(const double* raw, const double* y, int64_t n, double* gradient,
                              double* hessian, double* losses) const {
    const int width = width_;
    double most[kMaxRows], sums[kMaxRows];
    for (int64_t i = 0; i < n; ++i) {
      const double* of_row = raw + i * width;
      most[i] = largest_number(of_row, width);
      for (int k = 0; k < width; ++k) {
        const double exponent = of_row[k] - most[i];  // never above 0
        gradient[i * width + k] = exponent > -kMaxExponent ? exponent : -kMaxExponent;
      }
    }
    exponentials(gradient, n * width);
    for (int64_t i = 0; i < n; ++i) {
      const double* powers = gradient + i * width;
      sums[i] = 0;
      for (int k = 0; k < width; ++k) sums[i] += powers[k];
    }
    for (int64_t i = 0; i < n && hessian; ++i) {
      double *to = gradient + i * width, *to_hessian = hessian + i * width;
      const double share = 1 / sums[i];
      for (int k = 0; k < width; ++k) {
        const double p = to[k] * share;
        to[k] = -p;
        to_hessian[k] = p * (1 - p);
      }
      to[static_cast<int>(y[i])] += 1;
    }
    if (!losses) return;
    logarithms(sums, n);
    for (int64_t i = 0; i < n; ++i)
      losses[i] = sums[i] + most[i] - raw[i * width + static_cast<int>(y[i])];
  }

  // Quantile of the distances of targets from their median. Targets that equal the median are left
  // out, since they may be most of the targets.
  double spread(const std::vector<double>& y, const RowWeights& weights,
                const Shards& shards) const {
    const double median = quantile_of_all(y, weights, 0.5, shards);
    std::vector<double> distances, distance_weights;
    for (size_t i = 0; i < y.size(); ++i) {
      if (y[i] == median) continue;
      distances.push_back(std::fabs(y[i] - median));
      if (weights.are_any) distance_weights.push_back(weights.of[i]);
    }
    return quantile_of_all(std::move(distances),
                           {distance_weights, weights.are_any, weights.are_whole},
                           options_.quantile, shards);
  }

  // Least value of Huber's threshold, as a share of the spread of the targets. If most targets are
  // equal, the quantile of the residuals is close to 0, and so would be all gradients. The
  // quantile itself falls below a tenth only if most rows are predicted that well. Not tuned.
  static constexpr double kLeastLarge = 0.1;

  const Options& options_;
  int width_;
  // Huber's threshold. It never increases, so that the loss does not increase either.
  double large_ = HUGE_VAL;
  double least_large_ = 0;
};

}  // namespace mddf::gradient
