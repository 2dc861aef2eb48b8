// Linear functions as values of leaves: a constant, and slopes of the numeric columns on the path.
//
// A function reads the position of a code, a whole number that stands for the value of the bin.
// Sums over rows of products of positions with rounded gradients and hessians are whole numbers,
// which are exact in any order. The slopes minimise the quadratic approximation of the loss around
// the constant, with a penalty on their squares.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/rounded.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

// Positions of the codes of each column: whole numbers up to `kMostPosition`, 0 for a missing
// value.
constexpr int kPositionBits = 8;
constexpr int kMostPosition = 1 << kPositionBits;

class Positions {
 public:
  Positions() = default;
  // `of_codes` has 256 positions for each column of the table; null if leaves are constant.
  Positions(const int16_t* of_codes, const Columns& columns) {
    if (!of_codes) return;
    for (int c = 0; c < columns.count(); ++c) {
      const int16_t* of_column = of_codes + int64_t{256} * columns[c].number;
      positions_.insert(positions_.end(), of_column, of_column + 256);
    }
    are_any_ = true;
  }

  bool are_any() const { return are_any_; }
  // The 256 positions of a column, by its place in `Columns`.
  const double* operator[](int column) const { return positions_.data() + int64_t{256} * column; }

 private:
  std::vector<double> positions_;
  bool are_any_ = false;
};

// Codes of a column and their positions.
struct PositionColumn {
  const double* positions;
  const uint8_t* codes;  // of all rows of the table

  double operator[](int64_t row) const { return positions[codes[row]]; }
};

// Values of the leaves of a tree, with `width` numbers each.
struct LeafValues {
  int width = 1;
  std::vector<double> constants;
  // The slopes of a leaf begin at its `first_slope`, which is empty if all leaves are constant.
  std::vector<int64_t> first_slope;
  std::vector<int32_t> slope_column;             // places in `Columns`
  std::vector<PositionColumn> position_columns;  // those of `slope_column`
  std::vector<double> slopes;                    // `width` numbers for each of `slope_column`

  bool are_linear() const { return !first_slope.empty(); }

  void multiply(size_t leaf, double factor) {
    for (int k = 0; k < width; ++k) constants[leaf * width + k] *= factor;
    if (!are_linear()) return;
    for (int64_t at = first_slope[leaf] * width; at < first_slope[leaf + 1] * width; ++at)
      slopes[at] *= factor;
  }

  // Value of one output of a linear leaf for a row of the table.
  double at(size_t leaf, int output, int64_t row) const {
    double value = constants[leaf * width + output];
    for (int64_t s = first_slope[leaf]; s < first_slope[leaf + 1]; ++s)
      value += slopes[s * width + output] * position_columns[s][row];
    return value;
  }
};

// How the linear parts of leaves change the loss, for each leaf and output: the sum of gradients
// and of second derivatives along them, and a bound of their absolute values.
struct LinearSteps {
  std::vector<double> descent, curvature, reach;
};

// Most columns of a linear function. The splits near the root come first. With three columns, fits
// of six regression sets took 0.8 of the time, and the errors of airfoil and houses were 2 % and 1
// % larger.
constexpr int kMostSlopes = 7;

// Numeric columns that are split on the path to each leaf, from the root down, each once.
inline std::vector<std::vector<int32_t>> path_columns(const Grown& tree, const Columns& columns) {
  using List = std::vector<int32_t>;
  const auto add = [&](List& list, int column) {
    const bool is_new = std::find(list.begin(), list.end(), column) == list.end();
    if (is_new && !columns[column].categorical && list.size() < kMostSlopes) list.push_back(column);
  };
  const bool is_symmetric = tree.left.empty();
  if (is_symmetric) {
    List all;
    for (const Split& split : tree.splits) add(all, split.column);
    return std::vector<List>(tree.n_leaves(), all);
  }
  // Children come after their parents.
  std::vector<List> of_leaf(tree.n_leaves()), of_split(tree.splits.size());
  for (size_t i = 0; i < tree.splits.size(); ++i) {
    add(of_split[i], tree.splits[i].column);
    for (const int32_t child : {tree.left[i], tree.right[i]})
      (child < 0 ? of_leaf[-1 - child] : of_split[child]) = of_split[i];
  }
  return of_leaf;
}

