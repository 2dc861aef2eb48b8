// Quantiles of the training targets that share leaves with a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/span.hpp"

namespace mddf {

// Stored samples of leaves. The samples of leaf l are rows[start[l]] to rows[start[l + 1] - 1].
struct KeptSamples {
  Span<int64_t> start;
  Span<int32_t> rows;
  Span<double> weights;  // weights of the samples
  Span<int32_t> rank;    // ranks of the samples by their targets
};

// Finds the ranks of quantiles of the targets of rows that end in `leaves` (a leaf of each tree).
// All trees have the same weight. Sorting all targets would take most of the time. Instead, weights
// are summed by intervals of ranks, and only one interval is sorted.
class LeafQuantiles {
 public:
  LeafQuantiles(const KeptSamples& kept, const Span<double>& shares)
      : kept_(kept), shares_(shares) {}

  void find(const int64_t* leaves, int64_t n_trees, int32_t* out) {
    gather(leaves, n_trees);
    int shift = 0;  // binary logarithm of the number of ranks of an interval
    while ((int64_t{most_} - least_) >> shift >= kParts) ++shift;
    part_.fill(0);
    for (const Target& target : targets_) part_[(target.rank - least_) >> shift] += target.share;
    for (int64_t q = 0; q < shares_.size; ++q) {
      double below = 0;
      int64_t part = 0;
      while (part + 1 < kParts && below + part_[part] < shares_[q]) below += part_[part++];
      out[q] = in_part(part, shift, below, shares_[q]);
    }
  }

 private:
  static constexpr int64_t kParts = 512;
  struct Target {
    int32_t rank;
    double share;
  };

  void gather(const int64_t* leaves, int64_t n_trees) {
    targets_.clear();
    least_ = INT32_MAX, most_ = 0;
    for (int64_t t = 0; t < n_trees; ++t) {
      const int64_t begin = kept_.start[leaves[t]], end = kept_.start[leaves[t] + 1];
      double total = 0;
      for (int64_t i = begin; i < end; ++i) total += kept_.weights[kept_.rows[i]];
      const double scale = 1 / (total * static_cast<double>(n_trees));
      for (int64_t i = begin; i < end; ++i) {
        const int32_t row = kept_.rows[i], rank = kept_.rank[row];
        least_ = std::min(least_, rank), most_ = std::max(most_, rank);
        targets_.push_back({rank, kept_.weights[row] * scale});
      }
    }
  }

  // The last target of the interval, if the share is not reached because of rounding.
  int32_t in_part(int64_t part, int shift, double below, double share) {
    here_.clear();
    for (const Target& target : targets_)
      if ((target.rank - least_) >> shift == part) here_.push_back(target);
    if (here_.empty()) return most_;
    std::sort(here_.begin(), here_.end(),
              [](const Target& a, const Target& b) { return a.rank < b.rank; });
    for (const Target& target : here_)
      if ((below += target.share) >= share) return target.rank;
    return here_.back().rank;
  }

  const KeptSamples kept_;
  const Span<double> shares_;
  std::vector<Target> targets_, here_;
  std::array<double, kParts> part_{};
  int32_t least_ = 0, most_ = 0;
};

}  // namespace mddf
