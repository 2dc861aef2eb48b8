// A boosted tree while it is grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/bounds.hpp"
#include "common/random.hpp"
#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/options.hpp"
#include "gradient_boosting/score.hpp"
#include "gradient_boosting/team.hpp"

namespace mddf::gradient {

// Splits of a tree, the leaf of each row, and the units of scores and values.
//
// A symmetric tree has a split for each level. A path goes down the levels and is numbered by a bit
// for each level; several paths may lead to one leaf. A leaf-wise tree has two children for each
// split: numbers of splits, or -1 - number for a leaf.
struct Grown {
  std::vector<Split> splits;
  std::vector<int32_t> left, right;
  std::vector<uint16_t> leaf_of_path;
  std::vector<Bounds> limits;     // limits of the value of each leaf
  std::vector<uint16_t> leaf_of;  // leaf of each row
  double score_unit = 0, value_unit = 0;

  int n_leaves() const { return static_cast<int>(limits.size()); }
  void clear() {
    splits.clear();
    left.clear();
    right.clear();
    leaf_of_path.clear();
    limits.clear();
    leaf_of.clear();
  }
};

// Leaf of a row of the table in a leaf-wise tree.
inline uint16_t leaf_at(const Grown& tree, const Columns& columns, int64_t row) {
  int32_t at = tree.splits.empty() ? -1 : 0;
  while (at >= 0) {
    const Split& split = tree.splits[at];
    at = (split.right[columns[split.column].codes[row]] ? tree.right : tree.left)[at];
  }
  return static_cast<uint16_t>(-1 - at);
}

// Finds the leaves of n rows of the table in a symmetric tree. `numbers` are the rows; if it is
// null, the rows begin with `first`.
inline void find_symmetric_leaves(const Grown& tree, const Columns& columns, const int32_t* numbers,
                                  int64_t first, int64_t n, uint16_t* paths, bool use_simd) {
  constexpr int64_t kBlock = 1024;  // rows of a block, which stays in the cache; not tuned
  simd::with_vectors(use_simd, [=, &tree, &columns]() MDDF_INLINED {
    uint8_t gathered[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t m = std::min(kBlock, n - begin);
      uint16_t* path = paths + begin;
      std::fill_n(path, m, uint16_t{0});
      for (const Split& split : tree.splits) {
        const Column& column = columns[split.column];
        const uint8_t *codes = gathered, *right = split.right.data();
        if (numbers)
          for (int64_t i = 0; i < m; ++i) gathered[i] = column.codes[numbers[begin + i]];
        else
          codes = column.codes + first + begin;
        const auto add = [&](auto goes_right) MDDF_INLINED {
          for (int64_t i = 0; i < m; ++i)
            path[i] = static_cast<uint16_t>(2 * path[i] + goes_right(codes[i]));
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
      for (int64_t i = 0; i < m; ++i) path[i] = tree.leaf_of_path[path[i]];
    }
  });
}

// Data from which the tree of a round is grown.
template <int kWidth, bool kHasCount, int kOutputs>
struct Round {
  const std::vector<Sums<kWidth>>& gradients;  // 0 for rows that were not drawn
  const std::vector<int32_t>& order;           // the rows that were drawn, then the other rows
  int64_t n_drawn;
  const Sums<kWidth>& total;
  Scorer<kWidth, kHasCount, kOutputs> scorer;
  double smoothing;  // hessian that is added to each category when categories are sorted
  int lane;          // number of the gradient by which categories are sorted
};

// Sorts categories by their mean gradient, which is 0 for categories without rows.
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

// Random draws of the columns to search, among the columns that interaction constraints allow.
class ColumnDraws {
 public:
  ColumnDraws(const Columns& columns, const Options& options)
      : columns_(columns), options_(options), all_(columns.count()) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  const std::vector<int>& all() const { return all_; }
  // Whether counting only the drawn columns in each leaf is cheaper than counting all columns in
  // one of two leaves and subtracting. It is if less than half of the columns are drawn.
  bool are_few() const { return options_.max_features < columns_.count() / kFew; }

  std::vector<uint8_t> all_groups() const { return std::vector<uint8_t>(options_.n_groups, 1); }
  // Drops the groups that do not contain a column.
  void keep_groups(int column, std::vector<uint8_t>& groups) const {
    for (size_t g = 0; g < groups.size(); ++g) groups[g] &= is_in(g, column);
  }

  std::vector<int> draw(const std::vector<uint8_t>& groups, Random& random) const {
    std::vector<int> drawn;
    if (groups.empty()) drawn = all_;
    for (int c = 0; c < columns_.count() && !groups.empty(); ++c) {
      bool allowed = false;
      for (size_t g = 0; g < groups.size() && !allowed; ++g) allowed = groups[g] && is_in(g, c);
      if (allowed) drawn.push_back(c);
    }
    const auto n = static_cast<int64_t>(drawn.size());
    if (options_.max_features >= n) return drawn;
    for (int64_t i = 0; i < options_.max_features; ++i)
      std::swap(drawn[i], drawn[i + static_cast<int64_t>(random.below(n - i))]);
    drawn.resize(options_.max_features);
    std::sort(drawn.begin(), drawn.end());
    return drawn;
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

// Limits of the values on both sides of a split with a monotonic constraint: the middle between
// both values is the upper limit of one side and the lower limit of the other.
template <class Scorer, int kWidth>
std::pair<Bounds, Bounds> divided_limits(const Scorer& scorer, const Sums<kWidth>& left,
                                         const Sums<kWidth>& right, int sign,
                                         const Bounds& limits) {
  if (!scorer.monotonic) return {limits, limits};
  const double middle = (limits.clip(scorer.value(left)) + limits.clip(scorer.value(right))) / 2;
  return limits.divided(sign, middle);
}

}  // namespace mddf::gradient
