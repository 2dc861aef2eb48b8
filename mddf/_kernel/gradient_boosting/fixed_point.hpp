// Rounding of numbers to multiples of a power of two, whose sums are exact in any order.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/simd.hpp"
#include "gradient_boosting/exchange.hpp"

namespace mddf::gradient {

// The nearest whole number, for numbers below 2^51. It needs no function call on processors
// without a rounding instruction.
inline double nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// Number of times that each row counts: whole weights, or once.
struct Multiplicity {
  const double* of;  // weights; null if each row counts once
  double total;      // sum over all rows

  double operator[](int64_t row) const { return of ? of[row] : 1; }
};

constexpr int kNoScale = INT32_MIN;  // scale of numbers that are all (nearly) 0

// Factor by which numbers of a scale are multiplied before they are rounded, and their unit.
inline double factor_of(int scale) { return scale == kNoScale ? 0 : std::ldexp(1.0, scale); }
inline double unit_of(int scale) { return scale == kNoScale ? 1 : std::ldexp(1.0, -scale); }

// The largest absolute value of n numbers.
inline double largest_of(const double* values, int64_t n, bool use_simd) {
  double largest = 0;
  simd::with_vectors(use_simd, [&]() MDDF_INLINED {
    // With 64 lanes and a variable number of steps, compilers vectorise the loop and do not unroll
    // it instead.
    constexpr int64_t kLanes = 64;
    double most[kLanes] = {};
    for (int64_t i = 0; i < n; i += kLanes) {
      const double* of = values + i;
      const int64_t m = std::min(kLanes, n - i);
      for (int64_t j = 0; j < m; ++j) {
        const double size = std::fabs(of[j]);
        most[j] = size > most[j] ? size : most[j];
      }
    }
    for (const double size : most) largest = std::fmax(largest, size);
  });
  return largest;
}

constexpr double kSmallest = 1e-250;  // numbers up to it count as 0, so that scales do not overflow

// A scale s such that sums of numbers, each multiplied by 2^s and rounded, stay below 2^bits. It
// assumes that all numbers are as large as the largest one.
inline int rough_scale(double largest, const Multiplicity& times, int bits) {
  if (!(largest > kSmallest)) return kNoScale;
  int exponent, more;
  std::frexp(largest, &exponent);
  std::frexp(times.total, &more);
  return bits - exponent - more;
}

// Finds a larger scale from the sums of absolute values, for each of the `width` numbers of rows:
// construct, add up the `sums` of ranges of rows, then call `scale`.
class SizeOf {
 public:
  explicit SizeOf(double largest) {
    if (!(largest > kSmallest)) return;
    std::frexp(largest, &exponent_);
    unit_ = std::ldexp(1.0, kDigits - exponent_);
  }
  // Sums of absolute values over rows [first, last) in units of the largest number times 2^-20.
  std::vector<double> sums(const double* values, int64_t first, int64_t last, int width,
                           const Multiplicity& times, bool use_simd) const {
    std::vector<double> totals(width);
    const double unit = unit_;
    simd::with_vectors(use_simd, [&]() MDDF_INLINED {
      if (width == 1 && !times.of) {
        constexpr int kLanes = 8;
        double sums[kLanes] = {};
        int64_t i = first;
        for (; i + kLanes <= last; i += kLanes)
          for (int j = 0; j < kLanes; ++j) sums[j] += nearest(std::fabs(values[i + j]) * unit);
        for (; i < last; ++i) sums[0] += nearest(std::fabs(values[i]) * unit);
        for (const double sum : sums) totals[0] += sum;
        return;
      }
      double* to = totals.data();
      for (int64_t i = first; i < last; ++i) {
        const double* of_row = values + i * width;
        const double count = times[i];
        for (int j = 0; j < width; ++j) to[j] += count * nearest(std::fabs(of_row[j]) * unit);
      }
    });
    return totals;
  }
  int scale(const std::vector<double>& sums, const Multiplicity& times, int bits) const {
    if (exponent_ == kNoScale) return kNoScale;
    double most = 0;
    for (const double sum : sums) most = sum > most ? sum : most;
    int more;  // the sum < 2^more, in this unit
    std::frexp(most + times.total, &more);
    return bits - (more + exponent_ - kDigits);
  }

 private:
  static constexpr int kDigits = 20;
  int exponent_ = kNoScale;  // the largest number < 2^exponent
  double unit_ = 0;
};

// Weights of the rows. A shard without rows has none, even if the rows of other shards do. Whether
// there are any, and whether they are whole numbers, is the same for all shards.
struct RowWeights {
  const std::vector<double>& of;  // of this shard
  bool are_any, are_whole;

  bool are_real() const { return are_any && !are_whole; }
};

// Weighted mean over the rows of all shards, with the same bits for every order of the rows. A
// whole weight is the same as copies of a row.
inline double exact_mean(const std::vector<double>& values, const RowWeights& weights,
                         const Shards& shards) {
  const auto n = static_cast<int64_t>(values.size());
  const auto sum = [n, &shards](const std::vector<double>& of, const Multiplicity& times) {
    const SizeOf size(shards.max(largest_of(of.data(), n, false)));
    std::vector<double> sizes = size.sums(of.data(), 0, n, 1, times, false);
    shards.sum(sizes);
    const int scale = size.scale(sizes, times, 50);
    if (scale == kNoScale) return 0.0;
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += times[i] * nearest(std::ldexp(of[i], scale));
    return std::ldexp(shards.sum(total), -scale);
  };
  const double n_rows = shards.sum(static_cast<double>(n));
  const Multiplicity once{nullptr, n_rows};
  if (n_rows == 0) return 0;
  if (!weights.are_any) return sum(values, once) / n_rows;
  if (weights.are_whole) {
    double total = 0;
    for (const double weight : weights.of) total += weight;
    total = shards.sum(total);
    return sum(values, {weights.of.data(), total}) / total;
  }
  std::vector<double> weighed = values;
  for (int64_t i = 0; i < n; ++i) weighed[i] *= weights.of[i];
  return sum(weighed, once) / sum(weights.of, once);
}

}  // namespace mddf::gradient
