// Functions that are compiled twice, for the processors that have wider vectors and for all others.
//
// All else is for the processors that every wheel of a platform runs on. Microsoft's compilers, and
// clang where it stands in for them, build the plain loops only: they have no such attributes, or
// no function that asks the processor.
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
#define MDDF_INLINED __attribute__((always_inline))  // of lambdas
#define MDDF_APART __attribute__((noinline))
#else
#define MDDF_INLINE inline
#define MDDF_INLINED
#define MDDF_APART
#endif

namespace mddf::simd {

// Whether wide vectors are built in, the processor has them, and MDDF_WIDE_VECTORS is not 0 in the
// environment, which is looked at once.
inline bool supported() {
#ifdef MDDF_AVX2
  static const bool found = [] {
    const char* wanted = std::getenv("MDDF_WIDE_VECTORS");
    return (wanted == nullptr || std::strcmp(wanted, "0") != 0) && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("popcnt");
  }();
  return found;
#else
  return false;
#endif
}

#ifdef MDDF_AVX2
template <class Work>
MDDF_TARGET_AVX2 void call_wide(const Work& work) {
  work();
}
#endif
// Calls work(), which is compiled for wide vectors, too, if it is a lambda that is MDDF_INLINED.
template <class Work>
void with_vectors([[maybe_unused]] bool wide, const Work& work) {
#ifdef MDDF_AVX2
  if (wide) return call_wide(work);
#endif
  work();
}

// Calls work(is_wide), whose argument is a type of that value, for loops that choose their vectors
// by it.
template <class Work>
void with_width(const Work& work) {
#ifdef MDDF_AVX2
  if (supported()) return call_wide([&]() MDDF_INLINED { work(std::true_type{}); });
#endif
  work(std::false_type{});
}

}  // namespace mddf::simd
