#include "baselines/vote.hpp"

#include <algorithm>

namespace mddf::boosting {

namespace {

constexpr std::size_t kRowsPerBlock = 256;  // so that a block of rows stays in cache for all trees

std::int8_t label_of(const FlatTrees& trees, std::size_t tree, const double* row) {
  const std::int64_t start = trees.start[tree];
  std::int64_t at = start;
  while (trees.feature[at] >= 0) {
    const bool left = row[trees.feature[at]] <= trees.threshold[at];
    at = start + (left ? trees.left[at] : trees.right[at]);
  }
  return trees.label[at];
}

// Labels of a block of rows, tree after tree. Stumps, of which there may be very many on one
// feature, are compared with a copy of its column.
class Block {
 public:
  Block(const Block&) = delete;
  Block(const FlatTrees& trees, const double* x, std::size_t n_rows, std::size_t n_features)
      : trees_(trees), x_(x), n_rows_(n_rows), n_features_(n_features) {}

  void labels(std::size_t tree, std::int8_t* out) {
    const std::int64_t root = trees_.start[tree];
    const std::int32_t* feature = trees_.feature + root;
    if (trees_.start[tree + 1] - root == 3 && feature[0] >= 0 && feature[1] < 0 && feature[2] < 0) {
      return stump_labels(root, out);
    }
    for (std::size_t i = 0; i < n_rows_; ++i) {
      out[i] = label_of(trees_, tree, x_ + i * n_features_);
    }
  }

 private:
  void stump_labels(std::int64_t root, std::int8_t* out) {
    if (trees_.feature[root] != feature_) {
      feature_ = trees_.feature[root];
      for (std::size_t i = 0; i < n_rows_; ++i) {
        column_[i] = x_[i * n_features_ + static_cast<std::size_t>(feature_)];
      }
    }
    const double threshold = trees_.threshold[root];
    const std::int8_t left = trees_.label[root + trees_.left[root]];
    const std::int8_t right = trees_.label[root + trees_.right[root]];
    for (std::size_t i = 0; i < n_rows_; ++i) {
      out[i] = column_[i] <= threshold ? left : right;
    }
  }

  const FlatTrees& trees_;
  const double* x_;
  std::size_t n_rows_, n_features_;
  std::int32_t feature_ = -1;  // whose values are in the column
  double column_[kRowsPerBlock];
};

// Calls visit(tree, first row, number of rows, labels) with all labels, block by block.
template <class Visit>
void for_each_block(const FlatTrees& trees, const double* x, std::size_t n_rows,
                    std::size_t n_features, Interrupt& interrupt, Visit&& visit) {
  std::int8_t labels[kRowsPerBlock];
  for (std::size_t first = 0; first < n_rows; first += kRowsPerBlock) {
    const std::size_t n = std::min(n_rows - first, kRowsPerBlock);
    Block block(trees, x + first * n_features, n, n_features);
    for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
      interrupt.poll(16 * static_cast<std::int64_t>(n));
      block.labels(tree, labels);
      visit(tree, first, n, labels);
    }
  }
}

}  // namespace

const char* FlatTrees::problem(std::size_t n_features) const {
  if (start[0] != 0 || start[n_trees] != static_cast<std::int64_t>(n_nodes)) {
    return "start must begin with 0 and end with the number of nodes";
  }
  for (std::size_t t = 0; t < n_trees; ++t) {
    if (start[t + 1] <= start[t] || start[t + 1] > static_cast<std::int64_t>(n_nodes)) {
      return "start must rise: every tree has at least one node";
    }
    const std::int64_t size = start[t + 1] - start[t];
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t at = start[t] + k;
      if (feature[at] < 0) {
        continue;
      }
      if (static_cast<std::size_t>(feature[at]) >= n_features) {
        return "feature must be less than the number of columns of x";
      }
      if (left[at] <= k || left[at] >= size || right[at] <= k || right[at] >= size) {
        return "left and right must follow their parent within its tree";
      }
    }
  }
  return nullptr;
}

void tree_labels(const FlatTrees& trees, const double* x, std::size_t n_rows,
                 std::size_t n_features, std::int8_t* labels, Interrupt& interrupt) {
  for_each_block(trees, x, n_rows, n_features, interrupt,
                 [&](std::size_t tree, std::size_t first, std::size_t n, const std::int8_t* of) {
                   std::copy(of, of + n, labels + tree * n_rows + first);
                 });
}

void tree_votes(const FlatTrees& trees, const double* weight, const double* x, std::size_t n_rows,
                std::size_t n_features, double* votes, Interrupt& interrupt) {
  std::fill(votes, votes + n_rows, 0.0);
  for_each_block(trees, x, n_rows, n_features, interrupt,
                 [&](std::size_t tree, std::size_t first, std::size_t n, const std::int8_t* of) {
                   for (std::size_t i = 0; i < n; ++i) {
                     votes[first + i] += weight[tree] * of[i];
                   }
                 });
}

}  // namespace mddf::boosting
