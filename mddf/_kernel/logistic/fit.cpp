#include "logistic/fit.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "common/elementary.hpp"
#include "common/simd.hpp"
#include "logistic/sums.hpp"

namespace mddf::logistic {
namespace {

// Bounds of the numbers of steps. Fits seldom come near them.
constexpr int kMaxNewtonSteps = 30, kMaxConjugateSteps = 60, kMaxHalvings = 20;
// Conjugate gradients end when the residual is this share of the gradient. A share of 0.1 took up
// to twice as long for many classes.
constexpr double kResidualShare = 0.5;
// A step has to lower the loss by this share of what the slope promises (L. Armijo, 1966).
constexpr double kLeastShareOfSlope = 1e-4;

class Fit {
 public:
  Fit(const Rows& rows, const Options& options, Interrupt& interrupt)
      : rows_(rows),
        options_(options),
        interrupt_(interrupt),
        size_(options.n_scores * rows.n_features),
        scores_(options.n_scores),
        block_(kRows * options.n_scores) {}

  void run(std::vector<double>& coefficients) {
    double total = 0;
    for (int64_t i = 0; i < rows_.n; ++i) total += rows_.weights[i];
    Point point = at(coefficients);
    for (int step = 0; step < kMaxNewtonSteps; ++step) {
      const double norm = std::sqrt(inner(point.gradient, point.gradient));
      if (!(norm > options_.tolerance * total)) break;
      const std::vector<double> direction = newton_direction(point, norm);
      const double slope = inner(point.gradient, direction);
      double length = 1;
      bool is_lower = false;
      for (int half = 0; half < kMaxHalvings && !is_lower; ++half, length /= 2) {
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
                       [&]() MDDF_INLINED { add_losses(coefficients.data(), point); });
    point.loss += 0.5 * options_.penalty * inner(coefficients, coefficients);
    return point;
  }

  // Calls work(first row, number of rows) for blocks of kRows rows, and then for single rows.
  template <class Work>
  MDDF_INLINE void for_blocks(const Work& work) {
    int64_t i = 0;
    for (; i + kRows <= rows_.n; i += kRows) {
      work(i, std::integral_constant<int, kRows>{});
      interrupt_.poll(kRows * size_ / 2);
    }
    for (; i < rows_.n; ++i) work(i, std::integral_constant<int, 1>{});
  }

  // Writes the scores of a block of rows, without offsets: n_scores x kN.
  template <int kN>
  MDDF_INLINE void score(const double* rows, const double* coefficients, double* scores) const {
    const int64_t n = rows_.n_features;
    for (int64_t k = 0; k < options_.n_scores; ++k) {
      if constexpr (kN == 1)
        scores[k] = dot(rows, coefficients + k * n, n);
      else
        dots(rows, coefficients + k * n, n, scores + k * kN);
    }
  }

  // Adds the rows of a block times their factors (n_scores x kN) to the sums of each score.
  template <int kN>
  MDDF_INLINE void add_block(const double* rows, const double* factors, double* sums) const {
    const int64_t n = rows_.n_features;
    for (int64_t k = 0; k < options_.n_scores; ++k) {
      if constexpr (kN == 1)
        add(factors[k], rows, n, sums + k * n);
      else
        add_rows(factors + k * kN, rows, n, sums + k * n);
    }
  }

  MDDF_INLINE void add_losses(const double* coefficients, Point& point) {
    const int64_t n_scores = options_.n_scores;
    for_blocks([&](int64_t first, auto size) MDDF_INLINED {
      constexpr int kN = decltype(size)::value;
      const double* rows = rows_.features + first * rows_.n_features;
      score<kN>(rows, coefficients, block_.data());
      for (int i = 0; i < kN; ++i) {
        const int32_t label = rows_.labels[first + i];
        const double weight = rows_.weights[first + i];
        for (int64_t k = 0; k < n_scores; ++k)
          scores_[k] = options_.offsets[k] + block_[k * kN + i];
        double* probabilities = point.probabilities.data() + (first + i) * n_scores;
        point.loss += weight * loss_of_row(label, probabilities);
        for (int64_t k = 0; k < n_scores; ++k) {
          const double target = label == (n_scores == 1 ? 1 : k) ? 1.0 : 0.0;
          block_[k * kN + i] = weight * (probabilities[k] - target);
        }
      }
      add_block<kN>(rows, block_.data(), point.gradient.data());
    });
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
    for (int step = 0; step < kMaxConjugateSteps && square > enough; ++step) {
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
    const int64_t n_scores = options_.n_scores;
    for_blocks([&](int64_t first, auto size) MDDF_INLINED {
      constexpr int kN = decltype(size)::value;
      const double* rows = rows_.features + first * rows_.n_features;
      score<kN>(rows, vector, block_.data());
      for (int i = 0; i < kN; ++i) {
        const double* shares = probabilities + (first + i) * n_scores;
        double mean = 0;
        for (int64_t k = 0; k < n_scores; ++k) mean += shares[k] * block_[k * kN + i];
        for (int64_t k = 0; k < n_scores; ++k) {
          double& score_of_row = block_[k * kN + i];
          score_of_row = rows_.weights[first + i] * (shares[k] * (score_of_row - mean));
        }
      }
      add_block<kN>(rows, block_.data(), product);
    });
  }

  double inner(const std::vector<double>& a, const std::vector<double>& b) const {
    return dot(a.data(), b.data(), size_);
  }

  const Rows& rows_;
  const Options& options_;
  Interrupt& interrupt_;
  const int64_t size_;          // number of coefficients
  std::vector<double> scores_;  // of a row
  std::vector<double> block_;   // scores or factors of a block of rows
};

}  // namespace

void fit(const Rows& rows, const Options& options, std::vector<double>& coefficients,
         Interrupt& interrupt) {
  Fit(rows, options, interrupt).run(coefficients);
}

}  // namespace mddf::logistic
