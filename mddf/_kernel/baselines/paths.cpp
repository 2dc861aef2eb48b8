#include "baselines/paths.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "baselines/products.hpp"
#include "baselines/vote.hpp"
#include "common/elementary.hpp"

namespace mddf::boosting {

namespace {

constexpr std::size_t kRoundsPerRefresh =
    4096;  // correlations are recomputed against rounding errors
constexpr std::size_t kRoundsPerReport = 256;
constexpr double kTieRelative = 1e-10;  // decreases that differ by less are equal
constexpr double kTieEdge = 1e-11;

struct Move {
  double alpha;     // the new weight
  double decrease;  // of the objective, >= 0
};

// Returns the exact minimiser along one coordinate and the decrease of the objective, in forms
// without cancellation. With z = r + eta * alpha, the objective along the coordinate is eta a^2 - 2
// z a plus its penalty. `inverse` is 1 / eta, or 1 / (eta + lambda) with "l2".
template <QuadPenalty penalty>
Move best_move(double alpha, double r, double eta, double inverse, double strength) {
  if constexpr (penalty == QuadPenalty::none) {
    return {alpha + r * inverse, r * r * inverse};
  }
  if constexpr (penalty == QuadPenalty::l2) {
    const double pull = r - strength * alpha;
    return {alpha + pull * inverse, pull * pull * inverse};
  }
  const double z = r + eta * alpha;
  if constexpr (penalty == QuadPenalty::linf) {
    const double to = std::clamp(z * inverse, -strength, strength);
    const double moved = alpha - to;
    return {to, eta * moved * moved + 2.0 * moved * (eta * to - z)};
  }
  if (std::fabs(z) <= strength) {
    return {0.0, eta * alpha * alpha + 2.0 * (strength * std::fabs(alpha) - z * alpha)};
  }
  const double to = (z > 0.0 ? z - strength : z + strength) * inverse;
  const double moved = alpha - to;
  const bool crosses = alpha * to < 0.0;
  return {to, eta * moved * moved + (crosses ? 4.0 * strength * std::fabs(alpha) : 0.0)};
}

// The learners of a QuadBoost run: their weights and their correlations with the residual.
template <class Value>
class Coordinates {
 public:
  Coordinates(const Coordinates&) = delete;
  Coordinates(const Value* values, std::size_t n_learners, std::size_t n_rows, const double* y,
              const double* weight, const QuadSettings& settings, Interrupt& interrupt)
      : alpha(n_learners, 0.0),
        r(n_learners),
        interrupt_(interrupt),
        values_(values),
        n_rows_(n_rows),
        y_(y),
        weight_(weight),
        settings_(settings),
        eta_(n_learners, 0.0),
        inverse_(n_learners) {
    find_squared_norms();
    const double ridge = settings.penalty == QuadPenalty::l2 ? settings.lambda : 0.0;
    for (std::size_t j = 0; j < n_learners; ++j) {
      inverse_[j] = eta_[j] > 0.0 ? 1.0 / (eta_[j] + ridge) : 0.0;
    }
    correlate();
  }

  // Computes r afresh from the weights.
  void correlate() {
    std::vector<double> residual(n_rows_);
    for (std::size_t i = 0; i < n_rows_; ++i) {
      residual[i] = weight_[i] * y_[i];
    }
    for (std::size_t j = 0; j < alpha.size(); ++j) {
      interrupt_.poll(static_cast<std::int64_t>(alpha[j] != 0.0 ? n_rows_ : 1));
      for (std::size_t i = 0; alpha[j] != 0.0 && i < n_rows_; ++i) {
        residual[i] -= weight_[i] * alpha[j] * static_cast<double>(values_[j * n_rows_ + i]);
      }
    }
    learner_edges(values_, alpha.size(), n_rows_, residual.data(), r.data(), interrupt_);
  }

  // Finds the learner whose move decreases the objective most; the first one at ties.
  std::size_t best(Move& move) const {
    switch (settings_.penalty) {
      case QuadPenalty::l1:
        return search<QuadPenalty::l1>(settings_.lambda, move);
      case QuadPenalty::l2:
        return search<QuadPenalty::l2>(settings_.lambda, move);
      case QuadPenalty::linf:
        return search<QuadPenalty::linf>(settings_.alpha_max, move);
      default:
        return search<QuadPenalty::none>(0.0, move);
    }
  }

  std::vector<double> alpha, r;

 private:
  void find_squared_norms() {
    if constexpr (sizeof(Value) == 1) {
      if (all_signs(values_, eta_.size(), n_rows_, interrupt_)) {
        const double total = std::accumulate(weight_, weight_ + n_rows_, 0.0);
        std::fill(eta_.begin(), eta_.end(), total);
        return;
      }
    }
    for (std::size_t j = 0; j < eta_.size(); ++j) {
      interrupt_.poll(static_cast<std::int64_t>(n_rows_));
      for (std::size_t i = 0; i < n_rows_; ++i) {
        const auto h = static_cast<double>(values_[j * n_rows_ + i]);
        eta_[j] += weight_[i] * h * h;
      }
    }
  }

