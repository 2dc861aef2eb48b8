#include <nanobind/nanobind.h>

#include "bindings/boosting.hpp"

namespace nb = nanobind;

void bind_binning(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_trees(nb::module_& m);

NB_MODULE(_core, m) {
  m.doc() = "Compiled core of mddf.";
  // Models that something still holds when Python ends, such as a traceback, are no leaks.
  nb::set_leak_warnings(false);
  bind_binning(m);
  bind_trees(m);
  bind_growing(m);
  mddf::boosting::bind_boosting(m);
}
