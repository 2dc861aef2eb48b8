// Memory for arrays that grow.
#pragma once

#include <cstdint>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace mddf {

// Reserves n values, in large pages where the system gives them on request: it provides a
// page at a time, when it is first written to.
template <class T>
void reserve_large(std::vector<T>& values, int64_t n) {
  values.reserve(n);
#ifdef __linux__
  constexpr uintptr_t kWorthIt = uintptr_t{1} << 22;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));  // 4 KB to 64 KB
  const auto begin = reinterpret_cast<uintptr_t>(values.data());
  const uintptr_t first = (begin + page - 1) / page * page, end = begin + n * sizeof(T);
  if (end - begin >= kWorthIt)
    madvise(reinterpret_cast<void*>(first), (end - first) / page * page, MADV_HUGEPAGE);
#endif
}

// Reserves n times what is there and a little more. What is not used of it, the system does
// not provide.
template <class T>
void reserve_times(std::vector<T>& values, int64_t n) {
  if (n > 1) reserve_large(values, values.size() * n + values.size() * n / 16);
}

// Gives back what is reserved but not used if it is much, which takes a copy.
template <class T>
void shrink_if_loose(std::vector<T>& values) {
  if (values.capacity() > values.size() + values.size() / 8) values.shrink_to_fit();
}

}  // namespace mddf
