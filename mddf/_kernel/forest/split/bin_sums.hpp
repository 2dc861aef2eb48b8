// Running sums of class weights over bins, and the best threshold by them. Uses AVX2 if the
// processor has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/bits.hpp"
#include "common/simd.hpp"

namespace mddf::simd {

// Converts to double. Counts stay below 2^31, and processors convert signed integers faster.
MDDF_INLINE double to_double(uint32_t count) { return static_cast<int32_t>(count); }
MDDF_INLINE double to_double(double weight) { return weight; }

// The running sums that Gini needs. left[c] is the weight of class c up to a bin. After bin b,
// terms[b] is the sum of left[c]^2 over classes, cross_terms[b] the sum of left[c] * total[c], and
// weight_left[b] the sum of left[c]. Each array has kMaxSums places.
constexpr int kMaxSums = 256 + 4;
struct BinSums {
  double *terms, *cross_terms, *weight_left;
};

// The sums for the weights that start on the left. n_classes is a multiple of four.
struct StartSums {
  double terms = 0, cross_terms = 0, weight_left = 0;

  StartSums(const double* left, const double* total, int n_classes) {
    for (int c = 0; c < n_classes; ++c) {
      terms += left[c] * left[c];
      cross_terms += left[c] * total[c];
      weight_left += left[c];
    }
  }
};

template <class Weight>
void sweep_plain(const Weight* bins, int n_bins, int n_classes, const double* total, double* left,
                 BinSums sums) {
  StartSums sum(left, total, n_classes);
  for (int b = 0; b < n_bins; ++b, bins += n_classes) {
    double terms_gained[4] = {0, 0, 0, 0}, cross_gained[4] = {0, 0, 0, 0},
           weights[4] = {0, 0, 0, 0};
    for (int first = 0; first < n_classes; first += 4) {
      for (int c = 0; c < 4; ++c) {
        const double weight = to_double(bins[first + c]), before = left[first + c];
        terms_gained[c] += weight * (before + before + weight);
        cross_gained[c] += weight * total[first + c];
        weights[c] += weight;
        left[first + c] = before + weight;
      }
    }
    sums.terms[b] = sum.terms +=
        (terms_gained[0] + terms_gained[1]) + (terms_gained[2] + terms_gained[3]);
    sums.cross_terms[b] = sum.cross_terms +=
        (cross_gained[0] + cross_gained[1]) + (cross_gained[2] + cross_gained[3]);
    sums.weight_left[b] = sum.weight_left += (weights[0] + weights[1]) + (weights[2] + weights[3]);
  }
}

constexpr int kUnknown = -1;

// Returns the first bin in [from, end) after which a split scores more than `best` by Gini, or
// `end`. `weight` is the weight of the node, and `total_terms` the sum of total[c]^2.
inline int find_better(BinSums sums, double total_terms, double weight, int from, int end,
                       double best) {
  for (; from < end; ++from) {
    const double left = sums.weight_left[from], right = weight - left, denominator = left * right;
    const double terms = sums.terms[from],
                 terms_right = total_terms - 2 * sums.cross_terms[from] + terms;
    const double numerator = terms * right + terms_right * left;
    if (denominator > 0 && numerator > best * denominator) return from;
  }
  return end;
}

#ifdef MDDF_AVX2

MDDF_TARGET_AVX2 inline __m256d load_doubles(const uint32_t* counts) {
  return _mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(counts)));
}
MDDF_TARGET_AVX2 inline __m256d load_doubles(const double* weights) {
  return _mm256_loadu_pd(weights);
}

