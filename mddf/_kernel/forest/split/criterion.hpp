// Split criteria. A side with class weights t_c and total t scores
//   Gini      sum t_c^2 / t              = t (1 - Gini impurity)
//   Entropy   sum t_c ln t_c - t ln t    = -t (entropy)
// so that the best split has the largest sum over both sides, and the gain of a split, weighted
// by the node's weight, is that sum less the score of the whole node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/elementary.hpp"

namespace mddf {

struct Gini {
  static double term(double weight) { return weight * weight; }
  static double side(double terms, double total) { return terms / total; }
  static double pure(double total) { return total; }  // of one class; exact up to 2^26
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
  static double term(double weight) {
    if (!(weight > 0)) return 0;
    if (weight < kTerms.size()) {
      const auto whole = static_cast<size_t>(weight);
      if (static_cast<double>(whole) == weight) return kTerms[whole];
    }
    return weight * QuickLogarithm::of(weight);
  }
  static double side(double terms, double total) { return terms - term(total); }
  static double pure(double) { return 0; }
  static double improve(double best, double terms_left, double left, double terms_right,
                        double right) {
    const double score = side(terms_left, left) + side(terms_right, right);
    return score > best ? score : best;
  }

 private:
  // Of small whole numbers, which most weights are.
  static inline const std::array<double, 1024> kTerms = [] {
    std::array<double, 1024> terms{};
    for (size_t n = 1; n < terms.size(); ++n) {
      const auto weight = static_cast<double>(n);
      terms[n] = weight * logarithm(weight);
    }
    return terms;
  }();
};

// Class weights left of a moving threshold, and the sums of terms of both sides. Whole numbers are
// summed as such: these additions wait less for one another.
template <class Criterion, class Weight>
class Sweep {
 public:
  using Sum = std::conditional_t<std::is_same_v<Criterion, Gini> && std::is_integral_v<Weight>,
                                 int64_t, double>;

  // `total` holds the node's weight of each of its n classes.
  void start(const double* total, int n) {
    if (static_cast<int>(classes_.size()) < n) classes_.resize(n);
    sums_ = {};
    for (int c = 0; c < n; ++c) {
      classes_[c] = {static_cast<Sum>(total[c]), 0};
      if constexpr (std::is_same_v<Criterion, Gini>)
        sums_.terms_right += classes_[c].total * classes_[c].total;
      else
        sums_.terms_right += Criterion::term(total[c]);
    }
  }
  // The same with these weights on the left.
  void start(const double* total, int n, const Sum* left) {
    start(total, n);
    for (int c = 0; c < n; ++c)
      if (left[c] > 0) add(c, left[c]);
  }
  void add(int c, Sum weight) { add_to(sums_, c, weight); }
  // Adds samples, which have a label and a weight.
  template <class Sample>
  void add(const Sample* samples, int64_t n) {
    Sums sums = sums_;  // of its own: compilers keep it in registers
    for (int64_t i = 0; i < n; ++i)
      add_to(sums, samples[i].label, static_cast<Sum>(samples[i].weight));
    sums_ = sums;
  }
  double terms_left() const { return static_cast<double>(sums_.terms_left); }
  double terms_right() const { return static_cast<double>(sums_.terms_right); }
  double weight_left() const { return static_cast<double>(sums_.weight_left); }
  double left(int c) const { return static_cast<double>(classes_[c].left); }
  // The score of the split here if it is above `best`, else `best`; the node weighs `weight`.
  double improve(double best, double weight) const {
    return Criterion::improve(best, terms_left(), weight_left(), terms_right(),
                              weight - weight_left());
  }

 private:
  struct OfClass {
    Sum total, left;
  };

  struct Sums {
    Sum weight_left = 0, terms_left = 0, terms_right = 0;
  };

  void add_to(Sums& sums, int c, Sum weight) {
    OfClass& of = classes_[c];
    const Sum before = of.left, after = before + weight, all = of.total;
    if constexpr (std::is_same_v<Criterion, Gini>) {
      // Squares need no second term: (t - l)^2 is t^2 - 2 t l + l^2.
      const Sum gained = weight * (before + after);
      sums.terms_left += gained;
      sums.terms_right += gained - 2 * weight * all;
    } else {
      sums.terms_left += Criterion::term(after) - Criterion::term(before);
      sums.terms_right += Criterion::term(all - after) - Criterion::term(all - before);
    }
    of.left = after;
    sums.weight_left += weight;
  }

  std::vector<OfClass> classes_;
  Sums sums_;
};

}  // namespace mddf
