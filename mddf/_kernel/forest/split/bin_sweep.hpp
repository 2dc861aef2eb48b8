// Scores all thresholds of a column from the class weights of its bins.
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

// Computes the sums on the left of the thresholds after each of at most 256 bins. A bin has
// padded(n) weights, one per class.
template <class Criterion, class Weight>
class BinSweep {
 public:
  explicit BinSweep(bool use_simd) : use_simd_(use_simd) {}

  // Must be called before the columns of a new node.
  void begin_node() { has_begun_ = false; }

  // Sets the n class weights of the node and their sum `weight`. To be called before run(). Later
  // calls for the same node do nothing.
  void begin(const double* total, int n, double weight) {
    if (has_begun_) return;
    has_begun_ = true;
    n_ = n;
    weight_ = weight;
    total_.assign(padded(n), 0);
    std::copy_n(total, n, total_.begin());
    total_terms_ = 0;
    for (int c = 0; c < n; ++c) total_terms_ += Criterion::term(total[c]);
    if constexpr (kCounts) counts_.assign(total_.begin(), total_.end());
  }

  // Computes the sums of all bins. The class weights `first`, unless null, are on the left from the
  // start.
  void run(const Weight* first, const Weight* bins, int n_bins) {
    start_weight_ = 0;
    for (int c = 0; first && c < n_; ++c) start_weight_ += static_cast<double>(first[c]);
    const simd::BinSums sums{terms_.data(), cross_terms_.data(), weight_left_.data()};
    const int n_classes = static_cast<int>(total_.size());
    if constexpr (kCounts)
      if (simd::sweep_narrow(bins, n_bins, n_classes, weight_, counts_.data(), first, sums,
                             use_simd_))
        return;
    if constexpr (kGini) {
      left_.assign(total_.size(), 0);
      for (int c = 0; first && c < n_; ++c) left_[c] = static_cast<double>(first[c]);
      simd::sweep(bins, n_bins, n_classes, total_.data(), left_.data(), sums, use_simd_);
    } else {
      run_by_class(first, bins, n_bins);
    }
  }

  // The same for groups with packed weights of few classes. Returns false if there is no faster way
  // than one group after another.
  bool run([[maybe_unused]] const Packed<Weight>& first,
           [[maybe_unused]] const Packed<Weight>* groups, [[maybe_unused]] int n_groups) {
    if constexpr (kCounts)
      return simd::sweep_words(
          &groups->bits, n_groups, PackedCounts::kBits, n_, total_.data(), first.bits,
          {terms_.data(), cross_terms_.data(), weight_left_.data()}, use_simd_);
    return false;
  }

  double start_weight() const { return start_weight_; }
  double weight_after(int bin) const { return weight_left_[bin]; }
  // Returns the score of the split after a bin if it is above `best`, else `best`.
  double improve(double best, int bin) const {
    return Criterion::improve(
        best, terms_[bin], weight_left_[bin],
        kGini ? total_terms_ - 2 * cross_terms_[bin] + terms_[bin] : cross_terms_[bin],
        weight_ - weight_left_[bin]);
  }
  // Calls offer(bin) for bins in [from, end) after which a split scores more than `best`. The best
  // bin is among them. An offer may change `best`.
  template <class Offer>
  void offer_better(int from, int end, const double& best, Offer offer) {
    if constexpr (kGini) {
      const simd::BinSums sums{terms_.data(), cross_terms_.data(), weight_left_.data()};
      int bin =
          simd::find_best(sums, total_terms_, weight_, from, end, best, scores_.data(), use_simd_);
      if (bin != simd::kUnknown) {
        if (bin < end) offer(bin);
        return;
      }
      for (bin = from; (bin = simd::find_better(sums, total_terms_, weight_, bin, end, best)) < end;
           ++bin)
        offer(bin);
    } else {
      for (int bin = from; bin < end; ++bin)
        if (bin == from || weight_left_[bin] != weight_left_[bin - 1]) offer(bin);
    }
  }

 private:
  static constexpr bool kGini = std::is_same_v<Criterion, Gini>;
  static constexpr bool kCounts = kGini && std::is_integral_v<Weight>;

  // Without Gini, cross_terms_ holds the terms of the right side.
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
      cross_terms_[b] = sweep_.terms_right();
      weight_left_[b] = sweep_.weight_left();
    }
  }

  const bool use_simd_;
  bool has_begun_ = false;
  int n_ = 0;
  double total_terms_ = 0, weight_ = 0, start_weight_ = 0;
  std::vector<double> total_, left_;
  std::vector<uint32_t> counts_;  // total_ as integers
  Sweep<Criterion, Weight> sweep_;
  std::array<double, simd::kMaxSums> terms_{}, cross_terms_{}, weight_left_{}, scores_;
};

}  // namespace mddf
