// Quantiles of values that are divided among several processes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "gradient_boosting/exchange.hpp"

namespace mddf::gradient {

// The quantiles of groups of values, as weighted_quantile finds them; 0 for an empty group. The
// group of value i is group_of(i), or -1 if it does not count. Weights must be whole numbers, so
// that their sums are exact; without weights, each value counts once.
//
// Eight bits of the quantiles are found at a time: the values that agree with the bits found so far
// are counted by the next eight bits.
template <class GroupOf>
std::vector<double> quantiles_of_shards(const std::vector<double>& values, GroupOf group_of,
                                        int n_groups, const std::vector<double>& weights,
                                        bool are_weighted, double share, const Shards& shards) {
  constexpr int kBits = 8, kBins = 1 << kBits;
  const auto n = static_cast<int64_t>(values.size());
  const auto weight_of = [&](int64_t i) { return are_weighted ? weights[i] : 1.0; };
  std::vector<double> totals(n_groups);
  for (int64_t i = 0; i < n; ++i)
    if (group_of(i) >= 0) totals[group_of(i)] += weight_of(i);
  shards.sum(totals);
  std::vector<double> before(n_groups), wanted(n_groups), counts;
  for (int group = 0; group < n_groups; ++group)
    wanted[group] = are_weighted ? share * totals[group]
                                 : std::clamp(std::ceil(share * totals[group]), 1.0,
                                              std::max(1.0, totals[group]));
  std::vector<uint64_t> prefix(n_groups);
  for (int shift = 64 - kBits; shift >= 0; shift -= kBits) {
    counts.assign(static_cast<size_t>(n_groups) * kBins, 0);
    for (int64_t i = 0; i < n; ++i) {
      const int group = group_of(i);
      if (group < 0) continue;
      const uint64_t key = ordered_key(values[i]) >> shift;
      if (shift + kBits < 64 && key >> kBits != prefix[group]) continue;
      counts[static_cast<size_t>(group) * kBins + (key & (kBins - 1))] += weight_of(i);
    }
    shards.sum(counts);
    for (int group = 0; group < n_groups; ++group) {
      const double* of_group = counts.data() + static_cast<size_t>(group) * kBins;
      int bin = 0;
      while (bin + 1 < kBins && before[group] + of_group[bin] < wanted[group])
        before[group] += of_group[bin++];
      prefix[group] = prefix[group] << kBits | static_cast<uint64_t>(bin);
    }
  }
  std::vector<double> quantiles(n_groups);
  for (int group = 0; group < n_groups; ++group)
    if (totals[group] > 0) quantiles[group] = from_ordered_key(prefix[group]);
  return quantiles;
}

}  // namespace mddf::gradient
