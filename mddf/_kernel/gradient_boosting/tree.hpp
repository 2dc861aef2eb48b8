// A boosted tree while it is grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/random.hpp"
#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/options.hpp"
#include "gradient_boosting/score.hpp"
#include "gradient_boosting/team.hpp"

namespace mddf::gradient {

// The splits of a tree, and the leaf of every row. A symmetric tree has a split for each level,
// and a leaf for each way through them, several of which may be one. Others have two children for
// each split: splits of their own, or leaves as -1 - number.
struct Grown {
  std::vector<Split> splits;
  std::vector<int32_t> left, right;
  std::vector<uint16_t> leaf_of_way;
  std::vector<Limits> limits;     // of each leaf's value, in units of gradient over hessian
  std::vector<uint16_t> leaf_of;  // of each row

  int n_leaves() const { return static_cast<int>(limits.size()); }
  void clear() {
    splits.clear();
    left.clear();
    right.clear();
    leaf_of_way.clear();
    limits.clear();
    leaf_of.clear();
  }
};

// The leaf of a row of the table, of a tree that is not symmetric.
inline uint16_t leaf_at(const Grown& tree, const Columns& columns, int64_t row) {
  int32_t at = tree.splits.empty() ? -1 : 0;
  while (at >= 0) {
    const Split& split = tree.splits[at];
    at = (split.right[columns[split.column].codes[row]] ? tree.right : tree.left)[at];
  }
  return static_cast<uint16_t>(-1 - at);
}

// The leaves of n rows of the table of a symmetric tree: those of these numbers, or, if that is
// null, those from `first` on.
inline void find_ways(const Grown& tree, const Columns& columns, const int32_t* numbers,
                      int64_t first, int64_t n, uint16_t* ways, bool wide) {
  constexpr int64_t kBlock = 1024;
  simd::with_vectors(wide, [=, &tree, &columns]() MDDF_INLINED {
    uint8_t gathered[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t m = std::min(kBlock, n - begin);
      uint16_t* way = ways + begin;
      std::fill_n(way, m, uint16_t{0});
      for (const Split& split : tree.splits) {
        const Column& column = columns[split.column];
        const uint8_t *codes = gathered, *right = split.right.data();
        if (numbers)
          for (int64_t i = 0; i < m; ++i) gathered[i] = column.codes[numbers[begin + i]];
        else
          codes = column.codes + first + begin;
        const auto add = [&](auto goes_right) MDDF_INLINED {
          for (int64_t i = 0; i < m; ++i)
            way[i] = static_cast<uint16_t>(2 * way[i] + goes_right(codes[i]));
        };
        const auto missing = static_cast<uint8_t>(column.n_bins);
        const auto place = static_cast<uint8_t>(split.place);
        if (column.categorical || split.place < 0)
          add([=](uint8_t code) MDDF_INLINED { return right[code] != 0; });
        else if (split.missing_left)
          add([=](uint8_t code) MDDF_INLINED { return (code > place) & (code != missing); });
        else
          add([=](uint8_t code) MDDF_INLINED { return code > place; });
      }
      for (int64_t i = 0; i < m; ++i) way[i] = tree.leaf_of_way[way[i]];
    }
  });
}

// What a round's trees are grown from.
template <int kWidth, bool kCounted, int kOutputs>
struct Round {
  const std::vector<Sums<kWidth>>& gradients;  // zero for rows that were not drawn
  const std::vector<int32_t>& order;           // those that were, and then the others
  int64_t n_drawn;
  const Sums<kWidth>& total;
  Scorer<kWidth, kCounted, kOutputs> scorer;
  double smoothing;  // of categories, in units of the hessian
  int lane;          // the gradient that orders categories
};

// Categories by their mean gradient; those of which there are no rows are in the middle.
template <int kWidth>
void order_categories(const Sums<kWidth>* cells, int n_bins, double smoothing, int lane,
                      uint8_t* order) {
  double key[256];
  for (int b = 0; b < n_bins; ++b) {
    order[b] = static_cast<uint8_t>(b);
    const double weight = cells[b].of[kWidth - 1] + smoothing;
    key[b] = weight > 0 ? cells[b].of[lane] / weight : 0;
  }
  std::stable_sort(order, order + n_bins, [&](uint8_t a, uint8_t b) { return key[a] < key[b]; });
}

// Which columns are searched: as many as wanted of those that constraints allow, drawn at random.
class ColumnDraws {
 public:
  ColumnDraws(const Columns& columns, const Options& options)
      : columns_(columns), options_(options), all_(columns.count()) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  const std::vector<int>& all() const { return all_; }
  // Whether those that are drawn are so few that to count them in every leaf costs less than to
  // count all in one of two leaves, and take that away from the histogram of both.
  bool are_few() const { return options_.max_features < columns_.count() / kFew; }

  std::vector<uint8_t> all_groups() const { return std::vector<uint8_t>(options_.n_groups, 1); }
  // Leaves those groups that hold a column, too.
  void keep_groups(int column, std::vector<uint8_t>& groups) const {
    for (size_t g = 0; g < groups.size(); ++g) groups[g] &= is_in(g, column);
  }

  std::vector<int> draw(const std::vector<uint8_t>& groups, Random& random) const {
    std::vector<int> found;
    if (groups.empty()) found = all_;
    for (int c = 0; c < columns_.count() && !groups.empty(); ++c) {
      bool allowed = false;
      for (size_t g = 0; g < groups.size() && !allowed; ++g) allowed = groups[g] && is_in(g, c);
      if (allowed) found.push_back(c);
    }
    const auto n = static_cast<int64_t>(found.size());
    if (options_.max_features >= n) return found;
    for (int64_t i = 0; i < options_.max_features; ++i)
      std::swap(found[i], found[i + static_cast<int64_t>(random.below(n - i))]);
    found.resize(options_.max_features);
    std::sort(found.begin(), found.end());
    return found;
  }
  int sign(int column) const {
    return options_.monotonic.empty() ? 0 : options_.monotonic[columns_[column].number];
  }

 private:
  static constexpr int kFew = 2;

  bool is_in(size_t group, int column) const {
    const int64_t n = static_cast<int64_t>(options_.interactions.size()) / options_.n_groups;
    return options_.interactions[group * n + columns_[column].number] != 0;
  }

  const Columns& columns_;
  const Options& options_;
  std::vector<int> all_;
};

// Limits of the values on both sides of a split: they meet in the middle.
template <class Scorer, int kWidth>
void divide_limits(const Scorer& scorer, const Sums<kWidth>& left, const Sums<kWidth>& right,
                   int sign, const Limits& limits, Limits& at_left, Limits& at_right) {
  at_left = at_right = limits;
  if (sign == 0 || !scorer.monotonic) return;
  const double middle = (limits.clip(scorer.value(left)) + limits.clip(scorer.value(right))) / 2;
  (sign > 0 ? at_left.most : at_left.least) = middle;
  (sign > 0 ? at_right.least : at_right.most) = middle;
}

}  // namespace mddf::gradient
