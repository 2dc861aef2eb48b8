// Splits of all leaves of a level at once, for small tables: each column's rows are walked in the
// order of its bins, with one running sum for each leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/score.hpp"

namespace mddf::gradient {

// The rows of each column in the order of its codes; those that miss a value come last.
class Walks {
 public:
  struct Order {
    const uint16_t* rows;
    const uint8_t* ends;  // whether a row is the last one of its code
    int64_t n_present;
  };

  explicit Walks(const Columns& columns)
      : n_rows_(columns.n_rows()),
        rows_(columns.count() * columns.n_rows()),
        ends_(rows_.size()),
        n_present_(columns.count()) {
    for (int c = 0; c < columns.count(); ++c) sort(columns, c, nullptr);
  }

  // Sorts a column of categories once more, by their order.
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
  int64_t n_rows() const { return n_rows_; }

 private:
  int64_t n_rows_;
  std::vector<uint16_t> rows_;
  std::vector<uint8_t> ends_;
  std::vector<int64_t> n_present_;
};

constexpr int64_t kMostWalked = 65536;  // rows

// A leaf in a walk: the sums of rows on the left, and what that improves.
template <int kWidth>
struct Walked {
  Sums<kWidth> left;
  int32_t found = 0;
};

// The best place to split a column, if it beats `best`: the last row that goes left, or -1 for
// none. Rows of a code are in any order: what is found after the last one of them does not depend
// on it.
template <int kWidth, class ComparedLeaf>
MDDF_INLINE int64_t walk(const Walks::Order& order, const Sums<kWidth>* gradients,
                         const uint16_t* leaf_of, const ComparedLeaf* compared,
                         Walked<kWidth>* leaves, int32_t score, int32_t& best) {
  int64_t found = -1;
  for (int64_t k = 0; k < order.n_present; ++k) {
    const uint16_t row = order.rows[k], number = leaf_of[row];
    Walked<kWidth>& leaf = leaves[number];
    Sums<kWidth> left = leaf.left;
    left.add(gradients[row]);
    leaf.left = left;
    const auto now = static_cast<int32_t>(compared[number].improvement(left));
    score += now - leaf.found;
    leaf.found = now;
    if (score > best && order.ends[k]) {
      best = score;
      found = row;
    }
  }
  return found;
}

}  // namespace mddf::gradient
