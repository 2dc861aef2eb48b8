// Bins of the columns, and sets of codes.
#pragma once

#include <array>
#include <cstdint>

namespace mddf {

constexpr int kMissing = 255;  // code of a missing (or unseen) value
constexpr int kMaxBins = 255;  // codes 0 .. 254

// A set of codes.
struct CodeSet {
  std::array<uint64_t, 4> words{};
  void insert(int code) { words[code >> 6] |= uint64_t{1} << (code & 63); }
  void erase(int code) { words[code >> 6] &= ~(uint64_t{1} << (code & 63)); }
  bool contains(int code) const { return (words[code >> 6] >> (code & 63)) & 1; }
};

// Bins of all columns. The bins of column c are [bin_start[c], bin_start[c + 1]). A bin has an
// upper edge (infinity for the last bin) and a value that represents it.
struct Bins {
  const double* edges;
  const double* values;
  const int64_t* bin_start;
  const uint8_t* categorical;
  int64_t n_columns;
  int count(int64_t column) const {
    return static_cast<int>(bin_start[column + 1] - bin_start[column]);
  }
};

}  // namespace mddf
