// Raw predictions and leaves of boosted trees.
#include <algorithm>
#include <vector>

#include "common/bits.hpp"
#include "gradient_boosting/boost.hpp"

namespace mddf::gradient {
namespace {

constexpr int64_t kBlock = 256;  // rows that go down a tree together; not tuned
constexpr int64_t kLanes = 32;   // codes in a vector of AVX2
constexpr int64_t kFew =
    16;  // up to this number of rows, transposing a block does not pay; not tuned

bool goes_right(const TreeArrays& trees, int64_t split, uint8_t code) {
  if (trees.set[split] < 0)
    return static_cast<uint8_t>(code + trees.shift[split]) > trees.threshold[split];
  const uint64_t word = trees.sets[4 * trees.set[split] + (code >> 6)];
  return !((word >> (code & 63)) & 1);
}

// -- few rows, or large leaf-wise trees

// Finds the leaves of n rows in a leaf-wise tree. 16 rows take a step in turn, so that the
// processor works on other rows while one waits for memory.
void traverse_leaf_wise(const TreeArrays& trees, int64_t tree, const uint8_t* rows, int64_t n,
                        int64_t n_columns, int32_t* leaves) {
  const int64_t first = trees.first_split[tree];
  const int32_t root = first == trees.first_split[tree + 1] ? -1 : 0;
  constexpr int64_t kRowsInTurn = 16;
  for (int64_t begin = 0; begin < n; begin += kRowsInTurn) {
    const int64_t m = std::min(kRowsInTurn, n - begin);
    int32_t* at = leaves + begin;
    std::fill_n(at, m, root);
    for (bool any = root >= 0; any;) {
      any = false;
      for (int64_t i = 0; i < m; ++i) {
        if (at[i] < 0) continue;
        const int64_t split = first + at[i];
        const uint8_t code = rows[(begin + i) * n_columns + trees.column[split]];
        at[i] = (goes_right(trees, split, code) ? trees.right : trees.left)[split];
        any |= at[i] >= 0;
      }
    }
    for (int64_t i = 0; i < m; ++i) at[i] = -1 - at[i];
  }
}

// Finds the leaves of a few rows in a symmetric tree.
void find_symmetric_leaves_of_few(const TreeArrays& trees, int64_t tree, const uint8_t* rows,
                                  int64_t n, int64_t n_columns, int32_t* leaves) {
  const int64_t first = trees.first_split[tree], last = trees.first_split[tree + 1];
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t* codes = rows + i * n_columns;
    int32_t leaf = 0;
    for (int64_t split = first; split < last; ++split)
      leaf = 2 * leaf + goes_right(trees, split, codes[trees.column[split]]);
    leaves[i] = leaf;
  }
}

// -- a block of rows, with codes column by column

// Calls take(row, whether it goes right) for n rows and a split.
template <class Take>
MDDF_INLINE void apply_split(const TreeArrays& trees, int64_t split, const uint8_t* columns,
                             int64_t n, const Take& take) {
  const uint8_t* codes = columns + trees.column[split] * kBlock;
  if (trees.set[split] < 0) {
    const uint8_t shift = trees.shift[split], threshold = trees.threshold[split];
    for (int64_t i = 0; i < n; ++i) take(i, static_cast<uint8_t>(codes[i] + shift) > threshold);
  } else {
    for (int64_t i = 0; i < n; ++i) take(i, goes_right(trees, split, codes[i]));
  }
}

// Finds the leaves of a block of rows in a symmetric tree.
MDDF_INLINE void find_symmetric_leaves(const TreeArrays& trees, int64_t tree,
                                       const uint8_t* columns, int64_t n, int32_t* leaves) {
  uint16_t leaf[kBlock];
  std::fill_n(leaf, n, uint16_t{0});
  for (int64_t split = trees.first_split[tree]; split < trees.first_split[tree + 1]; ++split)
    apply_split(trees, split, columns, n, [&](int64_t i, bool right) MDDF_INLINED {
      leaf[i] = static_cast<uint16_t>(2 * leaf[i] + right);
    });
  std::copy_n(leaf, n, leaves);
}

// Finds the leaves of a block of rows in a leaf-wise tree by all of its splits (C. Lucchese and
// others, "QuickScorer", 2015). A row that goes right at a split is in none of the leaves on the
// left of the split. Its leaf is the first leaf that no split excludes.
template <class Word>
MDDF_INLINE void exclude_leaves(const TreeArrays& trees, int64_t tree, const uint8_t* columns,
                                int64_t n, int32_t* leaves) {
  Word left_over[kBlock];
  std::fill_n(left_over, n, static_cast<Word>(~Word{0}));
  for (int64_t split = trees.first_split[tree]; split < trees.first_split[tree + 1]; ++split) {
    const auto others = static_cast<Word>(~trees.left_leaves[split]);
    apply_split(trees, split, columns, n, [&](int64_t i, bool right) MDDF_INLINED {
      left_over[i] &= right ? others : static_cast<Word>(~Word{0});
    });
  }
  const uint8_t* leaf = trees.leaf_of_bit + trees.first_leaf[tree];
  for (int64_t i = 0; i < n; ++i) leaves[i] = leaf[lowest_bit(left_over[i])];
}

int64_t n_leaves(const TreeArrays& trees, int64_t tree) {
  return trees.first_leaf[tree + 1] - trees.first_leaf[tree];
}

// Calls visit(first row, number of rows, tree, leaves of the rows) block by block.
template <class Visit>
void each_leaf(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
               int64_t n_rows, int64_t n_columns, Interrupt& interrupt, Visit visit) {
  std::vector<uint8_t> columns(n_rows > kFew ? n_columns * kBlock : 0);
  std::vector<int32_t> leaves(kBlock);
  const bool use_simd = simd::supported();
  for (int64_t row = 0; row < n_rows; row += kBlock) {
    const int64_t n = std::min(kBlock, n_rows - row);
    interrupt.poll(n * (4 * (last - first) + n_columns));
    const uint8_t* block = codes + row * n_columns;
    const bool few = n <= kFew;
    for (int64_t i = 0; !few && i < n; ++i)
      for (int64_t c = 0; c < n_columns; ++c) columns[c * kBlock + i] = block[i * n_columns + c];
    const int64_t filled = (n + kLanes - 1) / kLanes * kLanes;
    for (int64_t tree = first; tree < last; ++tree) {
      if (trees.symmetric && few) {
        find_symmetric_leaves_of_few(trees, tree, block, n, n_columns, leaves.data());
      } else if (!trees.symmetric && (few || !trees.has_bits[tree])) {
        traverse_leaf_wise(trees, tree, block, n, n_columns, leaves.data());
      } else {
        simd::with_vectors(use_simd, [&]() MDDF_INLINED {
          if (trees.symmetric)
            find_symmetric_leaves(trees, tree, columns.data(), filled, leaves.data());
          else if (n_leaves(trees, tree) <= 32)
            exclude_leaves<uint32_t>(trees, tree, columns.data(), filled, leaves.data());
          else
            exclude_leaves<uint64_t>(trees, tree, columns.data(), filled, leaves.data());
        });
      }
      visit(row, n, tree, leaves.data());
    }
  }
}

// Adds the values of linear leaves of n rows to `out`, with the additions of `LeafValues::at`.
void add_linear(const TreeArrays& trees, int64_t tree, const uint8_t* rows, int64_t n,
                int64_t n_columns, const int32_t* leaves, double* out) {
  const int width = trees.width;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t leaf = trees.first_leaf[tree] + leaves[i];
    const uint8_t* codes = rows + i * n_columns;
    for (int k = 0; k < width; ++k) {
      double value = trees.values[leaf * width + k];
      for (int64_t s = trees.first_slope[leaf]; s < trees.first_slope[leaf + 1]; ++s) {
        const int64_t column = trees.slope_column[s];
        value += trees.slopes[s * width + k] * trees.positions[256 * column + codes[column]];
      }
      out[i * width + k] += value;
    }
  }
}

}  // namespace

