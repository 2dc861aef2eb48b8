// Memory for arrays that grow.
#pragma once

#include <cstdint>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace mddf {

// Reserves memory for n values, in large pages if the system supports them. The system provides a
// page when it is first written to.
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

// Reserves memory for slightly more than n times the present values. The system provides only the
// pages that are used.
template <class T>
void reserve_times(std::vector<T>& values, int64_t n) {
  if (n > 1) reserve_large(values, values.size() * n + values.size() * n / 16);
}

// Frees unused memory by a copy if there is much of it.
template <class T>
void shrink_if_loose(std::vector<T>& values) {
  if (values.capacity() > values.size() + values.size() / 8) values.shrink_to_fit();
}

}  // namespace mddf
