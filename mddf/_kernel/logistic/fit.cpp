#include "logistic/fit.hpp"

#include <algorithm>
#include <cmath>

#include "common/elementary.hpp"
#include "common/wide.hpp"
#include "logistic/sums.hpp"

namespace mddf::logistic {
namespace {

// Bounds of the numbers of steps. Fits seldom come near them.
constexpr int kMostNewtonSteps = 30, kMostConjugateSteps = 60, kMostHalvings = 20;
// Conjugate gradients end when the residual is this share of the gradient. Not tuned.
constexpr double kResidualShare = 0.1;
// A step has to lower the loss by this share of what the slope promises (L. Armijo, 1966).
constexpr double kLeastShareOfSlope = 1e-4;

class Fit {
 public:
  Fit(const Rows& rows, const Options& options, Interrupt& interrupt)
      : rows_(rows),
        options_(options),
        interrupt_(interrupt),
        size_(options.n_scores * rows.n_features),
        scores_(options.n_scores) {}

  void run(std::vector<double>& coefficients) {
    double total = 0;
    for (int64_t i = 0; i < rows_.n; ++i) total += rows_.weights[i];
    Point point = at(coefficients);
    for (int step = 0; step < kMostNewtonSteps; ++step) {
      const double norm = std::sqrt(inner(point.gradient, point.gradient));
      if (!(norm > options_.tolerance * total)) break;
      const std::vector<double> direction = newton_direction(point, norm);
      const double slope = inner(point.gradient, direction);
      double length = 1;
      bool is_lower = false;
      for (int half = 0; half < kMostHalvings && !is_lower; ++half, length /= 2) {
        std::vector<double> trial = coefficients;
        for (int64_t j = 0; j < size_; ++j) trial[j] += length * direction[j];
        Point next = at(trial);
        is_lower = next.loss <= point.loss + kLeastShareOfSlope * length * slope;
        if (is_lower) {
          coefficients = std::move(trial);
          point = std::move(next);
        }
      }
      if (!is_lower) break;  // the loss is least up to rounding errors
    }
  }

 private:
  // Loss and its derivatives at some coefficients.
  struct Point {
    double loss = 0;
    std::vector<double> gradient;       // n_scores x n_features
    std::vector<double> probabilities;  // n x n_scores
  };

  Point at(const std::vector<double>& coefficients) {
    Point point;
    point.gradient = coefficients;
    for (double& value : point.gradient) value *= options_.penalty;
    point.probabilities.resize(rows_.n * options_.n_scores);
    simd::with_vectors(simd::supported(),
                       [&]() MDDF_INLINED { add_rows(coefficients.data(), point); });
    point.loss += 0.5 * options_.penalty * inner(coefficients, coefficients);
    return point;
  }

  MDDF_INLINE void add_rows(const double* coefficients, Point& point) {
    const int64_t n_features = rows_.n_features, n_scores = options_.n_scores;
    for (int64_t i = 0; i < rows_.n; ++i) {
      const double* row = rows_.features + i * n_features;
      for (int64_t k = 0; k < n_scores; ++k)
        scores_[k] = options_.offsets[k] + dot(row, coefficients + k * n_features, n_features);
      double* probabilities = point.probabilities.data() + i * n_scores;
      point.loss += rows_.weights[i] * loss_of_row(rows_.labels[i], probabilities);
      for (int64_t k = 0; k < n_scores; ++k) {
        const double target = rows_.labels[i] == (n_scores == 1 ? 1 : k) ? 1.0 : 0.0;
        add(rows_.weights[i] * (probabilities[k] - target), row, n_features,
            point.gradient.data() + k * n_features);
      }
      interrupt_.poll(n_features * n_scores / 2);
    }
  }

  // Writes the probabilities of the scores, and returns the log-loss.
  double loss_of_row(int32_t label, double* probabilities) const {
    const int64_t n_scores = options_.n_scores;
    if (n_scores == 1) {
      const double score = scores_[0], power = exponential(-std::abs(score));
      probabilities[0] = (score > 0 ? 1.0 : power) / (1 + power);
      return std::max(label == 1 ? -score : score, 0.0) + logarithm(1 + power);
    }
    const double most = *std::max_element(scores_.begin(), scores_.end());
    double total = 0;
    for (int64_t k = 0; k < n_scores; ++k)
      total += probabilities[k] = exponential(scores_[k] - most);
    for (int64_t k = 0; k < n_scores; ++k) probabilities[k] /= total;
    return logarithm(total) + most - scores_[label];
  }

  // Solves hessian * direction = -gradient roughly.
  std::vector<double> newton_direction(const Point& point, double norm) {
    std::vector<double> direction(size_, 0.0), residual(size_), conjugate(size_), curved(size_);
    for (int64_t j = 0; j < size_; ++j) residual[j] = conjugate[j] = -point.gradient[j];
    double square = norm * norm;
    const double enough = kResidualShare * kResidualShare * square;
    for (int step = 0; step < kMostConjugateSteps && square > enough; ++step) {
      for (int64_t j = 0; j < size_; ++j) curved[j] = options_.penalty * conjugate[j];
      simd::with_vectors(simd::supported(), [&]() MDDF_INLINED {
        add_curvature(point.probabilities.data(), conjugate.data(), curved.data());
      });
      const double length = square / inner(conjugate, curved);
      for (int64_t j = 0; j < size_; ++j) {
        direction[j] += length * conjugate[j];
        residual[j] -= length * curved[j];
      }
      const double next = inner(residual, residual), ratio = next / square;
      for (int64_t j = 0; j < size_; ++j) conjugate[j] = residual[j] + ratio * conjugate[j];
      square = next;
    }
    return direction;
  }

  // Adds the product of a vector and the Hessian of the losses.
  MDDF_INLINE void add_curvature(const double* probabilities, const double* vector,
                                 double* product) {
    const int64_t n_features = rows_.n_features, n_scores = options_.n_scores;
    for (int64_t i = 0; i < rows_.n; ++i, probabilities += n_scores) {
      const double* row = rows_.features + i * n_features;
      double mean = 0;
      for (int64_t k = 0; k < n_scores; ++k) {
        scores_[k] = dot(row, vector + k * n_features, n_features);
        mean += probabilities[k] * scores_[k];
      }
      for (int64_t k = 0; k < n_scores; ++k)
        add(rows_.weights[i] * (probabilities[k] * (scores_[k] - mean)), row, n_features,
            product + k * n_features);
      interrupt_.poll(n_features * n_scores / 2);
    }
  }

  double inner(const std::vector<double>& a, const std::vector<double>& b) const {
    return dot(a.data(), b.data(), size_);
  }

  const Rows& rows_;
  const Options& options_;
  Interrupt& interrupt_;
  const int64_t size_;  // number of coefficients
  std::vector<double> scores_;
};

}  // namespace

void fit(const Rows& rows, const Options& options, std::vector<double>& coefficients,
         Interrupt& interrupt) {
  Fit(rows, options, interrupt).run(coefficients);
}

}  // namespace mddf::logistic
