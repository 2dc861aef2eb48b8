#include "common/elementary.hpp"
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

namespace mddf {
namespace {

using nb::arg;

template <double (*function)(double)>
Out<double, 1> of_each(In<double, 1> values) {
  const auto n = static_cast<int64_t>(values.shape(0));
  std::vector<double> results(values.shape(0));
  without_gil(nullptr, [&](Interrupt& interrupt) {
    for (int64_t i = 0; i < n; ++i) {
      if (i % 4096 == 0) interrupt.poll(4096 * 10);
      results[i] = function(values.data()[i]);
    }
  });
  return to_numpy(std::move(results));
}

}  // namespace
}  // namespace mddf

void bind_elementary(nanobind::module_& m) {
  using namespace mddf;
  m.def("exp", &of_each<exponential>, arg("values").noconvert(),
        R"(Return e to the power of each value: the same bits on every processor.

Parameters
----------
values : float64 array of shape (n,))");
  m.def("log", &of_each<logarithm>, arg("values").noconvert(),
        R"(Return the natural logarithm of each value: the same bits on every processor.

Parameters
----------
values : float64 array of shape (n,)
    The logarithm of 0 is -infinity; of negative values, NaN.)");
}
