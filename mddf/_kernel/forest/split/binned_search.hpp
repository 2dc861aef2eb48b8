// Finds the best threshold of a column from the class weights of its bins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/data/bins.hpp"
#include "forest/split/best_threshold.hpp"
#include "forest/split/bin_sweep.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"

namespace mddf {

// Searches n_bins bins, the first of which is first_bin, and the weights of missing values. All
// have padded(n_present) weights. Returns false if all samples are in one bin.
template <class Criterion, class Weight>
bool search_bins(const NodeClasses<Weight>& node, const Weight* bins, int first_bin, int n_bins,
                 const Weight* missing, BinSweep<Criterion, Weight>& sweep, BestThreshold& best) {
  sweep.begin(node.total.data(), node.n_present, node.weight);
  const auto after = [&sweep](int bin) { return sweep.weight_after(bin); };
  bool varies = false;
  for (int missing_left = 0; missing_left <= (best.has_missing ? 1 : 0); ++missing_left) {
    sweep.run(missing_left ? missing : nullptr, bins, n_bins);
    const double start = sweep.start_weight();
    int first = 0, last = n_bins - 1;  // first and last bin that are not empty
    while (first < n_bins && after(first) == start) ++first;
    if (first == n_bins) continue;
    while (last > first && after(last - 1) == after(last)) --last;
    // After the last bin, only missing values are on the right.
    const int end = last + (best.has_missing && !missing_left);
    varies |= first < end;
    sweep.offer_better(first, end, best.score(), [&](int bin) {
      int next = bin + 1;
      while (next <= last && after(next) == after(bin)) ++next;
      best.offer(sweep.improve(best.score(), bin), first_bin + bin,
                 next <= last ? first_bin + next : kMissing, missing_left != 0);
    });
  }
  return varies;
}

// Fills a histogram of one column and searches it.
template <class Criterion, class Weight>
class BinnedSearch {
 public:
  using Node = NodeClasses<Weight>;

  // Whether a histogram is used instead of sorting the samples: not if it has many more cells than
  // there are samples. The limits are not tuned.
  static bool suits(const Node& node, int low, int high) {
    const int cells_per_sample = node.n_present <= 32 ? 24 : 8;
    return (high - low + 1) * padded(node.n_present) <= cells_per_sample * node.n_samples;
  }

  // Searches the codes from `low` to `high`, and missing values.
  void search(const Node& node, const uint8_t* codes, int low, int high,
              BinSweep<Criterion, Weight>& sweep, BestThreshold& best) {
    const int64_t width = padded(node.n_present), n_bins = high - low + 1;
    bins_.assign((n_bins + 1) * width, 0);
    with_stride(node.n_present, [&](auto stride) {
      const uint16_t* label = node.label.data();
      const Weight* weight = node.sample_weight.data();
      Weight* bins = bins_.data();
      for (int64_t i = 0; i < node.n_samples; ++i) {
        const int64_t bin =
            std::min<int64_t>(codes[i] - low, n_bins);  // kMissing becomes bin n_bins
        bins[bin * stride + label[i]] += weight[i];
      }
    });
    search_bins(node, bins_.data(), low, static_cast<int>(n_bins), bins_.data() + n_bins * width,
                sweep, best);
  }

 private:
  std::vector<Weight> bins_;
};

}  // namespace mddf
