// Split criteria. A side with class weights t_c and total t scores
//   Gini      sum t_c^2 / t              = t (1 - Gini impurity)
//   Entropy   sum t_c ln t_c - t ln t    = -t (entropy)
// so that the best split has the largest sum over both sides, and the gain of a split, weighted
// by the node's weight, is that sum less the score of the whole node.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

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
  // `total` holds the node's weight of each of its classes and must outlive the sweep.
  void start(const std::vector<double>& total) {
    total_ = &total;
    left_.assign(total.size(), 0);
    weight_left = terms_left = terms_right = 0;
    for (const double t : total) terms_right += Criterion::term(t);
  }
  void add(int c, double weight) {
    const double before = left_[c], after = before + weight, all = (*total_)[c];
    terms_left += Criterion::term(after) - Criterion::term(before);
    terms_right += Criterion::term(all - after) - Criterion::term(all - before);
    left_[c] = after;
    weight_left += weight;
  }
  // Adds one weight per class.
  template <class Weight>
  void add_all(const Weight* weights) {
    for (size_t c = 0; c < left_.size(); ++c)
      if (weights[c] > 0) add(static_cast<int>(c), static_cast<double>(weights[c]));
  }
  double weight_left = 0, terms_left = 0, terms_right = 0;

 private:
  const std::vector<double>* total_ = nullptr;
  std::vector<double> left_;
};

// Squares need no second term: (t - l)^2 is t^2 - 2 t l + l^2.
template <>
inline void Sweep<Gini>::add(int c, double weight) {
  const double before = left_[c];
  const double gained = weight * (before + before + weight);
  terms_left += gained;
  terms_right += gained - 2 * weight * (*total_)[c];
  left_[c] = before + weight;
  weight_left += weight;
}

template <>
template <class Weight>
void Sweep<Gini>::add_all(const Weight* weights) {
  double gained = 0, crossed = 0, moved = 0;
  const double* all = total_->data();
  double* left = left_.data();
  const size_t n = left_.size();
#pragma omp simd reduction(+ : gained, crossed, moved)
  for (size_t c = 0; c < n; ++c) {
    const double weight = static_cast<double>(weights[c]);
    gained += weight * (left[c] + left[c] + weight);
    crossed += weight * all[c];
    moved += weight;
    left[c] += weight;
  }
  terms_left += gained;
  terms_right += gained - 2 * crossed;
  weight_left += moved;
}

}  // namespace mddf
