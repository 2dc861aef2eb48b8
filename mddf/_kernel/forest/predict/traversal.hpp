// Sends coded rows down the trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// Next node of a coded row. A leaf leads to itself.
template <bool kCategories>
struct NextByCode {
  uint32_t operator()(const uint64_t* tree, uint32_t index, const uint8_t* bins) const {
    const uint64_t word = tree[index];
    const bool is_leaf = node::is_leaf(word);
    const uint8_t bin = bins[node::column(is_leaf ? 0 : word)];  // a leaf has no column
    if constexpr (kCategories) return is_leaf ? index : node::next(word, tree, bin);
    const uint32_t child = node::payload(word) + node::numeric_goes_right(word, bin);
    return is_leaf ? index : child;
  }
};

// Sends row(i) down tree(i) for i in [0, n), and calls emit(i, index of the leaf). next(tree,
// index, cells) returns the next node. Several rows are on their way at once, so that the processor
// works on the others while one waits for memory. A row that has arrived is replaced by the next
// row; after the last row, row 0 fills the lane. fetch(i) is called shortly before row i starts,
// except for the first kLanes rows.
template <class Tree, class Row, class Next, class Fetch, class Emit>
void traverse_nodes(int64_t n, Tree tree, Row row, Next next, Fetch fetch, Emit emit) {
  constexpr int kLanes = 8, kSteps = 2, kAhead = 4;
  if (n == 0) return;
  decltype(tree(0)) nodes[kLanes];
  decltype(row(0)) cells[kLanes];
  int64_t id[kLanes], entered = 0;
  uint32_t index[kLanes];
  const auto enter = [&](int lane) {
    id[lane] = std::min(entered++, n);
    const int64_t i = id[lane] < n ? id[lane] : 0;
    nodes[lane] = tree(i);
    cells[lane] = row(i);
    index[lane] = 0;
  };
  for (int lane = 0; lane < kLanes; ++lane) enter(lane);
  for (int64_t arrived = 0, fetched = kLanes; arrived < n;) {
    for (int s = 0; s < kSteps; ++s)
      for (int lane = 0; lane < kLanes; ++lane)
        index[lane] = next(nodes[lane], index[lane], cells[lane]);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!node::is_leaf(nodes[lane][index[lane]])) continue;
      if (id[lane] < n) {
        emit(id[lane], index[lane]);
        ++arrived;
      }
      enter(lane);
    }
    for (; fetched < std::min(entered + kAhead, n); ++fetched) fetch(fetched);
  }
}

// The same for a few rows and all trees. emit(row, tree, index of the leaf) is called in the order
// of the trees, then of the rows.
template <class Tree, class Row, class Next, class Emit>
void traverse_few(int64_t n_rows, int64_t n_trees, Tree tree, Row row, Next next, Emit emit) {
  std::vector<uint32_t> leaves(n_trees * n_rows);
  traverse_nodes(
      n_trees * n_rows, [&](int64_t i) { return tree(i / n_rows); },
      [&](int64_t i) { return row(i % n_rows); }, next, [](int64_t) {},
      [&](int64_t i, uint32_t leaf) { leaves[i] = leaf; });
  for (int64_t t = 0, i = 0; t < n_trees; ++t)
    for (int64_t r = 0; r < n_rows; ++r) emit(r, t, leaves[i++]);
}

// A node in the layout for traversal. The next node is `child` or `child` + 1. In trees without
// categories, a row goes right if its code + `shift` (modulo 256) is above `threshold`. In trees
// with categories, `shift` and `threshold` together are the number of the set of codes that go
// right. A leaf leads to itself, so further steps do no harm.
struct Step {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  uint32_t child;
  uint16_t column;
  uint8_t shift, threshold;
#else
  uint8_t threshold, shift;
  uint16_t column;
  uint32_t child;
#endif
  uint32_t set() const { return threshold | shift << 8; }
};

// From kWideColumns columns on, a row covers several cache lines. A batch of kBatchBytes fits into
// the second-level cache.
constexpr int64_t kWideColumns = 256, kBatchBytes = int64_t{5} << 17;

