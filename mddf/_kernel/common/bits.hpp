// Bits of numbers.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/simd.hpp"

namespace mddf {

// The bits of a number as another type of the same size.
template <class To, class From>
MDDF_INLINE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// An integer for each double, in the same order; -0.0 comes before 0.0.
inline uint64_t ordered_key(double value) {
  const auto bits = bit_cast<uint64_t>(value);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
inline double from_ordered_key(uint64_t key) {
  return bit_cast<double>(key >> 63 ? key & ~(uint64_t{1} << 63) : ~key);
}

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