LeafBits::LeafBits(const TreeArrays& trees, int64_t n_trees)
    : left_leaves(trees.symmetric ? 0 : trees.first_split[n_trees]),
      leaf_of_bit(trees.symmetric ? 0 : trees.first_leaf[n_trees]),
      has_bits(n_trees) {
  for (int64_t tree = 0; tree < n_trees; ++tree) {
    const int64_t n = n_leaves(trees, tree), first = trees.first_split[tree];
    if (trees.symmetric || n > 64) continue;
    // A tree has one visit for each split and each leaf. Files may hold arrays in which a node has
    // several parents: they get no bits, and the visits end.
    int64_t n_visits = 0;
    int bit = 0;
    const auto visit = [&](int32_t at, const auto& again) -> uint64_t {
      if (++n_visits >= 2 * n || (at < 0 && bit == n)) {
        n_visits = 2 * n;
        return 0;
      }
      if (at < 0) {
        leaf_of_bit[trees.first_leaf[tree] + bit] = static_cast<uint8_t>(-1 - at);
        return uint64_t{1} << bit++;
      }
      const uint64_t left = again(trees.left[first + at], again);
      left_leaves[first + at] = left;
      return left | again(trees.right[first + at], again);
    };
    visit(n > 1 ? 0 : -1, visit);
    has_bits[tree] = n_visits == 2 * n - 1;
  }
}

void add_raw(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
             int64_t n_rows, int64_t n_columns, double* out, Interrupt& interrupt) {
  const int width = trees.width;
  each_leaf(trees, first, last, codes, n_rows, n_columns, interrupt,
            [&](int64_t row, int64_t n, int64_t tree, const int32_t* leaves) {
              double* to = out + row * width;
              if (trees.first_slope)
                return add_linear(trees, tree, codes + row * n_columns, n, n_columns, leaves, to);
              const double* values = trees.values + trees.first_leaf[tree] * width;
              if (width == 1) {
                for (int64_t i = 0; i < n; ++i) to[i] += values[leaves[i]];
                return;
              }
              simd::with_vectors(simd::supported(), [&]() MDDF_INLINED {
                for (int64_t i = 0; i < n; ++i)
                  for (int k = 0; k < width; ++k)
                    to[i * width + k] += values[leaves[i] * width + k];
              });
            });
}

void find_leaves(const TreeArrays& trees, int64_t n_trees, const uint8_t* codes, int64_t n_rows,
                 int64_t n_columns, int32_t* out, Interrupt& interrupt) {
  each_leaf(trees, 0, n_trees, codes, n_rows, n_columns, interrupt,
            [&](int64_t row, int64_t n, int64_t tree, const int32_t* leaves) {
              for (int64_t i = 0; i < n; ++i) out[(row + i) * n_trees + tree] = leaves[i];
            });
}

}  // namespace mddf::gradient