// kFours is the number of groups of four classes, or 0 if it is not known at compile time. If it is
// known, `left` and `total` stay in registers.
template <int kFours, class Weight>
MDDF_TARGET_AVX2 void sweep_avx2(const Weight* bins, int n_bins, int n_classes, const double* total,
                                 double* left, BinSums to) {
  const StartSums start(left, total, n_classes);
  __m128d sums = _mm_setr_pd(start.terms, start.cross_terms);
  double weight_left = start.weight_left;
  __m256d lefts[kFours ? kFours : 1], totals[kFours ? kFours : 1];
  for (int j = 0; j < kFours; ++j) {
    lefts[j] = _mm256_loadu_pd(left + 4 * j);
    totals[j] = _mm256_loadu_pd(total + 4 * j);
  }
  for (int b = 0; b < n_bins; ++b, bins += n_classes) {
    __m256d terms_gained = _mm256_setzero_pd(), cross_gained = terms_gained, weights = terms_gained;
    const auto add = [&](__m256d weight, __m256d before, __m256d all) MDDF_TARGET_AVX2 {
      terms_gained += weight * (before + before + weight);
      cross_gained += weight * all;
      weights += weight;
      return before + weight;
    };
    if constexpr (kFours > 0) {
      for (int j = 0; j < kFours; ++j)
        lefts[j] = add(load_doubles(bins + 4 * j), lefts[j], totals[j]);
    } else {
      for (int c = 0; c < n_classes; c += 4)
        _mm256_storeu_pd(left + c, add(load_doubles(bins + c), _mm256_loadu_pd(left + c),
                                       _mm256_loadu_pd(total + c)));
    }
    // Each sum is (x[0] + x[1]) + (x[2] + x[3]), as in sweep_plain: the bits must be equal.
    const __m256d both = _mm256_hadd_pd(terms_gained, cross_gained),
                  twice = _mm256_hadd_pd(weights, weights);
    sums += _mm256_castpd256_pd128(both) + _mm256_extractf128_pd(both, 1);
    weight_left += _mm256_cvtsd_f64(twice) + _mm_cvtsd_f64(_mm256_extractf128_pd(twice, 1));
    _mm_storel_pd(to.terms + b, sums);
    _mm_storeh_pd(to.cross_terms + b, sums);
    to.weight_left[b] = weight_left;
  }
}

