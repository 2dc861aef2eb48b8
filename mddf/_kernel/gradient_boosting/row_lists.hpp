// Rows of the leaves of a tree and their gradients. The rows of a leaf are adjacent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradient_boosting/count.hpp"
#include "gradient_boosting/score.hpp"
#include "gradient_boosting/team.hpp"

namespace mddf::gradient {

template <int kWidth>
class RowLists {
 public:
  // Begins with the first n rows of an order. `numbers` has the row of the table of each row.
  void begin(const std::vector<int32_t>& order, int64_t n,
             const std::vector<Sums<kWidth>>& gradients, const std::vector<int32_t>& numbers,
             Team& team) {
    for (auto* rows : {&rows_, &rows_aside_}) rows->resize(n);
    for (auto* rows : {&gradients_, &gradients_aside_}) rows->resize(n);
    team.ranges(size(), kFewRows, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        rows_[k] = numbers[order[k]];
        gradients_[k] = Packed<kWidth>(gradients[order[k]]);
      }
    });
  }

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  LeafRows<kWidth> of(int64_t first, int64_t last) const {
    return {rows_.data() + first, gradients_.data() + first, last - first};
  }

  // Partitions rows [first, last) into rows that go left and rows that go right, both in their
  // order; returns the position of the first row that goes right. `right` has a flag for each
  // code.
  int64_t divide(int64_t first, int64_t last, const uint8_t* codes, const uint8_t* right,
                 Team& team) {
    struct Part {
      int64_t first, middle, last;
    };
    const int64_t n = last - first, n_parts = team.n_ranges(n, kFewRows);
    std::vector<Part> parts;
    for (int64_t i = 0; i < n_parts; ++i)
      parts.push_back({first + n * i / n_parts, 0, first + n * (i + 1) / n_parts});
    team.each(n_parts, [&](int64_t i) {
      parts[i].middle = divide_part(parts[i].first, parts[i].last, codes, right);
    });
    int64_t at = first;
    for (const Part& part : parts) {
      const int64_t on_left = part.middle - part.first;
      if (at < part.first) {
        std::copy_n(rows_.begin() + part.first, on_left, rows_.begin() + at);
        std::copy_n(gradients_.begin() + part.first, on_left, gradients_.begin() + at);
      }
      at += on_left;
    }
    std::vector<int64_t> to{at};
    for (const Part& part : parts) to.push_back(to.back() + part.last - part.middle);
    team.each(n_parts, [&](int64_t i) {
      const int64_t from = parts[i].first, n_aside = to[i + 1] - to[i];
      std::copy_n(rows_aside_.begin() + from, n_aside, rows_.begin() + to[i]);
      std::copy_n(gradients_aside_.begin() + from, n_aside, gradients_.begin() + to[i]);
    });
    return at;
  }

 private:
  // Moves the rows of [first, last) that go left to the front, and copies the others to the same
  // range of `rows_aside_`, which no other thread writes.
  int64_t divide_part(int64_t first, int64_t last, const uint8_t* codes, const uint8_t* right) {
    int64_t at = first, aside = first;
    for (int64_t k = first; k < last; ++k) {
      const int32_t row = rows_[k];
      const Packed<kWidth> gradient = gradients_[k];
      const bool goes_right = right[codes[row]] != 0;
      rows_[at] = row;
      gradients_[at] = gradient;
      rows_aside_[aside] = row;
      gradients_aside_[aside] = gradient;
      at += !goes_right;
      aside += goes_right;
    }
    return at;
  }

  std::vector<int32_t> rows_, rows_aside_;
  std::vector<Packed<kWidth>> gradients_, gradients_aside_;
};

}  // namespace mddf::gradient
