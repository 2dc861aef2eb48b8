#include "bindings/boosting.hpp"
#include "bindings/call.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_binning(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_trees(nb::module_& m);

void bind_calls(nb::module_& m) {
  using mddf::Cancel;
  nb::exception<mddf::Cancelled>(m, "Cancelled", PyExc_RuntimeError);
  nb::class_<Cancel>(m, "Cancel")
      .def(nb::init<>())
      .def("stop", &Cancel::stop)
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple()); });
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { Cancel::at_exit().stop(); }));
}

NB_MODULE(_core, m) {
  m.doc() = "Compiled core of mddf.";
  // Models that something still holds when Python ends, such as a traceback, are no leaks.
  nb::set_leak_warnings(false);
  bind_calls(m);
  bind_binning(m);
  bind_trees(m);
  bind_growing(m);
  mddf::boosting::bind_boosting(m);
}
