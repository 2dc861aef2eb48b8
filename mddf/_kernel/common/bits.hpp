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

// Number of bits that are 1. Processors count them in one step, but not all of them.
inline int count_bits(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<int>((bits * 0x0101010101010101u) >> 56);
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
