// The targets of the samples of a node if every output is 0 or 1 in all rows of the table.
//
// Sums are then 32-bit counts. NodeValues multiplies the same counts by a power of two, so the
// scores of splits and the values of leaves have equal bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "forest/data/samples.hpp"
#include "forest/split/node_values.hpp"

namespace mddf {

// Replaces NodeValues for several outputs, with the squared error or entropy.
class NodeLabels {
 public:
  static constexpr bool kOne = false;
  using Cell = int32_t;

  explicit NodeLabels(const ValueTarget& target)
      : target_(target), stride_(stride_of(target.n_outputs)), total_(stride_) {}

  // Length of a cell: a weight and a sum for each output, rounded up to whole vectors.
  static int stride_of(int n_outputs) { return (n_outputs + kLanes) / kLanes * kLanes; }
  // Returns bit masks by row: all bits of a lane are set if the output is 1, and in the lane of the
  // weight. Returns nothing if there is one output or another value.
  static std::vector<Cell> rows_of(const int64_t* fixed, int64_t n_rows, int n_outputs) {
    constexpr int64_t one = int64_t{1} << ValueTarget::kBits;
    const int64_t n = n_rows * n_outputs;
    if (n_outputs == 1 ||
        std::any_of(fixed, fixed + n, [](int64_t value) { return value != 0 && value != one; }))
      return {};
    const int stride = stride_of(n_outputs);
    std::vector<Cell> rows(n_rows * stride);
    for (int64_t row = 0; row < n_rows; ++row) {
      rows[row * stride] = -1;
      for (int j = 0; j < n_outputs; ++j)
        rows[row * stride + 1 + j] = -(fixed[row * n_outputs + j] != 0);
    }
    return rows;
  }

  int n_outputs() const { return target_.n_outputs; }
  int stride() const { return stride_; }
  static void add(Cell* to, const Cell* cell, int n) {
    for (int first = 0; first < n; first += kLanes)
      for (int j = first; j < first + kLanes; ++j) to[j] += cell[j];
  }
  static void add(Cell* to, const Cell* cell, int n, Cell mask) {
    for (int first = 0; first < n; first += kLanes)
      for (int j = first; j < first + kLanes; ++j) to[j] += cell[j] & mask;
  }

  bool all_equal(const RowSample* samples, int64_t n) const {
    const Cell* first = row(samples[0].row);
    for (int64_t i = 1; i < n; ++i)
      if (!std::equal(first, first + stride_, row(samples[i].row))) return false;
    return true;
  }

  void load_targets(const RowSample* samples, int64_t n) {
    if (static_cast<int64_t>(cell_.size()) < n * stride_) cell_.resize(n * stride_);
    std::fill(total_.begin(), total_.end(), 0);
    for (int64_t i = 0; i < n; ++i) {
      const Cell* from = row(samples[i].row);
      const auto weight = static_cast<Cell>(samples[i].weight);
      Cell* to = cell_.data() + i * stride_;
      for (int first = 0; first < stride_; first += kLanes)
        for (int j = first; j < first + kLanes; ++j) {
          to[j] = from[j] & weight;
          total_[j] += to[j];
        }
    }
  }
  void fill() {}  // load_targets() has filled the cells

  double in_units(int, double part, double) const { return part; }
  double unit(int j) const { return std::sqrt(target_.scale[j]); }
  double factor(int j) const { return target_.scale[j]; }
  const Cell* cell(int64_t i) const { return cell_.data() + i * stride_; }
  const Cell* total() const { return total_.data(); }

  void append_means(std::vector<double>& to) const {
    const auto weight = static_cast<double>(total_[0]);
    for (int j = 1; j <= n_outputs(); ++j) to.push_back(static_cast<double>(total_[j]) / weight);
  }
  void append_row(uint32_t number, std::vector<double>& to) const {
    for (int j = 1; j <= n_outputs(); ++j) to.push_back(row(number)[j] ? 1.0 : 0.0);
  }

 private:
  static constexpr int kLanes = 4;

  const Cell* row(uint32_t number) const { return target_.labels + int64_t{number} * stride_; }

  const ValueTarget target_;
  const int stride_;
  std::vector<Cell> cell_, total_;
};

}  // namespace mddf
