#include "baselines/scan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mddf::boosting {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// Keeps the best split of one node. Rising thresholds replace the best only if they are better by
// more than the tolerance. Falling thresholds also win ties. Of equal splits, the lowest threshold
// of the lowest feature is therefore kept for both directions of the scan.
class Best {
 public:
  Best(double floor, double tolerance) : limit_(floor + tolerance), tolerance_(tolerance) {}

  void rising(std::int32_t feature, std::uint32_t code, double score) {
    if (score > limit_) {
      split_ = {feature, code, score};
      limit_ = score + tolerance_;
    }
  }

  void falling(std::uint32_t code, double score) {
    if (score >= fallen_score_ - tolerance_) {
      fallen_score_ = std::max(score, fallen_score_);
      fallen_code_ = code;
    }
  }

  void end_feature(std::int32_t feature) {
    if (fallen_score_ > limit_) {
      split_ = {feature, fallen_code_, fallen_score_};
      limit_ = fallen_score_ + tolerance_;
    }
    fallen_score_ = kNothing;
  }

  const Split& split() const { return split_; }

 private:
  double limit_, tolerance_;
  double fallen_score_ = kNothing;
  std::uint32_t fallen_code_ = 0;
  Split split_;
};

// Adds the rows of a run to the sums of their nodes, and calls `judge` with the changed sums. A
// node without rows in the run has no new partition.
template <class Judge>
const std::uint32_t* scan_run(const Run& run, const std::uint32_t* row, const SlottedRow* rows,
                              std::vector<double>& left, Judge&& judge) {
  const std::uint32_t* end = row + run.length;
  for (const std::uint32_t* r = row; r != end; ++r) {
    left[rows[*r].slot] += rows[*r].weight;
  }
  const std::size_t n_slots = left.size() - 1;
  if (run.length < n_slots) {
    for (const std::uint32_t* r = row; r != end; ++r) {
      judge(rows[*r].slot);
    }
  } else {
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      judge(slot);
    }
  }
  return end;
}

// The best common split of all rows. `Sums` are signed weights on one side of a threshold, from 0
// on: add(row, sums) adds a row, and score(sums) is the score of the split.
template <class Sums, class Add, class Score>
Split scan_all(const RankedFeatures& features, double floor, double tolerance, Interrupt& interrupt,
               const Add& add, const Score& score) {
  Best best(floor, tolerance);
  for (std::size_t f = 0; f < features.n_features(); ++f) {
    const FeatureRuns& of = features.runs_of(f);
    interrupt.poll(4 * static_cast<std::int64_t>(features.n_rows()));
    const auto feature = static_cast<std::int32_t>(f);
    const std::uint32_t* row = features.rows(of.first_row);
    const auto score_after = [&](const Run& run, Sums& sums) {
      for (const std::uint32_t* end = row + run.length; row != end; ++row) {
        add(*row, sums);
      }
      return score(sums);
    };
    Sums left{};
    for (std::size_t i = of.first; i < of.middle; ++i) {
      best.rising(feature, features.run(i).code, score_after(features.run(i), left));
    }
    Sums right{};
    for (std::size_t i = of.middle; i < of.last; ++i) {
      best.falling(features.run(i).code - 1, score_after(features.run(i), right));
    }
    best.end_feature(feature);
  }
  return best.split();
}

}  // namespace

Split scan_root(const RankedFeatures& features, const double* signed_weight, double sum,
                double floor, double tolerance, Interrupt& interrupt) {
  return scan_all<double>(
      features, floor, tolerance, interrupt,
      [=](std::uint32_t row, double& side) { side += signed_weight[row]; },
      [=](double side) { return std::fabs(2.0 * side - sum); });
}

std::vector<Split> scan_nodes(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                              const std::vector<double>& sums, double tolerance,
                              Interrupt& interrupt) {
  const std::size_t n_slots = sums.size();
  // The last slot takes the rows of no node; an infinite floor keeps it out of every choice.
  std::vector<Best> best(n_slots + 1, Best(std::numeric_limits<double>::infinity(), tolerance));
  std::vector<double> total(sums);
  total.push_back(0.0);
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    best[slot] = Best(std::fabs(sums[slot]), tolerance);
  }
  std::vector<double> side(n_slots + 1);
  for (std::size_t f = 0; f < features.n_features(); ++f) {
    const FeatureRuns& of = features.runs_of(f);
    interrupt.poll(4 * static_cast<std::int64_t>(features.n_rows()));
    const auto feature = static_cast<std::int32_t>(f);
    const std::uint32_t* row = features.rows(of.first_row);
    std::fill(side.begin(), side.end(), 0.0);
    for (std::size_t i = of.first; i < of.middle; ++i) {
      const Run& run = features.run(i);
      row = scan_run(run, row, rows.data(), side, [&](std::size_t slot) {
        best[slot].rising(feature, run.code, std::fabs(2.0 * side[slot] - total[slot]));
      });
    }
    std::fill(side.begin(), side.end(), 0.0);
    for (std::size_t i = of.middle; i < of.last; ++i) {
      const Run& run = features.run(i);
      row = scan_run(run, row, rows.data(), side, [&](std::size_t slot) {
        best[slot].falling(run.code - 1, std::fabs(2.0 * side[slot] - total[slot]));
      });
    }
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      best[slot].end_feature(feature);
    }
  }
  std::vector<Split> splits(n_slots);
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    splits[slot] = best[slot].split();
  }
  return splits;
}

Split scan_pair(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                const double sums[2], double floor, double tolerance, Interrupt& interrupt) {
  using Sides = std::array<double, 2>;
  return scan_all<Sides>(
      features, floor, tolerance, interrupt,
      [&](std::uint32_t row, Sides& side) { side[rows[row].slot] += rows[row].weight; },
      [=](const Sides& side) {
        return std::fabs(side[0]) + std::fabs(sums[0] - side[0]) + std::fabs(side[1]) +
               std::fabs(sums[1] - side[1]);
      });
}

}  // namespace mddf::boosting