// Loads up to 16 counts of at most 16 bits, a multiple of four. Their order in the vector is
// arbitrary, but always the same.
template <int kCounts>
MDDF_TARGET_AVX2 __m256i load_narrow(const uint32_t* counts) {
  const auto load = [counts](auto first) MDDF_TARGET_AVX2 {
    const auto* at = counts + first;
    const __m256i none = _mm256_setzero_si256();
    if constexpr (kCounts - first >= 8)
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    else if constexpr (kCounts - first == 4)
      return _mm256_inserti128_si256(none, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)),
                                     0);
    else
      return none;
  };
  return _mm256_packus_epi32(load(std::integral_constant<int, 0>()),
                             load(std::integral_constant<int, 8>()));
}
// Adds up the eight numbers of each of four vectors.
MDDF_TARGET_AVX2 inline __m256d sum_each(const __m256i* of) {
  const __m256i halves =
      _mm256_hadd_epi32(_mm256_hadd_epi32(of[0], of[1]), _mm256_hadd_epi32(of[2], of[3]));
  return _mm256_cvtepi32_pd(
      _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}

// sweep() for small counts, with 16-bit products. The counts `first`, unless null, are on the left
// from the start. The weight of the node must be at most kMaxNarrow, so that sums of products stay
// below 2^31.
constexpr double kMaxNarrow = (1 << 14) - 1;
template <int kClasses>
MDDF_TARGET_AVX2 void sweep_narrow(const uint32_t* bins, int n_bins, const uint32_t* total,
                                   const uint32_t* first, BinSums to) {
  constexpr int kAtOnce = std::min(kClasses, 16), kVectors = kClasses / kAtOnce;
  const __m256i one = _mm256_set1_epi16(1);
  __m256i lefts[kVectors], totals[kVectors];
  __m256i terms = _mm256_setzero_si256(), cross_terms = terms, weight_left = terms;
  const auto add = [&](int j, __m256i weight) MDDF_TARGET_AVX2 {
    const __m256i after = _mm256_add_epi16(lefts[j], weight);
    terms = _mm256_add_epi32(terms, _mm256_madd_epi16(weight, _mm256_add_epi16(lefts[j], after)));
    cross_terms = _mm256_add_epi32(cross_terms, _mm256_madd_epi16(weight, totals[j]));
    weight_left = _mm256_add_epi32(weight_left, _mm256_madd_epi16(weight, one));
    lefts[j] = after;
  };
  for (int j = 0; j < kVectors; ++j) {
    totals[j] = load_narrow<kAtOnce>(total + kAtOnce * j);
    lefts[j] = _mm256_setzero_si256();
    if (first) add(j, load_narrow<kAtOnce>(first + kAtOnce * j));
  }
  for (int b = 0; b < n_bins; b += 4) {
    __m256i all_terms[4], all_cross_terms[4], all_weight_left[4];
    for (int i = 0; i < 4; ++i) {
      const uint32_t* bin = bins + kClasses * std::min(b + i, n_bins - 1);
      for (int j = 0; j < kVectors; ++j) add(j, load_narrow<kAtOnce>(bin + kAtOnce * j));
      all_terms[i] = terms;
      all_cross_terms[i] = cross_terms;
      all_weight_left[i] = weight_left;
    }
    _mm256_storeu_pd(to.terms + b, sum_each(all_terms));
    _mm256_storeu_pd(to.cross_terms + b, sum_each(all_cross_terms));
    _mm256_storeu_pd(to.weight_left + b, sum_each(all_weight_left));
  }
}

// Converts integers below 2^52.
MDDF_TARGET_AVX2 inline __m256d to_doubles(__m256i numbers) {
  const __m256d large = _mm256_set1_pd(0x1p52);
  return _mm256_castsi256_pd(_mm256_or_si256(numbers, _mm256_castpd_si256(large))) - large;
}

// sweep() for groups whose words hold the weights of kClasses classes, `bits` bits each. Reads four
// words at a time.
template <int kClasses>
MDDF_TARGET_AVX2 void sweep_words(const uint64_t* words, int n_words, int bits, const double* total,
                                  uint64_t first, BinSums to) {
  const __m256i mask = _mm256_set1_epi64x((int64_t{1} << bits) - 1);
  __m256i before = _mm256_set1_epi64x(static_cast<int64_t>(first));
  for (int g = 0; g < n_words; g += 4) {
    __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + g));
    left = _mm256_add_epi64(left, _mm256_slli_si256(left, 8));
    const __m256i half = _mm256_permute4x64_epi64(left, 0x50);
    left = _mm256_add_epi64(left, _mm256_blend_epi32(_mm256_setzero_si256(), half, 0xf0));
    left = _mm256_add_epi64(left, before);
    before = _mm256_permute4x64_epi64(left, 0xff);
    __m256d terms = _mm256_setzero_pd(), cross_terms = terms, weight_left = terms;
    for (int c = 0; c < kClasses; ++c) {
      const __m256d weight = to_doubles(_mm256_and_si256(left, mask));
      left = _mm256_srli_epi64(left, bits);
      terms += weight * weight;
      cross_terms += weight * total[c];
      weight_left += weight;
    }
    _mm256_storeu_pd(to.terms + g, terms);
    _mm256_storeu_pd(to.cross_terms + g, cross_terms);
    _mm256_storeu_pd(to.weight_left + g, weight_left);
  }
}

MDDF_TARGET_AVX2 inline int find_best_avx2(BinSums sums, double total_terms, double weight,
                                           int from, int end, double best, double* scores) {
  const __m256d none = _mm256_set1_pd(-std::numeric_limits<double>::infinity());
  __m256d most = none;
  for (int b = from; b < end; b += 4) {
    const __m256d left = _mm256_loadu_pd(sums.weight_left + b), right = weight - left;
    const __m256d terms = _mm256_loadu_pd(sums.terms + b), denominator = left * right;
    const __m256d terms_right = total_terms - 2.0 * _mm256_loadu_pd(sums.cross_terms + b) + terms;
    const __m256d score = (terms * right + terms_right * left) / denominator;
    const __m256d splits = _mm256_cmp_pd(denominator, _mm256_setzero_pd(), _CMP_GT_OQ);
    const __m256i left_over = _mm256_set1_epi64x(end - b), at = _mm256_setr_epi64x(0, 1, 2, 3);
    const __m256d is_in_range = _mm256_castsi256_pd(_mm256_cmpgt_epi64(left_over, at));
    const __m256d allowed_scores =
        _mm256_blendv_pd(none, score, _mm256_and_pd(splits, is_in_range));
    _mm256_storeu_pd(scores + b, allowed_scores);
    most = _mm256_max_pd(most, allowed_scores);
  }
  const __m128d half = _mm_max_pd(_mm256_castpd256_pd128(most), _mm256_extractf128_pd(most, 1));
  const double top = std::max(half[0], half[1]), almost_top = top * (1 - 0x1p-50);
  if (!(top > best)) return end;
  if (best >= almost_top) return kUnknown;
  for (int b = from;; b += 4) {
    const int at_top = _mm256_movemask_pd(
        _mm256_cmp_pd(_mm256_loadu_pd(scores + b), _mm256_set1_pd(almost_top), _CMP_GE_OQ));
    if (at_top) return scores[b + lowest_bit(at_top)] == top ? b + lowest_bit(at_top) : kUnknown;
  }
}

