// Exponentials and logarithms with the same bits on every processor and with every C library.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/bits.hpp"
#include "common/simd.hpp"

namespace mddf {

namespace detail {

// ln 2 in two parts. The product of the first part and a whole number of 11 bits is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// 2^k for k from -1022 to 1023.
inline double power_of_two(int64_t k) {
  return bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

constexpr uint64_t kLeastPart = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2)

// A positive normal number as a part in [sqrt(1/2), sqrt(2)) times a power of two.
struct Parted {
  explicit Parted(double x) {
    const auto bits = bit_cast<uint64_t>(x);
    above_least = bits - kLeastPart;
    const int64_t exponent = static_cast<int64_t>(above_least) >> 52;
    part = bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
    power = static_cast<double>(exponent);
  }
  uint64_t above_least;  // of the bits; the lower 52 of them rise with the part
  double part, power;
};

// e^x for x between -ln 2 / 2 and ln 2 / 2.
MDDF_INLINE double exponential_near_zero(double x) {
  double sum = 0;  // sum of x^n / n! from n = 2 on, divided by x^2
  constexpr double kTerms[] = {1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
                               1 / 362880.0,     1 / 40320.0,     1 / 5040.0,     1 / 720.0,
                               1 / 120.0,        1 / 24.0,        1 / 6.0,        1 / 2.0};
  for (const double term : kTerms) sum = sum * x + term;
  return 1 + (x + x * x * sum);
}

// Logarithm of a part in [sqrt(1/2), sqrt(2)) times 2^k. With s = (part - 1) / (part + 1), the
// logarithm of a part is 2 s (1 + s^2 / 3 + s^4 / 5 ...).
MDDF_INLINE double logarithm_of_parts(double part, double k) {
  const double s = (part - 1) / (part + 1), square = s * s;
  constexpr double kTerms[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                               2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
  double sum = 0;
  for (const double term : kTerms) sum = sum * square + term;
  return k * kLn2High + (2 * s + (s * square * sum + k * kLn2Low));
}

}  // namespace detail

// e^x, with an error below one unit in the last place.
inline double exponential(double x) {
  if (!(x == x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.14) return 0;
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double rest = (x - k * detail::kLn2High) - k * detail::kLn2Low;
  const double power = detail::exponential_near_zero(rest);
  // The power of two is multiplied in two steps, because it may overflow or be subnormal.
  const auto half = static_cast<int64_t>(k) / 2;
  return power * detail::power_of_two(half) * detail::power_of_two(static_cast<int64_t>(k) - half);
}

// Natural logarithm of x, with an error below two units in the last place.
inline double logarithm(double x) {
  if (!(x > 0)) {
    if (x == 0) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x == std::numeric_limits<double>::infinity()) return x;
  const bool is_normal = x >= 0x1p-1022;
  const detail::Parted parted(is_normal ? x : x * 0x1p54);  // exact
  return detail::logarithm_of_parts(parted.part, is_normal ? parted.power : parted.power - 54);
}

// Natural logarithm of x with an absolute and relative error of about 2^-52, in half of the time.
class QuickLogarithm {
 public:
  static double of(double x) {
    if (!(x >= 0x1p-1022 && x <= std::numeric_limits<double>::max())) return logarithm(x);
    const detail::Parted parted(x);
    const Center& near = kCenters[parted.above_least >> (52 - kBits) & (kCenters.size() - 1)];
    const double r = parted.part * near.inverse - 1, square = r * r;  // r is at most 2^-7.9
    const double rest =
        (r * (1 / 3.0) - 0.5) + square * ((r * (1 / 5.0) - 0.25) - square * (1 / 6.0));
    return parted.power * detail::kLn2High +
           (near.logarithm + (r + (square * rest + parted.power * detail::kLn2Low)));
  }

 private:
  static constexpr int kBits = 7;
  struct Center {
    double inverse, logarithm;
  };
  // Middles of equal intervals of the bits of a part.
  static inline const std::array<Center, 1 << kBits> kCenters = [] {
    std::array<Center, 1 << kBits> centers{};
    for (uint64_t i = 0; i < centers.size(); ++i) {
      const uint64_t bits = detail::kLeastPart + (2 * i + 1) * (uint64_t{1} << (51 - kBits));
      const double inverse = 1 / bit_cast<double>(bits);
      centers[i] = {inverse, -mddf::logarithm(inverse)};
    }
    return centers;
  }();
};

}  // namespace mddf
