// The best constant raw prediction in addition to offsets.
//
// An offset is a part of the raw prediction of a row that is known before the fit, such as the
// logarithm of an exposure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/elementary.hpp"
#include "gradient_boosting/exponentials.hpp"
#include "gradient_boosting/fixed_point.hpp"
#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/options.hpp"

namespace mddf::gradient {

// Training rows of a shard; `offset` has a number for each score of each row.
struct OffsetRows {
  const std::vector<double>& y;
  const RowWeights& weights;
  const Shards& shards;
  const std::vector<double>& offset;

  // The mean over the rows of all shards.
  double mean(const std::vector<double>& values) const {
    return exact_mean(values, weights, shards);
  }
};

// Iterations of the constants without a closed form. Newton's method takes fewer than ten, and
// bisection, to which it falls back, halves the interval each time. The constants of softmax
// converge linearly: the start need not be exact, as trees correct it.
constexpr int kMaxStartIterations = 60;
// The iterations end with steps of at most this size.
constexpr double kStartTolerance = 1e-12;

inline std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a);
  for (size_t i = 0; i < result.size(); ++i) result[i] -= b[i];
  return result;
}

inline std::vector<double> scaled_exponentials(const std::vector<double>& x, double factor) {
  std::vector<double> powers(x.size());
  for (size_t i = 0; i < x.size(); ++i) powers[i] = as_exponent(factor * x[i]);
  exponentials(powers.data(), static_cast<int64_t>(powers.size()));
  return powers;
}

// Losses with a logarithmic link have the gradient y e^((1 - p) f) - e^((2 - p) f), with p = 1 for
// the Poisson loss, p = 2 for the gamma loss, and p between them for the Tweedie loss. A constant c
// multiplies both terms, so that the mean gradient is 0 where e^c is the ratio of their means.
inline double log_ratio_start(const OffsetRows& rows, double power) {
  std::vector<double> weighted = scaled_exponentials(rows.offset, 1 - power);
  for (size_t i = 0; i < weighted.size(); ++i) weighted[i] *= rows.y[i];
  const double mean = rows.mean(weighted);
  const double scale = rows.mean(scaled_exponentials(rows.offset, 2 - power));
  return mean > 0 ? logarithm(mean) - logarithm(scale) : -kMaxExponent / 2;
}

// The root of the mean of y - p(offset + c), by Newton's method inside an interval that shrinks.
inline double logistic_start(const OffsetRows& rows) {
  const double share = bounded_share(rows.mean(rows.y));
  const double logit = logarithm(share / (1 - share));
  double most = -HUGE_VAL, negative_least = -HUGE_VAL;
  for (const double offset : rows.offset) {
    most = std::max(most, offset);
    negative_least = std::max(negative_least, -offset);
  }
  double low = logit - rows.shards.max(most), high = logit + rows.shards.max(negative_least);
  double constant = (low + high) / 2;
  std::vector<double> p(rows.offset.size()), slope(p.size());
  for (int iteration = 0; iteration < kMaxStartIterations; ++iteration) {
    for (size_t i = 0; i < p.size(); ++i) p[i] = as_exponent(-(rows.offset[i] + constant));
    exponentials(p.data(), static_cast<int64_t>(p.size()));
    for (size_t i = 0; i < p.size(); ++i) {
      p[i] = 1 / (1 + p[i]);
      slope[i] = p[i] * (1 - p[i]);
    }
    const double rest = share - rows.mean(p);
    (rest > 0 ? low : high) = constant;
    const double curvature = rows.mean(slope);
    double next = curvature > 0 ? constant + rest / curvature : low;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const double step = std::fabs(next - constant);
    constant = next;
    if (step <= kStartTolerance) break;
  }
  return constant;
}

// Half of the logarithm of the sums of e^-offset over the second class and of e^offset over the
// first class, which are the two parts of the exponential loss.
inline double exponential_start(const OffsetRows& rows) {
  std::vector<double> second = scaled_exponentials(rows.offset, -1);
  std::vector<double> first = scaled_exponentials(rows.offset, 1);
  for (size_t i = 0; i < rows.y.size(); ++i) (rows.y[i] > 0 ? first : second)[i] = 0;
  const double of_second = rows.mean(second), of_first = rows.mean(first);
  const double share = bounded_share(of_second / (of_second + of_first));
  return logarithm(share / (1 - share)) / 2;
}

// Each step multiplies the odds of a class by its share over its mean probability.
inline std::vector<double> softmax_start(const OffsetRows& rows, int width) {
  const size_t n = rows.y.size();
  std::vector<double> shares(width), constants(width), is_class(n), scores(n * width);
  for (int k = 0; k < width; ++k) {
    for (size_t i = 0; i < n; ++i) is_class[i] = rows.y[i] == k;
    shares[k] = bounded_share(rows.mean(is_class));
    constants[k] = logarithm(shares[k]);
  }
  for (int iteration = 0; iteration < kMaxStartIterations; ++iteration) {
    for (size_t i = 0; i < n; ++i) {
      double most = -HUGE_VAL, sum = 0;
      double* of_row = scores.data() + i * width;
      for (int k = 0; k < width; ++k) {
        of_row[k] = rows.offset[i * width + k] + constants[k];
        most = std::max(most, of_row[k]);
      }
      for (int k = 0; k < width; ++k) of_row[k] = as_exponent(of_row[k] - most);
      exponentials(of_row, width);
      for (int k = 0; k < width; ++k) sum += of_row[k];
      for (int k = 0; k < width; ++k) of_row[k] /= sum;
    }
    double largest = 0;
    for (int k = 0; k < width; ++k) {
      for (size_t i = 0; i < n; ++i) is_class[i] = scores[i * width + k];
      const double mean = rows.mean(is_class);
      const double step = mean > 0 ? logarithm(shares[k]) - logarithm(mean) : 0;
      constants[k] += step;
      largest = std::max(largest, std::fabs(step));
    }
    if (largest <= kStartTolerance) break;
  }
  return constants;
}

inline std::vector<double> start_with_offset(const Options& options, const OffsetRows& rows) {
  const int width = options.target_width();
  if (width > 1) {
    Options of_output = options;
    of_output.n_outputs = 1;
    std::vector<double> constants(width);
    for (int k = 0; k < width; ++k) {
      const std::vector<double> y = column_of(rows.y, k, width);
      const std::vector<double> offset = column_of(rows.offset, k, width);
      constants[k] = start_with_offset(of_output, {y, rows.weights, rows.shards, offset})[0];
    }
    return constants;
  }
  switch (options.loss) {
    case Loss::kSquared:
      return {rows.mean(differences(rows.y, rows.offset))};
    case Loss::kAbsolute:
    case Loss::kHuber:
      return {weighted_quantile(differences(rows.y, rows.offset), rows.weights.of, 0.5)};
    case Loss::kQuantile:
      return {
          weighted_quantile(differences(rows.y, rows.offset), rows.weights.of, options.quantile)};
    case Loss::kPoisson:
      return {log_ratio_start(rows, 1)};
    case Loss::kGamma:
      return {log_ratio_start(rows, 2)};
    case Loss::kTweedie:
      return {log_ratio_start(rows, options.tweedie_power)};
    case Loss::kCustom:
      return std::vector<double>(options.width());
    case Loss::kLogistic:
      return {logistic_start(rows)};
    case Loss::kExponential:
      return {exponential_start(rows)};
    case Loss::kSoftmax:
      break;
  }
  return softmax_start(rows, options.width());
}

}  // namespace mddf::gradient
