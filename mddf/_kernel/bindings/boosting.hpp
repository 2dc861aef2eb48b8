// Python bindings of the boosting kernel.
#pragma once

#include <nanobind/nanobind.h>

namespace mddf::boosting {

// Searches for trees, and predictions by trees.
void bind_boosting(nanobind::module_& m);

// Edges of weak learners, and whole runs over them.
void bind_paths(nanobind::module_& m);

}  // namespace mddf::boosting
