// Scores all thresholds of a column at a node of at most 64 samples at once.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/simd.hpp"
#include "forest/data/samples.hpp"

#ifdef MDDF_AVX2

namespace mddf {

// Each sample has a lane. The lane stands for the threshold after the code of the sample. Samples
// with a higher code are on the right of it. Their weights take one byte per class, and the sums of
// the Gini terms take two bytes. If the node weighs at most kMaxWeight, single precision holds all
// these whole numbers exactly. The rounded best score is then the score of the best threshold.
class SmallSweep {
 public:
  static constexpr int64_t kMaxWeight = 255;

  // The codes of a column by lane, and the scores. A score is NaN if one side is empty. Lanes
  // without a sample have code 0.
  struct Column {
    alignas(32) std::array<int8_t, kSmall + 4> codes;  // minus 128, as signed comparisons need
    alignas(32) std::array<float, kSmall> scores;
  };

  SmallSweep(const SmallSweep&) = delete;
  SmallSweep() = default;

  // Starts a node. `members` has the samples of each class, and `totals` the class weights.
  // `weights` has the weight of each sample, and a zero at the end.
  MDDF_TARGET_AVX2 void begin(const uint64_t* members, const int64_t* totals, int n_classes,
                              const uint8_t* weights) {
    n_classes_ = n_classes;
    n_ = 0;
    int n_weights = 0;
    int64_t weight = 0, whole = 0;
    alignas(32) std::array<uint8_t, kSmall + 4> place;  // sample of each lane
    place.fill(kSmall);
    for (int c = 0; c < n_classes; ++c) {
      classes_[c].first = n_;
      classes_[c].first_weight = n_weights;
      for (uint64_t rest = members[c]; rest;) {
        for (int i = 0; i < kAtOnce; ++i, rest &= rest - 1) {
          const int at = rest ? lowest_bit(rest) : kSmall;
          place[n_] = static_cast<uint8_t>(at);
          n_ += at < kSmall;
          weights_[n_weights++] = _mm256_set1_epi8(static_cast<char>(weights[at]));
        }
      }
      classes_[c].end_weight = n_weights;
      classes_[c].total = _mm256_set1_epi16(static_cast<int16_t>(totals[c]));
      weight += totals[c];
      whole += totals[c] * totals[c];
    }
    weight_ = _mm256_set1_epi16(static_cast<int16_t>(weight));
    whole_ = _mm256_set1_epi16(static_cast<int16_t>(whole));
    for (int i = 0; i < n_; i += kLanes)
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        // A place in this chunk becomes its index within the chunk. Other places get the highest
        // bit, for which a shuffle returns 0.
        const __m256i chunk_places = _mm256_sub_epi8(
            load(place.data() + i), _mm256_set1_epi8(static_cast<char>(16 * chunk)));
        from_chunk_[i / kLanes][chunk] = _mm256_adds_epu8(chunk_places, _mm256_set1_epi8(0x70));
      }
  }

