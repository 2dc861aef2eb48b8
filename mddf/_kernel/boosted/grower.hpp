// One round's tree, from gradients of any number of outputs.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "boosted/fixed_point.hpp"
#include "boosted/leaf_wise.hpp"
#include "boosted/symmetric.hpp"

namespace mddf::gradient {

// Gradients and hessians of a round, `width` of each for a row.
struct Gradients {
  const std::vector<double>& gradient;
  const std::vector<double>& hessian;
  int width;
  Multiplicity times;
  const std::vector<uint8_t>& is_drawn;  // which rows the tree is grown on; empty for all
};

// A tree, and the units of its scores and values.
struct GrownTree {
  Grown tree;
  double score_unit = 0, value_unit = 0;
};

class Grower {
 public:
  virtual ~Grower() = default;
  virtual GrownTree grow(const Gradients& of, Random& random, Team& team, Interrupt& interrupt) = 0;
};

// Splits are found with sums of kWidth numbers. Of more outputs than these can hold, random
// projections are taken, new ones in each round (L. Iosipoi and A. Vakhrushev, "SketchBoost",
// 2022).
template <int kWidth, bool kCounted, int kOutputs>
class GrowerOf : public Grower {
 public:
  using ScorerOf = Scorer<kWidth, kCounted, kOutputs>;

  GrowerOf(const Columns& columns, const Options& options, bool counts_rows)
      : options_(options),
        counts_rows_(counts_rows),
        gradients_(columns.n_rows()),
        symmetric_(
            options.symmetric
                ? std::make_unique<SymmetricGrower<kWidth, kCounted, kOutputs>>(columns, options)
                : nullptr),
        leaf_wise_(options.symmetric ? nullptr
                                     : std::make_unique<LeafWiseGrower<kWidth, kCounted, kOutputs>>(
                                           columns, options)) {}

  GrownTree grow(const Gradients& of, Random& random, Team& team, Interrupt& interrupt) override {
    const auto n = static_cast<int64_t>(gradients_.size());
    drawn_.clear();
    for (int64_t i = 0; i < n; ++i)
      if (of.is_drawn.empty() || of.is_drawn[i]) drawn_.push_back(static_cast<int32_t>(i));
    Round<kWidth, kCounted, kOutputs> round{gradients_, drawn_, {}, 0, 0};
    const int scale = set_gradients(of, random), hessian_scale = set_hessians(of);
    set_scorer(of, hessian_scale, round);
    if (kWidth > 2) round.lane = static_cast<int>(random.below(lanes(of.width)));
    GrownTree grown;
    if (scale == kNoScale || hessian_scale == kNoScale) {
      grown.tree.leaf_of.assign(n, 0);
      grown.tree.leaf_of_way.assign(1, 0);
      grown.tree.limits.resize(1);
      return grown;
    }
    grown.tree = symmetric_ ? symmetric_->grow(round, random, team, interrupt)
                            : leaf_wise_->grow(round, random, team, interrupt);
    grown.value_unit = std::ldexp(1.0, hessian_scale - scale);
    grown.score_unit = std::ldexp(1.0, hessian_scale - 2 * scale);
    return grown;
  }

 private:
  static constexpr int kBits = 30;  // of sums

  static int lanes(int width) { return std::min(width, ScorerOf::kGradients); }

  int set_gradients(const Gradients& of, Random& random) {
    const auto n = static_cast<int64_t>(gradients_.size());
    const int n_lanes = lanes(of.width);
    const double* values = of.gradient.data();
    if (of.width > n_lanes) {
      project(of, n_lanes, random);
      values = projected_.data();
    }
    const int scale = scale_for(values, n, n_lanes, of.times, kBits);
    const double unit = scale == kNoScale ? 0 : std::ldexp(1.0, scale);
    squares_.assign(n, 0);
    for (int64_t i = 0; i < n; ++i) {
      Sums<kWidth> sum;
      for (int j = 0; j < n_lanes; ++j) {
        const double rounded = nearest(values[i * n_lanes + j] * unit);
        squares_[i] += rounded * rounded;
        sum.of[j] = static_cast<int32_t>(of.times[i] * rounded);
      }
      gradients_[i] = sum;
    }
    return scale;
  }

  void project(const Gradients& of, int n_lanes, Random& random) {
    const auto n = static_cast<int64_t>(gradients_.size());
    std::vector<double> signs(of.width * n_lanes);
    for (double& sign : signs) sign = random.below(2) ? 1 : -1;
    projected_.assign(n * n_lanes, 0);
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < of.width; ++k) {
        const double gradient = of.gradient[i * of.width + k];
        for (int j = 0; j < n_lanes; ++j)
          projected_[i * n_lanes + j] += gradient * signs[k * n_lanes + j];
      }
  }

