// Counting bits.
#pragma once

#include <cstdint>

namespace mddf {

// Position of the lowest set bit; x must not be 0.
inline int lowest_bit(uint64_t bits) {
#if defined(__GNUC__) || defined(__clang__)
  return __builtin_ctzll(bits);
#else
  int number = 0;
  for (; !(bits & 1); bits >>= 1) ++number;
  return number;
#endif
}

// Number of bits of a number; 0 for 0.
inline int bit_width(uint64_t value) {
#if defined(__GNUC__) || defined(__clang__)
  return value ? 64 - __builtin_clzll(value) : 0;
#else
  int bits = 0;
  for (; value; value >>= 1) ++bits;
  return bits;
#endif
}

}  // namespace mddf
