// Copies of the rows of a subtree, column by column. In a wide and long table, a node's samples are
// so far apart that each cell it reads comes with a line of memory of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/codes64.hpp"
#include "common/prefetch.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/training.hpp"

namespace mddf {

class GatheredRows {
 public:
  // Whether trees read much of a table: copies are of whole rows.
  static bool suits(const BinMatrix& matrix, const GrowOptions& options) {
    return matrix.by_column && options.wide() && !options.random_thresholds &&
           matrix.n_columns > kLine && options.max_features * kLevels >= matrix.n_columns;
  }

  // Whether to copy the rows of a node with so many samples, for it and the nodes below.
  static bool pays(const BinMatrix& matrix, int64_t n_samples) {
    return n_samples >= kFewest && n_samples * matrix.n_columns <= kBytes &&
           n_samples * kLine <= matrix.n_rows * kMostInLine;
  }

  // Copies the samples' rows, and lets the samples name the copies. The columns of 64 rows lie one
  // behind the other, the next 64 rows behind them all.
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
      turn(rows, next, from.n_columns, to);
      for (int64_t i = first; i < std::min(first + kLine, n); ++i)
        samples[i].row = static_cast<uint32_t>(to - codes_.data() + i - first);
    }
    return {nullptr, kLine, from.n_columns, codes_.data()};
  }

 private:
  // All but kLine were chosen by time, on images of 784 columns. kLevels: nodes on a path that read
  // a column each for kLevels times max_features columns of the table.
  static constexpr int64_t kLine = 64, kMostInLine = 4, kLevels = 32, kFewest = 128;
  static constexpr int64_t kBytes = int64_t{1} << 20;
  using Rows = std::array<const uint8_t*, kLine>;

  // 64 rows from the first sample on, the last one again if there are no more.
  template <class Sample>
  static Rows rows_of(const BinMatrix& from, const Sample* samples, int64_t first, int64_t n) {
    Rows rows;
    for (int64_t i = 0; i < kLine; ++i) rows[i] = from.row(samples[std::min(first + i, n - 1)].row);
    return rows;
  }

#ifdef MDDF_AVX2
  // The columns of 64 rows, of which there are at least kTurned, while the next rows come nearer.
  MDDF_TARGET_AVX2 static void turn(const Rows& rows, const Rows& next, int64_t n_columns,
                                    uint8_t* to) {
    for (int64_t c = 0; c < n_columns; c += kTurned) {
      if (c % kLine == 0)
        for (const uint8_t* row : next) prefetch(row + c);
      const int64_t first = std::min(c, n_columns - kTurned);
      for (int64_t half = 0; half < kLine; half += kTurnedRows)
        turn_codes(rows.data() + half, first, to + first * kLine + half, kLine);
    }
  }
#else
  static void turn(const Rows&, const Rows&, int64_t, uint8_t*) {}
#endif

  std::vector<uint8_t> codes_;
};

}  // namespace mddf
