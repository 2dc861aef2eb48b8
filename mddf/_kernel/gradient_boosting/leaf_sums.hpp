// Sums over the rows of each leaf, from which leaf values are computed. They have 50 bits instead
// of the 30 bits of sums for splits, and are also exact in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gradient_boosting/rounded.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

// For each leaf, sums of `width` gradients and hessians over the drawn rows, and the weight of all
// rows.
struct LeafSums {
  std::vector<double> gradients, hessians, weights;
  double gradient_unit, hessian_unit;
};

class LeafAdder {
 public:
  // `weights` are whole numbers; empty if each row counts once.
  LeafAdder(const Gradients& of, const std::vector<double>& weights, const Grown& tree,
            bool use_simd)
      : of_(of),
        weights_(weights.empty() ? nullptr : weights.data()),
        tree_(tree),
        use_simd_(use_simd),
        gradient_scale_(rough_scale(of.largest_gradient, of.times, kBits)),
        hessian_scale_(rough_scale(of.largest_hessian, of.times, kBits)) {}

  LeafSums sums(Team& team) const {
    const int n_leaves = tree_.n_leaves(), width = of_.width;
    std::vector<double> all(n_leaves * n_numbers());
    std::mutex merging;
    team.ranges(static_cast<int64_t>(tree_.leaf_of.size()), kFewRows,
                [&](int64_t first, int64_t last) {
                  std::vector<double> part(all.size());
                  if (width == 1)
                    add_numbers(first, last, part.data());
                  else
                    add_vectors(first, last, part.data());
                  std::lock_guard<std::mutex> lock(merging);
                  for (size_t at = 0; at < all.size(); ++at) all[at] += part[at];
                });
    of_.shards.sum(all);
    LeafSums leaf_sums{{}, {}, {}, unit_of(gradient_scale_), unit_of(hessian_scale_)};
    for (int leaf = 0; leaf < n_leaves; ++leaf) {
      const double* of_leaf = all.data() + leaf * n_numbers();
      leaf_sums.gradients.insert(leaf_sums.gradients.end(), of_leaf, of_leaf + width);
      leaf_sums.hessians.insert(leaf_sums.hessians.end(), of_leaf + width, of_leaf + 2 * width);
      leaf_sums.weights.push_back(of_leaf[2 * width]);
    }
    return leaf_sums;
  }

 private:
  static constexpr int kBits = 50;
  static constexpr int64_t kBlock = 256;  // rows of a block, which stays in the cache; not tuned

  // Length of the sums of a leaf, rounded up to four, the length of vectors.
  int n_numbers() const { return (2 * of_.width + 4) / 4 * 4; }

  // Number of times that each of n rows from `begin` on counts.
  MDDF_INLINE void count(int64_t begin, int64_t n, double* counts) const {
    for (int64_t i = 0; i < n; ++i) counts[i] = of_.is_drawn.empty() ? 1 : of_.is_drawn[begin + i];
    if (of_.times.of)
      for (int64_t i = 0; i < n; ++i) counts[i] *= of_.times.of[begin + i];
  }

  void add_numbers(int64_t first, int64_t last, double* to) const {
    const double gradient_factor = factor_of(gradient_scale_);
    const double hessian_factor = factor_of(hessian_scale_);
    simd::with_vectors(use_simd_, [=]() MDDF_INLINED {
      double rows[kBlock][4], counts[kBlock];
      for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t n = std::min(kBlock, last - begin);
        count(begin, n, counts);
        const double *gradient = of_.gradient.data() + begin, *hessian = of_.hessian.data() + begin;
        for (int64_t i = 0; i < n; ++i) {
          rows[i][0] = counts[i] * nearest(gradient[i] * gradient_factor);
          rows[i][1] = counts[i] * nearest(hessian[i] * hessian_factor);
          rows[i][2] = weights_ ? weights_[begin + i] : 1;
          rows[i][3] = 0;
        }
        const uint16_t* leaf_of = tree_.leaf_of.data() + begin;
        for (int64_t i = 0; i < n; ++i) {
          double* of_leaf = to + 4 * leaf_of[i];
          for (int j = 0; j < 4; ++j) of_leaf[j] += rows[i][j];
        }
      }
    });
  }

  void add_vectors(int64_t first, int64_t last, double* to) const {
    const int width = of_.width, n_numbers = this->n_numbers();
    const double gradient_factor = factor_of(gradient_scale_);
    const double hessian_factor = factor_of(hessian_scale_);
    simd::with_vectors(use_simd_, [=]() MDDF_INLINED {
      double counts[kBlock];
      for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t n = std::min(kBlock, last - begin);
        count(begin, n, counts);
        for (int64_t i = 0; i < n; ++i) {
          double* of_leaf = to + int64_t{tree_.leaf_of[begin + i]} * n_numbers;
          const double* gradient = of_.gradient.data() + (begin + i) * width;
          const double* hessian = of_.hessian.data() + (begin + i) * width;
          for (int k = 0; k < width; ++k)
            of_leaf[k] += counts[i] * nearest(gradient[k] * gradient_factor);
          for (int k = 0; k < width; ++k)
            of_leaf[width + k] += counts[i] * nearest(hessian[k] * hessian_factor);
          of_leaf[2 * width] += weights_ ? weights_[begin + i] : 1;
        }
      }
    });
  }

  const Gradients& of_;
  const double* weights_;
  const Grown& tree_;
  bool use_simd_;
  int gradient_scale_, hessian_scale_;
};

}  // namespace mddf::gradient
