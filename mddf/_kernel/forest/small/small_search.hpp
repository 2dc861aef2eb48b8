// Finds the best threshold of a column at a node of at most 64 samples with numeric targets. The
// bits are those of ValueSearch, whose header describes the scores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/wide.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/split/split.hpp"

#ifdef MDDF_AVX2

namespace mddf {

// A column's samples in the order of their codes. The order of the samples of a subtree also serves
// the nodes below: they take the samples that they have, whose order stays the same.
struct SortedColumn {
  alignas(32) std::array<uint8_t, kSmall> sample, code;
  alignas(32) std::array<uint8_t, kSmall> byte_of_mask, bit_of_byte;  // where a mask has a sample

  MDDF_TARGET_AVX2 void sort(const uint8_t* codes, uint64_t mask) {
    const Codes64 all(codes);
    bit_of_byte.fill(0);  // places without a sample are in no mask
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      const __m128i own = _mm_cvtsi32_si128(codes[i]);
      const uint64_t behind = all.equal_to(own).bits() & (~uint64_t{0} << i);
      const auto place = _mm_popcnt_u64(all.up_to(own).bits() & mask & ~behind);
      sample[place] = static_cast<uint8_t>(i);
      code[place] = codes[i];
      byte_of_mask[place] = static_cast<uint8_t>(i / 8);
      bit_of_byte[place] = static_cast<uint8_t>(1 << i % 8);
    }
  }
  // The places of the samples in a mask.
  MDDF_TARGET_AVX2 uint64_t places(uint64_t mask) const {
    const __m256i bytes = _mm256_set1_epi64x(static_cast<int64_t>(mask));
    return places(bytes, 0) | static_cast<uint64_t>(places(bytes, kSmall / 2)) << kSmall / 2;
  }

 private:
  MDDF_TARGET_AVX2 uint32_t places(__m256i bytes, int first) const {
    const auto load = [&](const std::array<uint8_t, kSmall>& from) MDDF_TARGET_AVX2 {
      return _mm256_load_si256(reinterpret_cast<const __m256i*>(from.data() + first));
    };
    const __m256i bits =
        _mm256_and_si256(_mm256_shuffle_epi8(bytes, load(byte_of_mask)), load(bit_of_byte));
    return ~static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(bits, _mm256_setzero_si256())));
  }
};

// The sums of a node's samples up to each place of a column, and the search among them.
class SmallSearch {
 public:
  SmallSearch() { part_.fill(0); }

  // Begins a node: its weight and the sum of the parts of its samples, which set_sample() has set.
  void begin(int64_t weight, int64_t part) {
    weight_ = static_cast<double>(weight);
    mean_ = static_cast<double>(part) / weight_;
    total_part_ = part;
    total_weight_ = static_cast<int32_t>(weight);
  }
  void set_sample(int i, uint32_t weight, int64_t part) {
    sample_weight_[i] = static_cast<int32_t>(weight);
    part_[i] = part;
  }

  // Replaces `best` if a threshold of this column is better, which has the samples in these places.
  // Returns false if the column is constant.
  MDDF_TARGET_AVX2 bool try_thresholds(int32_t column, const SortedColumn& sorted, uint64_t places,
                                       Split& best) {
    const int last = 63 - __builtin_clzll(places);
    if (sorted.code[lowest_bit(places)] == sorted.code[last]) return false;
    add_up(sorted, places);
    const uint64_t ends = ends_of_codes();
    if (code_[n_ - 1] != kMissing) {
      search(column, ends, false, false, best);
      return true;
    }
    search(column, ends, true, false, best);
    const int n_present = 64 - __builtin_clzll(ends);
    const int64_t part = total_part_ - part_up_to_[n_present - 1];
    const int32_t weight = total_weight_ - weight_up_to_[n_present - 1];
    for (int i = 0; i < n_present; ++i) part_up_to_[i] += part, weight_up_to_[i] += weight;
    search(column, ends & ((uint64_t{1} << (n_present - 1)) - 1), true, true, best);
    return true;
  }

  // Does the same for the sets of the categories with the lowest means.
  MDDF_TARGET_AVX2 bool try_categories(int32_t column, const SortedColumn& sorted, uint64_t places,
                                       Split& best) {
    add_up(sorted, places);
    struct Category {
      double mean;
      int code;
      int32_t weight;
      int64_t part;
      bool operator<(const Category& other) const {
        return mean != other.mean ? mean < other.mean : code < other.code;
      }
    };
    std::array<Category, kSmall> categories;
    int n = 0, before = -1;
    for (uint64_t rest = ends_of_codes() | uint64_t{1} << (n_ - 1); rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      const int32_t weight = weight_up_to_[i] - (before < 0 ? 0 : weight_up_to_[before]);
      const int64_t part = part_up_to_[i] - (before < 0 ? 0 : part_up_to_[before]);
      categories[n++] = {static_cast<double>(part) / weight, code_[i], weight, part};
      before = i;
    }
    if (n < 2) return false;
    std::sort(categories.begin(), categories.begin() + n);
    int64_t part = 0;
    int32_t weight = 0;
    for (int i = 0; i + 1 < n; ++i) {
      part += categories[i].part;
      weight += categories[i].weight;
      if (!improve(part, weight, best.score)) continue;
      const double score = best.score;
      best = Split{};
      best.score = score;
      best.column = column;
      best.categorical = true;
      for (int g = 0; g <= i; ++g) best.left.insert(categories[g].code);
      best.saw_missing = sorted.code[63 - __builtin_clzll(places)] == kMissing;
      best.missing_left = best.left.contains(kMissing);
    }
    return true;
  }

