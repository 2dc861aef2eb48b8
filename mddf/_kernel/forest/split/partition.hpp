// Divides the samples of a node between the two sides of a split. Uses AVX2 if the processor has
// it.
#pragma once

#include <cstdint>

#include "common/simd.hpp"

namespace mddf::simd {

// Copies the samples from `first` on to the places [n_left, n_left + n - first) of `to`. Samples
// with code + shift (modulo 256) <= threshold go to the front, the others to the back; the order
// within each side is unspecified. Returns the number of samples on the left.
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
  // Four samples at a time, the left ones in front, are stored at both ends of the free places.
  // While at least eight samples remain, the surplus lanes fall on free places and are overwritten
  // later.
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

// Gives the same order of samples as divide_avx2 without AVX2. Sums of real weights depend on the
// order.
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
                uint8_t threshold, Sample* to, [[maybe_unused]] bool use_simd) {
  if constexpr (sizeof(Sample) == 8)
    if (n >= 16) {
#ifdef MDDF_AVX2
      if (use_simd) return divide_avx2(samples, codes, n, shift, threshold, to);
#endif
      return divide_by_fours(samples, codes, n, shift, threshold, to);
    }
  return divide_plain(samples, codes, 0, n, 0, shift, threshold, to);
}

}  // namespace mddf::simd
