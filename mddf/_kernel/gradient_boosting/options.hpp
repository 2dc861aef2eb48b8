// How boosted trees are grown.
#pragma once

#include <cstdint>
#include <vector>

#include "common/wide.hpp"

namespace mddf::gradient {

enum class Loss {
  kSquared,
  kAbsolute,
  kQuantile,
  kHuber,
  kPoisson,
  kGamma,
  kLogistic,
  kExponential,
  kSoftmax
};

// How a symmetric tree's splits are searched: by walking the rows of each column in the order of
// its bins, or by histograms. Both find the same splits.
enum class Counting { kCheaper, kWalk, kHistograms };

struct Options {
  Loss loss = Loss::kSquared;
  int n_classes = 2;  // of softmax
  bool symmetric = true;
  double learning_rate = 0.1;
  int max_depth = 6;        // of leaf-wise trees 0 for no limit
  int max_leaf_nodes = 31;  // of leaf-wise trees
  int64_t min_samples_leaf = 1;
  double l2 = 0;
  int64_t max_features = INT32_MAX;  // columns drawn for each level or node
  double subsample = 1;              // share of the rows that each tree is grown on
  int64_t n_copies = 1;              // all rows come so often, one copy after the other, and each
                                     // tree is grown on the next copy
  double quantile = 0.5;             // of the quantile loss; of Huber's: of the residuals that are
                                     // not large
  double category_smoothing = 10;    // rows without gradient added to each category's
  bool wide_vectors = true;          // where the processor has them; they only change the time
  Counting counting = Counting::kCheaper;
  std::vector<int8_t> monotonic;      // -1, 0 or 1 for each column, or empty
  std::vector<uint8_t> interactions;  // one row for each group, one byte for each column
  int64_t n_groups = 0;

  int width() const { return loss == Loss::kSoftmax ? n_classes : 1; }
  bool wide() const { return wide_vectors && simd::supported(); }
  bool constant_hessian() const {
    return loss == Loss::kSquared || loss == Loss::kAbsolute || loss == Loss::kQuantile;
  }
  // Whether each row's gradient takes one exponential.
  static constexpr bool needs_exponential(Loss loss) {
    return loss == Loss::kPoisson || loss == Loss::kGamma || loss == Loss::kLogistic ||
           loss == Loss::kExponential;
  }
  bool quantile_leaves() const { return loss == Loss::kAbsolute || loss == Loss::kQuantile; }
};

constexpr int kDeepestSymmetric = 16;
constexpr int kMostLeafNodes = 65535;

}  // namespace mddf::gradient