  // Of several outputs, their mean.
  int set_hessians(const Gradients& of) {
    const auto n = static_cast<int64_t>(gradients_.size());
    const double* values = of.hessian.data();
    if (of.width > 1) {
      means_.resize(n);
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < of.width; ++k) sum += of.hessian[i * of.width + k];
        means_[i] = sum / of.width;
      }
      values = means_.data();
    }
    // Whole numbers as they are, if their sums are not too large.
    const bool whole = counts_rows_ && of.times.total <= std::ldexp(1.0, kBits);
    const int scale = whole ? 0 : scale_for(values, n, 1, of.times, kBits);
    const double unit = scale == kNoScale ? 0 : std::ldexp(1.0, scale);
    steepest_ = flat_ = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double rounded = nearest(values[i] * unit);
      const bool drawn = of.is_drawn.empty() || of.is_drawn[i];
      if (drawn && !(rounded > 0))
        for (int j = 0; j < ScorerOf::kGradients; ++j) flat_ += std::fabs(gradients_[i].of[j]);
      squares_[i] = drawn && rounded > 0 ? squares_[i] / rounded : 0;
      steepest_ = std::max(steepest_, squares_[i]);
      if (!drawn) gradients_[i] = {};
      gradients_[i].of[ScorerOf::kHessian] =
          drawn ? static_cast<int32_t>(of.times[i] * rounded) : 0;
      if (kCounted) gradients_[i].of[ScorerOf::kCount] = drawn;
    }
    return scale;
  }

  void set_scorer(const Gradients& of, int scale, Round<kWidth, kCounted, kOutputs>& round) const {
    ScorerOf& scorer = round.scorer;
    const double unit = scale == kNoScale ? 0 : std::ldexp(1.0, scale);
    scorer.monotonic = !options_.monotonic.empty();
    scorer.l2 = options_.l2 * unit;
    scorer.least_hessian =
        options_.constant_hessian() ? 1 : std::max(1, whole_above(kLeastHessian * unit));
    scorer.least_count =
        static_cast<int32_t>(kCounted || (counts_rows_ && !of.times.of)
                                 ? std::clamp<int64_t>(options_.min_samples_leaf, 1, INT32_MAX / 2)
                                 : 1);
    int exponent;
    std::frexp(most_score(of, scorer.least_hessian + scorer.l2), &exponent);
    const int digits = scorer.monotonic ? 40 : 50;
    scorer.rounding = std::ldexp(1.5, 52 + exponent - digits);
    scorer.unit = std::ldexp(1.0, 30 - exponent);
    double hessian = 0;
    for (const int32_t row : round.drawn) hessian += gradients_[row].of[ScorerOf::kHessian];
    round.smoothing = options_.category_smoothing * hessian / of.times.total;
  }

  // A bound of what the leaves of any tree score in all, each of which has so much weight at least:
  // not more than each row for itself, or than all gradients in one leaf.
  double most_score(const Gradients& of, double least_weight) const {
    constexpr int kDigits = 20;
    double most = 0;
    if (steepest_ > 0) {
      int exponent;
      std::frexp(steepest_, &exponent);
      const double unit = std::ldexp(1.0, kDigits - exponent);
      for (size_t i = 0; i < squares_.size(); ++i)  // exact, whatever the order of the rows
        most += of.times[i] * (static_cast<int32_t>(squares_[i] * unit) + 1);
      most = std::ldexp(most, exponent - kDigits);
    }
    // Rows without a hessian have no score for themselves.
    if (flat_ > 0) most = 2 * (most + flat_ * flat_ / least_weight);
    const double together = std::ldexp(1.0, 2 * kBits) * ScorerOf::kGradients / least_weight;
    return most > 0 ? std::min(most, together) : 1;
  }

  static constexpr double kLeastHessian = 1e-3;
  static int whole_above(double x) { return static_cast<int>(std::ceil(std::min(x, 1e9))); }

  const Options& options_;
  bool counts_rows_;  // hessians are 1 for each row
  std::vector<Sums<kWidth>> gradients_;
  std::vector<int32_t> drawn_;
  std::vector<double> projected_, means_;
  // Of each row the sum of the squares of its gradients, over its hessian; the largest of them; and
  // the sum of the gradients of rows whose hessian is 0.
  std::vector<double> squares_;
  double steepest_ = 0, flat_ = 0;
  std::unique_ptr<SymmetricGrower<kWidth, kCounted, kOutputs>> symmetric_;
  std::unique_ptr<LeafWiseGrower<kWidth, kCounted, kOutputs>> leaf_wise_;
};

// With sums as narrow as will do. Real weights make hessians other than 1.
inline std::unique_ptr<Grower> make_grower(const Columns& columns, const Options& options,
                                           bool real_weights, bool any_weights) {
  const bool counts_rows = options.constant_hessian() && !real_weights;
  const bool beside = options.min_samples_leaf > 1 && (!counts_rows || any_weights);
  const int lanes = options.width() + 1 + beside;
  const auto make = [&](auto width, auto outputs) -> std::unique_ptr<Grower> {
    constexpr int kWidth = decltype(width)::value, kOutputs = decltype(outputs)::value;
    if constexpr (kWidth > 2)
      if (beside)
        return std::make_unique<GrowerOf<kWidth, true, std::min(kOutputs, kWidth - 2)>>(
            columns, options, counts_rows);
    return std::make_unique<GrowerOf<kWidth, false, kOutputs>>(columns, options, counts_rows);
  };
  using std::integral_constant;
  if (lanes <= 2) return make(integral_constant<int, 2>(), integral_constant<int, 1>());
  if (options.width() == 1) return make(integral_constant<int, 4>(), integral_constant<int, 1>());
  if (lanes <= 4) return make(integral_constant<int, 4>(), integral_constant<int, 3>());
  return make(integral_constant<int, 8>(), integral_constant<int, 7>());
}

}  // namespace mddf::gradient
