// forest/split: finds the split of one node. Input: the samples of the node and the codes of
// columns. Output: the best split, or a random split. This header has the split itself, draws
// random splits, and divides samples. Best splits are searched for classes in split_search.hpp, and
// for numeric targets in value_search.hpp.
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
  bool saw_missing = false;  // whether the node has rows with a missing value in this column
  int threshold = 0;         // numeric columns: highest bin that goes left
  // Numeric columns, if the split was searched: lowest bin of the node that goes right; kMissing if
  // only missing values go right.
  int first_right = 0;
  CodeSet left;  // categorical columns: codes that go left

  // Sends every category to the left that is not in the set.
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

// Sends every present category to a random side, but not all to the same side. Returns false if
// only one category is present.
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

// Draws a threshold uniformly between the values of two bins; returns the highest bin on its left.
inline int draw_cut(const TrainingData& data, int32_t column, int low, int high, Random& random) {
  const double* values = data.bins.values + data.bins.bin_start[column];
  const double share = random.uniform(), at = values[low] * (1 - share) + values[high] * share;
  return cut_at(values, low, high - 1, at, data.guesses.guess(column, at, low, high, share));
}

// The codes of a node in a column. If a present value occurs, `low` and `high` are the lowest and
// highest codes of present values; else the range counts as constant, without missing codes.
struct CodeRange {
  int low, high;
  bool has_missing;
  bool is_constant() const { return low == high && !has_missing; }
};

inline CodeRange range_of(const uint8_t* codes, int64_t n) {
  uint8_t low = codes[0], high = codes[0];
  for (int64_t i = 1; i < n; ++i) {
    low = std::min(low, codes[i]);
    high = std::max(high, codes[i]);
  }
  if (high != kMissing || low == high) return {low, high, false};
  static_assert(kMissing == 255);
  uint8_t above = 0;  // 1 + the highest code of a present value
  for (int64_t i = 0; i < n; ++i) above = std::max(above, static_cast<uint8_t>(codes[i] + 1));
  return {low, above - 1, true};
}

// The same from the set of the codes that occur in the node.
inline CodeRange range_of(const CodeSet& seen) {
  int low = 0, high = kMissing - 1;
  while (low < kMissing && !seen.contains(low)) ++low;
  while (high > low && !seen.contains(high)) --high;
  return {low, std::max(low, high), low < kMissing && seen.contains(kMissing)};
}

// Draws a threshold between the extreme values of the node. Returns false if the column is constant
// in the node.
inline bool draw_threshold(const TrainingData& data, int32_t column, const CodeRange& range,
                           Random& random, Split& split) {
  if (range.is_constant()) return false;
  split.column = column;
  split.saw_missing = range.has_missing;
  if (range.has_missing) {
    if (range.low == range.high) {  // one value, and missing values
      split.threshold = kMissing - 1;
      return true;
    }
    split.missing_left = random.next() >> 63;
  }
  split.threshold = draw_cut(data, column, range.low, range.high, random);
  return true;
}

// Draws a threshold, or a set of the categories of the node. `codes` has the codes of its samples.
// Returns false if the column is constant in the node.
inline bool draw_split(const TrainingData& data, int32_t column, const uint8_t* codes, int64_t n,
                       Random& random, Split& split) {
  if (!data.bins.categorical[column])
    return draw_threshold(data, column, range_of(codes, n), random, split);
  CodeSet seen;
  for (int64_t i = 0; i < n; ++i) seen.insert(codes[i]);
  return draw_category_set(column, seen, random, split);
}

// The same from the set of the codes that occur in the node.
inline bool draw_split(const TrainingData& data, int32_t column, const CodeSet& seen,
                       Random& random, Split& split) {
  return data.bins.categorical[column]
             ? draw_category_set(column, seen, random, split)
             : draw_threshold(data, column, range_of(seen), random, split);
}

// Moves the samples to `to`, first the samples that go left; returns their number.
template <class Sample>
uint32_t divide_samples(const Split& split, const Sample* samples, const uint8_t* codes, uint32_t n,
                        Sample* to, std::vector<uint8_t>& sides, bool use_simd) {
  const uint8_t missing_left = split.missing_left;
  if (!split.categorical)
    return simd::divide(samples, codes, n, missing_left,
                        static_cast<uint8_t>(split.threshold + missing_left), to, use_simd);
  // Membership in the set is written as 0 or 1, which is then compared with 0.
  if (sides.size() < n) sides.resize(n);
  for (uint32_t i = 0; i < n; ++i) sides[i] = !split.left.contains(codes[i]);
  return simd::divide(samples, sides.data(), n, 0, 0, to, use_simd);
}

// Sends categories and missing values that the node does not have to the side with more weight.
// `on_right` has the codes that occur on the right; it is read if the left side is larger.
inline void send_unseen(Split& split, bool left_is_larger, const CodeSet& on_right,
                        const Bins& bins) {
  if (split.categorical && left_is_larger) split.list_all_but(on_right, bins.count(split.column));
  if (!split.saw_missing) split.missing_left = left_is_larger;
}

// The same from the samples on the right.
template <class Sample>
void send_unseen(Split& split, bool left_is_larger, const Sample* on_right, uint32_t n_right,
                 const BinMatrix& matrix, const Bins& bins) {
  CodeSet codes;
  if (split.categorical && left_is_larger) {
    const BinMatrix::Column column = matrix.column(split.column, n_right);
    for (uint32_t i = 0; i < n_right; ++i) codes.insert(column[on_right[i].row]);
  }
  send_unseen(split, left_is_larger, codes, bins);
}

// Number of classes by whose shares categories are sorted, for a node with k classes. With two
// classes, one order contains the best set. With more, the heaviest 16 classes are used. Not tuned.
inline int n_leaders(int k) { return k == 2 ? 1 : std::min(k, 16); }

}  // namespace mddf
