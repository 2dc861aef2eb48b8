// Sums of products, whose terms are added in a fixed order for vectors of any width.
#pragma once

#include <cstdint>

#include "common/wide.hpp"

namespace mddf::logistic {

// Number of partial sums: every eighth product is added to the same one.
constexpr int kPartialSums = 8;

MDDF_INLINE double dot(const double* a, const double* b, int64_t n) {
  double sums[kPartialSums] = {};
  int64_t j = 0;
  for (; j + kPartialSums <= n; j += kPartialSums)
    for (int k = 0; k < kPartialSums; ++k) sums[k] += a[j + k] * b[j + k];
  for (int k = 0; j < n; ++j, ++k) sums[k] += a[j] * b[j];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Adds factor * a to sums.
MDDF_INLINE void add(double factor, const double* a, int64_t n, double* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] += factor * a[j];
}

}  // namespace mddf::logistic
