// Options of gradient boosting.
#pragma once

#include <cstdint>
#include <vector>

#include "common/simd.hpp"

namespace mddf::gradient {

enum class Loss {
  kSquared,
  kAbsolute,
  kQuantile,
  kHuber,
  kPoisson,
  kGamma,
  kTweedie,
  kLogistic,
  kExponential,
  kSoftmax,
  kCustom  // the caller sets the gradients of each round
};

// Method that finds the splits of a symmetric tree: visiting the rows of each column in the order
// of its bins (`sorted_rows.hpp`), or histograms. Both find the same splits.
enum class Counting { kCheaper, kSortedRows, kHistograms };

struct Options {
  Loss loss = Loss::kSquared;
  int n_classes = 2;  // for softmax only
  int n_outputs = 1;  // numbers predicted for each row, for losses of numbers and kCustom
  // Power of the variance of the Tweedie loss: 1 is the Poisson loss, 2 the gamma loss.
  double tweedie_power = 1.5;
  bool symmetric = true;
  double learning_rate = 0.1;
  int max_depth = 6;        // for leaf-wise trees, 0 means no limit
  int max_leaf_nodes = 31;  // for leaf-wise trees only
  int64_t min_samples_leaf = 1;
  double l2 = 0;
  // Whether the scores of splits use second derivatives. Otherwise they count rows, and only the
  // values of leaves are Newton steps. Not with monotonic constraints, whose limits are scores.
  bool newton_splits = true;
  double split_l2 = 0;  // `l2` in the unit of the scores of splits; the booster sets it
  // Penalty on the squared slopes of linear leaves, added to second derivatives as `l2`.
  double slope_l2 = 1;
  // Least sum of second derivatives in a leaf, unless they are 1 for each row. LightGBM has the
  // same default.
  double least_hessian = 1e-3;
  int64_t max_features = INT32_MAX;  // columns drawn for each level or node
  double subsample = 1;              // share of the rows that each tree is grown on
  // Number of copies of the rows, which follow each other in the table. Trees are grown on the
  // copies in turn.
  int64_t n_copies = 1;
  // The quantile to predict; for Huber's loss, the quantile of the absolute residuals above which
  // the loss is linear.
  double quantile = 0.5;
  // Number of rows without gradient that are added to each category before categories are sorted
  // by their mean gradient. LightGBM has the same default.
  double category_smoothing = 10;
  // Most memory of the histograms of a tree. Histograms beyond it are counted again when they are
  // needed, which only changes the time. Not tuned: 120 histograms of 2000 columns.
  int64_t histogram_bytes = int64_t{1} << 29;
  bool wide_vectors = true;  // use AVX2 if the processor has it; this only changes the time
  Counting counting = Counting::kCheaper;
  std::vector<int8_t> monotonic;      // -1, 0 or 1 for each column, or empty
  std::vector<uint8_t> interactions;  // one row for each group, one byte for each column
  int64_t n_groups = 0;

  // Length of a raw prediction.
  int width() const { return loss == Loss::kSoftmax ? n_classes : n_outputs; }
  // Number of targets of a row. The targets of kCustom are known to the caller only.
  int target_width() const {
    return loss == Loss::kCustom ? 0 : loss == Loss::kSoftmax ? 1 : n_outputs;
  }
  bool uses_simd() const { return wide_vectors && simd::supported(); }
  bool constant_hessian() const {
    return loss == Loss::kSquared || loss == Loss::kAbsolute || loss == Loss::kQuantile;
  }
  // Whether splits are searched as if the second derivatives were 1 for each row.
  bool unit_splits() const { return !newton_splits || constant_hessian(); }
  // Whether the gradient of a row needs an exponential.
  static constexpr bool needs_exponential(Loss loss) {
    return loss == Loss::kPoisson || loss == Loss::kGamma || loss == Loss::kTweedie ||
           loss == Loss::kLogistic || loss == Loss::kExponential;
  }
  // Whether quantiles of targets or residuals are computed, which are no sums over rows.
  bool needs_quantiles() const { return quantile_leaves() || loss == Loss::kHuber; }
  bool quantile_leaves() const { return loss == Loss::kAbsolute || loss == Loss::kQuantile; }
};

constexpr int kDeepestSymmetric = 16;
constexpr int kMaxLeafNodes = 65535;

}  // namespace mddf::gradient
