// Whole boosting runs over a fixed set of learners whose values on the training rows are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::boosting {

enum class QuadPenalty { none, l1, l2, linf };

struct QuadSettings {
  QuadPenalty penalty;
  double lambda;     // l1, l2
  double alpha_max;  // linf
  std::size_t n_rounds;
  double tolerance;  // stop when the best decrease is not larger
};

// Results of the rounds, with one entry for each round.
struct BoostingPath {
  std::vector<std::int64_t> learner;
  std::vector<double> step;       // added to the learner's weight
  std::vector<double> objective;  // after the step
  std::vector<double> edge;       // residual correlation or edge of the learner before the step
  std::vector<std::int64_t> n_learners;
};

// Called now and then with the number of rounds made since the last call; may throw.
using Report = std::function<void(std::size_t)>;

// Greedy coordinate descent on sum_i w_i (y_i - f(x_i))^2 + penalty with f = sum_j alpha_j h_j.
// values: n_learners x n_rows, row-major; weight sums to 1.
template <class Value>
BoostingPath quadboost_path(const Value* values, std::size_t n_learners, std::size_t n_rows,
                            const double* y, const double* weight, const QuadSettings& settings,
                            const Report& report, Interrupt& interrupt);

// Discrete AdaBoost over learners with values in {-1, +1}; the edge, not the sign of the learner,
// decides. An error below `least_error` counts as `least_error` and ends the run.
BoostingPath adaboost_path(const std::int8_t* values, std::size_t n_learners, std::size_t n_rows,
                           const double* y, const double* weight, std::size_t n_rounds,
                           double least_error, const Report& report, Interrupt& interrupt);

}  // namespace mddf::boosting
