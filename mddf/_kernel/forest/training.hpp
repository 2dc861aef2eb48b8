// What trees are grown on, and how.
#pragma once

#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forest/samples.hpp"

namespace mddf {

struct GrowOptions {
  bool random_thresholds = false;
  int64_t max_features = 1;  // columns drawn per node
  int64_t max_depth = 0;
  int64_t min_samples_split = 2;
  int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0;  // as a share of the weight of a tree's samples
  bool limits_leaves() const { return min_samples_leaf > 1 || min_weight_leaf > 0; }
};

// What a block of trees is grown on.
struct TrainingSet {
  BinMatrix matrix;
  Bins bins;
  const uint16_t* labels;  // of every row of the matrix
  int n_classes;
  std::vector<int32_t> columns;  // candidates
};

// The last bin in [low, high] whose value is at most `at`, `low` if there is none; `guess` is a bin
// in this range to begin with.
inline int cut_at(const double* values, int low, int high, double at, int guess) {
  while (guess < high && values[guess + 1] <= at) ++guess;
  while (guess > low && values[guess] > at) --guess;
  return guess;
}

// The highest bin on the left when the threshold is drawn uniformly between the values of two bins.
// Evenly spaced values make the first guess right.
inline int draw_cut(Random& random, const double* values, int low, int high) {
  const double share = random.uniform();
  return cut_at(values, low, high - 1, values[low] * (1 - share) + values[high] * share,
                low + static_cast<int>(share * (high - low)));
}

}  // namespace mddf
