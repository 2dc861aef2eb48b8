// Sums over the rows of one shard of a node, and the rows that a tree draws from the shard.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/span.hpp"
#include "forest/data/bin_cells.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/split/node_values.hpp"

namespace mddf {

// Counts how often a tree draws each row of a shard. A draw is a whole number below `total`; the
// i-th row is drawn by the numbers from starts[i] to ends[i] - 1. Both are ascending. Other numbers
// draw rows of other shards. The numbers are those of BootstrapDraw.
inline std::vector<uint32_t> draw_own(Random& random, int64_t n_draws, uint64_t total,
                                      const Span<uint64_t>& starts, const Span<uint64_t>& ends,
                                      Interrupt& interrupt) {
  const int64_t n = starts.size;
  std::vector<uint32_t> counts(n);
  // First guesses for the search, as in BootstrapDraw.
  std::vector<int64_t> guide(n);
  const auto share_of = [&](uint64_t at) {
    return std::min(n - 1,
                    static_cast<int64_t>(static_cast<double>(at) / static_cast<double>(total) * n));
  };
  for (int64_t i = 0, share = 0; share < n; ++share) {
    const double least = static_cast<double>(total) * (static_cast<double>(share) / n);
    while (i + 1 < n && static_cast<double>(ends[i]) <= least) ++i;
    guide[share] = i;
  }
  for (int64_t drawn = 0; drawn < n_draws; ++drawn) {
    const uint64_t at = random.below(total);
    if (n == 0) continue;
    int64_t i = guide[share_of(at)];
    while (i > 0 && ends[i - 1] > at) --i;
    while (i < n && ends[i] <= at) ++i;
    if (i < n && starts[i] <= at) ++counts[i];
    if (drawn % 4096 == 0) interrupt.poll(8 * 4096);
  }
  return counts;
}

// Does the same if every row is drawn by one number, its place. A set of bits tells which numbers
// are places of this shard, and is far smaller than a table of places, so that it stays in the
// cache: every process repeats the draws of all.
inline std::vector<uint32_t> draw_own(Random& random, int64_t n_draws, uint64_t total,
                                      const Span<uint64_t>& places, Interrupt& interrupt) {
  struct Word {
    uint64_t bits = 0;
    uint64_t n_before = 0;  // number of places in the words before
  };
  std::vector<Word> words(total / 64 + 1);
  for (const uint64_t place : places) words[place / 64].bits |= uint64_t{1} << place % 64;
  uint64_t n_before = 0;
  for (Word& word : words) {
    word.n_before = n_before;
    n_before += static_cast<uint64_t>(count_bits(word.bits));
  }
  std::vector<uint32_t> counts(places.size);
  for (int64_t drawn = 0; drawn < n_draws; ++drawn) {
    const uint64_t at = random.below(total), bit = uint64_t{1} << at % 64;
    const Word& word = words[at / 64];
    if (word.bits & bit)
      ++counts[word.n_before + static_cast<uint64_t>(count_bits(word.bits & (bit - 1)))];
    if (drawn % 4096 == 0) interrupt.poll(8 * 4096);
  }
  return counts;
}

// Rows of a node in a shard, and how often the tree drew them.
struct ShardNode {
  Span<uint32_t> rows, counts;
};

// Rows of a node, as they are stored.
struct OwnedRows {
  std::vector<uint32_t> rows, counts;
};

// Divides the rows of a node between its children. left_codes tells for each of the 256 codes
// whether it goes left.
inline std::array<OwnedRows, 2> divide_rows(const ShardNode& node, const BinMatrix::Column& codes,
                                            const uint8_t* left_codes) {
  // Both children get room for all rows, so that there is no branch, which could not be predicted.
  std::array<OwnedRows, 2> children;
  const int64_t n = node.rows.size;
  for (OwnedRows& child : children) child.rows.resize(n), child.counts.resize(n);
  std::array<int64_t, 2> n_rows{};
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = node.rows[i];
    const bool is_right = !left_codes[codes[row]];
    OwnedRows& child = children[is_right];
    child.rows[n_rows[is_right]] = row;
    child.counts[n_rows[is_right]] = node.counts[i];
    ++n_rows[is_right];
  }
  for (int side = 0; side < 2; ++side) {
    OwnedRows& child = children[side];
    child.rows.resize(n_rows[side]), child.counts.resize(n_rows[side]);
    child.rows.shrink_to_fit(), child.counts.shrink_to_fit();
  }
  return children;
}

// Adds up the rows of a node in a shard by the bins of some columns. Each column has one cell of
// `width` numbers for each bin, and one for missing values. add(cell, i) adds the i-th row.
template <class Number, class Add>
std::vector<Number> add_up_bins(const ShardNode& node, const BinMatrix& matrix, const Bins& bins,
                                const Span<int32_t>& columns, int64_t width, Interrupt& interrupt,
                                Add add) {
  int64_t size = 0;
  for (int64_t j = 0; j < columns.size; ++j) size += (bins.count(columns[j]) + 1) * width;
  std::vector<Number> cells(size);
  Number* first = cells.data();
  for (int64_t j = 0; j < columns.size; ++j) {
    const int n_bins = bins.count(columns[j]);
    const BinMatrix::Column codes = matrix.column(columns[j], node.rows.size);
    interrupt.poll(4 * node.rows.size);
    for (int64_t i = 0; i < node.rows.size; ++i) {
      const uint8_t code = codes[node.rows[i]];
      add(first + (code == kMissing ? n_bins : code) * width, i);
    }
    first += (n_bins + 1) * width;
  }
  return cells;
}

// Sums over all rows of a node in a shard. `fixed` has the targets of all rows of the shard.
inline ValueSums add_up_targets(const ShardNode& node, const int64_t* fixed) {
  ValueSums sums;
  sums.rows = node.rows.size;
  sums.least = INT64_MAX;
  sums.most = INT64_MIN;
  for (int64_t i = 0; i < node.rows.size; ++i) {
    const int64_t target = fixed[node.rows[i]];
    sums.least = std::min(sums.least, target);
    sums.most = std::max(sums.most, target);
    const uint64_t offset = static_cast<uint64_t>(target + ValueSums::kOffset);
    const uint64_t part = offset * node.counts[i];
    sums.weight += node.counts[i];
    sums.low += part;
    sums.high += multiply_high(offset, node.counts[i]) + (sums.low < part);
  }
  return sums;
}

}  // namespace mddf
