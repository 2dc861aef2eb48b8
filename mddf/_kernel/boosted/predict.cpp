// Raw predictions of boosted trees.
#include <algorithm>
#include <vector>

#include "boosted/boost.hpp"

namespace mddf::gradient {
namespace {

constexpr int64_t kBlock = 256;  // rows that are asked about together
constexpr int64_t kFew = 16;     // so few are not worth a block

bool goes_right(const TreeArrays& trees, int64_t split, uint8_t code) {
  if (trees.set[split] < 0)
    return static_cast<uint8_t>(code + trees.shift[split]) > trees.threshold[split];
  const uint64_t word = trees.sets[4 * trees.set[split] + (code >> 6)];
  return !((word >> (code & 63)) & 1);
}

// The leaves of n rows of a tree, all of which go down a step at a time: what one row waits for,
// others need not.
void find_leaves_of(const TreeArrays& trees, int64_t tree, const uint8_t* rows, int64_t n,
                    int64_t n_columns, int32_t* leaves) {
  const int64_t first = trees.first_split[tree];
  const int32_t root = first == trees.first_split[tree + 1] ? -1 : 0;
  constexpr int64_t kTogether = 16;
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t m = std::min(kTogether, n - begin);
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

// The ways of a block of rows, whose codes lie column by column, down a symmetric tree.
MDDF_INLINE void ways_body(const TreeArrays& trees, int64_t tree, const uint8_t* columns,
                           uint16_t* way) {
  std::fill_n(way, kBlock, uint16_t{0});
  for (int64_t split = trees.first_split[tree]; split < trees.first_split[tree + 1]; ++split) {
    const uint8_t* codes = columns + trees.column[split] * kBlock;
    if (trees.set[split] < 0) {
      const uint8_t shift = trees.shift[split], threshold = trees.threshold[split];
      for (int64_t i = 0; i < kBlock; ++i)
        way[i] = static_cast<uint16_t>(2 * way[i] +
                                       (static_cast<uint8_t>(codes[i] + shift) > threshold));
    } else {
      for (int64_t i = 0; i < kBlock; ++i)
        way[i] = static_cast<uint16_t>(2 * way[i] + goes_right(trees, split, codes[i]));
    }
  }
}
#ifdef MDDF_AVX2
MDDF_TARGET_AVX2 void ways_avx2(const TreeArrays& trees, int64_t tree, const uint8_t* columns,
                                uint16_t* way) {
  ways_body(trees, tree, columns, way);
}
#endif
void find_ways(const TreeArrays& trees, int64_t tree, const uint8_t* columns, uint16_t* way) {
#ifdef MDDF_AVX2
  static const bool wide = simd::supported();
  if (wide) return ways_avx2(trees, tree, columns, way);
#endif
  ways_body(trees, tree, columns, way);
}

// The ways of a few rows down a symmetric tree.
void find_ways_of_few(const TreeArrays& trees, int64_t tree, const uint8_t* rows, int64_t n,
                      int64_t n_columns, int32_t* leaves) {
  const int64_t first = trees.first_split[tree], last = trees.first_split[tree + 1];
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t* codes = rows + i * n_columns;
    int32_t way = 0;
    for (int64_t split = first; split < last; ++split)
      way = 2 * way + goes_right(trees, split, codes[trees.column[split]]);
    leaves[i] = way;
  }
}

// Calls visit(first row, number of rows, tree, leaves of the rows) block by block.
template <class Visit>
void each_leaf(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
               int64_t n_rows, int64_t n_columns, Interrupt& interrupt, Visit visit) {
  std::vector<uint8_t> columns(trees.symmetric && n_rows > kFew ? n_columns * kBlock : 0);
  std::vector<int32_t> leaves(kBlock);
  std::vector<uint16_t> ways(kBlock);
  for (int64_t row = 0; row < n_rows; row += kBlock) {
    const int64_t n = std::min(kBlock, n_rows - row);
    interrupt.poll(n * (4 * (last - first) + n_columns));
    const uint8_t* block = codes + row * n_columns;
    const bool few = n <= kFew;
    for (int64_t i = 0; trees.symmetric && !few && i < n; ++i)
      for (int64_t c = 0; c < n_columns; ++c) columns[c * kBlock + i] = block[i * n_columns + c];
    for (int64_t tree = first; tree < last; ++tree) {
      if (trees.symmetric && few) {
        find_ways_of_few(trees, tree, block, n, n_columns, leaves.data());
      } else if (trees.symmetric) {
        find_ways(trees, tree, columns.data(), ways.data());
        std::copy_n(ways.begin(), n, leaves.begin());
      } else {
        find_leaves_of(trees, tree, block, n, n_columns, leaves.data());
      }
      visit(row, n, tree, leaves.data());
    }
  }
}

}  // namespace

void add_raw(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
             int64_t n_rows, int64_t n_columns, double* out, Interrupt& interrupt) {
  const int width = trees.width;
  each_leaf(trees, first, last, codes, n_rows, n_columns, interrupt,
            [&](int64_t row, int64_t n, int64_t tree, const int32_t* leaves) {
              const double* values = trees.values + trees.first_leaf[tree] * width;
              double* to = out + row * width;
              if (width == 1) {
                for (int64_t i = 0; i < n; ++i) to[i] += values[leaves[i]];
                return;
              }
              for (int64_t i = 0; i < n; ++i)
                for (int k = 0; k < width; ++k) to[i * width + k] += values[leaves[i] * width + k];
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
