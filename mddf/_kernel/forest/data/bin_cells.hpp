// Sums of a node whose rows are divided among several processes: over all rows, and over those of
// each bin of a column.
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

// A view of n_bins + 1 cells, the last of which is for missing values. A cell has the number of
// rows, and then `width` - 1 sums.
template <class T>
class BinCells {
 public:
  BinCells(const T* cells, int n_bins, int width) : cells_(cells), n_bins_(n_bins), width_(width) {}

  T rows(int code) const { return cell(code)[0]; }

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

  // The same cells, copied to `storage`.
  void move_to(std::vector<T>& storage) {
    storage.assign(cells_, cells_ + int64_t{n_bins_ + 1} * width_);
    cells_ = storage.data();
  }

 protected:
  const T* cell(int code) const {
    return cells_ + int64_t{code == kMissing ? n_bins_ : code} * width_;
  }

 private:
  const T* cells_;
  int n_bins_, width_;
};

// Rows and the weight of each of n_classes classes that the node has.
class BinCounts : public BinCells<uint32_t> {
 public:
  BinCounts() : BinCounts(nullptr, 0, 0) {}
  BinCounts(const uint32_t* cells, int n_bins, int n_classes)
      : BinCells(cells, n_bins, 1 + n_classes) {}
  uint32_t weight(int code, int c) const { return cell(code)[1 + c]; }
};

// Rows, their weight, and the sum of their parts (see NodeValues).
class BinSumsOfValues : public BinCells<int64_t> {
 public:
  static constexpr int kWidth = 3;

  BinSumsOfValues() : BinSumsOfValues(nullptr, 0) {}
  BinSumsOfValues(const int64_t* cells, int n_bins) : BinCells(cells, n_bins, kWidth) {}
  int64_t weight(int code) const { return cell(code)[1]; }
  int64_t part(int code) const { return cell(code)[2]; }
  int64_t total_part() const {
    int64_t total = 0;
    for_each_code([&](int code) { total += part(code); });
    return total;
  }
};

// A copy of the cells of a column.
template <class Cells, class T>
class OwnedCells {
 public:
  void take(const Cells& cells) {
    cells_ = cells;
    cells_.move_to(storage_);
  }
  const Cells& cells() const { return cells_; }

 private:
  std::vector<T> storage_;
  Cells cells_;
};
using OwnedBinCounts = OwnedCells<BinCounts, uint32_t>;
using OwnedBinSums = OwnedCells<BinSumsOfValues, int64_t>;

}  // namespace mddf
