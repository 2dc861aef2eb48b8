// Scores of all thresholds of a column, from the class weights of its bins.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "forest/split/bin_sums.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/histogram.hpp"

namespace mddf {

// What thresholds after each of at most 256 bins have on their left. A bin has padded(n) weights,
// one per class.
template <class Criterion, class Weight>
class BinSweep {
 public:
  explicit BinSweep(bool wide) : wide_(wide) {}

  // The columns that follow are those of another node.
  void begin_node() { has_begun_ = false; }

  // The node has in all these weights of n classes, whose sum is `weight`. Comes before run(), and
  // does nothing if it came for this node before.
  void begin(const double* total, int n, double weight) {
    if (has_begun_) return;
    has_begun_ = true;
    n_ = n;
    weight_ = weight;
    total_.assign(padded(n), 0);
    std::copy_n(total, n, total_.begin());
    whole_ = 0;
    for (int c = 0; c < n; ++c) whole_ += Criterion::term(total[c]);
    if constexpr (kCounts) counts_.assign(total_.begin(), total_.end());
  }

  // Goes over the bins, with the class weights `first`, if given, on the left from the start.
  void run(const Weight* first, const Weight* bins, int n_bins) {
    start_weight_ = 0;
    for (int c = 0; first && c < n_; ++c) start_weight_ += static_cast<double>(first[c]);
    const simd::BinSums sums{terms_.data(), crossed_.data(), moved_.data()};
    const int n_classes = static_cast<int>(total_.size());
    if constexpr (kCounts)
      if (simd::sweep_narrow(bins, n_bins, n_classes, weight_, counts_.data(), first, sums, wide_))
        return;
    if constexpr (kGini) {
      left_.assign(total_.size(), 0);
      for (int c = 0; first && c < n_; ++c) left_[c] = static_cast<double>(first[c]);
      simd::sweep(bins, n_bins, n_classes, total_.data(), left_.data(), sums, wide_);
    } else {
      run_by_class(first, bins, n_bins);
    }
  }

  // The same of groups of few classes; false if there is no quicker way than one after the other.
  bool run([[maybe_unused]] const Packed<Weight>& first,
           [[maybe_unused]] const Packed<Weight>* groups, [[maybe_unused]] int n_groups) {
    if constexpr (kCounts)
      return simd::sweep_words(&groups->bits, n_groups, PackedCounts::kBits, n_, total_.data(),
                               first.bits, {terms_.data(), crossed_.data(), moved_.data()}, wide_);
    return false;
  }

  double start_weight() const { return start_weight_; }
  double weight_after(int bin) const { return moved_[bin]; }
  // The score of the split after a bin if it is above `best`, else `best`.
  double improve(double best, int bin) const {
    return Criterion::improve(best, terms_[bin], moved_[bin],
                              kGini ? whole_ - 2 * crossed_[bin] + terms_[bin] : crossed_[bin],
                              weight_ - moved_[bin]);
  }
  // Calls offer(bin) for the bins in [from, end) after which a split may be better than `best`,
  // which an offer may change: for the best one, and perhaps others.
  template <class Offer>
  void offer_better(int from, int end, const double& best, Offer offer) {
    if constexpr (kGini) {
      const simd::BinSums sums{terms_.data(), crossed_.data(), moved_.data()};
      int bin = simd::find_best(sums, whole_, weight_, from, end, best, scores_.data(), wide_);
      if (bin != simd::kUnknown) {
        if (bin < end) offer(bin);
        return;
      }
      for (bin = from; (bin = simd::find_better(sums, whole_, weight_, bin, end, best)) < end;
           ++bin)
        offer(bin);
    } else {
      for (int bin = from; bin < end; ++bin)
        if (bin == from || moved_[bin] != moved_[bin - 1]) offer(bin);
    }
  }

 private:
  static constexpr bool kGini = std::is_same_v<Criterion, Gini>;
  static constexpr bool kCounts = kGini && std::is_integral_v<Weight>;

  // crossed_ are the terms of the right side.
  void run_by_class(const Weight* first, const Weight* bins, int n_bins) {
    sweep_.start(total_.data(), n_);
    const auto add = [this](const Weight* weights) {
      for (int c = 0; c < n_; ++c)
        if (weights[c] > 0) sweep_.add(c, static_cast<double>(weights[c]));
    };
    if (first) add(first);
    for (int b = 0; b < n_bins; ++b) {
      add(bins + b * padded(n_));
      terms_[b] = sweep_.terms_left();
      crossed_[b] = sweep_.terms_right();
      moved_[b] = sweep_.weight_left();
    }
  }

  const bool wide_;
  bool has_begun_ = false;
  int n_ = 0;
  double whole_ = 0, weight_ = 0, start_weight_ = 0;
  std::vector<double> total_, left_;
  std::vector<uint32_t> counts_;  // total_, as such
  Sweep<Criterion, Weight> sweep_;
  std::array<double, simd::kMostSums> terms_{}, crossed_{}, moved_{}, scores_;
};

}  // namespace mddf
