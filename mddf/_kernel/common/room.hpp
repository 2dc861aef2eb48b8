// Memory for arrays that grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mddf {

// Asks the system for large pages, as NumPy does: a large array then costs a few interrupts in
// place of thousands.
inline void ask_for_large_pages(void* memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t kPage = 4096;
  constexpr size_t kFewest = size_t{1} << 22;
  if (bytes < kFewest) return;
  const uintptr_t first = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(memory) + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// Makes room for n times what is there and a little more. What is not used of it, the system does
// not provide.
template <class T>
void make_room(std::vector<T>& values, int64_t n) {
  values.reserve(values.size() * n + values.size() * n / 16);
  ask_for_large_pages(values.data(), values.capacity() * sizeof(T));
}

// Gives back room that is not used if it is much, which takes a copy.
template <class T>
void give_back(std::vector<T>& values) {
  if (values.capacity() > values.size() + values.size() / 8) values.shrink_to_fit();
}

}  // namespace mddf
