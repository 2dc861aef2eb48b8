// Sums of the targets of nodes whose rows are divided among several processes.
#pragma once

#include <cstdint>

namespace mddf {

// Sums over the rows of a node with a single output. Targets are the integers of `ValueTarget`.
struct ValueSums {
  // Added to every target in the sum, so that it is not negative.
  static constexpr int64_t kOffset = int64_t{1} << 61;

  int64_t rows = 0;
  uint64_t weight = 0;
  int64_t least = 0, most = 0;  // range of the targets
  uint64_t low = 0, high = 0;   // halves of the sum of weight * (target + kOffset)
};

}  // namespace mddf
