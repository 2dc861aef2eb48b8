// Arrays from Python, which are checked before they are read, and arrays for results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"

namespace mddf::boosting {

using Given = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
const char* type_name() {
  if (std::is_same_v<T, double>) {
    return "float64";
  }
  return sizeof(T) == 1 ? "int8" : (sizeof(T) == 4 ? "int32" : "int64");
}

// Description of an argument for error messages.
inline std::string described(const Given& array) {
  const auto code = static_cast<nb::dlpack::dtype_code>(array.dtype().code);
  const std::string kind = code == nb::dlpack::dtype_code::Int     ? "int"
                           : code == nb::dlpack::dtype_code::UInt  ? "uint"
                           : code == nb::dlpack::dtype_code::Float ? "float"
                                                                   : "type ";
  return kind + std::to_string(array.dtype().bits) + " of " + std::to_string(array.ndim()) +
         " dimension(s)";
}

// A view of an argument that was checked to have N dimensions, C order and the type T.
template <class T, std::size_t N>
class Array {
 public:
  Array(const Given& array, const char* name) {
    const bool right_type = array.ndim() == N && array.dtype() == nb::dtype<T>();
    bool fits = right_type;
    std::int64_t stride = 1;
    size_ = fits ? array.size() : 0;
    for (std::size_t axis = N; fits && axis-- > 0;) {
      shape_[axis] = array.shape(axis);
      fits = array.shape(axis) <= 1 || size_ == 0 || array.stride(axis) == stride;
      stride *= static_cast<std::int64_t>(array.shape(axis));
    }
    check(fits, std::string(name) + " must be a C-contiguous " + type_name<T>() + " array of " +
                    std::to_string(N) + " dimension(s); got " +
                    (right_type ? "one with gaps or another order" : described(array)));
    data_ = static_cast<const T*>(array.data());
  }

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t shape(std::size_t axis) const { return shape_[axis]; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t shape_[N] = {};
};

template <class T, std::size_t N>
void require_finite(const Array<T, N>& array, const char* name) {
  const bool finite = std::all_of(array.data(), array.data() + array.size(),
                                  [](T value) { return std::isfinite(value); });
  check(finite, std::string(name) + " must be finite");
}

}  // namespace mddf::boosting
