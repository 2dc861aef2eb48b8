// Python bindings of the boosting kernel.
#pragma once

#include <nanobind/nanobind.h>

namespace mddf::boosting {

void bind_boosting(nanobind::module_& m);

}  // namespace mddf::boosting
