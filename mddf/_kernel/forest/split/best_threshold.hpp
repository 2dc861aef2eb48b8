// The best threshold of a column, while it is searched.
#pragma once

#include <cstdint>

#include "forest/split/split.hpp"

namespace mddf {

class BestThreshold {
 public:
  // Only what scores more than `best` counts. Whether the node has rows without a value matters to
  // whoever searches.
  BestThreshold(const Split& best, bool has_missing)
      : has_missing(has_missing), score_(best.score) {}

  const bool has_missing;

  const double& score() const { return score_; }
  // A split after the bin `last_left`; the node's next one is `first_right`.
  void offer(double score, int last_left, int first_right, bool missing_left) {
    if (!(score > score_)) return;
    score_ = score;
    last_left_ = last_left;
    first_right_ = first_right;
    missing_left_ = missing_left;
    improved_ = true;
  }
  // Makes it the best split, if it is.
  void improve(int32_t column, Split& best) const {
    if (!improved_) return;
    best.score = score_;
    best.column = column;
    best.categorical = false;
    best.saw_missing = has_missing;
    best.missing_left = missing_left_;
    best.threshold = last_left_;
    best.first_right = first_right_;
  }

 private:
  double score_;
  int last_left_ = 0, first_right_ = 0;
  bool missing_left_ = false, improved_ = false;
};

}  // namespace mddf
