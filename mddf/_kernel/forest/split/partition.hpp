// Sending the samples of a node to the two sides of a split, with wide vectors where the processor
// has them.
#pragma once

#include <cstdint>

#include "common/wide.hpp"

namespace mddf::simd {

// Copies the samples to `to`: from the front those whose code + shift (modulo 256) is at most the
// threshold, from the back the others, in no particular order. Fills the places in
// [n_left, n_left + n - first) with the samples from `first` on; returns how many are on the left.
template <class Sample>
MDDF_INLINE uint32_t divide_plain(const Sample* samples, const uint8_t* codes, uint32_t first,
                                  uint32_t n, uint32_t n_left, uint8_t shift, uint8_t threshold,
                                  Sample* to) {
  uint32_t last = n_left + (n - first) - 1;
  for (uint32_t i = first; i < n; ++i) {
    const Sample sample = samples[i];
    const bool right = static_cast<uint8_t>(codes[i] + shift) > threshold;
    to[n_left] = sample;
    to[last] = sample;
    n_left += !right;
    last -= right;
  }
  return n_left;
}

#ifdef MDDF_AVX2

// For every 4-bit mask, the order of the 32-bit halves of four 64-bit lanes that brings the lanes
// whose bit is set to the front.
struct LaneOrders {
  alignas(32) uint32_t order[16][8];
  constexpr LaneOrders() : order() {
    for (int mask = 0; mask < 16; ++mask) {
      int at = 0;
      for (int bit = 1; bit >= 0; --bit)
        for (int lane = 0; lane < 4; ++lane)
          if (((mask >> lane) & 1) == bit) {
            order[mask][at++] = 2 * lane;
            order[mask][at++] = 2 * lane + 1;
          }
    }
  }
};
inline constexpr LaneOrders kLaneOrders{};

template <class Sample>
MDDF_TARGET_AVX2 uint32_t divide_avx2(const Sample* samples, const uint8_t* codes, uint32_t n,
                                      uint8_t shift, uint8_t threshold, Sample* to) {
  static_assert(sizeof(Sample) == 8);
  const __m256i shifts = _mm256_set1_epi8(static_cast<char>(shift));
  const __m256i thresholds = _mm256_set1_epi8(static_cast<char>(threshold));
  // Four samples at once, the left ones in front, are stored at both ends of the free places; with
  // eight of these left, what does not belong there hits nothing and is written over later.
  int64_t i = 0, n_left = 0;
  const auto place_four = [&](uint32_t left) MDDF_TARGET_AVX2 {
    const __m256i lanes = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(samples + i)),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(kLaneOrders.order[left])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + n_left), lanes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (n - i - 4) + n_left), lanes);
    n_left += static_cast<int64_t>(_mm_popcnt_u32(left));
    i += 4;
  };
  while (i + 36 <= n) {
    const __m256i code =
        _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i)), shifts);
    uint32_t left = static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(code, thresholds), thresholds)));
    for (int j = 0; j < 8; ++j, left >>= 4) place_four(left & 15);
  }
  while (i + 8 <= n) {
    uint32_t left = 0;
    for (int j = 0; j < 4; ++j)
      left |= uint32_t{static_cast<uint8_t>(codes[i + j] + shift) <= threshold} << j;
    place_four(left);
  }
  return divide_plain(samples, codes, static_cast<uint32_t>(i), n, static_cast<uint32_t>(n_left),
                      shift, threshold, to);
}

#endif

// The same, in the order in which divide_avx2 leaves the samples: sums of reals depend on it.
template <class Sample>
uint32_t divide_by_fours(const Sample* samples, const uint8_t* codes, uint32_t n, uint8_t shift,
                         uint8_t threshold, Sample* to) {
  uint32_t i = 0, n_left = 0, end = n;
  for (; i + 8 <= n; i += 4) {
    bool right[4];
    uint32_t start = end;
    for (int j = 0; j < 4; ++j) {
      right[j] = static_cast<uint8_t>(codes[i + j] + shift) > threshold;
      start -= right[j];
    }
    end = start;
    for (int j = 0; j < 4; ++j) to[right[j] ? start++ : n_left++] = samples[i + j];
  }
  return divide_plain(samples, codes, i, n, n_left, shift, threshold, to);
}

template <class Sample>
uint32_t divide(const Sample* samples, const uint8_t* codes, uint32_t n, uint8_t shift,
                uint8_t threshold, Sample* to, [[maybe_unused]] bool wide) {
  if constexpr (sizeof(Sample) == 8)
    if (n >= 16) {
#ifdef MDDF_AVX2
      if (wide) return divide_avx2(samples, codes, n, shift, threshold, to);
#endif
      return divide_by_fours(samples, codes, n, shift, threshold, to);
    }
  return divide_plain(samples, codes, 0, n, 0, shift, threshold, to);
}

}  // namespace mddf::simd
