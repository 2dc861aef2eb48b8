// Functions that are compiled twice: for processors with AVX2 and for all others.
//
// All other code runs on every processor of a platform. Microsoft's compiler and clang-cl build
// only the plain loops, because they lack the attributes or the function that queries the
// processor.
#pragma once

#include <cstdlib>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_MSC_VER)
#define MDDF_AVX2 1
#include <immintrin.h>
#define MDDF_TARGET_AVX2 __attribute__((target("avx2,popcnt")))
#endif

#if defined(__GNUC__) && !defined(_MSC_VER)
#define MDDF_INLINE inline __attribute__((always_inline))
#define MDDF_INLINED __attribute__((always_inline))  // for lambdas
#define MDDF_APART __attribute__((noinline))
#else
#define MDDF_INLINE inline
#define MDDF_INLINED
#define MDDF_APART
#endif

namespace mddf::simd {

// Whether wide vectors are built in, the processor has them, and the environment variable
// MDDF_WIDE_VECTORS was not 0 at the first call.
inline bool supported() {
#ifdef MDDF_AVX2
  static const bool is_supported = [] {
    const char* wanted = std::getenv("MDDF_WIDE_VECTORS");
    return (wanted == nullptr || std::strcmp(wanted, "0") != 0) && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("popcnt");
  }();
  return is_supported;
#else
  return false;
#endif
}

#ifdef MDDF_AVX2
template <class Work>
MDDF_TARGET_AVX2 auto call_avx2(const Work& work) {
  return work();
}
#endif
// Returns work(). A lambda that is MDDF_INLINED is also compiled for wide vectors.
template <class Work>
auto with_vectors([[maybe_unused]] bool use_simd, const Work& work) {
#ifdef MDDF_AVX2
  if (use_simd) return call_avx2(work);
#endif
  return work();
}

// Calls work(is_wide) with a compile-time constant, for loops that choose their vectors by it.
template <class Work>
void with_width(const Work& work) {
#ifdef MDDF_AVX2
  if (supported()) return call_avx2([&]() MDDF_INLINED { work(std::true_type{}); });
#endif
  work(std::false_type{});
}

}  // namespace mddf::simd
