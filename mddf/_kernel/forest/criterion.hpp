// Split criteria. A side with class weights t_c and total t scores
//   Gini      sum t_c^2 / t              = t (1 - Gini impurity)
//   Entropy   sum t_c ln t_c - t ln t    = -t (entropy)
// so that the best split has the largest sum over both sides, and the gain of a split, weighted
// by the node's weight, is that sum less the score of the whole node.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/simd.hpp"
#include "forest/histogram.hpp"

namespace mddf {

struct Gini {
  static double term(double weight) { return weight * weight; }
  static double side(double terms, double total) { return terms / total; }
  // The score of a split if it is above `best`, else `best`; without dividing in the common case.
  static double improve(double best, double terms_left, double left, double terms_right,
                        double right) {
    const double numerator = terms_left * right + terms_right * left;
    const double denominator = left * right;
    // Rounding of real weights can leave a side without weight; such a split is not offered.
    return denominator > 0 && numerator > best * denominator ? numerator / denominator : best;
  }
};

struct Entropy {
  static double term(double weight) { return weight > 0 ? weight * std::log(weight) : 0; }
  static double side(double terms, double total) { return terms - term(total); }
  static double improve(double best, double terms_left, double left, double terms_right,
                        double right) {
    const double score = side(terms_left, left) + side(terms_right, right);
    return score > best ? score : best;
  }
};

// Class weights left of a moving threshold, and the sums of terms of both sides.
template <class Criterion>
class Sweep {
 public:
  explicit Sweep(bool wide) : wide_(wide) {}

  // `total` holds the node's weight of each of its n classes and must outlive the sweep.
  void start(const double* total, int n) {
    total_ = total;
    n_ = n;
    if (static_cast<int>(left_.size()) < n) left_.resize(n);
    std::fill_n(left_.begin(), n, 0.0);
    weight_left = terms_left = terms_right = 0;
    for (int c = 0; c < n; ++c) terms_right += Criterion::term(total[c]);
  }
  void add(int c, double weight) {
    const double before = left_[c], after = before + weight, all = total_[c];
    if constexpr (std::is_same_v<Criterion, Gini>) {
      // Squares need no second term: (t - l)^2 is t^2 - 2 t l + l^2.
      const double gained = weight * (before + after);
      terms_left += gained;
      terms_right += gained - 2 * weight * all;
    } else {
      terms_left += Criterion::term(after) - Criterion::term(before);
      terms_right += Criterion::term(all - after) - Criterion::term(all - before);
    }
    left_[c] = after;
    weight_left += weight;
  }
  double weight_left = 0, terms_left = 0, terms_right = 0;

  // All sums after each of at most 256 bins of padded(n) weights, one per class, with what is given
  // as `first` (or nothing) on the left from the start.
  template <class Weight>
  void over_bins(const double* total, int n, const Weight* first, const Weight* bins, int n_bins) {
    start(total, n);
    for (int c = 0; first && c < n; ++c)
      if (first[c] > 0) add(c, static_cast<double>(first[c]));
    start_weight_ = weight_left;
    if constexpr (std::is_same_v<Criterion, Gini>) {
      const int stride = static_cast<int>(padded(n));
      all_.assign(stride, 0);
      left_.resize(std::max<size_t>(left_.size(), stride));
      std::fill(left_.begin() + n, left_.begin() + stride, 0.0);
      whole_ = 0;
      for (int c = 0; c < n; ++c) whole_ += Criterion::term(all_[c] = total[c]);
      simd::sweep(bins, n_bins, stride, all_.data(), left_.data(), terms_.data(), crossed_.data(),
                  moved_.data(), wide_);
    } else {
      for (int b = 0; b < n_bins; ++b) {
        for (int c = 0; c < n; ++c)
          if (const auto weight = bins[b * padded(n) + c]; weight > 0)
            add(c, static_cast<double>(weight));
        terms_[b] = terms_left;
        crossed_[b] = terms_right;
        moved_[b] = weight_left;
      }
    }
  }
  double start_weight() const { return start_weight_; }
  double weight_after(int bin) const { return moved_[bin]; }
  double terms_left_after(int bin) const { return terms_[bin]; }
  double terms_right_after(int bin) const {
    if constexpr (std::is_same_v<Criterion, Gini>)
      return whole_ - 2 * crossed_[bin] + terms_[bin];
    else
      return crossed_[bin];
  }

 private:
  const bool wide_;
  const double* total_ = nullptr;
  int n_ = 0;
  double start_weight_ = 0, whole_ = 0;
  std::vector<double> left_, all_;
  std::array<double, 256> terms_, crossed_, moved_;
};

}  // namespace mddf