  template <QuadPenalty penalty>
  std::size_t search(double strength, Move& move) const {
    std::size_t best = 0;
    double limit = 0.0;
    move = {0.0, 0.0};
    for (std::size_t j = 0; j < alpha.size(); ++j) {
      const Move candidate = best_move<penalty>(alpha[j], r[j], eta_[j], inverse_[j], strength);
      if (candidate.decrease > limit) {
        best = j;
        move = candidate;
        limit = candidate.decrease * (1.0 + kTieRelative);
      }
    }
    return best;
  }

  Interrupt& interrupt_;
  const Value* values_;
  std::size_t n_rows_;
  const double *y_, *weight_;
  QuadSettings settings_;
  std::vector<double> eta_, inverse_;
};

}  // namespace

template <class Value>
BoostingPath quadboost_path(const Value* values, std::size_t n_learners, std::size_t n_rows,
                            const double* y, const double* weight, const QuadSettings& settings,
                            const Report& report, Interrupt& interrupt) {
  Coordinates<Value> learners(values, n_learners, n_rows, y, weight, settings, interrupt);
  Products<Value> products(values, n_learners, n_rows, weight, interrupt);
  double objective = 0.0;
  for (std::size_t i = 0; i < n_rows; ++i) {
    objective += weight[i] * y[i] * y[i];
  }
  BoostingPath path;
  std::int64_t n_used = 0;
  for (std::size_t round = 0; round < settings.n_rounds; ++round) {
    if (round > 0 && round % kRoundsPerRefresh == 0) {
      learners.correlate();
      report(kRoundsPerRefresh);
    }
    interrupt.poll(4 * static_cast<std::int64_t>(n_learners));
    Move move;
    const std::size_t best = learners.best(move);
    if (move.decrease <= settings.tolerance) {
      break;
    }
    double& alpha = learners.alpha[best];
    const double step = move.alpha - alpha;
    n_used += (alpha == 0.0 ? 1 : 0) - (move.alpha == 0.0 ? 1 : 0);
    objective -= move.decrease;
    path.learner.push_back(static_cast<std::int64_t>(best));
    path.step.push_back(step);
    path.objective.push_back(objective);
    path.edge.push_back(learners.r[best]);
    path.n_learners.push_back(n_used);
    alpha = move.alpha;
    const double* product = products.column(best);
    for (std::size_t j = 0; j < n_learners; ++j) {
      learners.r[j] -= step * product[j];
    }
  }
  return path;
}

template BoostingPath quadboost_path(const std::int8_t*, std::size_t, std::size_t, const double*,
                                     const double*, const QuadSettings&, const Report&, Interrupt&);
template BoostingPath quadboost_path(const double*, std::size_t, std::size_t, const double*,
                                     const double*, const QuadSettings&, const Report&, Interrupt&);

BoostingPath adaboost_path(const std::int8_t* values, std::size_t n_learners, std::size_t n_rows,
                           const double* y, const double* weight, std::size_t n_rounds,
                           double least_error, const Report& report, Interrupt& interrupt) {
  std::vector<double> margin(n_rows, 0.0), edges(n_learners), signed_weight(n_rows),
      alpha(n_learners, 0.0);
  BoostingPath path;
  std::int64_t n_used = 0;
  for (std::size_t round = 0; round < n_rounds; ++round) {
    if (round > 0 && round % kRoundsPerReport == 0) {
      report(kRoundsPerReport);
    }
    interrupt.poll(16 * static_cast<std::int64_t>(n_rows));
    const double least = *std::min_element(margin.begin(), margin.end());
    double total = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double w = weight[i] * exponential(least - margin[i]);
      total += w;
      signed_weight[i] = w * y[i];
    }
    learner_edges(values, n_learners, n_rows, signed_weight.data(), edges.data(), interrupt);
    std::size_t best = 0;
    for (std::size_t j = 1; j < n_learners; ++j) {
      if (std::fabs(edges[j]) > std::fabs(edges[best]) + kTieEdge * total) {
        best = j;
      }
    }
    const double edge = edges[best] / total;
    if (std::fabs(edge) <= kTieEdge) {
      break;
    }
    const double error = std::max(least_error, 0.5 - std::fabs(edge) / 2.0);
    const double step = std::copysign(0.5 * logarithm((1.0 - error) / error), edge);
    n_used += alpha[best] == 0.0 ? 1 : 0;
    alpha[best] += step;
    n_used -= alpha[best] == 0.0 ? 1 : 0;
    double loss = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      margin[i] += step * y[i] * values[best * n_rows + i];
      loss += weight[i] * exponential(-margin[i]);
    }
    path.learner.push_back(static_cast<std::int64_t>(best));
    path.step.push_back(step);
    path.objective.push_back(loss);
    path.edge.push_back(edge);
    path.n_learners.push_back(n_used);
    if (error <= least_error) {
      break;
    }
  }
  return path;
}

}  // namespace mddf::boosting
