// Finds the best threshold of a column for one numeric target, four thresholds at a time. The bits
// are those of ValueSearch without vectors; its header describes the scores.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/simd.hpp"
#include "forest/data/bins.hpp"
#include "forest/split/split.hpp"

namespace mddf {

// A split of a node with these sums on the left.
class TargetSplit {
 public:
  TargetSplit() = default;
  TargetSplit(double weight, int64_t part)
      : weight_(weight), mean_(static_cast<double>(part) / weight) {}

  // Raises `best` to the score of a split with this weight and part on the left. Returns false if
  // the score is not higher, or the split is not allowed. Few splits reach the division.
  bool improve(double left, int64_t part, bool allowed, double& best) const {
    const double denominator = left * (weight_ - left);
    const double distance = static_cast<double>(part) - mean_ * left;
    const double squares = distance * distance;
    if (!(allowed & (squares > best * denominator))) return false;
    const double score = squares / denominator;
    if (!(score > best)) return false;
    best = score;
    return true;
  }

#ifdef MDDF_AVX2
  // Whether each of four splits may have a higher score.
  MDDF_TARGET_AVX2 uint32_t may_improve(const int64_t* weight, const int64_t* part,
                                        __m256d best) const {
    const __m256d left = to_doubles(weight);
    const __m256d distance =
        _mm256_sub_pd(to_doubles(part), _mm256_mul_pd(_mm256_set1_pd(mean_), left));
    const __m256d denominator = _mm256_mul_pd(left, _mm256_sub_pd(_mm256_set1_pd(weight_), left));
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_cmp_pd(
        _mm256_mul_pd(distance, distance), _mm256_mul_pd(best, denominator), _CMP_GT_OQ)));
  }

 private:
  // Converts integers from 0 to 2^63 - 1, with one rounding. The halves of each are written behind
  // the exponents of 2^52 and 2^84.
  MDDF_TARGET_AVX2 static __m256d to_doubles(const int64_t* from) {
    const __m256i numbers = _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i low =
        _mm256_blend_epi32(numbers, _mm256_castpd_si256(_mm256_set1_pd(0x1p52)), 0b10101010);
    const __m256i high = _mm256_or_si256(_mm256_srli_epi64(numbers, 32),
                                         _mm256_castpd_si256(_mm256_set1_pd(0x1p84)));
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1.00000001p84)),
                         _mm256_castsi256_pd(low));
  }
#endif

 private:
  double weight_ = 0, mean_ = 0;
};

#ifdef MDDF_AVX2

// The sums of a node up to each of at most kPlaces places of a column. There may be several places
// of one code.
template <int kPlaces>
class ThresholdSweep {
 public:
  // Begins a node with these sums.
  void begin(int64_t weight, int64_t part) {
    split_ = TargetSplit(static_cast<double>(weight), part);
    total_weight_ = weight;
    total_part_ = part;
  }
  const TargetSplit& split() const { return split_; }

  // Takes the places of a column: for_each calls its argument with the code, the weight and the
  // part of each place, in ascending order of the codes.
  template <class ForEach>
  MDDF_TARGET_AVX2 MDDF_INLINE void take_places(const ForEach& for_each) {
    int n = 0;
    int64_t weight = 0, part = 0;  // in registers, which members would not be
    for_each([&](int code, int64_t more_weight, int64_t more_part) MDDF_INLINED {
      weights_[n] = weight += more_weight;
      parts_[n] = part += more_part;
      codes_[n++] = static_cast<uint8_t>(code);
    });
    n_ = n;
  }

  // Replaces `best` if a threshold is better. Returns false if all places have the same code.
  MDDF_TARGET_AVX2 bool try_thresholds(int32_t column, Split& best) {
    if (codes_[0] == codes_[n_ - 1]) return false;
    const bool has_missing = codes_[n_ - 1] == kMissing;
    search(column, has_missing, false, best);
    if (!has_missing) return true;
    while (codes_[n_ - 1] == kMissing) --n_;
    const int64_t weight = total_weight_ - weights_[n_ - 1];
    const int64_t part = total_part_ - parts_[n_ - 1];
    for (int i = 0; i < n_; ++i) weights_[i] += weight, parts_[i] += part;
    search(column, true, true, best);
    return true;
  }

 private:
  // Looks at the thresholds between two places. The few that may be better are compared in turn.
  MDDF_TARGET_AVX2 void search(int32_t column, bool saw_missing, bool missing_left,
                               Split& best) const {
    constexpr int kWord = 64;
    for (int first = 0; first < n_ - 1; first += kWord) {
      const __m256d score = _mm256_set1_pd(best.score);
      uint64_t better = 0;
      for (int i = 0; i < kWord && first + i < n_ - 1; i += 4)
        better |= uint64_t{split_.may_improve(weights_.data() + first + i,
                                              parts_.data() + first + i, score)}
                  << i;
      for (uint64_t rest = better & ends_of_codes(first); rest; rest &= rest - 1) {
        const int i = first + lowest_bit(rest);
        const auto left = static_cast<double>(weights_[i]);
        if (!split_.improve(left, parts_[i], true, best.score)) continue;
        best.column = column;
        best.categorical = false;
        best.saw_missing = saw_missing;
        best.missing_left = missing_left;
        best.threshold = codes_[i];
        best.first_right = codes_[i + 1];
      }
    }
  }
  // The places after which the code changes, among 64 places and without the last one of the node.
  MDDF_TARGET_AVX2 uint64_t ends_of_codes(int first) const {
    const Codes64 codes(codes_.data() + first), next(codes_.data() + first + 1);
    const uint64_t same =
        bits_of(_mm256_cmpeq_epi8(codes.a, next.a), _mm256_cmpeq_epi8(codes.b, next.b));
    const int n_after = n_ - 1 - first;
    return n_after < 64 ? ~same & ((uint64_t{1} << n_after) - 1) : ~same;
  }

  TargetSplit split_;
  int64_t total_weight_ = 0, total_part_ = 0;
  int n_ = 0;
  alignas(32) std::array<int64_t, kPlaces> weights_{}, parts_{};
  std::array<uint8_t, kPlaces + 1> codes_{};
};

#endif

}  // namespace mddf
