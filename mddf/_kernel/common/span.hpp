// View of contiguous values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mddf {

template <class T>
struct Span {
  const T* data = nullptr;
  int64_t size = 0;

  Span() = default;
  Span(const T* data, int64_t size) : data(data), size(size) {}
  Span(const std::vector<T>& values)
      : data(values.data()), size(static_cast<int64_t>(values.size())) {}

  const T* begin() const { return data; }
  const T* end() const { return data + size; }
  const T& operator[](int64_t i) const { return data[i]; }
  const T& back() const { return data[size - 1]; }
  bool empty() const { return size == 0; }
};

}  // namespace mddf
