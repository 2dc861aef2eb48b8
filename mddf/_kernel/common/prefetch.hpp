// Memory that will be read soon.
#pragma once

#include "common/wide.hpp"

namespace mddf {

// Lets memory come into the second cache: far more lines can be on their way to it than to the
// first one. Compilers leave out calls of a function that seems to do nothing: it must be inline.
MDDF_INLINE void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address, 0, 2);
#else
  (void)address;
#endif
}

}  // namespace mddf
