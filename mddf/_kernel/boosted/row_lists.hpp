// The rows of a tree's leaves, and their gradients, as neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "boosted/histograms.hpp"
#include "boosted/score.hpp"

namespace mddf::gradient {

template <int kWidth>
class RowLists {
 public:
  void begin(const std::vector<int32_t>& drawn, const std::vector<Sums<kWidth>>& gradients) {
    rows_ = drawn;
    gradients_.resize(drawn.size());
    for (size_t k = 0; k < drawn.size(); ++k) gradients_[k] = gradients[drawn[k]];
    rows_aside_.resize(drawn.size());
    gradients_aside_.resize(drawn.size());
  }

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  LeafRows<kWidth> of(int64_t first, int64_t last) const {
    return {rows_.data() + first, gradients_.data() + first, last - first};
  }

  // Puts those of rows [first, last) in front that stay left, all in their order, and returns where
  // the others begin. `right` says of each code where it goes.
  int64_t divide(int64_t first, int64_t last, const uint8_t* codes, const uint8_t* right) {
    int64_t at = first, aside = 0;
    for (int64_t k = first; k < last; ++k) {
      const int32_t row = rows_[k];
      const Sums<kWidth> gradient = gradients_[k];
      const bool goes_right = right[codes[row]] != 0;
      rows_[at] = row;
      gradients_[at] = gradient;
      // Of threads that divide other lists, each has this part of what is put aside for itself.
      rows_aside_[first + aside] = row;
      gradients_aside_[first + aside] = gradient;
      at += !goes_right;
      aside += goes_right;
    }
    std::copy_n(rows_aside_.begin() + first, aside, rows_.begin() + at);
    std::copy_n(gradients_aside_.begin() + first, aside, gradients_.begin() + at);
    return at;
  }

 private:
  std::vector<int32_t> rows_, rows_aside_;
  std::vector<Sums<kWidth>> gradients_, gradients_aside_;
};

}  // namespace mddf::gradient
