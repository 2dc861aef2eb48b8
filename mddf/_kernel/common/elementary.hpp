// Exponentials and logarithms with the same bits on every processor and with every C library.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace mddf {

namespace detail {

// ln 2 in two parts. The product of the first part and a whole number of 11 bits is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// 2^k for k from -1022 to 1023.
inline double power_of_two(int64_t k) {
  const uint64_t bits = static_cast<uint64_t>(k + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

// A positive normal number as a part in [sqrt(1/2), sqrt(2)) times a power of two.
struct Parted {
  explicit Parted(double x) {
    constexpr uint64_t kLeast = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    above_least = bits - kLeast;
    const int64_t exponent = static_cast<int64_t>(above_least) >> 52;
    bits -= static_cast<uint64_t>(exponent) << 52;
    std::memcpy(&part, &bits, sizeof part);
    power = static_cast<double>(exponent);
  }
  uint64_t above_least;  // of the bits; the lower 52 of them rise with the part
  double part, power;
};

}  // namespace detail

// e^x, with an error below one unit in the last place.
inline double exponential(double x) {
  if (!(x == x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.14) return 0;
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double rest = (x - k * detail::kLn2High) - k * detail::kLn2Low;
  double sum = 0;  // sum of rest^n / n! from n = 2 on, divided by rest^2
  constexpr double kTerms[] = {1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
                               1 / 362880.0,     1 / 40320.0,     1 / 5040.0,     1 / 720.0,
                               1 / 120.0,        1 / 24.0,        1 / 6.0,        1 / 2.0};
  for (const double term : kTerms) sum = sum * rest + term;
  const double power = 1 + (rest + rest * rest * sum);
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
  const double part = parted.part, k = is_normal ? parted.power : parted.power - 54;
  // With s = (part - 1) / (part + 1), the logarithm of a part is 2 s (1 + s^2 / 3 + s^4 / 5 ...).
  const double s = (part - 1) / (part + 1), square = s * s;
  double sum = 0;
  for (int n = 23; n > 1; n -= 2) sum = sum * square + 2.0 / n;
  return k * detail::kLn2High + (2 * s + (s * square * sum + k * detail::kLn2Low));
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
      const uint64_t bits = 0x3fe6a09e667f3bcd + (2 * i + 1) * (uint64_t{1} << (51 - kBits));
      double middle;
      std::memcpy(&middle, &bits, sizeof middle);
      const double inverse = 1 / middle;
      centers[i] = {inverse, -mddf::logarithm(inverse)};
    }
    return centers;
  }();
};

}  // namespace mddf
