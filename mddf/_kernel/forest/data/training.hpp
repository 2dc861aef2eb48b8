// forest/data: what trees are grown on. In: codes, bins, targets and options, which the bindings
// have checked. Out: views of them, and copies of rows that nodes read faster. This header has what
// a block of trees is grown on, and how; nothing here knows of nodes or trees.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/span.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cuts.hpp"

namespace mddf {

// What trees of numbers are split by, and what their leaves hold: means, or medians.
// Entropy is that of classes which numbers, 0 or 1, say a row has.
enum class Loss { kSquaredError, kPoisson, kAbsoluteError, kEntropy };

struct GrowOptions {
  bool entropy = false;
  bool random_thresholds = false;
  int64_t max_features = 1;  // columns drawn per node
  int64_t max_depth = INT32_MAX;
  int64_t min_samples_split = 2;
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;  // as a share of the weight of a tree's samples
  bool wide_vectors = true;    // where the processor has them; they change nothing but the time
  int64_t max_leaf_nodes = 0;  // the splits that are worth most come first; 0: all, depth first
  // What a split has to be worth, of the weight of a tree's samples: else it is not made ...
  double min_decrease = 0;
  double prune = 0;  // ... or, for each leaf that it adds, taken back when the tree is there.
  Loss loss = Loss::kSquaredError;
  std::vector<int8_t> monotonic;  // by column: 1 rising, -1 falling, 0 either; or none

  bool is_monotonic() const { return !monotonic.empty(); }
  bool limits_leaves() const {
    return min_samples_leaf > 1 || min_weight_leaf > 0 || is_monotonic();
  }
  // Whether what splits are worth decides about more than which column is split.
  bool weighs_splits() const { return max_leaf_nodes > 0 || min_decrease > 0 || prune > 0; }
  // What a split is worth is a difference, and so rounded.
  bool decreases_too_little(double gain) const {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    return !(gain + kEpsilon >= min_decrease * (1 - 8 * kEpsilon));
  }
  bool wide() const { return wide_vectors && simd::supported(); }
};

// Classes to be predicted, of every row of the table.
struct ClassTarget {
  const uint16_t* labels;
  int n_classes;
};

// What a block of trees is grown on, but for the target ...
struct TrainingData {
  BinMatrix matrix;
  Bins bins;
  std::vector<int32_t> columns;               // candidates
  CutGuesses guesses;                         // of thresholds that are drawn
  const NonzeroRows* nonzero_rows = nullptr;  // the matrix once more, if that suits trees
};
// ... and with it.
template <class Target>
struct Training : TrainingData {
  Target target;
};
using TrainingSet = Training<ClassTarget>;

// Which rows a tree is grown on, and with what weights.
struct Sampling {
  Span<int32_t> rows;
  int64_t n_draws;  // per tree; 0: no bootstrap
  const uint64_t*
      cumulative;         // sums of whole numbers that rows are drawn in proportion to, or null
  const double* weights;  // of all rows of the table, or null
  bool balance;           // give every class of a tree's samples the same weight
  // Where parts of `rows` begin, and where the last one ends; or empty. Of each part, n_draws rows
  // are drawn, and `cumulative` begins anew; or parts are drawn whole, n_draws of them.
  Span<int64_t> parts = {};
  bool whole_parts = false;
};

// Where predictions of held-out rows are added up, one row of `sums` for each, and how many trees
// contributed. Out of bag: of the sampling's rows, each from the trees that did not draw it.
struct HeldOut {
  Span<int32_t> rows;
  bool out_of_bag = false;
  double* sums = nullptr;
  int32_t* n_trees = nullptr;
};

}  // namespace mddf
