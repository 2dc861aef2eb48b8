// Leaf values that are quantiles of the residuals of their rows.
//
// If the column of a split has a monotonic constraint, the quantiles of both sides may violate it.
// The middle between the two quantiles is then the limit of the values on both sides, as it is for
// other losses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

class QuantileLeaves {
 public:
  QuantileLeaves(const Grown& tree, double share)
      : tree_(tree), share_(share), residuals_(tree.n_leaves()), weights_(tree.n_leaves()) {}

  // `weight` is null if no row has one.
  void add(int leaf, double residual, const double* weight) {
    residuals_[leaf].push_back(residual);
    if (weight) weights_[leaf].push_back(*weight);
  }

  std::vector<double> values() const {
    std::vector<double> quantiles(residuals_.size());
    for (size_t leaf = 0; leaf < quantiles.size(); ++leaf)
      quantiles[leaf] = weighted_quantile(residuals_[leaf], weights_[leaf], share_);
    return quantiles;
  }

  // Quantiles within the limits of monotonic constraints. `sign_of` is -1, 0 or 1 for each column.
  template <class Sign>
  std::vector<double> ordered_values(Sign sign_of) const {
    std::vector<double> ordered = values();
    std::vector<std::pair<Part, Bounds>> open{{whole(), {}}};
    while (!open.empty()) {
      const auto [part, limits] = open.back();
      open.pop_back();
      if (part.split < 0) {
        ordered[part.leaf] = limits.clip(ordered[part.leaf]);
        continue;
      }
      const int sign = sign_of(tree_.splits[part.split].column);
      const Part left = child(part, false), right = child(part, true);
      double middle = 0;  // not needed without a constraint
      if (sign != 0) middle = (limits.clip(quantile(left)) + limits.clip(quantile(right))) / 2;
      const auto [at_left, at_right] = limits.divided(sign, middle);
      open.push_back({left, at_left});
      open.push_back({right, at_right});
    }
    return ordered;
  }

 private:
  // A node: its split, or -1 and its leaf. In a symmetric tree also the range of leaf numbers
  // below.
  struct Part {
    int split = -1, leaf = -1;
    size_t first_path = 0, n_paths = 0;
  };

  bool is_symmetric() const { return tree_.left.empty(); }

  Part whole() const {
    if (tree_.splits.empty()) return Part{-1, 0};
    return is_symmetric() ? of_paths(0, 0, tree_.leaf_of_path.size()) : Part{0};
  }
  // Levels that leave the node undivided are skipped.
  Part of_paths(int level, size_t first, size_t n) const {
    const auto& paths = tree_.leaf_of_path;
    while (n > 1 && paths[first] == paths[first + n / 2]) {
      n /= 2;
      ++level;
    }
    return n > 1 ? Part{level, -1, first, n} : Part{-1, paths[first], first, n};
  }
  Part child(const Part& part, bool right) const {
    if (is_symmetric()) {
      const size_t n = part.n_paths / 2;
      return of_paths(part.split + 1, part.first_path + (right ? n : 0), n);
    }
    const int32_t at = (right ? tree_.right : tree_.left)[part.split];
    return at < 0 ? Part{-1, -1 - at} : Part{at};
  }
  double quantile(const Part& of) const {
    std::vector<double> residuals, weights;
    std::vector<Part> open{of};
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      if (part.split < 0) {
        residuals.insert(residuals.end(), residuals_[part.leaf].begin(),
                         residuals_[part.leaf].end());
        weights.insert(weights.end(), weights_[part.leaf].begin(), weights_[part.leaf].end());
      } else {
        open.push_back(child(part, false));
        open.push_back(child(part, true));
      }
    }
    return weighted_quantile(std::move(residuals), weights, share_);
  }

  const Grown& tree_;
  double share_;
  std::vector<std::vector<double>> residuals_, weights_;
};

}  // namespace mddf::gradient
