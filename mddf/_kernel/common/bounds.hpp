// Limits of the prediction of a node or a leaf, which keep predictions monotonic in columns.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

namespace mddf {

struct Bounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  double clip(double value) const { return std::min(std::max(value, lower), upper); }

  // Limits of the children of a split by a column with an increasing (1), decreasing (-1) or no (0)
  // constraint. `middle` is the mean of the predictions of the children.
  std::pair<Bounds, Bounds> divided(int direction, double middle) const {
    if (direction == 0) return {*this, *this};
    const Bounds low{lower, middle}, high{middle, upper};
    return direction > 0 ? std::pair(low, high) : std::pair(high, low);
  }

  // Whether a split with these predictions on its sides is allowed.
  bool allow(int direction, double left, double right) const {
    if (direction == 0) return true;
    return lower <= std::min(left, right) && std::max(left, right) <= upper &&
           (left - right) * direction <= 0;
  }
};

}  // namespace mddf
