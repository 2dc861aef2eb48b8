// Thresholds.
#pragma once

namespace mddf {

// The largest double that keeps "x <= edge" true for a and false for b (a < b), near the middle.
inline double midpoint(double a, double b) {
  const double middle = a / 2 + b / 2;  // halves first: a + b may overflow
  return middle >= a && middle < b ? middle : a;
}

}  // namespace mddf
