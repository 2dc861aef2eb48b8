// Finds the best threshold of a column at a node of two or three classes, whose weights are packed
// in one word.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "forest/data/bins.hpp"
#include "forest/split/best_threshold.hpp"
#include "forest/split/bin_sweep.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/sort_few.hpp"

namespace mddf {

template <class Criterion, class Weight>
class FewClassesSearch {
 public:
  using Packed = mddf::Packed<Weight>;
  using Node = NodeClasses<Weight>;

  // Step 1: groups the samples by their codes, which lie in [low, high] or are missing.
  void group(const Node& node, const uint8_t* codes, int low, int high) {
    missing_ = Packed{};
    n_groups_ = 0;
    if (node.n_samples <= kFewCodes) return group_few(node, codes);
    // With two copies, equal codes in a row do not wait for the previous store.
    const Packed* packed = node.packed.data();
    int64_t i = 0;
    for (; i + 1 < node.n_samples; i += 2) {
      histogram_[0][codes[i]] += packed[i];
      histogram_[1][codes[i + 1]] += packed[i + 1];
    }
    if (i < node.n_samples) histogram_[0][codes[i]] += packed[i];
    const auto take = [this](int bin) {
      Packed sum = histogram_[0][bin];
      sum += histogram_[1][bin];
      histogram_[0][bin] = histogram_[1][bin] = Packed{};
      return sum;
    };
    for (int bin = low; bin <= high; ++bin) add_group(bin, take(bin));
    missing_ = take(kMissing);
  }
  // Step 1, from a histogram of 256 bins.
  void take_histogram(const Packed* bins, int n_bins) {
    n_groups_ = 0;
    for (int bin = 0; bin < n_bins; ++bin) add_group(bin, bins[bin]);
    missing_ = bins[kMissing];
  }
  bool has_missing() const { return !missing_.empty(); }
  int n_groups() const { return n_groups_; }  // without missing values

  // Step 2: offers all thresholds between the groups.
  void search(const Node& node, BinSweep<Criterion, Weight>& sweep, BestThreshold& best) const {
    if (node.n_present == 2) return search_groups<2>(node, sweep, best);
    search_groups<kFewClasses>(node, sweep, best);
  }

 private:
  // Fewest groups for which scoring all thresholds at once is faster.
  static constexpr int kFewestGroups = 8;

  // Adds a group unless its weights are empty. It has no branch, because the processor could not
  // predict it.
  void add_group(int bin, const Packed& sum) {
    group_bin_[n_groups_] = bin;
    group_sum_[n_groups_] = sum;
    n_groups_ += !sum.empty();
  }

  void group_few(const Node& node, const uint8_t* codes) {
    const Packed* packed = node.packed.data();
    sort_few(codes, static_cast<int>(node.n_samples), order_);
    int previous = -1;
    for (int64_t i = 0; i < node.n_samples; ++i) {
      const int bin = codes[order_[i]];
      if (bin == kMissing) {
        missing_ += packed[order_[i]];
        continue;
      }
      if (bin != previous) {
        group_bin_[n_groups_] = previous = bin;
        group_sum_[n_groups_++] = Packed{};
      }
      group_sum_[n_groups_ - 1] += packed[order_[i]];
    }
  }

  template <int kClasses>
  void search_groups(const Node& node, BinSweep<Criterion, Weight>& sweep,
                     BestThreshold& best) const {
    double total[kFewClasses] = {0, 0, 0};
    std::copy_n(node.total.data(), node.n_present, total);
    const auto next = [this](int g) { return g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing; };
    for (int missing_left = 0; missing_left <= (best.has_missing ? 1 : 0); ++missing_left) {
      Packed left = missing_left ? missing_ : Packed{};
      const int last = n_groups_ - (best.has_missing && !missing_left ? 0 : 1);
      if (last >= kFewestGroups) {
        sweep.begin(node.total.data(), node.n_present, node.weight);
        if (sweep.run(left, group_sum_.data(), last)) {
          sweep.offer_better(0, last, best.score(), [&](int g) {
            best.offer(sweep.improve(best.score(), g), group_bin_[g], next(g), missing_left != 0);
          });
          continue;
        }
      }
      for (int g = 0; g < last; ++g) {
        left += group_sum_[g];
        double weight = 0, terms_left = 0, terms_right = 0;
        for (int c = 0; c < kClasses; ++c) {
          const double here = left[c];
          weight += here;
          terms_left += Criterion::term(here);
          terms_right += Criterion::term(total[c] - here);
        }
        const double score =
            Criterion::improve(best.score(), terms_left, weight, terms_right, node.weight - weight);
        if (score > best.score()) best.offer(score, group_bin_[g], next(g), missing_left != 0);
      }
    }
  }

  int n_groups_ = 0;
  std::array<int, 256> group_bin_;
  std::array<Packed, 256> group_sum_;
  Packed missing_;
  std::array<std::array<Packed, 256>, 2> histogram_{};  // zero between calls
  FewInOrder order_;
};

}  // namespace mddf