class SlopeFitter {
 public:
  // `penalty` is added to the second derivatives of the loss by each slope, where the positions of
  // a column reach from -1 to 1.
  SlopeFitter(const Gradients& of, const Grown& tree, const Columns& columns,
              const Positions& positions, double penalty, bool use_simd)
      : of_(of),
        tree_(tree),
        columns_(columns),
        positions_(positions),
        penalty_(penalty),
        use_simd_(use_simd),
        gradient_scale_(rough_scale(of.largest_gradient, of.times, kSumBits - kPositionBits)),
        hessian_scale_(rough_scale(of.largest_hessian, of.times, kSumBits - 2 * kPositionBits)),
        of_leaf_(path_columns(tree, columns)) {
    size_t most = 0;
    for (const std::vector<int32_t>& list : of_leaf_) {
      position_columns_.emplace_back();
      for (const int32_t c : list)
        position_columns_.back().push_back({positions[c], columns[c].codes});
      most = std::max(most, list.size());
    }
    side_ = most < kFewEntries ? kFewEntries : kSide;
  }

  // Gives slopes to leaves whose constants are known. Slopes are multiplied by `rate`; constants
  // change such that the mean of a leaf over its rows does not.
  LinearSteps add_slopes(LeafValues& values, double rate, Team& team) const {
    const int n_leaves = tree_.n_leaves(), width = of_.width;
    const std::vector<double> sums = this->sums(team);
    const auto n = static_cast<size_t>(n_leaves) * width;
    LinearSteps steps{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    values.first_slope.assign(1, 0);
    for (int leaf = 0; leaf < n_leaves; ++leaf) {
      const std::vector<int32_t>& list = of_leaf_[leaf];
      const size_t first = values.slopes.size();
      values.slopes.resize(first + list.size() * width);
      bool any = false;
      for (int k = 0; k < width; ++k) {
        const size_t at = static_cast<size_t>(leaf) * width + k;
        const Solution solved =
            solve(sums.data() + at * n_sums(), static_cast<int>(list.size()), rate);
        if (!solved.is_valid) continue;
        any = true;
        for (size_t j = 0; j < list.size(); ++j) {
          values.slopes[first + j * width + k] = solved.slope[j];
          values.constants[at] -= solved.slope[j] * solved.mean[j];
        }
        steps.descent[at] = solved.descent;
        steps.curvature[at] = solved.curvature;
        steps.reach[at] = solved.reach;
      }
      if (any) {
        values.slope_column.insert(values.slope_column.end(), list.begin(), list.end());
        values.position_columns.insert(values.position_columns.end(),
                                       position_columns_[leaf].begin(),
                                       position_columns_[leaf].end());
      } else {
        values.slopes.resize(first);
      }
      values.first_slope.push_back(static_cast<int64_t>(values.slope_column.size()));
    }
    return steps;
  }

 private:
  static constexpr int kSumBits = 52;  // sums of doubles below 2^53 are exact
  // Entries of a row: a constant 1, then positions. Rows of a few entries have shorter sums.
  static constexpr int kSide = kMostSlopes + 1, kFewEntries = 4;

  struct Solution {
    bool is_valid = false;
    std::array<double, kMostSlopes> slope, mean;  // for positions as whole numbers
    double descent, curvature, reach;
  };

  // For each leaf and output: a matrix of sums of hessians times two entries of rows, then sums of
  // gradients times an entry.
  size_t n_sums() const { return static_cast<size_t>(side_) * (side_ + 1); }

  std::vector<double> sums(Team& team) const {
    std::vector<double> all(static_cast<size_t>(tree_.n_leaves()) * of_.width * n_sums());
    std::mutex merging;
    team.ranges(columns_.n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      std::vector<double> part(all.size());
      simd::with_vectors(use_simd_, [&]() MDDF_INLINED {
        if (side_ == kSide)
          add_rows<kSide>(first, last, part.data());
        else
          add_rows<kFewEntries>(first, last, part.data());
      });
      std::lock_guard<std::mutex> lock(merging);  // exact in any order
      for (size_t at = 0; at < all.size(); ++at) all[at] += part[at];
    });
    return all;
  }

