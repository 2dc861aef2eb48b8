// Search of the bin of a random threshold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "forest/data/bins.hpp"

namespace mddf {

// Last bin in [low, high] whose value is at most `at`, or `low` if there is none. The search begins
// at the bin `guess` in this range. There must be one more bin. Both directions are checked in each
// step, since a branch on the direction could not be predicted.
inline int cut_at(const double* values, int low, int high, double at, int guess) {
  while ((guess < high) & (values[guess + 1] <= at)) ++guess;
  while ((guess > low) & (values[guess] > at)) --guess;
  return guess;
}

// First guesses for the search. For columns whose values are not evenly spaced, a table has the bin
// at the middle of each of many equal intervals.
class CutGuesses {
 public:
  CutGuesses() = default;
  // Makes tables for columns, if they save time with this number of draws.
  CutGuesses(const Bins& bins, const std::vector<int32_t>& columns, int64_t n_draws)
      : ranges_(bins.n_columns) {
    const int64_t n = static_cast<int64_t>(columns.size());
    if (n > kMaxColumns || n_draws <= kFewestDraws * n) return;
    for (const int32_t c : columns)
      if (!bins.categorical[c]) divide(bins.values + bins.bin_start[c], bins.count(c), ranges_[c]);
  }

  // A bin close to `at`, which is at the `share` of the way between the values of bins `low` and
  // `high`.
  int guess(int32_t column, double at, int low, int high, double share) const {
    const Range& range = ranges_[column];
    if (range.parts_per_unit == 0) return low + static_cast<int>(share * (high - low));
    const int part = static_cast<int>((at - range.start) * range.parts_per_unit);
    return std::clamp<int>(bins_[range.first_part + part], low, high - 1);
  }

 private:
  static constexpr int kParts = 1024;
  // With more columns, the tables do not stay in the cache.
  static constexpr int64_t kMaxColumns = 128;
  // Fewest draws from a column that pay for its table.
  static constexpr int64_t kFewestDraws = 512;
  // Columns need no table if evenly spaced values would have an error below this number of bins.
  static constexpr int kFewSteps = 8;
  struct Range {
    double start = 0, parts_per_unit = 0;  // 0: not divided
    size_t first_part = 0;
  };

  void divide(const double* values, int n, Range& range) {
    const double width = values[n - 1] - values[0], parts_per_unit = (kParts - 1) / width;
    if (!std::isfinite(width) || !std::isfinite(parts_per_unit)) return;
    bool evenly = true, ascending = true;
    for (int i = 1; i < n; ++i) {
      evenly &= std::abs((values[i] - values[0]) / width * (n - 1) - i) < kFewSteps;
      ascending &= values[i] > values[i - 1];
    }
    if (evenly || !ascending) return;
    range = {values[0], parts_per_unit, bins_.size()};
    int bin = 0;
    for (int part = 0; part < kParts; ++part) {
      while (bin + 1 < n && (values[bin + 1] - range.start) * parts_per_unit < part + .5) ++bin;
      bins_.push_back(static_cast<uint8_t>(bin));
    }
  }

  std::vector<Range> ranges_;
  std::vector<uint8_t> bins_;
};

}  // namespace mddf
