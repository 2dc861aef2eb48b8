// Logistic regression with a quadratic penalty.
#pragma once

#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::logistic {

struct Rows {
  const double* features;  // n x n_features
  const int32_t* labels;   // n, below max(2, n_scores)
  const double* weights;   // n
  int64_t n, n_features;
};

struct Options {
  const double* offsets;  // n_scores: constants of the scores
  int64_t n_scores;       // 1: scores of the second of two classes; else one for each class
  double penalty;         // times half of the sum of squared coefficients
  double tolerance;       // of the gradient's norm, divided by the sum of weights
};

// Minimises the weighted sum of log-losses plus the penalty, from `coefficients` (n_scores x
// n_features) on, by Newton steps that conjugate gradients find roughly (C.-J. Lin, R. Weng and S.
// Keerthi, JMLR 2008).
void fit(const Rows& rows, const Options& options, std::vector<double>& coefficients,
         Interrupt& interrupt);

}  // namespace mddf::logistic
