// Matrix products with the same bits on every processor and for every size of a batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/simd.hpp"

namespace mddf::matrix {

// The length of the rows of matrices is padded to a multiple of this number.
constexpr int64_t kLanes = 16;
inline int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Left matrix of a product: the distance of its rows, and the number of terms of a row.
template <class T>
struct Factors {
  const T* values;
  int64_t row_stride, term_stride;
  MDDF_INLINE T at(int64_t row, int64_t term) const {
    return values[row * row_stride + term * term_stride];
  }
  MDDF_INLINE Factors from(int64_t row) const {
    return {values + row * row_stride, row_stride, term_stride};
  }
};

namespace detail {

// A vector of numbers.
template <class T, int kWidth>
struct Numbers {
#if defined(__GNUC__) && !defined(_MSC_VER)
  typedef T Values __attribute__((vector_size(kWidth * sizeof(T))));
  Values values;
  MDDF_INLINE void add(T factor, const Numbers& terms) { values += factor * terms.values; }
#else
  T values[kWidth];
  void add(T factor, const Numbers& terms) {
    for (int i = 0; i < kWidth; ++i) values[i] += factor * terms.values[i];
  }
#endif
  MDDF_INLINE static Numbers at(const T* from) {
    Numbers numbers;
    std::memcpy(&numbers.values, from, sizeof numbers.values);
    return numbers;
  }
  MDDF_INLINE void write(T* to) const { std::memcpy(to, &values, sizeof values); }
};

// Computes kRows rows and kVectors vectors of columns of a product.
template <class Vector, int kRows, int kVectors, int kWidth, class T>
MDDF_INLINE void add_tile(Factors<T> a, const T* b, int64_t b_stride, int64_t n, T* c,
                          int64_t c_stride) {
  Vector sums[kRows][kVectors], terms[kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Vector::at(c + i * c_stride + j * kWidth);
  for (int64_t k = 0; k < n; ++k) {
    for (int j = 0; j < kVectors; ++j) terms[j] = Vector::at(b + k * b_stride + j * kWidth);
    for (int i = 0; i < kRows; ++i) {
      const T factor = a.at(i, k);
      for (int j = 0; j < kVectors; ++j) sums[i][j].add(factor, terms[j]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) sums[i][j].write(c + i * c_stride + j * kWidth);
}

template <int kWidth, class T>
MDDF_INLINE void add_product(Factors<T> a, const T* b, int64_t b_stride, int64_t n_rows,
                             int64_t n_terms, int64_t n_columns, T* c, int64_t c_stride) {
  constexpr int kTile = 4, kVectors = 2, kColumns = kWidth * kVectors;
  using Vector = Numbers<T, kWidth>;
  for (int64_t j = 0; j < n_columns; j += kColumns) {
    int64_t i = 0;
    for (; i + kTile <= n_rows; i += kTile)
      add_tile<Vector, kTile, kVectors, kWidth>(a.from(i), b + j, b_stride, n_terms,
                                                c + i * c_stride + j, c_stride);
    for (; i < n_rows; ++i)
      add_tile<Vector, 1, kVectors, kWidth>(a.from(i), b + j, b_stride, n_terms,
                                            c + i * c_stride + j, c_stride);
  }
}

}  // namespace detail

// Adds the product of a and b to c, of n_rows rows and n_columns columns (a multiple of kLanes).
// The terms of each entry are added in order.
template <bool kIsWide, class T>
MDDF_INLINE void add_product(Factors<T> a, const T* b, int64_t b_stride, int64_t n_rows,
                             int64_t n_terms, int64_t n_columns, T* c, int64_t c_stride) {
  constexpr int kWidth = static_cast<int>((kIsWide ? 32 : 16) / sizeof(T));
  detail::add_product<kWidth>(a, b, b_stride, n_rows, n_terms, n_columns, c, c_stride);
}

}  // namespace mddf::matrix
