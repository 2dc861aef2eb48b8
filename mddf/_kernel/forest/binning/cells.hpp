// Reads raw cells in blocks, and finds the interval or small integer of each value.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/bits.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/data/cells_view.hpp"

namespace mddf {

// Type in which the cells of a table are compared.
template <class T>
using CellValue = std::conditional_t<std::is_same_v<T, float>, float, double>;

// Size of a block that stays in the first-level cache. It has as many columns as a cache line
// holds.
constexpr int64_t kBlockRows = 128;
template <class T>
constexpr int64_t kBlockColumns = 64 / static_cast<int64_t>(sizeof(T));

// Copies n adjacent cells. Each cell is read once; read_cell explains why.
template <class T>
MDDF_INLINE void read_cells(const T* cells, int64_t n, CellValue<T>* to) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<CellValue<T>>(cells[i]);
  asm volatile("" : : "r"(to) : "memory");  // the compiler may not read the cells again
#else
  for (int64_t i = 0; i < n; ++i) to[i] = read_cell<CellValue<T>>(cells + i);
#endif
}

#ifdef MDDF_AVX2

// Side length of the squares that are transposed at once.
template <class T>
constexpr int kSquare = 32 / static_cast<int>(sizeof(T));

// Transposes a square: row j of `out` gets cell j of all rows. Each cell is read once.
MDDF_TARGET_AVX2 inline void transpose_square(const float* cells, int64_t row_stride, float* out) {
  __m256 rows[8], pairs[8], fours[8];
  for (int i = 0; i < 8; ++i) {
    rows[i] = _mm256_loadu_ps(cells + i * row_stride);
    asm("" : "+x"(rows[i]));  // see read_cell
  }
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int h = 0; h < 2; ++h) {
      fours[i + 2 * h] = _mm256_shuffle_ps(pairs[i + h], pairs[i + h + 2], 0x44);
      fours[i + 2 * h + 1] = _mm256_shuffle_ps(pairs[i + h], pairs[i + h + 2], 0xee);
    }
  for (int j = 0; j < 4; ++j) {
    _mm256_storeu_ps(out + j * kBlockRows, _mm256_permute2f128_ps(fours[j], fours[j + 4], 0x20));
    _mm256_storeu_ps(out + (j + 4) * kBlockRows,
                     _mm256_permute2f128_ps(fours[j], fours[j + 4], 0x31));
  }
}
MDDF_TARGET_AVX2 inline void transpose_square(const double* cells, int64_t row_stride,
                                              double* out) {
  __m256d rows[4];
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_loadu_pd(cells + i * row_stride);
    asm("" : "+x"(rows[i]));
  }
  for (int h = 0; h < 2; ++h) {
    const __m256d first =
        h ? _mm256_unpackhi_pd(rows[0], rows[1]) : _mm256_unpacklo_pd(rows[0], rows[1]);
    const __m256d last =
        h ? _mm256_unpackhi_pd(rows[2], rows[3]) : _mm256_unpacklo_pd(rows[2], rows[3]);
    _mm256_storeu_pd(out + h * kBlockRows, _mm256_permute2f128_pd(first, last, 0x20));
    _mm256_storeu_pd(out + (h + 2) * kBlockRows, _mm256_permute2f128_pd(first, last, 0x31));
  }
}

// Transposes n rows of `width` adjacent columns. Both are multiples of kSquare.
template <class T>
MDDF_TARGET_AVX2 void transpose_squares(const T* cells, int64_t row_stride, int64_t n,
                                        int64_t width, int64_t ahead, T* values) {
  for (int64_t i = 0; width && i < n; i += kSquare<T>, cells += kSquare<T> * row_stride) {
    for (int k = 0; k < kSquare<T>; ++k) prefetch(cells + k * row_stride + ahead);
    for (int64_t j = 0; j < width; j += kSquare<T>)
      transpose_square(cells + j, row_stride, values + j * kBlockRows + i);
  }
}

#endif

// Copies columns [column, column + width) of rows [row, row + n) to `values`. Each column has
// kBlockRows places there.
template <class T>
void read_block(const CellsView<T>& table, int64_t row, int64_t n, int64_t column, int64_t width,
                CellValue<T>* values) {
  const T* cells = table.data + row * table.row_stride + column * table.column_stride;
  if (table.row_stride == 1) {
    for (int64_t j = 0; j < width; ++j)
      read_cells(cells + j * table.column_stride, n, values + j * kBlockRows);
    return;
  }
  const int64_t ahead = std::min(kBlockColumns<T>, table.n_columns - 1 - column);
  int64_t n_transposed = 0, width_transposed = 0;
#ifdef MDDF_AVX2
  if constexpr (std::is_floating_point_v<T>)
    if (table.column_stride == 1 && simd::supported()) {
      n_transposed = n - n % kSquare<T>;
      width_transposed = width - width % kSquare<T>;
      transpose_squares(cells, table.row_stride, n_transposed, width_transposed, ahead, values);
    }
#endif
  for (int64_t i = 0; i < n; ++i, cells += table.row_stride) {
    int64_t j = i < n_transposed ? width_transposed : 0;
    if (j == 0) prefetch(cells + ahead * table.column_stride);
    for (; j < width; ++j)
      values[j * kBlockRows + i] = read_cell<CellValue<T>>(cells + j * table.column_stride);
  }
}

