// Gradient descent on the probability simplex, for the coefficients of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/span.hpp"

namespace mddf {

// The loss of a row with z = offset + columns x is (z - target)^2, times `below` for z up to the
// target and `above` beyond it.
struct TargetLoss {
  const double* columns;  // n_rows x n
  const double* offset;   // n_rows
  double target, below, above;
};

// Rows of each step, whose gradients are averaged.
struct Batches {
  const int32_t* rows;  // n_steps x size
  size_t n_steps, size;
};

// Returns the mean of the second half of the path. All points and the mean are projected to the
// simplex.
std::vector<double> descend_on_simplex(const TargetLoss& loss, const Batches& batches,
                                       const Span<double>& start, double step,
                                       Interrupt& interrupt);

}  // namespace mddf
