// Converts NumPy arrays to checked views, and results to NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/span.hpp"

namespace mddf {

namespace nb = nanobind;

template <class T, int kDim>
using In = nb::ndarray<const T, nb::ndim<kDim>, nb::c_contig, nb::device::cpu>;
template <class T, int kDim>
using InOut = nb::ndarray<T, nb::ndim<kDim>, nb::c_contig, nb::device::cpu>;
template <class T, int kDim>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<kDim>>;

template <class T>
Span<T> as_span(const In<T, 1>& values) {
  return {values.data(), static_cast<int64_t>(values.shape(0))};
}
template <class T>
const T* data_or_null(const std::optional<In<T, 1>>& values) {
  return values ? values->data() : nullptr;
}

[[noreturn]] inline void refuse(const std::string& message) {
  throw nb::value_error(message.c_str());
}

// Messages are literals, which become strings only on failure: some checks run for every column.
template <class Message>
void check(bool holds, const Message& message) {
  if (!holds) refuse(message);
}

inline void check_length(const char* name, size_t got, size_t expected) {
  if (got != expected)
    refuse(std::string(name) + " must have length " + std::to_string(expected) + ", got " +
           std::to_string(got));
}

inline void check_range(const char* name, int64_t got, int64_t least, int64_t most) {
  if (got < least || got > most)
    refuse(std::string(name) + ": expected " + std::to_string(least) + " to " +
           std::to_string(most) + ", got " + std::to_string(got));
}

inline void check_at_least(const char* name, int64_t got, int64_t least) {
  if (got < least)
    refuse(std::string(name) + ": expected at least " + std::to_string(least) + ", got " +
           std::to_string(got));
}

// Checks the arguments `first` and `last`, a range of n rows or the like.
inline void check_part(int64_t first, int64_t last, int64_t n, const char* of) {
  if (!(0 <= first && first <= last && last <= n))
    refuse(std::string("first, last: expected a range of ") + of);
}

// Refuses the first value that is not allowed. The message is built only on failure: there may be
// many values, and no other thread can run Python code meanwhile.
template <class T, class Allowed>
void check_each(const char* name, const In<T, 1>& values, const char* expected, Allowed allowed) {
  for (size_t i = 0; i < values.shape(0); ++i)
    if (!allowed(values.data()[i]))
      refuse(std::string(name) + ": expected " + expected + ", got " +
             std::to_string(values.data()[i]) + " at position " + std::to_string(i));
}

template <class Array>
void check_finite(const char* name, const Array& values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values.data()[i]))
      refuse(std::string(name) + ": expected finite numbers, got " +
             std::to_string(values.data()[i]) + " at position " + std::to_string(i));
}

// Gives a vector to NumPy without a copy; `const T` makes a read-only array.
template <class Element, int kDim = 1, class T>
Out<Element, kDim> to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<Element, kDim>(owned->data(), shape, owner);
}
template <class T>
Out<T, 1> to_numpy(std::vector<T> values) {
  const size_t size = values.size();
  return to_numpy<T>(std::move(values), {size});
}

// Returns an argument as a read-only NumPy array on the same memory.
template <class Array>
using Shared = nb::ndarray<nb::numpy, typename Array::Scalar>;

template <class... Arguments>
auto shared(const nb::ndarray<Arguments...>& values) {
  using Array = nb::ndarray<Arguments...>;
  using Result = Shared<Array>;
  static_assert(std::is_const_v<typename Result::Scalar>);
  std::vector<size_t> shape(values.ndim());
  for (size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = values.shape(axis);
  nb::capsule owner(new Array(values), [](void* p) noexcept { delete static_cast<Array*>(p); });
  return Result(values.data(), shape.size(), shape.data(), owner);
}
template <class Array>
std::optional<Shared<Array>> shared(const std::optional<Array>& values) {
  if (!values) return std::nullopt;
  return shared(*values);
}

}  // namespace mddf
