#include "descent/simplex.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace mddf {
namespace {

// Projects to the probability simplex: the nearest point with non-negative entries that sum to 1.
// The method is the same as in `project_to_simplex`.
void project(std::vector<double>& x, std::vector<double>& falling) {
  falling.clear();
  for (const double value : x)  // insertion sort is safe with NaN
    falling.insert(std::upper_bound(falling.begin(), falling.end(), value, std::greater<>()),
                   value);
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < falling.size(); ++i) {
    sum += falling[i];
    const double surplus = (sum - 1) / static_cast<double>(i + 1);
    if (!(surplus <= most)) most = surplus;
  }
  for (double& value : x) {
    value -= most;
    if (value <= 0) value = 0;
  }
}

}  // namespace

std::vector<double> descend_on_simplex(const TargetLoss& loss, const Batches& batches,
                                       const Span<double>& start, double step,
                                       Interrupt& interrupt) {
  const auto n = static_cast<size_t>(start.size);
  std::vector<double> x(start.begin(), start.end()), total(n), slope(n), falling;
  falling.reserve(n);
  for (size_t number = 0; number < batches.n_steps; ++number) {
    interrupt.poll(static_cast<int64_t>(batches.size * n));
    std::fill(slope.begin(), slope.end(), 0.0);
    for (size_t i = 0; i < batches.size; ++i) {
      const int32_t row = batches.rows[number * batches.size + i];
      const double* column = loss.columns + static_cast<size_t>(row) * n;
      double sum = 0;
      for (size_t k = 0; k < n; ++k) sum += column[k] * x[k];
      const double z = loss.offset[row] + sum;
      const double factor = 2 * (z <= loss.target ? loss.below : loss.above) * (z - loss.target);
      for (size_t k = 0; k < n; ++k) slope[k] += factor * column[k];
    }
    for (size_t k = 0; k < n; ++k) x[k] -= step * slope[k] / static_cast<double>(batches.size);
    project(x, falling);
    if (2 * number < batches.n_steps) continue;
    for (size_t k = 0; k < n; ++k) total[k] += x[k];
  }
  for (double& value : total) value /= static_cast<double>(batches.n_steps / 2);
  project(total, falling);
  return total;
}

}  // namespace mddf
