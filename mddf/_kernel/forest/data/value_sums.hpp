// Sums of the targets of nodes whose rows are divided among several processes.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/data/bins.hpp"

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

// Sums of the bins of one column: a view of n_bins + 1 cells, the last of which is for missing
// values. A cell has the number of rows, their weight, and the sum of their parts (see NodeValues).
class BinSumsOfValues {
 public:
  static constexpr int kWidth = 3;

  BinSumsOfValues(const int64_t* cells, int n_bins) : cells_(cells), n_bins_(n_bins) {}

  int64_t rows(int code) const { return cell(code)[0]; }
  int64_t weight(int code) const { return cell(code)[1]; }
  int64_t part(int code) const { return cell(code)[2]; }
  int64_t total_part() const {
    int64_t total = 0;
    for (int bin = 0; bin <= n_bins_; ++bin) total += cells_[bin * kWidth + 2];
    return total;
  }

  // Calls visit(code) for the codes that occur, in ascending order. kMissing is the last one.
  template <class Visit>
  void for_each_code(Visit visit) const {
    for (int bin = 0; bin <= n_bins_; ++bin)
      if (const int code = bin < n_bins_ ? bin : kMissing; rows(code) > 0) visit(code);
  }
  CodeSet codes() const {
    CodeSet codes;
    for_each_code([&](int code) { codes.insert(code); });
    return codes;
  }

 private:
  friend class OwnedBinSums;
  const int64_t* cell(int code) const {
    return cells_ + (code == kMissing ? n_bins_ : code) * kWidth;
  }
  const int64_t* cells_;
  int n_bins_;
};

// A copy of the sums of a column.
class OwnedBinSums {
 public:
  void take(const BinSumsOfValues& sums) {
    n_bins_ = sums.n_bins_;
    cells_.assign(sums.cells_, sums.cells_ + (n_bins_ + 1) * BinSumsOfValues::kWidth);
  }
  BinSumsOfValues sums() const { return {cells_.data(), n_bins_}; }

 private:
  int n_bins_ = 0;
  std::vector<int64_t> cells_;
};

}  // namespace mddf
