// forest/split: what goes on at one node. In: its samples and the codes of columns. Out: the best
// split, or one that was drawn. This header has the split itself, draws one, and sends samples to
// its sides; others search, for classes (split_search) and for numbers (value_search).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/random.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cuts.hpp"
#include "forest/data/training.hpp"
#include "forest/split/partition.hpp"

namespace mddf {

struct Split {
  double score = -std::numeric_limits<double>::infinity();
  int32_t column = -1;
  bool categorical = false;
  bool missing_left = false;
  bool saw_missing = false;  // the node has rows without a value in this column
  int threshold = 0;         // numeric: highest bin that goes left
  int first_right = 0;       // ... and, of a searched split, the node's next one: kMissing if only
                             // missing rows go right
  CodeSet left;              // categorical: codes that go left

  // Puts every category on the left that is not in the set.
  void list_all_but(const CodeSet& on_right, int n_bins) {
    for (auto& word : left.words) word = 0;
    for (int code = 0; code < n_bins; ++code)
      if (!on_right.contains(code)) left.insert(code);
  }

  bool goes_right(uint8_t bin) const {
    if (categorical) return !left.contains(bin);
    return static_cast<uint8_t>(bin + missing_left) > threshold + missing_left;
  }
};

// Every category that is present goes left or right by a coin, but not all to one side. False if
// only one is present.
inline bool draw_category_set(int32_t column, const CodeSet& seen, Random& random, Split& split) {
  int present[256], n_present = 0, n_left = 0;
  for (int code = 0; code < 256; ++code)
    if (seen.contains(code)) present[n_present++] = code;
  if (n_present < 2) return false;
  split.column = column;
  split.categorical = true;
  split.saw_missing = seen.contains(kMissing);
  for (int i = 0; i < n_present; ++i)
    if (random.next() >> 63) split.left.insert(present[i]), ++n_left;
  if (n_left == 0 || n_left == n_present) {
    split.left = CodeSet{};
    split.left.insert(present[random.below(n_present)]);
  }
  split.missing_left = split.left.contains(kMissing);
  return true;
}

// The highest bin on the left when the threshold is drawn uniformly between the values of two bins.
inline int draw_cut(const TrainingData& data, int32_t column, int low, int high, Random& random) {
  const double* values = data.bins.values + data.bins.bin_start[column];
  const double share = random.uniform(), at = values[low] * (1 - share) + values[high] * share;
  return cut_at(values, low, high - 1, at, data.guesses.guess(column, at, low, high, share));
}

// A threshold between two values that the node has, or a set of its categories; `codes` are those
// of its samples. False if the column is constant here.
inline bool draw_split(const TrainingData& data, int32_t column, const uint8_t* codes, int64_t n,
                       Random& random, Split& split) {
  if (data.bins.categorical[column]) {
    CodeSet seen;
    for (int64_t i = 0; i < n; ++i) seen.insert(codes[i]);
    return draw_category_set(column, seen, random, split);
  }
  uint8_t low = codes[0], high = codes[0];
  for (int64_t i = 1; i < n; ++i) {
    low = std::min(low, codes[i]);
    high = std::max(high, codes[i]);
  }
  if (low == high) return false;
  split.column = column;
  if (high == kMissing) {
    split.saw_missing = true;
    static_assert(kMissing == 255);
    uint8_t above = 0;  // 1 + the highest of the others
    for (int64_t i = 0; i < n; ++i) above = std::max(above, static_cast<uint8_t>(codes[i] + 1));
    high = above - 1;
    if (low == high) {  // one value, and rows without it
      split.threshold = kMissing - 1;
      return true;
    }
    split.missing_left = random.next() >> 63;
  }
  split.threshold = draw_cut(data, column, low, high, random);
  return true;
}

// Moves the samples, whose codes are given, to `to`, those that go left first; returns how many
// these are.
template <class Sample>
uint32_t divide_samples(const Split& split, const Sample* samples, const uint8_t* codes, uint32_t n,
                        Sample* to, std::vector<uint8_t>& sides, bool wide) {
  const uint8_t missing_left = split.missing_left;
  if (!split.categorical)
    return simd::divide(samples, codes, n, missing_left,
                        static_cast<uint8_t>(split.threshold + missing_left), to, wide);
  // A set becomes a comparison of 0 and 1.
  if (sides.size() < n) sides.resize(n);
  for (uint32_t i = 0; i < n; ++i) sides[i] = !split.left.contains(codes[i]);
  return simd::divide(samples, sides.data(), n, 0, 0, to, wide);
}

// Lets what the node has not seen go to the side of more weight.
template <class Sample>
void send_unseen(Split& split, bool left_is_larger, const Sample* on_right, uint32_t n_right,
                 const BinMatrix& matrix, const Bins& bins) {
  if (split.categorical && left_is_larger) {
    CodeSet codes;
    const BinMatrix::Column column = matrix.column(split.column, n_right);
    for (uint32_t i = 0; i < n_right; ++i) codes.insert(column[on_right[i].row]);
    split.list_all_but(codes, bins.count(split.column));
  }
  if (!split.saw_missing) split.missing_left = left_is_larger;
}

// For how many of a node's k classes, the heaviest first, its categories are put in the order of
// their shares of that class: of two, one finds the best set.
inline int n_leaders(int k) { return k == 2 ? 1 : std::min(k, 16); }

}  // namespace mddf
