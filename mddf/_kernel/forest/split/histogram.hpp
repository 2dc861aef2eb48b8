// Fills histograms: the class weights of each bin of a column.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "forest/data/bin_matrix.hpp"

namespace mddf {

// Number of weights per bin: the number of classes, rounded up to whole vectors. The additional
// weights stay zero.
inline int64_t padded(int64_t n_classes) {
  const int64_t in_vector = n_classes <= 12 ? 4 : 16;
  return (n_classes + in_vector - 1) / in_vector * in_vector;
}

// Calls fill with padded(n_classes). Frequent values are compile-time constants, which avoids
// multiplications.
template <class Fill>
void with_stride(int64_t n_classes, Fill fill) {
  switch (const int64_t stride = padded(n_classes)) {
    case 4:
      return fill(std::integral_constant<int64_t, 4>());
    case 8:
      return fill(std::integral_constant<int64_t, 8>());
    case 12:
      return fill(std::integral_constant<int64_t, 12>());
    case 16:
      return fill(std::integral_constant<int64_t, 16>());
    case 32:
      return fill(std::integral_constant<int64_t, 32>());
    default:
      return fill(stride);
  }
}

// The weights of up to three classes in one object. Counts take 21 bits each, which suits nodes
// with a weight below 2^21.
constexpr int kFewClasses = 3;

struct PackedCounts {
  static constexpr int kBits = 21;
  static constexpr double kMaxWeight = (1 << kBits) - 1;
  uint64_t bits = 0;
  PackedCounts() = default;
  PackedCounts(uint32_t weight, int c) : bits(uint64_t{weight} << (kBits * c)) {}
  void operator+=(PackedCounts other) { bits += other.bits; }
  bool empty() const { return bits == 0; }
  double operator[](int c) const {
    return static_cast<double>(static_cast<int32_t>((bits >> (kBits * c)) & ((1 << kBits) - 1)));
  }
};
struct PackedWeights {
  static constexpr double kMaxWeight = std::numeric_limits<double>::infinity();
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

// The samples of a node. `number` has the index of each class among the present classes.
template <class Sample>
struct HistogramInput {
  const Sample* samples;
  int64_t n_samples;
  const uint16_t* number;
  int n_present;
};

// Calls visit(step, (codes, bins) pairs...) for up to four columns at a time, so that one pass over
// the samples serves several columns. `step` is the distance between the cells of a column.
template <class Bin, class Visit>
void for_each_four(int64_t n_samples, const BinMatrix& matrix, const int32_t* columns, int width,
                   Bin* const* bins, Visit visit) {
  if (width == 0) return;
  const int64_t step = matrix.column(columns[0], n_samples).step;
  const auto at = [&](int j) {
    return std::pair(matrix.column(columns[j], n_samples).data, bins[j]);
  };
  int j = 0;
  for (; j + 4 <= width; j += 4) visit(step, at(j), at(j + 1), at(j + 2), at(j + 3));
  if (width - j == 3) visit(step, at(j), at(j + 1), at(j + 2));
  if (width - j == 2) visit(step, at(j), at(j + 1));
  if (width - j == 1) visit(step, at(j));
}

// Adds the samples to the histograms bins[j] of the columns. This overload has 256 bins of packed
// weights, for few classes.
template <class Sample>
void fill_histograms(const HistogramInput<Sample>& input, const BinMatrix& matrix,
                     const int32_t* columns, int width,
                     Packed<typename Sample::Weight>* const* bins) {
  const auto add = [samples = input.samples, n = input.n_samples, number = input.number](
                       int64_t step, auto... of) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = samples[i].row * step;
      const Packed<typename Sample::Weight> packed(samples[i].weight, number[samples[i].label]);
      ((of.second[of.first[at]] += packed), ...);
    }
  };
  for_each_four(input.n_samples, matrix, columns, width, bins, add);
}
// The same with 256 bins of padded(n_present) weights, one per class.
template <class Sample>
void fill_histograms(const HistogramInput<Sample>& input, const BinMatrix& matrix,
                     const int32_t* columns, int width, typename Sample::Weight* const* bins) {
  with_stride(input.n_present, [&](auto stride) {
    const auto add = [samples = input.samples, n = input.n_samples, number = input.number, stride](
                         int64_t step, auto... of) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = samples[i].row * step;
        const auto weight = samples[i].weight;
        const int64_t label = number[samples[i].label];
        ((of.second[of.first[at] * stride + label] += weight), ...);
      }
    };
    for_each_four(input.n_samples, matrix, columns, width, bins, add);
  });
}

}  // namespace mddf
