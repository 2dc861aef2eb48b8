// Splitting criteria of classification trees. The score of a side with class weights t_c and total
// weight t is
//   Gini      sum t_c^2 / t              = t (1 - Gini impurity)
//   Entropy   sum t_c ln t_c - t ln t    = -t (entropy)
// The best split has the largest sum of the scores of both sides. The gain of a split, multiplied
// by the weight of the node, is this sum minus the score of the node.
//
// A new criterion is a struct with `term`, `side`, `pure` and `improve`; blocks.cpp chooses it.
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
  static double pure(double total) { return total; }  // score of a single class; exact up to 2^26
  // The larger one of `best` and the score of a split. Most splits are not better, and need no
  // division.
  static double improve(double best, double terms_left, double left, double terms_right,
                        double right) {
    const double numerator = terms_left * right + terms_right * left;
    const double denominator = left * right;
    // Rounding of real weights can leave a side without weight. Such a split is not allowed.
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
  // Terms of small whole numbers: most weights are small whole numbers.
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
// summed as integers, which takes less time.
template <class Criterion, class Weight>
class Sweep {
 public:
  using Sum = std::conditional_t<std::is_same_v<Criterion, Gini> && std::is_integral_v<Weight>,
                                 int64_t, double>;

  // Begins with all weight on the right. `total` has the weight of each of the n classes of the
  // node.
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
  // Begins with the weights `left` on the left.
  void start(const double* total, int n, const Sum* left) {
    start(total, n);
    for (int c = 0; c < n; ++c)
      if (left[c] > 0) add(c, left[c]);
  }
  void add(int c, Sum weight) { add_to(sums_, c, weight); }
  // Moves samples to the left.
  template <class Sample>
  void add(const Sample* samples, int64_t n) {
    Sums sums = sums_;  // compilers keep a local copy in registers
    for (int64_t i = 0; i < n; ++i)
      add_to(sums, samples[i].label, static_cast<Sum>(samples[i].weight));
    sums_ = sums;
  }
  double terms_left() const { return static_cast<double>(sums_.terms_left); }
  double terms_right() const { return static_cast<double>(sums_.terms_right); }
  double weight_left() const { return static_cast<double>(sums_.weight_left); }
  double left(int c) const { return static_cast<double>(classes_[c].left); }
  // The larger one of `best` and the score of the split at the threshold; `weight` is the weight of
  // the node.
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
      // The square on the right follows from (t - l)^2 = t^2 - 2 t l + l^2.
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
