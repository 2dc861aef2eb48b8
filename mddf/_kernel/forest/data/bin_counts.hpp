// Counts of the bins of one column at a node whose rows are divided among several processes.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/data/bins.hpp"

namespace mddf {

// A view of n_bins + 1 cells, the last of which is for missing values. A cell has the number of
// rows and the weight of each of n_classes classes that the node has.
class BinCounts {
 public:
  BinCounts(const uint32_t* cells, int n_bins, int n_classes)
      : cells_(cells), n_bins_(n_bins), n_classes_(n_classes) {}

  uint32_t rows(int code) const { return cell(code)[0]; }
  uint32_t weight(int code, int c) const { return cell(code)[1 + c]; }

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
  friend class OwnedBinCounts;
  const uint32_t* cell(int code) const {
    return cells_ + int64_t{code == kMissing ? n_bins_ : code} * (1 + n_classes_);
  }
  const uint32_t* cells_;
  int n_bins_, n_classes_;
};

// A copy of the counts of a column.
class OwnedBinCounts {
 public:
  void take(const BinCounts& counts) {
    n_bins_ = counts.n_bins_;
    n_classes_ = counts.n_classes_;
    cells_.assign(counts.cells_, counts.cells_ + int64_t{n_bins_ + 1} * (1 + n_classes_));
  }
  BinCounts counts() const { return {cells_.data(), n_bins_, n_classes_}; }

 private:
  int n_bins_ = 0, n_classes_ = 0;
  std::vector<uint32_t> cells_;
};

}  // namespace mddf