#endif

template <class Weight>
void sweep(const Weight* bins, int n_bins, int n_classes, const double* total, double* left,
           BinSums sums, [[maybe_unused]] bool use_simd) {
#ifdef MDDF_AVX2
  if (use_simd) {
    const auto by_fours = [&](auto fours) {
      sweep_avx2<fours>(bins, n_bins, n_classes, total, left, sums);
    };
    if (n_classes == 4) return by_fours(std::integral_constant<int, 1>{});
    if (n_classes == 8) return by_fours(std::integral_constant<int, 2>{});
    if (n_classes == 12) return by_fours(std::integral_constant<int, 3>{});
    return by_fours(std::integral_constant<int, 0>{});
  }
#endif
  sweep_plain(bins, n_bins, n_classes, total, left, sums);
}

// sweep() for small counts, with the counts `first`, unless null, on the left from the start.
// Returns false if the number of classes or the weight of the node is not supported.
inline bool sweep_narrow([[maybe_unused]] const uint32_t* bins, [[maybe_unused]] int n_bins,
                         [[maybe_unused]] int n_classes, [[maybe_unused]] double weight,
                         [[maybe_unused]] const uint32_t* total,
                         [[maybe_unused]] const uint32_t* first, [[maybe_unused]] BinSums sums,
                         [[maybe_unused]] bool use_simd) {
#ifdef MDDF_AVX2
  if (!use_simd || weight > kMaxNarrow) return false;
  const auto by_classes = [&](auto classes) {
    if (classes == n_classes) sweep_narrow<classes>(bins, n_bins, total, first, sums);
    return classes == n_classes;
  };
  return by_classes(std::integral_constant<int, 4>()) ||
         by_classes(std::integral_constant<int, 8>()) ||
         by_classes(std::integral_constant<int, 12>()) ||
         by_classes(std::integral_constant<int, 16>()) ||
         by_classes(std::integral_constant<int, 32>());
#else
  return false;
#endif
}

// sweep() for groups that hold the weights of two or three classes in one word, `bits` bits each.
// Reads four words at a time. Returns false without AVX2.
inline bool sweep_words([[maybe_unused]] const uint64_t* words, [[maybe_unused]] int n_words,
                        [[maybe_unused]] int bits, [[maybe_unused]] int n_classes,
                        [[maybe_unused]] const double* total, [[maybe_unused]] uint64_t first,
                        [[maybe_unused]] BinSums sums, [[maybe_unused]] bool use_simd) {
#ifdef MDDF_AVX2
  if (!use_simd) return false;
  if (n_classes == 2)
    sweep_words<2>(words, n_words, bits, total, first, sums);
  else
    sweep_words<3>(words, n_words, bits, total, first, sums);
  return true;
#else
  return false;
#endif
}

// Returns the bin of the best split, or `end` if none scores more than `best`. The result is the
// same as calling find_better repeatedly with the best score so far. Returns kUnknown without AVX2,
// or if other scores are within rounding error of the best; then the caller must use find_better.
// Fills `scores`.
inline int find_best([[maybe_unused]] BinSums sums, [[maybe_unused]] double total_terms,
                     [[maybe_unused]] double weight, [[maybe_unused]] int from,
                     [[maybe_unused]] int end, [[maybe_unused]] double best,
                     [[maybe_unused]] double* scores, [[maybe_unused]] bool use_simd) {
#ifdef MDDF_AVX2
  if (use_simd) return find_best_avx2(sums, total_terms, weight, from, end, best, scores);
#endif
  return kUnknown;
}

}  // namespace mddf::simd
