// Draws candidate columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"

namespace mddf {

// Columns in random order without replacement. The first `known` columns are constant in an
// ancestor of the node. The next `new_constant` columns are constant in the node, but not in an
// ancestor. Columns from `end` on have been drawn.
class ColumnPool {
 public:
  // Starts a new tree. The order of the columns must not depend on earlier trees.
  void restart(const std::vector<int32_t>& columns) { columns_ = columns; }

  void begin(int64_t known) {
    known_ = known;
    drawn_known_ = new_constant_ = drawn_ = 0;
    end_ = static_cast<int64_t>(columns_.size());
  }
  // Draws one column; a negative number means that it is known to be constant.
  int32_t draw(Random& random) {
    const int64_t at =
        drawn_known_ + static_cast<int64_t>(random.below(end_ - new_constant_ - drawn_known_));
    ++drawn_;
    if (at < known_) {
      // It does not matter which of them was drawn. Their order must stay: a waiting sibling relies
      // on the first columns being the ones that were constant at its parent.
      ++drawn_known_;
      return -1;
    }
    return take(at + new_constant_);
  }
  // Draws one of the columns that are not known to be constant.
  int32_t draw_unknown(Random& random) {
    ++drawn_;
    return take(known_ + new_constant_ +
                static_cast<int64_t>(random.below(end_ - new_constant_ - known_)));
  }
  // Draws up to `most` columns that are not known to be constant, but at least one and no more than
  // a node with `max_features` needs. Returns their number.
  int64_t draw_some(Random& random, int64_t max_features, int64_t most, int32_t* to) {
    int64_t n = 0;
    while (n < most && any_unknown()) {
      const bool more = drawn_ < max_features;
      if (!more && (n > 0 || !only_constant())) break;
      const int32_t column = more ? draw(random) : draw_unknown(random);
      if (column >= 0) to[n++] = column;
    }
    return n;
  }
  // Marks which of the last n drawn columns (latest first) are constant in the node.
  void mark_constant(const uint8_t* constant_latest_first, int64_t n) {
    const int64_t first = end_;
    for (int64_t i = 0; i < n; ++i) {
      if (!constant_latest_first[i]) continue;
      std::swap(columns_[first + i], columns_[end_]);
      std::swap(columns_[end_], columns_[known_ + new_constant_]);
      ++end_;
      ++new_constant_;
    }
  }
  // Draws columns until there are max_features of them and at least one is not constant. Fills
  // `drawn` with up to `most` columns at a time and calls mark(n), which marks the constant ones of
  // these n columns in `constant`.
  template <class Mark>
  MDDF_INLINE void draw_candidates(Random& random, int64_t known, int64_t max_features,
                                   int64_t most, int32_t* drawn, uint8_t* constant, Mark mark) {
    begin(known);
    while (any_unknown() && (drawn_ < max_features || only_constant())) {
      const int64_t n = draw_some(random, max_features, most, drawn);
      if (n == 0) continue;
      mark(n);
      std::reverse(constant, constant + n);
      mark_constant(constant, n);
    }
  }
  bool any_unknown() const { return end_ > known_ + new_constant_; }
  int64_t drawn() const { return drawn_; }
  bool only_constant() const { return end_ == static_cast<int64_t>(columns_.size()); }
  int64_t constant() const { return known_ + new_constant_; }

 private:
  int32_t take(int64_t at) {
    std::swap(columns_[at], columns_[--end_]);
    return columns_[end_];
  }
  std::vector<int32_t> columns_;
  int64_t known_ = 0, drawn_known_ = 0, new_constant_ = 0, end_ = 0, drawn_ = 0;
};

}  // namespace mddf
