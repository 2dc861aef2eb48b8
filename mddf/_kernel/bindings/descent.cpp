// Python bindings of gradient descent for the coefficients of layers.
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace mddf {
namespace {

using nb::arg;

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

Out<double, 1> walk_on_simplex(In<double, 2> columns, In<double, 1> offset, In<int32_t, 2> batches,
                               In<double, 1> start, double step, double target, double below,
                               double above) {
  const auto n_rows = static_cast<int32_t>(columns.shape(0));
  const size_t n_steps = batches.shape(0), size = batches.shape(1), n = columns.shape(1);
  check_length("offset", offset.shape(0), columns.shape(0));
  check_length("start", start.shape(0), n);
  check(n_steps > 1 && size > 0, "batches: expected at least two steps with samples");
  for (size_t i = 0; i < n_steps * size; ++i)
    check_range("batches", batches.data()[i], 0, n_rows - 1);
  std::vector<double> x(start.data(), start.data() + n), total(n), slope(n), falling;
  falling.reserve(n);
  without_gil(nullptr, [&](Interrupt& interrupt) {
    for (size_t number = 0; number < n_steps; ++number) {
      interrupt.poll(static_cast<int64_t>(size * n));
      std::fill(slope.begin(), slope.end(), 0.0);
      for (size_t i = 0; i < size; ++i) {
        const int32_t row = batches.data()[number * size + i];
        const double* column = columns.data() + static_cast<size_t>(row) * n;
        double sum = 0;
        for (size_t k = 0; k < n; ++k) sum += column[k] * x[k];
        const double z = offset.data()[row] + sum;
        const double factor = 2 * (z <= target ? below : above) * (z - target);
        for (size_t k = 0; k < n; ++k) slope[k] += factor * column[k];
      }
      for (size_t k = 0; k < n; ++k) x[k] -= step * slope[k] / static_cast<double>(size);
      project(x, falling);
      if (2 * number < n_steps) continue;
      for (size_t k = 0; k < n; ++k) total[k] += x[k];
    }
  });
  for (double& value : total) value /= static_cast<double>(n_steps / 2);
  project(total, falling);
  return to_numpy(std::move(total));
}

}  // namespace
}  // namespace mddf

void bind_descent(nanobind::module_& m) {
  using namespace mddf;
  m.def("walk_on_simplex", &walk_on_simplex, arg("columns").noconvert(), arg("offset").noconvert(),
        arg("batches").noconvert(), arg("start").noconvert(), arg("step"), arg("target"),
        arg("below"), arg("above"),
        R"(Return the mean of the second half of a gradient descent's path.

The loss of a row with ``z = offset + columns @ x`` is ``(z - target)^2`` times a factor. All points
and the mean are projected to the simplex.

Parameters
----------
columns : float64 array of shape (n_rows, n)
offset : float64 array of shape (n_rows,)
batches : int32 array of shape (n_steps, size)
    Rows of each step, whose gradients are averaged.
start : float64 array of shape (n,)
step : float
target : float
below, above : float
    Factors of the loss for z up to the target and above it.)");
}
