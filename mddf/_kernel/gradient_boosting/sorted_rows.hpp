// Search of the split of a level on small tables. The rows of a column are visited in the order of
// its bins, with a running sum for each leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/score.hpp"

namespace mddf::gradient {

// The rows sorted by the codes of each column; rows with a missing value are last.
class SortedRows {
 public:
  struct Order {
    const uint16_t* rows;
    const uint8_t* ends;  // whether a row is the last row with its code
    int64_t n_present;
  };

  explicit SortedRows(const Columns& columns)
      : n_rows_(columns.n_rows()),
        rows_(columns.count() * columns.n_rows()),
        ends_(rows_.size()),
        n_present_(columns.count()) {
    for (int c = 0; c < columns.count(); ++c) sort(columns, c, nullptr);
  }

  // Sorts the rows of a column. Categorical columns are sorted again for each `order` of
  // categories.
  void sort(const Columns& columns, int c, const uint8_t* order) {
    const Column& column = columns[c];
    const auto code_of = [&](int64_t i) { return column.codes[columns.rows()[i]]; };
    int64_t place[257] = {};
    for (int64_t i = 0; i < n_rows_; ++i) ++place[code_of(i) + 1];
    uint8_t same[256];
    int64_t start[257];
    for (int code = 0; code <= column.n_bins; ++code) same[code] = static_cast<uint8_t>(code);
    if (order) std::copy_n(order, column.n_bins, same);
    int64_t at = 0;
    for (int k = 0; k <= column.n_bins; ++k) {
      start[same[k]] = at;
      at += place[same[k] + 1];
      if (k == column.n_bins - 1) n_present_[c] = at;
    }
    uint16_t* rows = rows_.data() + c * n_rows_;
    uint8_t* ends = ends_.data() + c * n_rows_;
    std::fill_n(ends, n_rows_, uint8_t{0});
    for (int64_t i = 0; i < n_rows_; ++i) rows[start[code_of(i)]++] = static_cast<uint16_t>(i);
    for (int code = 0; code <= column.n_bins; ++code)
      if (place[code + 1] > 0) ends[start[code] - 1] = 1;
  }

  Order operator[](int c) const {
    return {rows_.data() + c * n_rows_, ends_.data() + c * n_rows_, n_present_[c]};
  }

 private:
  int64_t n_rows_;
  std::vector<uint16_t> rows_;
  std::vector<uint8_t> ends_;
  std::vector<int64_t> n_present_;
};

constexpr int64_t kMaxSortedRows = 65536;  // rows, which are numbered by 16 bits

// A leaf during a scan: the sums of the rows on the left, and their gain.
template <int kWidth>
struct ScannedLeaf {
  Sums<kWidth> left;
  int32_t gain = 0;
};

// Finds the best split of a column if its score is above `best`; returns the last row that goes
// left, or -1. The order of rows with the same code does not matter, because only the scores after
// the last of them are compared.
template <int kWidth, class ComparedLeaf>
MDDF_INLINE int64_t scan_rows(const SortedRows::Order& order, const Sums<kWidth>* gradients,
                              const uint16_t* leaf_of, const ComparedLeaf* compared,
                              ScannedLeaf<kWidth>* leaves, int32_t score, int32_t& best) {
  int64_t last_left = -1;
  for (int64_t k = 0; k < order.n_present; ++k) {
    const uint16_t row = order.rows[k], number = leaf_of[row];
    ScannedLeaf<kWidth>& leaf = leaves[number];
    Sums<kWidth> left = leaf.left;
    left.add(gradients[row]);
    leaf.left = left;
    const auto gain = static_cast<int32_t>(compared[number].improvement(left));
    score += gain - leaf.gain;
    leaf.gain = gain;
    if (score > best && order.ends[k]) {
      best = score;
      last_left = row;
    }
  }
  return last_left;
}

}  // namespace mddf::gradient