  template <int kLength>
  MDDF_INLINE void add_rows(int64_t first, int64_t last, double* to) const {
    const double gradient_factor = factor_of(gradient_scale_);
    const double hessian_factor = factor_of(hessian_scale_);
    const int width = of_.width;
    for (int64_t i = first; i < last; ++i) {
      double count = of_.is_drawn.empty() ? 1 : of_.is_drawn[i];
      if (count == 0) continue;
      count *= of_.times[i];
      const int leaf = tree_.leaf_of[i];
      const std::vector<PositionColumn>& cells = position_columns_[leaf];
      const int64_t row = columns_.rows()[i];
      const int n = static_cast<int>(cells.size());
      double entries[kLength] = {1};
      for (int j = 0; j < n; ++j) entries[j + 1] = cells[j][row];
      for (int k = 0; k < width; ++k) {
        double* of_output = to + (int64_t{leaf} * width + k) * kLength * (kLength + 1);
        const double hessian = count * nearest(of_.hessian[i * width + k] * hessian_factor);
        const double gradient = count * nearest(of_.gradient[i * width + k] * gradient_factor);
        // Only entries on the diagonal and above are needed; four of them make a vector.
        for (int a = 0; a <= std::min(n, kFewEntries - 1); ++a) {
          const double product = hessian * entries[a];
          for (int b = 0; b < kLength; ++b) of_output[a * kLength + b] += product * entries[b];
        }
        for (int a = kFewEntries; a <= n; ++a) {
          const double product = hessian * entries[a];
          for (int b = kFewEntries; b < kLength; ++b)
            of_output[a * kLength + b] += product * entries[b];
        }
        for (int b = 0; b < kLength; ++b) of_output[kLength * kLength + b] += gradient * entries[b];
      }
    }
  }

  // Solves (S + penalty) w = b by Cholesky's decomposition, where S has the sums of hessians times
  // two positions and b the sums of gradients times a position, both about the means of positions.
  Solution solve(const double* sums, int n, double rate) const {
    Solution solved;
    const double* gradients = sums + int64_t{side_} * side_;
    const double total = sums[0];
    if (n == 0 || !(total > 0)) return solved;
    const double step = std::ldexp(1.0, -kPositionBits);
    const double hessian_unit = unit_of(hessian_scale_) * step * step;
    const double gradient_unit = unit_of(gradient_scale_) * step;
    double matrix[kMostSlopes][kMostSlopes], factor[kMostSlopes][kMostSlopes];
    double right[kMostSlopes], slope[kMostSlopes];
    for (int a = 0; a < n; ++a) {
      solved.mean[a] = sums[a + 1] / total;
      right[a] = (gradients[a + 1] - solved.mean[a] * gradients[0]) * gradient_unit;
      for (int b = 0; b <= a; ++b)
        matrix[a][b] =
            (sums[(b + 1) * side_ + a + 1] - solved.mean[b] * sums[a + 1]) * hessian_unit;
    }
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b <= a; ++b) {
        double rest = matrix[a][b] + (a == b ? penalty_ : 0);
        for (int j = 0; j < b; ++j) rest -= factor[a][j] * factor[b][j];
        if (a == b && !(rest > 0)) return solved;
        factor[a][b] = a == b ? std::sqrt(rest) : rest / factor[b][b];
      }
    }
    for (int a = 0; a < n; ++a) {
      double rest = right[a];
      for (int j = 0; j < a; ++j) rest -= factor[a][j] * slope[j];
      slope[a] = rest / factor[a][a];
    }
    for (int a = n - 1; a >= 0; --a) {
      double rest = slope[a];
      for (int j = a + 1; j < n; ++j) rest -= factor[j][a] * slope[j];
      slope[a] = rest / factor[a][a];
    }
    solved.descent = solved.curvature = solved.reach = 0;
    for (int a = 0; a < n; ++a) {
      slope[a] *= rate;
      if (!(std::fabs(slope[a]) < kLargestSlope)) return solved;
      solved.descent += right[a] * slope[a];
      solved.curvature += matrix[a][a] * slope[a] * slope[a];
      for (int b = 0; b < a; ++b) solved.curvature += 2 * matrix[a][b] * slope[a] * slope[b];
      solved.reach += std::fabs(slope[a]) * (1 + std::fabs(solved.mean[a]) * step);
      solved.slope[a] = slope[a] * step;
    }
    solved.is_valid = true;
    return solved;
  }

  static constexpr double kLargestSlope = 1e90;  // as the largest value of a leaf

  const Gradients& of_;
  const Grown& tree_;
  const Columns& columns_;
  const Positions& positions_;
  double penalty_;
  bool use_simd_;
  int gradient_scale_, hessian_scale_;
  std::vector<std::vector<int32_t>> of_leaf_;
  std::vector<std::vector<PositionColumn>> position_columns_;
  int side_;  // number of entries, rounded up
};

}  // namespace mddf::gradient
