// NumPy arrays at the border: checked views in, owned arrays out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "forest/samples.hpp"

namespace mddf {

namespace nb = nanobind;

template <class T, int kDim>
using In = nb::ndarray<const T, nb::ndim<kDim>, nb::c_contig, nb::device::cpu>;
template <class T, int kDim>
using InOut = nb::ndarray<T, nb::ndim<kDim>, nb::c_contig, nb::device::cpu>;
template <class T, int kDim>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<kDim>>;

using InBins = In<uint8_t, 2>;

inline BinMatrix as_matrix(const InBins& bins) {
  return {bins.data(), static_cast<int64_t>(bins.shape(0)), static_cast<int64_t>(bins.shape(1))};
}

[[noreturn]] inline void refuse(const std::string& message) {
  throw nb::value_error(message.c_str());
}

inline void check(bool holds, const std::string& message) {
  if (!holds) refuse(message);
}

inline void check_length(const char* name, size_t got, size_t expected) {
  if (got != expected)
    refuse(std::string(name) + ": expected length " + std::to_string(expected) + ", got " +
           std::to_string(got));
}

// Hands a vector over to NumPy without a copy; `const T` for an array that cannot be written.
template <class Element, class T>
Out<Element, 1> handed_over(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const size_t size = owned->size();
  return Out<Element, 1>(owned->data(), {size}, owner);
}
template <class T>
Out<T, 1> to_numpy(std::vector<T> values) {
  return handed_over<T>(std::move(values));
}

}  // namespace mddf
