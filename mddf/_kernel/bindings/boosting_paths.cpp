// Python bindings of edges of weak learners, and of whole boosting runs over them.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "baselines/paths.hpp"
#include "baselines/vote.hpp"
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

namespace mddf::boosting {

using namespace nb::literals;

namespace {

template <class Value>
Out<double, 1> edges_of_learners(In<Value, 2> values, In<double, 1> signed_weight) {
  check_length("signed_weight", signed_weight.size(), values.shape(1));
  std::vector<double> edges(values.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    learner_edges(values.data(), values.shape(0), values.shape(1), signed_weight.data(),
                  edges.data(), interrupt);
  });
  return to_numpy(std::move(edges));
}

void check_sample(size_t n_rows, const In<double, 1>& y, const In<double, 1>& weight) {
  check(n_rows > 0, "values must have at least one column");
  check_length("y", y.size(), n_rows);
  check_length("weight", weight.size(), n_rows);
  check_finite("y", y);
  check_finite("weight", weight);
  check_each("weight", weight, "positive numbers", [](double w) { return w > 0.0; });
}

nb::tuple path_to_python(BoostingPath&& path) {
  return nb::make_tuple(to_numpy(std::move(path.learner)), to_numpy(std::move(path.step)),
                        to_numpy(std::move(path.objective)), to_numpy(std::move(path.edge)),
                        to_numpy(std::move(path.n_learners)));
}

// Calls a Python function during a long run.
Report report_to(const nb::callable& progress) {
  return [&progress](size_t n_rounds) {
    nb::gil_scoped_acquire acquire;
    progress(n_rounds);
  };
}

QuadPenalty penalty_named(const std::string& name) {
  if (name == "none") {
    return QuadPenalty::none;
  }
  if (name == "l1") {
    return QuadPenalty::l1;
  }
  if (name == "l2") {
    return QuadPenalty::l2;
  }
  check(name == "linf", "penalty must be 'none', 'l1', 'l2' or 'linf', got '" + name + "'");
  return QuadPenalty::linf;
}

template <class Value>
nb::tuple run_quadboost(In<Value, 2> values, In<double, 1> y, In<double, 1> weight,
                        const std::string& penalty, double lambda, double alpha_max,
                        int64_t n_rounds, double tolerance, const nb::callable& progress) {
  check_sample(values.shape(1), y, weight);
  if constexpr (!std::is_integral_v<Value>) check_finite("values", values);
  check(lambda >= 0.0 && std::isfinite(lambda),
        "lambda_ must be finite and >= 0, got " + std::to_string(lambda));
  check(alpha_max > 0.0, "alpha_max must be > 0, got " + std::to_string(alpha_max));
  check(n_rounds >= 0, "n_rounds must be >= 0, got " + std::to_string(n_rounds));
  check(tolerance >= 0.0, "tolerance must be >= 0, got " + std::to_string(tolerance));
  const QuadSettings settings{penalty_named(penalty), lambda, alpha_max,
                              static_cast<size_t>(n_rounds), tolerance};
  const Report report = report_to(progress);
  return path_to_python(without_gil(nullptr, [&](Interrupt& interrupt) {
    return quadboost_path(values.data(), values.shape(0), values.shape(1), y.data(), weight.data(),
                          settings, report, interrupt);
  }));
}

nb::tuple run_adaboost(In<int8_t, 2> values, In<double, 1> y, In<double, 1> weight,
                       int64_t n_rounds, double least_error, const nb::callable& progress) {
  check_sample(values.shape(1), y, weight);
  check(values.shape(0) > 0, "values must have at least one row");
  check(without_gil(nullptr,
                    [&](Interrupt& interrupt) {
                      return all_signs(values.data(), values.shape(0), values.shape(1), interrupt);
                    }),
        "values must be -1 or +1");
  check_each("y", y, "-1 or +1", [](double v) { return v == 1.0 || v == -1.0; });
  check(n_rounds >= 0, "n_rounds must be >= 0, got " + std::to_string(n_rounds));
  check(least_error > 0.0 && least_error < 0.5,
        "least_error must lie in (0, 0.5), got " + std::to_string(least_error));
  const Report report = report_to(progress);
  return path_to_python(without_gil(nullptr, [&](Interrupt& interrupt) {
    return adaboost_path(values.data(), values.shape(0), values.shape(1), y.data(), weight.data(),
                         static_cast<size_t>(n_rounds), least_error, report, interrupt);
  }));
}

template <class Value>
void bind_edges(nb::module_& m) {
  m.def("learner_edges", &edges_of_learners<Value>, "values"_a.noconvert(),
        "signed_weight"_a.noconvert(),
        R"(Inner products of the rows of `values`, shape (n_learners, n_rows), with `signed_weight`.

Parameters
----------
values : int8 or float64 array of shape (n_learners, n_rows)
    Values of learners on rows.
signed_weight : float64 array of shape (n_rows,)
    Weight times label.

Returns
-------
float64 array of shape (n_learners,)
    The edges.)");
}

template <class Value>
void bind_quadboost(nb::module_& m) {
  m.def("quadboost_path", &run_quadboost<Value>, "values"_a.noconvert(), "y"_a.noconvert(),
        "weight"_a.noconvert(), "penalty"_a, "lambda_"_a, "alpha_max"_a, "n_rounds"_a,
        "tolerance"_a, "progress"_a,
        R"(Run QuadBoost: greedy coordinate descent on the weighted quadratic risk plus a penalty.

Parameters
----------
values : int8 or float64 array of shape (n_learners, n_rows)
    Finite values of the learners.
y : float64 array of shape (n_rows,)
    Targets.
weight : float64 array of shape (n_rows,)
    Positive, sum 1.
penalty : {"none", "l1", "l2", "linf"}
    See QuadBoostClassifier.
lambda_ : float
    Strength of "l1" and "l2", >= 0.
alpha_max : float
    Largest absolute weight of "linf", > 0.
n_rounds : int
    Largest number of rounds.
tolerance : float
    Stop when the best decrease is no larger.
progress : callable
    Called repeatedly with the number of rounds since the last call.

Returns
-------
learner : int64 array of shape (n,)
    Learner whose weight changed in each of the n rounds.
step : float64 array of shape (n,)
    Change of its weight.
objective : float64 array of shape (n,)
    Objective after the round.
correlation : float64 array of shape (n,)
    Correlation of the learner with the residual before the round.
n_learners : int64 array of shape (n,)
    Number of learners with a nonzero weight after the round.)");
}

void bind_adaboost(nb::module_& m) {
  m.def("adaboost_path", &run_adaboost, "values"_a.noconvert(), "y"_a.noconvert(),
        "weight"_a.noconvert(), "n_rounds"_a, "least_error"_a, "progress"_a,
        R"(Run discrete AdaBoost over fixed learners; a negative edge takes the complement.

Parameters
----------
values : int8 array of shape (n_learners, n_rows)
    Values in {-1, +1}.
y : float64 array of shape (n_rows,)
    Labels in {-1, +1}.
weight : float64 array of shape (n_rows,)
    Positive, sum 1.
n_rounds : int
    Largest number of rounds; fewer if no learner is better than chance.
least_error : float
    Smaller errors are replaced by this value and end the run; in (0, 0.5).
progress : callable
    Called repeatedly with the number of rounds since the last call.

Returns
-------
learner, step, objective, edge, n_learners
    As in `quadboost_path`, with the weighted mean of exp(-y f) as objective and the edge in
    place of the correlation.)");
}

}  // namespace
}  // namespace mddf::boosting

void bind_boosting_paths(nanobind::module_& m) {
  using namespace mddf::boosting;
  bind_edges<int8_t>(m);
  bind_edges<double>(m);
  bind_quadboost<int8_t>(m);
  bind_quadboost<double>(m);
  bind_adaboost(m);
}