 private:
  MDDF_TARGET_AVX2 void add_up(const SortedColumn& sorted, uint64_t places) {
    int64_t part = 0;
    int32_t weight = 0;
    n_ = 0;
    for (; places; places &= places - 1) {
      const int at = lowest_bit(places);
      const int i = sorted.sample[at];
      part_up_to_[n_] = part += part_[i];
      weight_up_to_[n_] = weight += sample_weight_[i];
      code_[n_++] = sorted.code[at];
    }
  }
  // The places after which the code changes.
  MDDF_TARGET_AVX2 uint64_t ends_of_codes() const {
    const Codes64 codes(code_.data()), next(code_.data() + 1);
    const uint64_t same =
        bits_of(_mm256_cmpeq_epi8(codes.a, next.a), _mm256_cmpeq_epi8(codes.b, next.b));
    return ~same & ((uint64_t{1} << (n_ - 1)) - 1);
  }

  // Replaces `best` if a threshold at one of these places is better. Four places at a time are
  // compared with the best score so far; the few with a better score are then looked at in turn.
  MDDF_TARGET_AVX2 void search(int32_t column, uint64_t ends, bool saw_missing, bool missing_left,
                               Split& best) const {
    const __m256d weight = _mm256_set1_pd(weight_), mean = _mm256_set1_pd(mean_);
    const __m256d score = _mm256_set1_pd(best.score);
    uint64_t better = 0;
    for (int i = 0; i < n_; i += 4) {
      const __m256d left = _mm256_cvtepi32_pd(
          _mm_load_si128(reinterpret_cast<const __m128i*>(weight_up_to_.data() + i)));
      const __m256d part = to_doubles(
          _mm256_load_si256(reinterpret_cast<const __m256i*>(part_up_to_.data() + i)));
      const __m256d distance = _mm256_sub_pd(part, _mm256_mul_pd(mean, left));
      const __m256d least =
          _mm256_mul_pd(score, _mm256_mul_pd(left, _mm256_sub_pd(weight, left)));
      const int four = _mm256_movemask_pd(
          _mm256_cmp_pd(_mm256_mul_pd(distance, distance), least, _CMP_GT_OQ));
      better |= static_cast<uint64_t>(four) << i;
    }
    for (uint64_t rest = better & ends; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      if (!improve(part_up_to_[i], weight_up_to_[i], best.score)) continue;
      best.column = column;
      best.categorical = false;
      best.saw_missing = saw_missing;
      best.missing_left = missing_left;
      best.threshold = code_[i];
      best.first_right = code_[i + 1];
    }
  }

  // Raises `best` to the score of a split with these sums on the left; returns false if it is not
  // higher.
  bool improve(int64_t part, int32_t weight, double& best) const {
    const double left = weight;
    const double denominator = left * (weight_ - left);
    const double distance = static_cast<double>(part) - mean_ * left;
    const double squares = distance * distance;
    if (!(squares > best * denominator)) return false;
    const double score = squares / denominator;
    if (!(score > best)) return false;
    best = score;
    return true;
  }

  // Converts integers from 0 to 2^63 - 1, with one rounding. The halves of each are written behind
  // the exponents of 2^52 and 2^84.
  MDDF_TARGET_AVX2 static __m256d to_doubles(__m256i numbers) {
    const __m256i low = _mm256_blend_epi32(
        numbers, _mm256_castpd_si256(_mm256_set1_pd(0x1p52)), 0b10101010);
    const __m256i high = _mm256_or_si256(_mm256_srli_epi64(numbers, 32),
                                         _mm256_castpd_si256(_mm256_set1_pd(0x1p84)));
    return _mm256_add_pd(
        _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1.00000001p84)),
        _mm256_castsi256_pd(low));
  }

  double weight_ = 0, mean_ = 0;
  int64_t total_part_ = 0;
  int32_t total_weight_ = 0;
  std::array<int64_t, kSmall> part_;
  std::array<int32_t, kSmall> sample_weight_{};
  // By place: sums up to it, and its code.
  int n_ = 0;
  alignas(32) std::array<int64_t, kSmall> part_up_to_{};
  alignas(32) std::array<int32_t, kSmall> weight_up_to_{};
  std::array<uint8_t, kSmall + 32> code_{};
};

}  // namespace mddf

#endif
