// Growers for each width of sums. Included only by the source files that instantiate it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "gradient_boosting/grower.hpp"
#include "gradient_boosting/leaf_wise.hpp"
#include "gradient_boosting/symmetric.hpp"

namespace mddf::gradient {

// Grower that finds splits by sums of kWidth numbers.
template <int kWidth, bool kHasCount, int kOutputs>
class GrowerOf : public Grower {
 public:
  using ScorerOf = Scorer<kWidth, kHasCount, kOutputs>;

  GrowerOf(const Columns& columns, const Options& options, bool counts_rows)
      : options_(options),
        counts_rows_(counts_rows),
        rounded_(columns.n_rows(), counts_rows, options.uses_simd()),
        symmetric_(
            options.symmetric
                ? std::make_unique<SymmetricGrower<kWidth, kHasCount, kOutputs>>(columns, options)
                : nullptr),
        leaf_wise_(options.symmetric
                       ? nullptr
                       : std::make_unique<LeafWiseGrower<kWidth, kHasCount, kOutputs>>(columns,
                                                                                       options)) {}

  const Grown& grow(const Gradients& of, Random& random, Team& team,
                    Interrupt& interrupt) override {
    rounded_.set(of, random, team);
    const int lane = kWidth > 2 ? static_cast<int>(random.below(rounded_.lanes(of.width))) : 0;
    if (!rounded_.any()) {
      grown_ = {};
      grown_.leaf_of.assign(rounded_.rows().size(), 0);
      grown_.leaf_of_path.assign(1, 0);
      grown_.limits.resize(1);
      return grown_;
    }
    const double smoothing =
        options_.category_smoothing * rounded_.total().of[ScorerOf::kHessian] / of.times.total;
    const Round<kWidth, kHasCount, kOutputs> round{rounded_.rows(),
                                                   rounded_.order(),
                                                   rounded_.n_drawn(),
                                                   rounded_.total(),
                                                   scorer(of, team),
                                                   smoothing,
                                                   lane};
    if (symmetric_)
      symmetric_->grow(round, random, team, interrupt, grown_);
    else
      leaf_wise_->grow(round, random, team, interrupt, grown_);
    const int scale = rounded_.scale(), hessian_scale = rounded_.hessian_scale();
    grown_.value_unit = std::ldexp(1.0, hessian_scale - scale);
    grown_.score_unit = std::ldexp(1.0, hessian_scale - 2 * scale);
    return grown_;
  }

 private:
  ScorerOf scorer(const Gradients& of, Team& team) const {
    ScorerOf scorer;
    const double unit = std::ldexp(1.0, rounded_.hessian_scale());
    scorer.monotonic = !options_.monotonic.empty();
    scorer.l2 = options_.split_l2 * unit;
    scorer.least_hessian =
        options_.unit_splits() ? 1 : std::max(1, whole_above(options_.least_hessian * unit));
    scorer.least_count =
        static_cast<int32_t>(kHasCount || (counts_rows_ && !of.times.of)
                                 ? std::clamp<int64_t>(options_.min_samples_leaf, 1, INT32_MAX / 2)
                                 : 1);
    int exponent;
    std::frexp(rounded_.most_score(of, scorer.least_hessian + scorer.l2, team), &exponent);
    const int digits = scorer.monotonic ? 40 : 50;
    scorer.rounding = std::ldexp(1.5, 52 + exponent - digits);
    scorer.unit = std::ldexp(1.0, 30 - exponent);
    return scorer;
  }

  static int whole_above(double x) { return static_cast<int>(std::ceil(std::min(x, 1e9))); }

  const Options& options_;
  bool counts_rows_;  // whether the hessian of each row is 1
  Rounded<kWidth, kHasCount, kOutputs> rounded_;
  std::unique_ptr<SymmetricGrower<kWidth, kHasCount, kOutputs>> symmetric_;
  std::unique_ptr<LeafWiseGrower<kWidth, kHasCount, kOutputs>> leaf_wise_;
  Grown grown_;
};

template <int kWidth, int kOutputs>
std::unique_ptr<Grower> make_grower_of(const Columns& columns, const Options& options,
                                       bool counts_rows, [[maybe_unused]] bool has_count) {
  if constexpr (kWidth > 2)
    if (has_count)
      return std::make_unique<GrowerOf<kWidth, true, std::min(kOutputs, kWidth - 2)>>(
          columns, options, counts_rows);
  return std::make_unique<GrowerOf<kWidth, false, kOutputs>>(columns, options, counts_rows);
}

}  // namespace mddf::gradient
