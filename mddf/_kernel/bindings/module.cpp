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
  nb::class_<Cancel>(m, "Cancel", "A request to stop, shared by all calls that work on one thing.")
      .def(nb::init<>())
      .def("stop", &Cancel::stop,
           R"(Stop all calls that were given this, and wait until they have raised Cancelled.)")
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple()); });
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { Cancel::at_exit().stop(); }));
}

NB_MODULE(_core, m) {
  m.doc() = R"(Compiled core.

Arrays must have exactly the dtype named and be C-contiguous where nothing else is said; everything
is checked before memory is read, and what does not fit raises ValueError or TypeError. The GIL is
released while a function works.)";
  // Models that something still holds when Python ends, such as a traceback, are no leaks.
  nb::set_leak_warnings(false);
  bind_calls(m);
  bind_binning(m);
  bind_trees(m);
  bind_growing(m);
  mddf::boosting::bind_boosting(m);
}
