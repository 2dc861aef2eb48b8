// Thresholds between two values.
#pragma once

namespace mddf {

// A double near the middle of a and b (a < b) for which a <= edge and b > edge.
inline double midpoint(double a, double b) {
  const double middle = a / 2 + b / 2;  // halves first: a + b may overflow
  return middle >= a && middle < b ? middle : a;
}

}  // namespace mddf
