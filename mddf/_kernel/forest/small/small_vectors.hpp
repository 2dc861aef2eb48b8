// What small_nodes.hpp and small_search.hpp do by vectors, and the same without vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/simd.hpp"
#include "forest/data/samples.hpp"

namespace mddf {

// A column's samples in the order of their codes. The order of the samples of a subtree also serves
// the nodes below: they take the samples that they have, whose order stays the same.
struct ColumnOrder {
  alignas(32) std::array<uint8_t, kSmall> sample, code;

  bool is_constant(uint64_t places) const { return code[lowest_bit(places)] == last_code(places); }
  int last_code(uint64_t places) const { return code[bit_width(places) - 1]; }
};

#ifdef MDDF_AVX2
namespace avx2 {

struct SortedColumn : ColumnOrder {
  alignas(32) std::array<uint8_t, kSmall> byte_of_mask, bit_of_byte;  // where a mask has a sample

  MDDF_TARGET_AVX2 void sort(const uint8_t* codes, uint64_t mask) {
    const Codes64 all(codes);
    bit_of_byte.fill(0);  // places without a sample are in no mask
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      const __m128i own = _mm_cvtsi32_si128(codes[i]);
      const uint64_t behind = all.equal_to(own).bits() & (~uint64_t{0} << i);
      const auto place = count_bits(all.up_to(own).bits() & mask & ~behind);
      sample[place] = static_cast<uint8_t>(i);
      code[place] = codes[i];
      byte_of_mask[place] = static_cast<uint8_t>(i / 8);
      bit_of_byte[place] = static_cast<uint8_t>(1 << i % 8);
    }
  }
  // The places of the samples in a mask.
  MDDF_TARGET_AVX2 uint64_t places(uint64_t mask) const {
    const __m256i bytes = _mm256_set1_epi64x(static_cast<int64_t>(mask));
    return places(bytes, 0) | static_cast<uint64_t>(places(bytes, kSmall / 2)) << kSmall / 2;
  }

 private:
  MDDF_TARGET_AVX2 uint32_t places(__m256i bytes, int first) const {
    const auto load = [&](const std::array<uint8_t, kSmall>& from) MDDF_TARGET_AVX2 {
      return _mm256_load_si256(reinterpret_cast<const __m256i*>(from.data() + first));
    };
    const __m256i bits =
        _mm256_and_si256(_mm256_shuffle_epi8(bytes, load(byte_of_mask)), load(bit_of_byte));
    return ~static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(bits, _mm256_setzero_si256())));
  }
};

// The bytes with this binary digit.
MDDF_TARGET_AVX2 inline uint64_t digit_of(const uint8_t* bytes, int digit) {
  return Codes64(bytes).digit(digit);
}

}  // namespace avx2
#endif

namespace plain {

struct SortedColumn : ColumnOrder {
  std::array<uint64_t, kSmall> bit_of_sample;  // the place of each sample, as a mask

  // Sorts by counting the samples of each code.
  void sort(const uint8_t* codes, uint64_t mask) {
    std::array<uint8_t, 256> n_of_code{};
    std::array<uint64_t, 4> present{};
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const uint8_t own = codes[lowest_bit(rest)];
      ++n_of_code[own];
      present[own / 64] |= uint64_t{1} << own % 64;
    }
    int n_before = 0;
    for (int word = 0; word < 4; ++word)
      for (uint64_t rest = present[word]; rest; rest &= rest - 1) {
        uint8_t& n = n_of_code[64 * word + lowest_bit(rest)];
        const int n_here = n;
        n = static_cast<uint8_t>(n_before);  // from here on: the place of the next sample
        n_before += n_here;
      }
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      const int place = n_of_code[codes[i]]++;
      sample[place] = static_cast<uint8_t>(i);
      code[place] = codes[i];
      bit_of_sample[i] = uint64_t{1} << place;
    }
  }
  // The places of the samples in a mask.
  uint64_t places(uint64_t mask) const {
    uint64_t places = 0;
    for (; mask; mask &= mask - 1) places |= bit_of_sample[lowest_bit(mask)];
    return places;
  }
};

inline uint64_t digit_of(const uint8_t* bytes, int digit) {
  uint64_t mask = 0;
  for (int i = 0; i < kSmall; ++i) mask |= uint64_t{bytes[i]} >> digit << 63 >> (63 - i);
  return mask;
}

// Does what transpose_codes() does with vectors.
inline void transpose_codes(const uint8_t* const* rows, int64_t column, uint8_t* to,
                            int64_t stride) {
  for (int i = 0; i < kTransposedRows; ++i)
    for (int j = 0; j < kTransposedColumns; ++j) to[stride * j + i] = rows[i][column + j];
}

}  // namespace plain
}  // namespace mddf
