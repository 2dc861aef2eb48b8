// Numbers as whole multiples of a power of two, whose sums are exact in any order.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace mddf::gradient {

// The nearest whole number, of numbers below 2^51: without a call where processors have no
// instruction for it.
inline double nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// How often rows count: as whole numbers, or each once.
struct Multiplicity {
  const double* of;  // or null
  double total;      // of all rows

  double operator[](int64_t row) const { return of ? of[row] : 1; }
};

constexpr int kNoScale = INT32_MIN;  // of numbers that are 0, or nearly

// The largest absolute value of n numbers.
inline double largest_of(const double* values, int64_t n) {
  double largest[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j) {
      const double size = std::fabs(values[i + j]);
      largest[j] = size > largest[j] ? size : largest[j];
    }
  for (; i < n; ++i) largest[0] = std::fmax(largest[0], std::fabs(values[i]));
  for (int j = 1; j < 8; ++j) largest[0] = std::fmax(largest[0], largest[j]);
  return largest[0];
}

constexpr double kSmallest = 1e-250;  // what is not above it counts as 0

// An s for which sums over rows of numbers, each times 2^s and rounded, stay below 2^bits: by the
// largest of all, and as if all were as large.
inline int rough_scale(const double* values, int64_t n_values, const Multiplicity& times,
                       int bits) {
  const double largest = largest_of(values, n_values);
  if (!(largest > kSmallest)) return kNoScale;
  int exponent, more;
  std::frexp(largest, &exponent);
  std::frexp(times.total, &more);
  return bits - exponent - more;
}

// A larger one, as their sizes allow: for any of the `width` numbers of a row.
inline int scale_for(const double* values, int64_t n_rows, int width, const Multiplicity& times,
                     int bits) {
  const double largest = largest_of(values, n_rows * width);
  if (!(largest > kSmallest)) return kNoScale;
  int exponent;  // largest < 2^exponent
  std::frexp(largest, &exponent);
  constexpr int kDigits = 20;
  const double unit = std::ldexp(1.0, kDigits - exponent);
  double most = 0;
  if (width == 1) {
    double sums[4] = {};
    int64_t i = 0;
    for (; i + 4 <= n_rows; i += 4)
      for (int j = 0; j < 4; ++j)
        sums[j] += (times.of ? times.of[i + j] : 1) * nearest(std::fabs(values[i + j]) * unit);
    for (; i < n_rows; ++i) sums[0] += times[i] * nearest(std::fabs(values[i]) * unit);
    most = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  } else {
    std::vector<double> sums(width);
    for (int64_t i = 0; i < n_rows; ++i)
      for (int j = 0; j < width; ++j)
        sums[j] += times[i] * nearest(std::fabs(values[i * width + j]) * unit);
    for (const double sum : sums) most = sum > most ? sum : most;
  }
  int more;  // the sum < 2^more, in this unit
  std::frexp(most + times.total, &more);
  return bits - (more + exponent - kDigits);
}

// The mean of numbers, the same for every order of the rows. Weights may be whole numbers, which
// are the same as copies, or real ones, or none.
inline double exact_mean(const std::vector<double>& values, const std::vector<double>& weights,
                         bool whole) {
  const auto n = static_cast<int64_t>(values.size());
  const auto sum = [n](const std::vector<double>& of, const Multiplicity& times) {
    const int scale = scale_for(of.data(), n, 1, times, 50);
    if (scale == kNoScale) return 0.0;
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += times[i] * nearest(std::ldexp(of[i], scale));
    return std::ldexp(total, -scale);
  };
  const Multiplicity once{nullptr, static_cast<double>(n)};
  if (n == 0) return 0;
  if (weights.empty()) return sum(values, once) / static_cast<double>(n);
  if (whole) {
    double total = 0;
    for (const double weight : weights) total += weight;
    return sum(values, {weights.data(), total}) / total;
  }
  std::vector<double> weighed = values;
  for (int64_t i = 0; i < n; ++i) weighed[i] *= weights[i];
  return sum(weighed, once) / sum(weights, once);
}

}  // namespace mddf::gradient
