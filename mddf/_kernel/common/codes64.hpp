// Vector operations on the codes of 64 samples.
#pragma once

#include <cstdint>

#include "common/bits.hpp"
#include "common/simd.hpp"

namespace mddf {

constexpr int kTransposedColumns = 16, kTransposedRows = 32;

#ifdef MDDF_AVX2

// The highest bits of 64 bytes.
MDDF_TARGET_AVX2 inline uint64_t bits_of(__m256i low, __m256i high) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

// A byte for each sample: its code, or 255 for true and 0 for false.
struct Codes64 {
  __m256i a, b;

  MDDF_TARGET_AVX2 Codes64(__m256i a, __m256i b) : a(a), b(b) {}
  MDDF_TARGET_AVX2 explicit Codes64(const uint8_t* codes)
      : a(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes))),
        b(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 32))) {}
  // True for the samples in the mask.
  MDDF_TARGET_AVX2 explicit Codes64(uint64_t mask)
      : a(spread(static_cast<uint32_t>(mask))), b(spread(static_cast<uint32_t>(mask >> 32))) {}

  MDDF_TARGET_AVX2 static __m256i spread(uint32_t bits) {
    const __m256i select =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), select);
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
  }
  // Lowest code, in the first byte.
  MDDF_TARGET_AVX2 __m128i lowest() const {
    const __m256i both = _mm256_min_epu8(a, b);
    const __m128i bytes =
        _mm_min_epu8(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    const __m128i words = _mm_min_epu8(bytes, _mm_srli_epi16(bytes, 8));
    return _mm_minpos_epu16(_mm_and_si128(words, _mm_set1_epi16(255)));
  }
  // True for codes up to this one.
  MDDF_TARGET_AVX2 Codes64 up_to(__m128i code) const {
    const __m256i most = _mm256_broadcastb_epi8(code);
    return {_mm256_cmpeq_epi8(_mm256_min_epu8(a, most), a),
            _mm256_cmpeq_epi8(_mm256_min_epu8(b, most), b)};
  }
  // True for this code.
  MDDF_TARGET_AVX2 Codes64 equal_to(__m128i code) const {
    const __m256i same = _mm256_broadcastb_epi8(code);
    return {_mm256_cmpeq_epi8(a, same), _mm256_cmpeq_epi8(b, same)};
  }
  MDDF_TARGET_AVX2 uint64_t bits() const { return bits_of(a, b); }
  // True for codes with this bit.
  MDDF_TARGET_AVX2 uint64_t digit(int d) const {
    return bits_of(_mm256_slli_epi16(a, 7 - d), _mm256_slli_epi16(b, 7 - d));
  }
  MDDF_TARGET_AVX2 uint64_t missing() const {
    const __m256i ones = _mm256_set1_epi8(-1);
    return bits_of(_mm256_cmpeq_epi8(a, ones), _mm256_cmpeq_epi8(b, ones));
  }
  // Removed samples get the highest code.
  MDDF_TARGET_AVX2 void take_out(const Codes64& who) {
    a = _mm256_or_si256(a, who.a);
    b = _mm256_or_si256(b, who.b);
  }
  MDDF_TARGET_AVX2 Codes64 only(uint64_t mask) const {
    Codes64 codes = *this;
    codes.take_out(Codes64(~mask));
    return codes;
  }
};

// Writes the positions of codes that differ from a code; returns their number, or -1 if there are
// more than `most`. Codes are read in groups of 64.
MDDF_TARGET_AVX2 inline int find_others(const uint8_t* codes, int64_t n, uint8_t code, uint32_t* to,
                                        int most) {
  int n_written = 0;
  for (int64_t first = 0; first < n; first += 64) {
    uint64_t others = ~Codes64(codes + first).equal_to(_mm_cvtsi32_si128(code)).bits();
    if (n - first < 64) others &= (uint64_t{1} << (n - first)) - 1;
    if (n_written + static_cast<int>(_mm_popcnt_u64(others)) > most) return -1;
    for (; others; others &= others - 1)
      to[n_written++] = static_cast<uint32_t>(first + lowest_bit(others));
  }
  return n_written;
}

// Transposes 32 rows of 16 columns from `column` on. The codes of a column become adjacent, and the
// next column begins `stride` bytes later. Rows i and i + 8 are interleaved four times. Each time,
// the highest bit of the position of a code becomes the lowest bit.
MDDF_TARGET_AVX2 inline void transpose_codes(const uint8_t* const* rows, int64_t column,
                                             uint8_t* to, int64_t stride) {
  __m256i from[kTransposedColumns], transposed[kTransposedColumns];
  for (int i = 0; i < kTransposedColumns; ++i) {
    const auto* low = reinterpret_cast<const __m128i*>(rows[i] + column);
    const auto* high = reinterpret_cast<const __m128i*>(rows[i + kTransposedColumns] + column);
    from[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                      _mm_loadu_si128(high), 1);
  }
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kTransposedColumns / 2; ++i) {
      transposed[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + kTransposedColumns / 2]);
      transposed[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + kTransposedColumns / 2]);
    }
    for (int i = 0; i < kTransposedColumns; ++i) from[i] = transposed[i];
  }
  for (int i = 0; i < kTransposedColumns; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + stride * i), from[i]);
}

// The code in a result of lowest().
MDDF_TARGET_AVX2 inline int as_int(__m128i code) { return _mm_cvtsi128_si32(code) & 255; }

#endif

}  // namespace mddf
