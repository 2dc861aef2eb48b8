#include <nanobind/nanobind.h>

#include "boosting.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of mddf.";
    mddf::boosting::bind_boosting(m);
}