// Sends rows down one tree after another. With enough rows, nodes are converted to steps, and all
// rows take a few steps at a time. There is then no branch on the kind of a node or on the arrival
// of a row, which the processor could not predict. If wide rows exceed a batch, each row goes down
// to its leaf while it is in the first-level cache, and later rows are prefetched.
class Traversal {
 public:
  // Calls emit(i, index of the leaf) for i in [0, n). row(i) returns the codes of row i.
  template <class Row, class Emit>
  void run(const NodesView& trees, int64_t t, int64_t n, Row row, Emit emit) {
    if (trees.has_categorical)
      traverse<true>(trees, t, n, row, emit);
    else
      traverse<false>(trees, t, n, row, emit);
  }

 private:
  static constexpr int64_t kRows = 1024, kMaxStepColumns = 65536;
  static constexpr uint32_t kNumericSets = 512, kMaxSets = 65536;

  template <bool kCategories, class Row, class Emit>
  void traverse(const NodesView& trees, int64_t t, int64_t n, Row row, Emit emit) {
    // Most words of a tree, per row, for which converting nodes to steps is faster. In large trees,
    // loading the nodes takes most of the time, and steps pay off for fewer rows.
    constexpr int64_t kMaxWordsPerRow = 48, kMaxOfLarge = 192, kLargeTree = int64_t{1} << 17;
    const uint64_t* tree = trees.tree(t);
    const int64_t size = trees.tree_size(t), n_columns = trees.n_columns;
    const bool wide_rows =
        n_columns >= kWideColumns && n_columns <= kMaxFetched && n * n_columns > kBatchBytes;
    const int64_t most = (size < kLargeTree ? kMaxWordsPerRow : kMaxOfLarge) * n;
    const bool in_steps = !wide_rows && size <= most && n_columns <= kMaxStepColumns &&
                          prepare<kCategories>(tree, size);
    for (int64_t first = 0; first < n; first += kRows) {
      const uint32_t here = static_cast<uint32_t>(std::min(kRows, n - first));
      for (uint32_t i = 0; i < here; ++i) rows_[i] = row(first + i);
      if (in_steps && n_columns >= kWideColumns)
        traverse_by_steps<kCategories, 16>(here);
      else if (in_steps)
        traverse_by_steps<kCategories, 8>(here);
      else
        traverse_one_by_one<kCategories>(tree, here, wide_rows ? n_columns : 0);
      for (uint32_t i = 0; i < here; ++i) emit(first + i, at_[i]);
    }
  }

  // Writes the leaves of the first n of rows_ into at_. Prefetches n_fetched columns of later rows.
  template <bool kCategories>
  void traverse_one_by_one(const uint64_t* tree, uint32_t n, int64_t n_fetched) {
    traverse_nodes(
        n, [tree](int64_t) { return tree; }, [this](int64_t i) { return rows_[i]; },
        NextByCode<kCategories>{}, [&](int64_t i) { prefetch_row(rows_[i], n_fetched); },
        [this](int64_t i, uint32_t leaf) { at_[i] = leaf; });
  }

  // Converts the nodes of a tree to steps. Returns false if it has more sets of categories than
  // numbers.
  template <bool kCategories>
  bool prepare(const uint64_t* tree, int64_t size) {
    if (static_cast<int64_t>(steps_.size()) < size) steps_.resize(size);
    simd::with_vectors(simd::supported(),
                       [&]() MDDF_INLINED { make_steps(tree, size, steps_.data()); });
    return !kCategories || number_sets(tree, size);
  }

  // Writing whole words takes a quarter of the time of writing single fields.
  static MDDF_INLINE void make_steps(const uint64_t* tree, int64_t size, Step* steps) {
    static_assert(sizeof(Step) == sizeof(uint64_t));
    for (int64_t i = 0; i < size; ++i) {
      const uint64_t n = tree[i], is_leaf = -((n >> 63) & (n >> 62));  // all bits, or none
      const uint64_t inner = (n << 32) | ((n >> 16) & 0xffff0000) | ((n >> 54) & 511);
      const uint64_t leaf = static_cast<uint64_t>(i) << 32 | 255;
      const uint64_t step = inner ^ ((inner ^ leaf) & is_leaf);
      std::memcpy(steps + i, &step, sizeof step);
    }
  }

