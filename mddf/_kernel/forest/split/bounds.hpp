// Between which numbers a node's prediction has to lie, so that predictions rise or fall with
// columns.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

namespace mddf {

struct Bounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  double clip(double value) const { return std::min(std::max(value, lower), upper); }

  // Those of the children of a split, in a column in which predictions rise (1), fall (-1), or
  // neither (0), with the middle of what the children would predict.
  std::pair<Bounds, Bounds> divided(int direction, double middle) const {
    if (direction == 0) return {*this, *this};
    const Bounds low{lower, middle}, high{middle, upper};
    return direction > 0 ? std::pair(low, high) : std::pair(high, low);
  }

  // Whether a split may be with these predictions on its sides.
  bool allow(int direction, double left, double right) const {
    if (direction == 0) return true;
    return lower <= std::min(left, right) && std::max(left, right) <= upper &&
           (left - right) * direction <= 0;
  }
};

}  // namespace mddf
