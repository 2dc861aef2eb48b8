// Copies of the rows of a subtree, column by column. In a wide and long table, the samples of a
// node are so far apart that each cell needs a cache line of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/codes64.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/training.hpp"

namespace mddf {

class GatheredRows {
 public:
  // Whether trees read a large part of the table. Copies contain whole rows.
  static bool suits(const BinMatrix& matrix, const GrowOptions& options) {
    return matrix.by_column && options.uses_simd() && !options.random_thresholds &&
           matrix.n_columns > kLine && options.max_features * kLevels >= matrix.n_columns;
  }

  // Whether to copy the rows of a node with this number of samples, for the node and its subtree.
  static bool pays(const BinMatrix& matrix, int64_t n_samples) {
    return n_samples >= kMinSamples && n_samples * matrix.n_columns <= kBytes &&
           n_samples * kLine <= matrix.n_rows * kMaxRowsPerLine;
  }

  // Copies the rows of the samples, and replaces the rows in the samples by the copies. Blocks of
  // 64 rows follow each other; each block is stored column by column.
  template <class Sample>
  BinMatrix copy(const BinMatrix& from, Sample* samples, int64_t n) {
    const int64_t step = kLine * from.n_columns;
    const size_t size = static_cast<size_t>((n + kLine - 1) / kLine * step);
    if (codes_.size() < size) codes_.resize(size);
    Rows rows, next = rows_of(from, samples, 0, n);
    for (int64_t first = 0; first < n; first += kLine) {
      uint8_t* to = codes_.data() + first / kLine * step;
      rows = next;
      next = rows_of(from, samples, std::min(first + kLine, n - 1), n);
      transpose(rows, next, from.n_columns, to);
      for (int64_t i = first; i < std::min(first + kLine, n); ++i)
        samples[i].row = static_cast<uint32_t>(to - codes_.data() + i - first);
    }
    return {nullptr, kLine, from.n_columns, codes_.data()};
  }

 private:
  // All constants except kLine are the fastest values on images of 784 columns. kLevels: a path
  // from the root has about kLevels nodes, which together read kLevels * max_features columns.
  static constexpr int64_t kLine = 64, kMaxRowsPerLine = 4, kLevels = 32, kMinSamples = 128;
  static constexpr int64_t kBytes = int64_t{1} << 20;
  using Rows = std::array<const uint8_t*, kLine>;

  // Returns 64 rows from the sample `first` on. The last row is repeated if there are fewer.
  template <class Sample>
  static Rows rows_of(const BinMatrix& from, const Sample* samples, int64_t first, int64_t n) {
    Rows rows;
    for (int64_t i = 0; i < kLine; ++i) rows[i] = from.row(samples[std::min(first + i, n - 1)].row);
    return rows;
  }

#ifdef MDDF_AVX2
  // Transposes 64 rows of at least kTransposedColumns columns, and prefetches the next rows.
  MDDF_TARGET_AVX2 static void transpose(const Rows& rows, const Rows& next, int64_t n_columns,
                                         uint8_t* to) {
    for (int64_t c = 0; c < n_columns; c += kTransposedColumns) {
      if (c % kLine == 0)
        for (const uint8_t* row : next) prefetch(row + c);
      const int64_t first = std::min(c, n_columns - kTransposedColumns);
      for (int64_t half = 0; half < kLine; half += kTransposedRows)
        transpose_codes(rows.data() + half, first, to + first * kLine + half, kLine);
    }
  }
#else
  static void transpose(const Rows&, const Rows&, int64_t, uint8_t*) {}
#endif

  std::vector<uint8_t> codes_;
};

}  // namespace mddf
