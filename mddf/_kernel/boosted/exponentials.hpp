// Exponentials of many numbers.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/elementary.hpp"
#include "common/wide.hpp"

namespace mddf::gradient {

// What raw predictions are taken for where they are exponents: no exponential of it overflows.
constexpr double kMostExponent = 500;
inline double as_exponent(double x) {
  return x > kMostExponent ? kMostExponent : x < -kMostExponent ? -kMostExponent : x;
}

// Writes e^x over each x from -kMostExponent to kMostExponent: the bits of `exponential`, without
// its branches.
MDDF_INLINE void exponentials(double* x, int64_t n) {
  constexpr double kShift = 0x1.8p52;
  for (int64_t i = 0; i < n; ++i) {
    const double scaled = x[i] * 0x1.71547652b82fep+0 + 0.5;
    double k = (scaled + kShift) - kShift;
    k -= k > scaled ? 1.0 : 0.0;  // rounded down
    const double rest = (x[i] - k * detail::kLn2High) - k * detail::kLn2Low;
    constexpr double kTerms[] = {1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
                                 1 / 362880.0,     1 / 40320.0,     1 / 5040.0,     1 / 720.0,
                                 1 / 120.0,        1 / 24.0,        1 / 6.0,        1 / 2.0};
    double sum = 0;
    for (const double term : kTerms) sum = sum * rest + term;
    const double power = 1 + (rest + rest * rest * sum);
    // The lowest bits of k + kShift are those of k: they become the exponent of 2^k.
    const double shifted = k + kShift;
    uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + (uint64_t{1023} << 52);
    double of_two;
    std::memcpy(&of_two, &bits, sizeof of_two);
    x[i] = power * of_two;
  }
}

}  // namespace mddf::gradient