  // Numbers the sets of codes that go right. The set of a numeric node has the number `threshold` +
  // 256 `shift`. The sets of categories follow.
  bool number_sets(const uint64_t* tree, int64_t size) {
    if (right_.empty()) add_numeric_sets();
    right_.resize(kNumericSets);
    for (int64_t i = 0; i < size; ++i) {
      const uint64_t n = tree[i];
      // The words behind the children of a node are a set and not nodes. They were marked like
      // leaves.
      if (node::kind(n) != kCategorical || steps_[i].child == i) continue;
      if (right_.size() == kMaxSets) return false;
      steps_[i].threshold = static_cast<uint8_t>(right_.size());
      steps_[i].shift = static_cast<uint8_t>(right_.size() >> 8);
      CodeSet right = all_codes();
      for (uint32_t w = 0; w < node::set_words(n); ++w) {
        const uint32_t at = node::payload(n) + 2 + w;
        right.words[w] = ~tree[at];
        steps_[at].child = at;
      }
      right.insert(kMissing);
      if (node::missing_left(n)) right.erase(kMissing);
      right_.push_back(right);
    }
    return true;
  }
  void add_numeric_sets() {
    for (int shift = 0; shift < 2; ++shift) {
      CodeSet right = all_codes();
      for (int threshold = 0; threshold < 256; ++threshold) {
        right.erase((threshold - shift) & 255);
        right_.push_back(right);
      }
    }
  }
  static CodeSet all_codes() {
    CodeSet all;
    all.words.fill(~uint64_t{0});
    return all;
  }

  // Next step of a row.
  template <bool kCategories>
  uint32_t next(const Step& step, const uint8_t* bins) const {
    const uint8_t bin = bins[step.column];
    if constexpr (kCategories)
      return step.child + right_[step.set()].contains(bin);
    else
      return step.child + (static_cast<uint8_t>(bin + step.shift) > step.threshold);
  }

  // Sends n of rows_ down the tree by steps, kLanes rows at a time. Wide rows use more lanes,
  // because more of their cells are not in the cache.
  template <bool kCategories, int kLanes>
  void traverse_by_steps(uint32_t n) {
    constexpr int kSteps = 6;
    const Step* steps = steps_.data();
    for (uint32_t i = 0; i < n; ++i) {
      at_[i] = 0;
      active_[i] = static_cast<uint16_t>(i);
    }
    while (n > 0) {
      uint32_t kept = 0;
      const auto arrive = [&](uint16_t row, uint32_t index) {
        at_[row] = index;
        active_[kept] = row;
        kept += steps[index].child != index;
      };
      uint32_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        uint32_t index[kLanes];
        const uint8_t* bins[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
          index[lane] = at_[active_[i + lane]];
          bins[lane] = rows_[active_[i + lane]];
        }
        for (int s = 0; s < kSteps; ++s)
          for (int lane = 0; lane < kLanes; ++lane)
            index[lane] = next<kCategories>(steps[index[lane]], bins[lane]);
        for (int lane = 0; lane < kLanes; ++lane) arrive(active_[i + lane], index[lane]);
      }
      for (; i < n; ++i) {
        const uint16_t row = active_[i];
        uint32_t index = at_[row];
        for (int s = 0; s < kSteps; ++s) index = next<kCategories>(steps[index], rows_[row]);
        arrive(row, index);
      }
      n = kept;
    }
  }

  std::vector<Step> steps_;
  std::vector<CodeSet> right_;  // by number: set of codes that go right
  std::array<const uint8_t*, kRows> rows_;
  std::array<uint32_t, kRows> at_;      // present node of each row
  std::array<uint16_t, kRows> active_;  // rows that have not arrived
};

constexpr int64_t kWorkPerRow = 64;  // work units of a row in one tree, for Interrupt::poll

}  // namespace mddf
