#include "bindings/call.hpp"
#include "common/simd.hpp"

#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

void bind_binning(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_divided(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_elementary(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_gradient(nb::module_& m);
void bind_logistic(nb::module_& m);
void bind_network(nb::module_& m);
void bind_shapley(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_boosting_paths(nb::module_& m);

void bind_calls(nb::module_& m) {
  using mddf::Cancel;
  nb::exception<mddf::Cancelled>(m, "Cancelled", PyExc_RuntimeError);
  nb::class_<Cancel>(m, "Cancel", "A request to stop, shared by all calls of a task.")
      .def(nb::init<>())
      .def("stop", &Cancel::stop,
           R"(Stop all calls with this object, and wait until they have raised Cancelled.)")
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple()); });
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { Cancel::at_exit().stop(); }));
}

// Description of the build for bug reports.
nb::dict build_options() {
  nb::dict options;
#if defined(__clang__)
  options["compiler"] = "clang " __clang_version__;
#elif defined(__GNUC__)
  options["compiler"] = "gcc " __VERSION__;
#elif defined(_MSC_VER)
  options["compiler"] = "msvc " + std::to_string(_MSC_FULL_VER);
#else
  options["compiler"] = "unknown";
#endif
#ifdef Py_LIMITED_API
  options["stable_abi"] = true;
#else
  options["stable_abi"] = false;
#endif
#ifdef MDDF_AVX2
  options["wide_vectors"] = "avx2";
#else
  options["wide_vectors"] = "none";
#endif
#ifdef MDDF_SANITIZE
  options["sanitizer"] = MDDF_SANITIZE;
#endif
  options["wide_vectors_in_use"] = mddf::simd::supported();
  return options;
}

NB_MODULE(_core, m) {
  m.doc() = R"(Compiled core.

Arrays must have exactly the named dtype and be C-contiguous, unless noted otherwise. All arguments
are checked before memory is read; invalid arguments raise ValueError or TypeError. Functions
release the GIL while they work.)";
  // Models that are still referenced when Python ends, for example by a traceback, are no leaks.
  nb::set_leak_warnings(false);
  bind_calls(m);
  bind_binning(m);
  bind_trees(m);
  bind_elementary(m);
  bind_descent(m);
  bind_growing(m);
  bind_divided(m);
  bind_gradient(m);
  bind_logistic(m);
  bind_network(m);
  bind_shapley(m);
  bind_boosting(m);
  bind_boosting_paths(m);
  m.def("build_options", &build_options,
        "Return the compiler and the target platform of the build.");
}
