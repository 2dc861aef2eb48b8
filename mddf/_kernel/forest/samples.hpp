// What a tree is grown on: the bin matrix, and the samples of a node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "forest/binning.hpp"

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

// Classes per bin of a histogram: a whole number of vectors, the rest stays zero.
inline int64_t padded(int64_t n_classes) { return (n_classes + 3) / 4 * 4; }

// The weights of up to three classes, added as one. Counts take 21 bits each: for nodes whose
// weight stays below 2^21.
constexpr int kFewClasses = 3;

struct PackedCounts {
  static constexpr double kMostWeight = (1 << 21) - 1;
  uint64_t bits = 0;
  PackedCounts() = default;
  PackedCounts(uint32_t weight, int c) : bits(uint64_t{weight} << (21 * c)) {}
  void operator+=(PackedCounts other) { bits += other.bits; }
  bool empty() const { return bits == 0; }
  double operator[](int c) const {
    return static_cast<double>(static_cast<int32_t>((bits >> (21 * c)) & ((1 << 21) - 1)));
  }
};
struct PackedWeights {
  static constexpr double kMostWeight = std::numeric_limits<double>::infinity();
  double weights[kFewClasses] = {0, 0, 0};
  PackedWeights() = default;
  PackedWeights(double weight, int c) { weights[c] = weight; }
  void operator+=(const PackedWeights& other) {
    for (int c = 0; c < kFewClasses; ++c) weights[c] += other.weights[c];
  }
  bool empty() const { return weights[0] == 0 && weights[1] == 0 && weights[2] == 0; }
  double operator[](int c) const { return weights[c]; }
};
template <class Weight>
using Packed = std::conditional_t<std::is_integral_v<Weight>, PackedCounts, PackedWeights>;

// A 64-bit fingerprint of every row's codes and label: rows ordered by it are in an order that does
// not depend on how the table was sorted, nor on the machine.
inline void row_hashes(const BinMatrix& matrix, int64_t n_columns, const uint16_t* labels,
                       uint64_t* out, Watch& watch) {
  for (int64_t r = 0; r < matrix.n_rows; ++r) {
    const uint8_t* row = matrix.row(r);
    uint64_t hash = (uint64_t{labels[r]} + 1) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    for (int64_t c = 0; c < n_columns; c += 8) {
      uint64_t word = 0;  // put together by shifts: the same on every byte order
      for (int64_t j = 0; j < std::min<int64_t>(8, n_columns - c); ++j)
        word |= uint64_t{row[c + j]} << (8 * j);
      hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
      hash ^= hash >> 31;
    }
    out[r] = hash;
    watch.worked(n_columns + 1);
  }
}

}  // namespace mddf
