// Features whose inner products are a kernel: the method of C. Williams and M. Seeger, NIPS 2000.
#pragma once

#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::logistic {

struct Features {
  std::vector<double> values;  // n x m
  std::vector<double> root;    // m x m: lower triangular, root * root' is the landmarks' kernel
};

// Computes features of n rows from their kernel with m landmarks, which are the first m rows.
// `jitter` is added to the diagonal of the landmarks' kernel.
Features features(const double* kernel, int64_t n, int64_t m, double jitter, Interrupt& interrupt);

// Solves root' * x = b, where root is lower triangular, m x m.
std::vector<double> solve_transposed(const double* root, const double* b, int64_t m);

}  // namespace mddf::logistic