  // Scores the thresholds of a column. Returns the best score, or 0 if all codes are equal.
  MDDF_TARGET_AVX2 float score(const uint8_t* codes, Column& to) {
    for (int i = 0; i < n_; i += kLanes) {
      const __m256i* of = from_chunk_[i / kLanes];
      const __m256i lanes =
          _mm256_or_si256(_mm256_or_si256(pick(codes, of[0]), pick(codes + 16, of[1])),
                          _mm256_or_si256(pick(codes + 32, of[2]), pick(codes + 48, of[3])));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to.codes.data() + i),
                         _mm256_add_epi8(lanes, _mm256_set1_epi8(-128)));
    }
    if (n_ > kLanes)
      sum_right<2>(to);
    else
      sum_right<1>(to);
    __m256 best = _mm256_setzero_ps();
    for (int i = 0; i < n_; i += 16) best = score_lanes(i, to, best);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(best), _mm256_extractf128_ps(best, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

  // Returns the code after which a threshold has this score, or -1 if several thresholds have it.
  MDDF_TARGET_AVX2 int code_with(float score, const Column& column) const {
    uint64_t lanes = 0;
    for (int i = 0; i < n_; i += 8) {
      const __m256 same = _mm256_cmp_ps(_mm256_load_ps(column.scores.data() + i),
                                        _mm256_set1_ps(score), _CMP_EQ_OQ);
      lanes |= static_cast<uint64_t>(_mm256_movemask_ps(same)) << i;
    }
    const int code = column.codes[lowest_bit(lanes)] + 128;
    const Codes64 all(reinterpret_cast<const uint8_t*>(column.codes.data()));
    return lanes & ~all.equal_to(_mm_cvtsi32_si128(code - 128)).bits() ? -1 : code;
  }

 private:
  static constexpr int kLanes = 32, kChunks = 4, kAtOnce = 4;

  struct OfClass {
    int first;  // lane of its first sample; its other samples follow
    // Range of its weights, padded with zeros to a multiple of kAtOnce.
    int first_weight, end_weight;
    __m256i total;
  };

  template <class Byte>
  MDDF_TARGET_AVX2 static __m256i load(const Byte* bytes) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
  }
  MDDF_TARGET_AVX2 static __m256i pick(const uint8_t* from, __m256i places) {
    const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(chunk), places);
  }

  // Fills right_ with the weight of each class on the right of each threshold.
  template <int kGroups>
  MDDF_TARGET_AVX2 void sum_right(const Column& column) {
    __m256i codes[kGroups];
    for (int g = 0; g < kGroups; ++g) codes[g] = load(column.codes.data() + g * kLanes);
    for (int c = 0; c < n_classes_; ++c) {
      const OfClass& of = classes_[c];
      const int8_t* code = column.codes.data() + of.first;
      __m256i right[kGroups];
      for (__m256i& sum : right) sum = _mm256_setzero_si256();
      for (int w = of.first_weight; w < of.end_weight; w += kAtOnce, code += kAtOnce)
        for (int i = 0; i < kAtOnce; ++i) {
          const __m256i of_one = _mm256_set1_epi8(code[i]);
          for (int g = 0; g < kGroups; ++g)
            right[g] = _mm256_add_epi8(
                right[g], _mm256_and_si256(_mm256_cmpgt_epi8(of_one, codes[g]), weights_[w + i]));
        }
      for (int g = 0; g < kGroups; ++g) right_[c][g] = right[g];
    }
  }

  // Scores 16 lanes and returns the maximum of `best` and their scores.
  MDDF_TARGET_AVX2 __m256 score_lanes(int first, Column& to, __m256 best) const {
    __m256i right = _mm256_setzero_si256(), terms = right, crossed = right;
    for (int c = 0; c < n_classes_; ++c) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(right_[c]) + first;
      const __m256i of_class =
          _mm256_cvtepu8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
      right = _mm256_add_epi16(right, of_class);
      terms = _mm256_add_epi16(terms, _mm256_mullo_epi16(of_class, of_class));
      crossed = _mm256_add_epi16(crossed, _mm256_mullo_epi16(of_class, classes_[c].total));
    }
    const __m256i left = _mm256_sub_epi16(weight_, right);
    // The squares on the left need no sum of their own: (t - r)^2 = t^2 - 2 t r + r^2.
    const __m256i terms_left = _mm256_add_epi16(
        _mm256_sub_epi16(whole_, terms), _mm256_slli_epi16(_mm256_sub_epi16(terms, crossed), 1));
    const auto score = [&](auto half) MDDF_TARGET_AVX2 {
      const __m256 on_left = to_floats<half>(left), on_right = to_floats<half>(right);
      const __m256 numerator = _mm256_add_ps(_mm256_mul_ps(to_floats<half>(terms_left), on_right),
                                             _mm256_mul_ps(to_floats<half>(terms), on_left));
      const __m256 scores = _mm256_div_ps(numerator, _mm256_mul_ps(on_left, on_right));
      _mm256_store_ps(to.scores.data() + first + 8 * half, scores);
      best = _mm256_max_ps(scores, best);  // keeps `best` where the score is NaN
    };
    score(std::integral_constant<int, 0>());
    score(std::integral_constant<int, 1>());
    return best;
  }
  // Converts one half of 16 unsigned 16-bit numbers.
  template <int kHalf>
  MDDF_TARGET_AVX2 static __m256 to_floats(__m256i numbers) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(numbers, kHalf)));
  }

  int n_ = 0, n_classes_ = 0;
  __m256i weight_, whole_;  // weight of the node; sum of the squared class weights
  std::array<OfClass, kSmall> classes_;
  __m256i right_[kSmall][kSmall / kLanes];  // by class, for the current column
  __m256i weights_[kSmall * kAtOnce];
  __m256i from_chunk_[kSmall / kLanes][kChunks];
};

}  // namespace mddf

#endif
