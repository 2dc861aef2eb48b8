#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "logistic/features.hpp"
#include "logistic/fit.hpp"

namespace mddf {
namespace {

using nb::arg;

void check_positive(const char* name, double value) {
  if (!(value > 0 && std::isfinite(value)))
    refuse(std::string(name) + ": expected a finite number above 0, got " + std::to_string(value));
}

nb::typed<nb::tuple, Out<double, 2>, Out<double, 2>> kernel_features(In<double, 2> kernel,
                                                                     double jitter) {
  const auto n = static_cast<int64_t>(kernel.shape(0)), m = static_cast<int64_t>(kernel.shape(1));
  check_at_least("columns of kernel", m, 1);
  check_at_least("rows of kernel", n, m);
  check_finite("kernel", kernel);
  check_positive("jitter", jitter);
  auto result = without_gil(nullptr, [&](Interrupt& interrupt) {
    return logistic::features(kernel.data(), n, m, jitter, interrupt);
  });
  return nb::make_tuple(
      to_numpy<double, 2>(std::move(result.values), {kernel.shape(0), kernel.shape(1)}),
      to_numpy<double, 2>(std::move(result.root), {kernel.shape(1), kernel.shape(1)}));
}

Out<double, 2> solve_transposed(In<double, 2> root, In<double, 2> rows) {
  const size_t m = root.shape(0), n = rows.shape(0);
  check_length("columns of root", root.shape(1), m);
  check_length("columns of rows", rows.shape(1), m);
  std::vector<double> solutions;
  for (size_t i = 0; i < n; ++i) {
    const auto solution =
        logistic::solve_transposed(root.data(), rows.data() + i * m, static_cast<int64_t>(m));
    solutions.insert(solutions.end(), solution.begin(), solution.end());
  }
  return to_numpy<double, 2>(std::move(solutions), {n, m});
}

Out<double, 2> fit_logistic(In<double, 2> features, In<int32_t, 1> labels, In<double, 1> weights,
                            In<double, 1> offsets, In<double, 2> start, double penalty,
                            double tolerance) {
  const size_t n_scores = start.shape(0), n_features = start.shape(1);
  check_at_least("rows of features", static_cast<int64_t>(features.shape(0)), 1);
  check_at_least("columns of features", static_cast<int64_t>(n_features), 1);
  check_at_least("rows of start", static_cast<int64_t>(n_scores), 1);
  check_length("columns of start", n_features, features.shape(1));
  check_length("labels", labels.shape(0), features.shape(0));
  check_length("weights", weights.shape(0), features.shape(0));
  check_length("offsets", offsets.shape(0), n_scores);
  check_finite("features", features);
  check_finite("weights", weights);
  check_finite("offsets", offsets);
  check_finite("start", start);
  const auto n_classes = static_cast<int32_t>(n_scores == 1 ? 2 : n_scores);
  check_each("labels", labels, "classes", [&](int32_t c) { return c >= 0 && c < n_classes; });
  check_each("weights", weights, "numbers from 0 on", [](double w) { return w >= 0; });
  check_positive("penalty", penalty);
  check_positive("tolerance", tolerance);
  const logistic::Rows rows{features.data(), labels.data(), weights.data(),
                            static_cast<int64_t>(features.shape(0)),
                            static_cast<int64_t>(n_features)};
  const logistic::Options options{offsets.data(), static_cast<int64_t>(n_scores), penalty,
                                  tolerance};
  std::vector<double> coefficients(start.data(), start.data() + start.size());
  without_gil(nullptr,
              [&](Interrupt& interrupt) { logistic::fit(rows, options, coefficients, interrupt); });
  return to_numpy<double, 2>(std::move(coefficients), {n_scores, n_features});
}

}  // namespace
}  // namespace mddf

void bind_logistic(nanobind::module_& m) {
  using namespace mddf;
  m.def("kernel_features", &kernel_features, arg("kernel").noconvert(), arg("jitter"),
        R"(Compute features whose inner products are a kernel; the same bits on every processor.

Parameters
----------
kernel : float64 array of shape (n, n_landmarks)
    Kernel of rows and landmarks, which are the first rows.
jitter : float
    Added to the diagonal of the landmarks' kernel.

Returns
-------
features : float64 array of shape (n, n_landmarks)
root : float64 array of shape (n_landmarks, n_landmarks)
    Cholesky factor of the landmarks' kernel, lower triangular.)");
  m.def("solve_transposed", &solve_transposed, arg("root").noconvert(), arg("rows").noconvert(),
        R"(Solve ``root.T @ x = row`` for each row; the same bits on every processor.

Parameters
----------
root : float64 array of shape (m, m)
    Lower triangular.
rows : float64 array of shape (n, m))");
  m.def("fit_logistic", &fit_logistic, arg("features").noconvert(), arg("labels").noconvert(),
        arg("weights").noconvert(), arg("offsets").noconvert(), arg("start").noconvert(),
        arg("penalty"), arg("tolerance"),
        R"(Fit a logistic regression with a quadratic penalty; the same bits on every processor.

Parameters
----------
features : float64 array of shape (n, n_features)
labels : int32 array of shape (n,)
weights : float64 array of shape (n,)
    From 0 on.
offsets : float64 array of shape (n_scores,)
    Constants that are added to the scores.
start : float64 array of shape (n_scores, n_features)
    First coefficients. With one score, it is that of the second of two classes; otherwise there
    is a score for each class.
penalty : float
    The weighted sum of losses has half of the squared coefficients times this number added to it.
tolerance : float
    The fit ends when the gradient's norm is at most this number times the sum of weights.

Returns
-------
float64 array of shape (n_scores, n_features)
    Coefficients.)");
}
