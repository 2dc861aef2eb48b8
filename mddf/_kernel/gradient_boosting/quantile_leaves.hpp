// Values of leaves that are quantiles of their rows' residuals.
//
// Where a split's column is constrained to rise or fall, the quantiles of both sides need not be in
// that order. The values on both sides then meet in the middle between these quantiles, as those
// of other losses do.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

class QuantileLeaves {
 public:
  explicit QuantileLeaves(const Grown& tree, double share)
      : tree_(tree), share_(share), rest_(tree.n_leaves()), weights_(tree.n_leaves()) {}

  void add(int leaf, double rest) { rest_[leaf].push_back(rest); }
  void add(int leaf, double rest, double weight) {
    rest_[leaf].push_back(rest);
    weights_[leaf].push_back(weight);
  }

  std::vector<double> values() const {
    std::vector<double> found(rest_.size());
    for (size_t leaf = 0; leaf < found.size(); ++leaf)
      found[leaf] = weighted_quantile(rest_[leaf], weights_[leaf], share_);
    return found;
  }

  // The same, in order; `sign_of` is -1, 0 or 1 for each column of the splits.
  template <class Sign>
  std::vector<double> ordered_values(Sign sign_of) const {
    std::vector<double> found = values();
    std::vector<std::pair<Part, Limits>> open{{whole(), {}}};
    while (!open.empty()) {
      const auto [part, limits] = open.back();
      open.pop_back();
      if (part.split < 0) {
        found[part.leaf] = limits.clip(found[part.leaf]);
        continue;
      }
      Limits at_left = limits, at_right = limits;
      const int sign = sign_of(tree_.splits[part.split].column);
      const Part left = child(part, false), right = child(part, true);
      if (sign != 0) {
        const double middle = (limits.clip(quantile(left)) + limits.clip(quantile(right))) / 2;
        (sign > 0 ? at_left.most : at_left.least) = middle;
        (sign > 0 ? at_right.least : at_right.most) = middle;
      }
      open.push_back({left, at_left});
      open.push_back({right, at_right});
    }
    return found;
  }

 private:
  // A node: its split, or -1 and its leaf. Of a symmetric tree, the ways that lead through it.
  struct Part {
    int split = -1, leaf = -1;
    size_t first_way = 0, n_ways = 0;
  };

  bool is_symmetric() const { return tree_.left.empty(); }

  Part whole() const {
    if (tree_.splits.empty()) return Part{-1, 0};
    return is_symmetric() ? of_ways(0, 0, tree_.leaf_of_way.size()) : Part{0};
  }
  // Levels whose split leaves the node as it is are passed over.
  Part of_ways(int level, size_t first, size_t n) const {
    const auto& ways = tree_.leaf_of_way;
    while (n > 1 && ways[first] == ways[first + n / 2]) {
      n /= 2;
      ++level;
    }
    return n > 1 ? Part{level, -1, first, n} : Part{-1, ways[first], first, n};
  }
  Part child(const Part& part, bool right) const {
    if (is_symmetric()) {
      const size_t n = part.n_ways / 2;
      return of_ways(part.split + 1, part.first_way + (right ? n : 0), n);
    }
    const int32_t at = (right ? tree_.right : tree_.left)[part.split];
    return at < 0 ? Part{-1, -1 - at} : Part{at};
  }
  double quantile(const Part& of) const {
    std::vector<double> rest, weights;
    std::vector<Part> open{of};
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      if (part.split < 0) {
        rest.insert(rest.end(), rest_[part.leaf].begin(), rest_[part.leaf].end());
        weights.insert(weights.end(), weights_[part.leaf].begin(), weights_[part.leaf].end());
      } else {
        open.push_back(child(part, false));
        open.push_back(child(part, true));
      }
    }
    return weighted_quantile(std::move(rest), weights, share_);
  }

  const Grown& tree_;
  double share_;
  std::vector<std::vector<double>> rest_, weights_;
};

}  // namespace mddf::gradient
