// Functions that are compiled twice, for the processors that have wider vectors and for all others.
#pragma once

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define MDDF_AVX2 1
#include <immintrin.h>
#define MDDF_TARGET_AVX2 __attribute__((target("avx2,popcnt")))
#define MDDF_INLINE inline __attribute__((always_inline))
#else
#define MDDF_INLINE inline
#endif

namespace mddf::simd {

inline bool supported() {
#ifdef MDDF_AVX2
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

}  // namespace mddf::simd
