// Samples of a node: rows with labels and weights.
#pragma once

#include <cstdint>

namespace mddf {

// Most samples of a node whose subtree is grown by forest/small.
constexpr int64_t kSmall = 64;

// A sample whose weight is a count (unit weights, bootstrap): sums are exact integers.
struct BootstrapSample {
  using Weight = uint32_t;
  uint32_t row;
  uint16_t label, weight;
};

// A sample with any non-negative weight.
struct WeightedSample {
  using Weight = double;
  uint32_t row;
  uint32_t label;
  double weight;
};

// A row and its weight.
struct RowSample {
  uint32_t row, weight;
};

}  // namespace mddf
