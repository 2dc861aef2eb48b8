// Python bindings of gradient descent for the coefficients of layers.
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "descent/simplex.hpp"

namespace mddf {
namespace {

using nb::arg;

Out<double, 1> call_descend_on_simplex(In<double, 2> columns, In<double, 1> offset,
                                       In<int32_t, 2> batches, In<double, 1> start, double step,
                                       double target, double below, double above) {
  const auto n_rows = static_cast<int32_t>(columns.shape(0));
  const size_t n_steps = batches.shape(0), size = batches.shape(1), n = columns.shape(1);
  check_length("offset", offset.shape(0), columns.shape(0));
  check_length("start", start.shape(0), n);
  check(n_steps > 1 && size > 0, "batches: expected at least two steps with samples");
  for (size_t i = 0; i < n_steps * size; ++i)
    check_range("batches", batches.data()[i], 0, n_rows - 1);
  const TargetLoss loss{columns.data(), offset.data(), target, below, above};
  return to_numpy(without_gil(nullptr, [&](Interrupt& interrupt) {
    return descend_on_simplex(loss, {batches.data(), n_steps, size}, as_span(start), step,
                              interrupt);
  }));
}

}  // namespace
}  // namespace mddf

void bind_descent(nanobind::module_& m) {
  using namespace mddf;
  m.def("descend_on_simplex", &call_descend_on_simplex, arg("columns").noconvert(),
        arg("offset").noconvert(), arg("batches").noconvert(), arg("start").noconvert(),
        arg("step"), arg("target"), arg("below"), arg("above"),
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
