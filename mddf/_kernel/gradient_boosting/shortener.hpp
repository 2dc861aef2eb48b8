// Shortens leaf values that would increase the loss of training rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gradient_boosting/fixed_point.hpp"
#include "gradient_boosting/linear_leaves.hpp"
#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/team.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

// Rows that a tree was grown on, with their raw predictions before the tree.
struct TrainingRows {
  const std::vector<double>& raw;
  const std::vector<double>& y;  // `target_width` numbers for each row
  int target_width;
  Multiplicity times;                    // whole weights
  const double* real_weights;            // other weights, or null
  const std::vector<uint8_t>& is_drawn;  // rows that the tree was grown on; empty for all rows
  const std::vector<int32_t>& numbers;   // of the rows in the table
  const Shards& shards;
};

// Halves leaf values until they do not increase the loss of the rows of the leaf. Losses are
// convex: in a direction in which the loss decreases, some step is short enough.
class Shortener {
 public:
  // `is_open` marks the leaves whose loss may increase. With `together`, all leaves are multiplied
  // by the same factor, which keeps monotonic constraints.
  Shortener(const LossFunction& loss, const TrainingRows& rows, const Grown& tree,
            std::vector<uint8_t> is_open, bool together)
      : loss_(loss), rows_(rows), tree_(tree), is_open_(std::move(is_open)), together_(together) {
    if (together_) std::fill(is_open_.begin(), is_open_.end(), uint8_t{1});
  }

  // The first step multiplies values by `first_factor`, a power of 1/2, and later steps by 1/2.
  void shorten(LeafValues& values, double first_factor, Team& team) {
    find_rows();
    for (int halving = 0; any_open(); ++halving) {
      const bool gives_up = halving == kMaxHalvings;
      const double factor = gives_up ? 0 : halving == 0 ? first_factor : 0.5;
      std::vector<double> change = changes(values, team);
      if (together_) {
        double sum = 0;
        for (const double of_leaf : change) sum += of_leaf;  // whole numbers: the sum is exact
        std::fill(change.begin(), change.end(), sum);
      }
      for (size_t leaf = 0; leaf < is_open_.size(); ++leaf) {
        if (!is_open_[leaf]) continue;
        is_open_[leaf] = change[leaf] > 0 && !gives_up;
        if (!(change[leaf] > 0)) continue;
        values.multiply(leaf, factor);
      }
      drop_closed();
    }
  }

 private:
  // Constant steps are bounded (`steps.hpp`), so that about 20 halvings suffice. Linear steps may
  // take a few more. After 60 the value is 0.
  static constexpr int kMaxHalvings = 60;

  bool any_open() const { return std::find(is_open_.begin(), is_open_.end(), 1) != is_open_.end(); }

  void find_rows() {
    const auto n = static_cast<int64_t>(tree_.leaf_of.size());
    for (int64_t i = 0; i < n; ++i)
      if (is_open_[tree_.leaf_of[i]] && (rows_.is_drawn.empty() || rows_.is_drawn[i]))
        chosen_.push_back(i);
  }

  void drop_closed() {
    const auto is_closed = [&](int64_t row) { return !is_open_[tree_.leaf_of[row]]; };
    chosen_.erase(std::remove_if(chosen_.begin(), chosen_.end(), is_closed), chosen_.end());
  }

  // Increase of the loss of each leaf in all shards, in units of a power of two. Sums of whole
  // numbers depend neither on the order of the rows nor on the number of threads. Leaves have units
  // of their own, since a linear leaf whose loss rises by e^400 would round the losses of all
  // others to 0. With `together` their increases are added up, so that they share a unit.
  std::vector<double> changes(const LeafValues& values, Team& team) const {
    const auto n = static_cast<int64_t>(chosen_.size());
    std::vector<double> change(n);
    team.ranges(n, kFewRows,
                [&](int64_t first, int64_t last) { of_rows(values, first, last, change.data()); });
    double total = 0;
    for (const int64_t row : chosen_) total += rows_.times[row];
    total = rows_.shards.sum(total);
    const size_t n_leaves = is_open_.size();
    std::vector<double> largest(n_leaves), sums(n_leaves);
    for (int64_t i = 0; i < n; ++i) {
      double& of_leaf = largest[tree_.leaf_of[chosen_[i]]];
      of_leaf = std::max(of_leaf, std::fabs(change[i]));
    }
    rows_.shards.max(largest.data(), static_cast<int64_t>(n_leaves));
    if (together_)
      std::fill(largest.begin(), largest.end(), *std::max_element(largest.begin(), largest.end()));
    std::vector<int> scale(n_leaves);
    for (size_t leaf = 0; leaf < n_leaves; ++leaf)
      scale[leaf] = rough_scale(largest[leaf], {nullptr, total}, 50);
    for (int64_t i = 0; i < n; ++i) {
      const size_t leaf = tree_.leaf_of[chosen_[i]];
      if (scale[leaf] != kNoScale)
        sums[leaf] += rows_.times[chosen_[i]] * nearest(std::ldexp(change[i], scale[leaf]));
    }
    rows_.shards.sum(sums);
    return sums;
  }

  void of_rows(const LeafValues& values, int64_t first, int64_t last, double* out) const {
    const int width = values.width;
    const int64_t together = loss_.rows_together();
    const int target_width = rows_.target_width;
    std::vector<double> y(together * target_width), raw(together * width), moved(together * width);
    std::vector<double> before(together), after(together);
    for (int64_t begin = first; begin < last; begin += together) {
      const int64_t n = std::min(together, last - begin);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row = chosen_[begin + i];
        const size_t leaf = tree_.leaf_of[row];
        for (int k = 0; k < target_width; ++k)
          y[i * target_width + k] = rows_.y[row * target_width + k];
        for (int k = 0; k < width; ++k) {
          raw[i * width + k] = rows_.raw[row * width + k];
          const double step = values.are_linear() ? values.at(leaf, k, rows_.numbers[row])
                                                  : values.constants[leaf * width + k];
          moved[i * width + k] = raw[i * width + k] + step;
        }
      }
      loss_.losses(raw.data(), y.data(), n, before.data());
      loss_.losses(moved.data(), y.data(), n, after.data());
      for (int64_t i = 0; i < n; ++i) {
        out[begin + i] = after[i] - before[i];
        if (rows_.real_weights) out[begin + i] *= rows_.real_weights[chosen_[begin + i]];
      }
    }
  }

  const LossFunction& loss_;
  const TrainingRows& rows_;
  const Grown& tree_;
  std::vector<uint8_t> is_open_;
  bool together_;
  std::vector<int64_t> chosen_;  // rows of the open leaves
};

}  // namespace mddf::gradient
