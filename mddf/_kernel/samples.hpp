// What a tree is grown on: the bin matrix, and the samples of a node.
#pragma once

#include <cstdint>

#include "binning.hpp"

namespace mddf {

// One byte per cell, row-major: the few rows of a small node stay in the cache. The columns may lie
// beside it once more, for nodes whose rows do not.
struct BinMatrix {
  const uint8_t* data;
  int64_t n_rows, n_columns;
  const uint8_t* by_column = nullptr;

  const uint8_t* row(int64_t r) const { return data + r * n_columns; }

  // One column's cells, `step` bytes apart, as a node with n samples is best served.
  struct Column {
    const uint8_t* data;
    int64_t step;
    uint8_t operator[](int64_t row) const { return data[row * step]; }
  };
  Column column(int64_t c, int64_t n_samples) const {
    if (by_column && n_samples * n_columns > kCacheBytes) return {by_column + c * n_rows, 1};
    return {data + c, n_columns};
  }
  static constexpr int64_t kCacheBytes = int64_t{1} << 19;
};

// A sample whose weight is a count (unit weights, bootstrap): sums are exact integers.
struct CountedSample {
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

// The weight of both classes and of the second one of a two-class node, added as one.
struct PackedCount {
  uint64_t bits = 0;
  static PackedCount of(uint32_t weight, bool second) {
    return {weight | (second ? uint64_t{weight} << 32 : 0)};
  }
  void operator+=(PackedCount other) { bits += other.bits; }
  bool empty() const { return bits == 0; }
  double both() const { return static_cast<double>(static_cast<uint32_t>(bits)); }
  double second() const { return static_cast<double>(static_cast<uint32_t>(bits >> 32)); }
};
struct PairOfWeights {
  double both_ = 0, second_ = 0;
  static PairOfWeights of(double weight, bool second) { return {weight, second ? weight : 0}; }
  void operator+=(PairOfWeights other) { both_ += other.both_, second_ += other.second_; }
  bool empty() const { return both_ == 0; }
  double both() const { return both_; }
  double second() const { return second_; }
};
inline PackedCount pack(uint32_t weight, bool second) { return PackedCount::of(weight, second); }
inline PairOfWeights pack(double weight, bool second) {
  return PairOfWeights::of(weight, second);
}

}  // namespace mddf