// Small integers, the most common values in tables.
template <class Value>
struct SmallIntegers {
  using Bits = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  static constexpr int kCount = 1024;

  // Finds the index of n <= kBlockRows values in a table of the integers [0, most), 0 < most <=
  // kCount. NaN gets the index `missing`. Returns false if a value is neither NaN nor an integer
  // below `most`. The conversion adds a number so large that the last bits of the sum count units.
  // Unlike a cast, this compiles to vector code for both types.
  static MDDF_INLINE bool find_indices(const Value* values, int64_t n, int most, Bits missing,
                                       Bits* to) {
    const Value last = static_cast<Value>(most - 1);
    constexpr Value kUnits = sizeof(Value) == 4 ? 0x1p23 : 0x1p52;
    Bits n_others = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Value value = values[i] > 0 ? values[i] : 0;
      const Value near = (value < last ? value : last) + kUnits;
      to[i] = values[i] == values[i] ? bit_cast<Bits>(near) & (kCount - 1) : missing;
      n_others += Bits{near - kUnits != values[i]} & Bits{values[i] == values[i]};
    }
    return n_others == 0;
  }
};

// Converts n adjacent cells to bytes. Returns false if a cell is not an integer from 0 to 255.
template <class T>
bool as_bytes(const T* cells, int64_t n, uint8_t* to, bool use_simd) {
  return simd::with_vectors(use_simd, [=]() MDDF_INLINED {
    constexpr int kBytes = 256;  // also the index of missing values
    CellValue<T> values[kBlockRows];
    typename SmallIntegers<CellValue<T>>::Bits at[kBlockRows], all = 0;  // bits of all indices
    for (int64_t start = 0; start < n; start += kBlockRows) {
      const int64_t here = std::min(kBlockRows, n - start);
      read_cells(cells + start, here, values);
      if (!SmallIntegers<CellValue<T>>::find_indices(values, here, kBytes, kBytes, at))
        return false;
      for (int64_t i = 0; i < here; ++i) {
        all |= at[i];
        to[start + i] = static_cast<uint8_t>(at[i]);
      }
    }
    return all < kBytes;
  });
}

// Divides the real line into intervals that hold about equally many values of a sample, whatever
// its distribution is. The intervals have equal length on the scale of the logarithm of 1 + the
// distance from the median, in units of the interquartile range. The computed interval never
// decreases as the value grows.
template <class Value>
class Intervals {
 public:
  // The sample must be in ascending order. The first interval holds all values below the sample.
  Intervals(const Value* sample, int64_t n, int n_intervals) : last_(n_intervals - 1) {
    middle_ = sample[n / 2] / 2;
    const Value between = sample[n - 1 - n / 4] / 2 - sample[n / 4] / 2;
    scale_ = std::min(Value{1} / (between + between), std::numeric_limits<Value>::max());
    low_ = logarithm(sample[0]);
    const float range = logarithm(sample[n - 1]) - low_;
    per_unit_ = std::min((last_ - 1) / range, std::numeric_limits<float>::max());
  }
  // Finds the intervals of n values. NaN may be in any interval.
  MDDF_INLINE void find(const Value* values, int64_t n, int32_t* to) const {
    for (int64_t i = 0; i < n; ++i) {
      float at = (logarithm(values[i]) - low_) * per_unit_ + 1;
      at = at > 0 ? at : 0;
      to[i] = static_cast<int32_t>(at < last_ ? at : last_);
    }
  }

 private:
  // Approximate logarithm to base 2, times 2^23, with the sign of the side of the median. The bits
  // of a float are nearly its logarithm. Halving the operands avoids overflow.
  MDDF_INLINE float logarithm(Value value) const {
    const auto from_middle = static_cast<float>((value / 2 - middle_) * scale_);
    const int32_t bits = bit_cast<int32_t>(1 + std::abs(from_middle)) - bit_cast<int32_t>(1.0F);
    return std::copysign(static_cast<float>(bits), from_middle);
  }

  float last_, low_, per_unit_;
  Value middle_, scale_;
};

}  // namespace mddf
