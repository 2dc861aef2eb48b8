// Exponentials and logarithms of arrays.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/elementary.hpp"
#include "common/simd.hpp"

namespace mddf::gradient {

// Bound of exponents: raw predictions beyond it are clipped, so that no exponential overflows.
constexpr double kMaxExponent = 500;
inline double as_exponent(double x) {
  return x > kMaxExponent ? kMaxExponent : x < -kMaxExponent ? -kMaxExponent : x;
}

// Replaces each x, from -kMaxExponent to kMaxExponent, by e^x. The result has the same bits as
// `exponential`, whose branches would prevent vectors.
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

// Replaces each finite x >= 1 by its logarithm. The result has the same bits as `logarithm`, whose
// branches would prevent vectors.
MDDF_INLINE void logarithms(double* x, int64_t n) {
  constexpr double kShift = 0x1p52;
  for (int64_t i = 0; i < n; ++i) {
    constexpr uint64_t kLeast = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
    uint64_t bits, shifted;
    std::memcpy(&bits, &x[i], sizeof bits);
    const uint64_t exponent = (bits - kLeast) >> 52;
    bits -= exponent << 52;
    double part, k;
    std::memcpy(&part, &bits, sizeof part);
    std::memcpy(&shifted, &kShift, sizeof shifted);
    shifted |= exponent;  // the lowest bits of 2^52 + k are those of k
    std::memcpy(&k, &shifted, sizeof k);
    k -= kShift;
    const double s = (part - 1) / (part + 1), square = s * s;
    constexpr double kTerms[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                 2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
    double sum = 0;
    for (const double term : kTerms) sum = sum * square + term;
    x[i] = k * detail::kLn2High + (2 * s + (s * square * sum + k * detail::kLn2Low));
  }
}

}  // namespace mddf::gradient
