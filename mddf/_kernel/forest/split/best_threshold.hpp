// Keeps the best threshold of a column during its search.
#pragma once

#include <cstdint>

#include "forest/split/split.hpp"

namespace mddf {

class BestThreshold {
 public:
  // Thresholds must score more than `best`. `has_missing`: the node has missing values in the
  // column, which a search may send to either side.
  BestThreshold(const Split& best, bool has_missing)
      : has_missing(has_missing), score_(best.score) {}

  const bool has_missing;

  const double& score() const { return score_; }
  // Offers the split between the bins `last_left` and `first_right`, which are neighbours in the
  // node.
  void offer(double score, int last_left, int first_right, bool missing_left) {
    if (!(score > score_)) return;
    score_ = score;
    last_left_ = last_left;
    first_right_ = first_right;
    missing_left_ = missing_left;
    improved_ = true;
  }
  // Replaces `best` if a better threshold was offered.
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
