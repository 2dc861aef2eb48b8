// Small, fast, portable random streams: one per tree, seeded by the caller.
#pragma once

#include <cstdint>

namespace mddf {

// High 64 bits of a 64 x 64 bit product.
inline uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using uint128 = unsigned __int128;
  return static_cast<uint64_t>((static_cast<uint128>(a) * b) >> 64);
#else
  const uint64_t a_lo = a & 0xffffffffu, a_hi = a >> 32;
  const uint64_t b_lo = b & 0xffffffffu, b_hi = b >> 32;
  const uint64_t mid = a_hi * b_lo + ((a_lo * b_lo) >> 32);
  const uint64_t mid2 = a_lo * b_hi + (mid & 0xffffffffu);
  return a_hi * b_hi + (mid >> 32) + (mid2 >> 32);
#endif
}

// xoshiro256++ with a splitmix64 seed expansion.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform on [0, n); n > 0. The bias of the plain multiply is below n / 2^64.
  uint64_t below(uint64_t n) { return multiply_high(next(), n); }

  // Uniform on [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace mddf
