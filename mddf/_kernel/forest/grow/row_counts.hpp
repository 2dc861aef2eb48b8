// Draws the rows that a tree is grown on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "forest/data/training.hpp"

namespace mddf {

// Draws positions in [0, size), uniformly or in proportion to integer weights, which are passed as
// cumulative sums.
class BootstrapDraw {
 public:
  BootstrapDraw(const uint64_t* cumulative, int64_t size) : cumulative_(cumulative), size_(size) {
    if (!cumulative) return;
    // A table of first guesses makes the search take constant time on average.
    guide_.resize(size);
    const uint64_t total = cumulative[size - 1];
    int64_t position = 0;
    for (int64_t share = 0; share < size; ++share) {
      const uint64_t least =
          static_cast<uint64_t>(static_cast<double>(total) * (static_cast<double>(share) / size));
      while (cumulative[position] <= least && position + 1 < size) ++position;
      guide_[share] = static_cast<int32_t>(position);
    }
  }
  int64_t operator()(Random& random) const {
    if (!cumulative_) return static_cast<int64_t>(random.below(size_));
    const uint64_t total = cumulative_[size_ - 1];
    const uint64_t at = random.below(total);
    int64_t position = guide_[std::min<int64_t>(
        size_ - 1,
        static_cast<int64_t>(static_cast<double>(at) / static_cast<double>(total) * size_))];
    while (position > 0 && cumulative_[position - 1] > at) --position;
    while (cumulative_[position] <= at) ++position;
    return position;
  }

 private:
  const uint64_t* cumulative_;
  int64_t size_;
  std::vector<int32_t> guide_;
};

// Number of times that each row of the table is in the sample of a tree.
class RowCounts {
 public:
  RowCounts(const RowCounts&) = delete;
  RowCounts(const Sampling& sampling, int64_t n_rows, Interrupt& interrupt)
      : sampling_(sampling), counts_(n_rows), interrupt_(interrupt) {
    const int64_t n_parts = sampling.parts.size - 1;
    if (n_parts < 1)
      draws_.emplace_back(sampling.cumulative, sampling.rows.size);
    else if (sampling.whole_parts)
      draws_.emplace_back(sampling.cumulative, n_parts);
    for (int64_t part = 0; part < n_parts && !sampling.whole_parts; ++part) {
      const int64_t first = sampling.parts[part];
      draws_.emplace_back(sampling.cumulative ? sampling.cumulative + first : nullptr,
                          sampling.parts[part + 1] - first);
    }
  }

  // Whether each tree has a different sample.
  bool change() const { return sampling_.n_draws > 0; }

  // Draws the counts of the next tree.
  void draw(Random& random) {
    std::fill(counts_.begin(), counts_.end(), 0);
    const int32_t* rows = sampling_.rows.data;
    if (!change()) {
      for (int64_t i = 0; i < sampling_.rows.size; ++i) ++counts_[rows[i]];
    } else if (sampling_.whole_parts) {
      draw_each(draws_[0], random, [&](int64_t part) {
        for (int64_t i = sampling_.parts[part]; i < sampling_.parts[part + 1]; ++i)
          ++counts_[rows[i]];
      });
    } else {
      for (size_t part = 0; part < draws_.size(); ++part) {
        const int32_t* from = rows + (part > 0 ? sampling_.parts[part] : 0);
        draw_each(draws_[part], random, [&](int64_t position) { ++counts_[from[position]]; });
      }
    }
    interrupt_.poll(8 * static_cast<int64_t>(counts_.size()));
  }
  uint32_t operator[](int64_t row) const { return counts_[row]; }
  uint32_t most() const {
    uint32_t most = 0;
    for (const uint32_t count : counts_) most = std::max(most, count);
    return most;
  }

 private:
  static constexpr int64_t kAtOnce = 4096;

  template <class Count>
  void draw_each(const BootstrapDraw& draw, Random& random, Count count) {
    Random own = random;  // compilers keep a local copy in registers
    for (int64_t i = 0; i < sampling_.n_draws;) {
      const int64_t end = std::min(i + kAtOnce, sampling_.n_draws);
      interrupt_.poll(8 * (end - i));
      for (; i < end; ++i) count(draw(own));
    }
    random = own;
  }

  const Sampling& sampling_;
  std::vector<BootstrapDraw> draws_;
  std::vector<uint32_t> counts_;
  Interrupt& interrupt_;
};

}  // namespace mddf
