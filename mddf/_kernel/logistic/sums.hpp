// Sums of products, whose terms are added in a fixed order for vectors of any width.
#pragma once

#include <cstdint>

#include "common/simd.hpp"

namespace mddf::logistic {

// Number of partial sums: every eighth product is added to the same one.
constexpr int kPartialSums = 8;

MDDF_INLINE double total(const double* sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

MDDF_INLINE double dot(const double* a, const double* b, int64_t n) {
  double sums[kPartialSums] = {};
  int64_t j = 0;
  for (; j + kPartialSums <= n; j += kPartialSums)
    for (int k = 0; k < kPartialSums; ++k) sums[k] += a[j + k] * b[j + k];
  for (int k = 0; j < n; ++j, ++k) sums[k] += a[j] * b[j];
  return total(sums);
}

// Rows that are taken together, so that other vectors are read once for all of them.
constexpr int kRows = 4;

// Computes the inner products of kRows rows of length n and a vector, each as `dot` does.
MDDF_INLINE void dots(const double* rows, const double* a, int64_t n, double* products) {
  double sums[kRows][kPartialSums] = {};
  int64_t j = 0;
  for (; j + kPartialSums <= n; j += kPartialSums)
    for (int i = 0; i < kRows; ++i)
      for (int k = 0; k < kPartialSums; ++k) sums[i][k] += rows[i * n + j + k] * a[j + k];
  for (int k = 0; j < n; ++j, ++k)
    for (int i = 0; i < kRows; ++i) sums[i][k] += rows[i * n + j] * a[j];
  for (int i = 0; i < kRows; ++i) products[i] = total(sums[i]);
}

// Adds factor * row to sums.
MDDF_INLINE void add(double factor, const double* row, int64_t n, double* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
}

// Adds kRows rows of length n times their factors to sums, one after the other.
MDDF_INLINE void add_rows(const double* factors, const double* rows, int64_t n, double* sums) {
  const double first = factors[0], second = factors[1], third = factors[2], fourth = factors[3];
  for (int64_t j = 0; j < n; ++j)
    sums[j] = (((sums[j] + first * rows[j]) + second * rows[n + j]) + third * rows[2 * n + j]) +
              fourth * rows[3 * n + j];
}

}  // namespace mddf::logistic
