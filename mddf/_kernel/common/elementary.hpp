// Exponentials and logarithms whose last bits depend on neither the processor nor a library.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace mddf {

namespace detail {

// ln 2 in two parts; whole numbers of 11 bits times the first are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// 2^k for k from -1022 to 1023.
inline double power_of_two(int64_t k) {
  const uint64_t bits = static_cast<uint64_t>(k + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

}  // namespace detail

// e^x, less than one unit of the last place from it.
inline double exponential(double x) {
  if (!(x == x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.14) return 0;
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double rest = (x - k * detail::kLn2High) - k * detail::kLn2Low;
  double sum = 0;  // of rest^n / n! from n = 2 on, over rest^2
  constexpr double kTerms[] = {1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
                               1 / 362880.0,     1 / 40320.0,     1 / 5040.0,     1 / 720.0,
                               1 / 120.0,        1 / 24.0,        1 / 6.0,        1 / 2.0};
  for (const double term : kTerms) sum = sum * rest + term;
  const double power = 1 + (rest + rest * rest * sum);
  // In two steps: the power may be too large, or so small that it has fewer digits.
  const auto half = static_cast<int64_t>(k) / 2;
  return power * detail::power_of_two(half) * detail::power_of_two(static_cast<int64_t>(k) - half);
}

// The natural logarithm of x, less than two units of the last place from it.
inline double logarithm(double x) {
  if (!(x > 0)) {
    if (x == 0) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x == std::numeric_limits<double>::infinity()) return x;
  int exponent;
  double part = std::frexp(x, &exponent);  // exact
  if (part < 0x1.6a09e667f3bcdp-1) part *= 2, --exponent;
  // With s = (part - 1) / (part + 1), the logarithm of a part is 2 s (1 + s^2 / 3 + s^4 / 5 ...).
  const double s = (part - 1) / (part + 1), square = s * s;
  double sum = 0;
  for (int n = 23; n > 1; n -= 2) sum = sum * square + 2.0 / n;
  const double k = exponent;
  return k * detail::kLn2High + (2 * s + (s * square * sum + k * detail::kLn2Low));
}

}  // namespace mddf
