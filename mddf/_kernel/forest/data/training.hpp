// forest/data: training data of trees. Input: codes, bins, targets and options, which the bindings
// have checked. Output: views of them, and copies of rows that can be read faster. This header has
// the options and the data of a block of trees. Nothing in this folder depends on nodes or trees.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/simd.hpp"
#include "common/span.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cuts.hpp"

namespace mddf {

// Criterion of regression trees. Leaves hold medians for the absolute error, otherwise means.
// Entropy is for several classification outputs, whose classes are targets of 0 or 1.
enum class Loss { kSquaredError, kPoisson, kAbsoluteError, kEntropy };

struct GrowOptions {
  bool entropy = false;
  bool random_thresholds = false;
  int64_t max_features = 1;  // columns drawn per node
  int64_t max_depth = INT32_MAX;
  int64_t min_samples_split = 2;
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;  // share of the total weight of a tree
  bool wide_vectors = true;    // use AVX2 if the processor has it; this only changes the time
  int64_t max_leaf_nodes = 0;  // the largest gains are split first; 0: no limit, depth first
  // Least gain of a split, divided by the total weight of the tree.
  double min_decrease = 0;
  // Least gain for each added leaf, divided by the total weight. Subtrees with less are pruned
  // after the tree is grown.
  double prune = 0;
  Loss loss = Loss::kSquaredError;
  std::vector<int8_t> monotonic;  // by column: 1 rising, -1 falling, 0 either; or none

  bool is_monotonic() const { return !monotonic.empty(); }
  bool limits_leaves() const {
    return min_samples_leaf > 1 || min_weight_leaf > 0 || is_monotonic();
  }
  // Whether gains decide about more than the choice of a split at a node.
  bool weighs_splits() const { return max_leaf_nodes > 0 || min_decrease > 0 || prune > 0; }
  // Gains are differences with rounding errors.
  bool decreases_too_little(double gain) const {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    return !(gain + kEpsilon >= min_decrease * (1 - 8 * kEpsilon));
  }
  bool uses_simd() const { return wide_vectors && simd::supported(); }
};

// Classes of all rows of the table.
struct ClassTarget {
  const uint16_t* labels;
  int n_classes;
};

// Regression targets of all rows of the table: n_outputs integers per row, from -2^61 to 2^61.
struct ValueTarget {
  static constexpr int kBits = 61;
  const int64_t* fixed;
  int n_outputs;
  const double* scale;              // by output: (its unit / largest unit) squared
  const int32_t* labels = nullptr;  // as in NodeLabels, if all targets are 0 or 1
};

// Training data of a block of trees without the target ...
struct TrainingData {
  BinMatrix matrix;
  Bins bins;
  std::vector<int32_t> columns;  // candidates
  CutGuesses guesses;            // first guesses for random thresholds
  // Second layout of the matrix; null if it is not faster.
  const NonzeroRows* nonzero_rows = nullptr;
};
// ... and with it.
template <class Target>
struct Training : TrainingData {
  Target target;
};
using TrainingSet = Training<ClassTarget>;
using ValueTraining = Training<ValueTarget>;

// Rows that trees are grown on, and their weights.
struct Sampling {
  Span<int32_t> rows;
  int64_t n_draws;  // per tree; 0: no bootstrap
  const uint64_t*
      cumulative;         // sums of whole numbers that rows are drawn in proportion to, or null
  const double* weights;  // weights of all rows of the table, or null
  bool balance;           // give all classes the same total weight in each tree
  // Starts of parts of `rows`, and the end of the last part; empty without parts. Either n_draws
  // rows are drawn from each part, with `cumulative` starting anew, or n_draws whole parts are
  // drawn.
  Span<int64_t> parts = {};
  bool whole_parts = false;
};

// Sums of the predictions of held-out rows, a row of `sums` for each, and the numbers of trees in
// the sums. For out-of-bag predictions, these are the rows of the sampling, each with the trees
// that did not draw it.
struct HeldOut {
  Span<int32_t> rows;
  bool out_of_bag = false;
  double* sums = nullptr;
  int32_t* n_trees = nullptr;
};

}  // namespace mddf
