// Prefetching of memory.
#pragma once

#include "common/simd.hpp"

namespace mddf {

// Prefetches memory into the second-level cache, which accepts far more outstanding loads than the
// first. The function must be inline, because compilers drop calls of a function without effects.
MDDF_INLINE void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address, 0, 2);
#else
  (void)address;
#endif
}

// Prefetches memory that is needed soon into the first-level cache.
MDDF_INLINE void prefetch_near(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address, 0, 3);
#else
  (void)address;
#endif
}

}  // namespace mddf
