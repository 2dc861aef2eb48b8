// Finds the best split of a column at a node of at most 64 samples with numeric targets. The bits
// are those of ValueSearch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/wide.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/split/split.hpp"
#include "forest/split/threshold_sweep.hpp"

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
  bool is_constant(uint64_t places) const { return code[lowest_bit(places)] == last_code(places); }
  int last_code(uint64_t places) const { return code[bit_width(places) - 1]; }

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

// Searches the splits of a node.
class SmallSearch {
 public:
  // Begins a node with these sums. set_sample() has set its samples. `factor` is the factor of
  // squared sums; see NodeValues.
  void begin(double weight, int64_t part, double factor) {
    split_ = TargetSplit(weight, part);
    weight_of_node_ = weight;
    factor_ = factor;
  }
  // The decrease of the squared error by a split with this score.
  double gain(double score) const { return weight_of_node_ * score * factor_; }
  void set_sample(int i, int64_t weight, int64_t part) {
    weight_[i] = weight;
    part_[i] = part;
  }

  // Does what try_thresholds() does for a node of two samples, without missing values.
  bool try_pair(int32_t column, int a, int code_a, int b, int code_b, Split& best) const {
    if (code_a == code_b) return false;
    const int left = code_a < code_b ? a : b;
    if (!split_.improve(weight_[left], part_[left], true, best.score)) return true;
    best.column = column;
    best.categorical = best.saw_missing = best.missing_left = false;
    best.threshold = std::min(code_a, code_b);
    best.first_right = std::max(code_a, code_b);
    return true;
  }

  // Replaces `best` if this column has a better threshold. Its samples are in these places. Returns
  // false if the column is constant.
  MDDF_TARGET_AVX2 bool try_thresholds(int32_t column, const SortedColumn& sorted, uint64_t places,
                                       Split& best) {
    if (sorted.is_constant(places)) return false;
    if (sorted.last_code(places) != kMissing) {
      search(column, sorted, places, 0, 0, best);
      return true;
    }
    if (search(column, sorted, places, 0, 0, best)) best.saw_missing = true;
    uint64_t present = places;
    int64_t weight = 0, part = 0;
    while (sorted.last_code(present) == kMissing) {
      const int place = bit_width(present) - 1;
      weight += weight_[sorted.sample[place]];
      part += part_[sorted.sample[place]];
      present ^= uint64_t{1} << place;
    }
    if (search(column, sorted, present, weight, part, best))
      best.saw_missing = best.missing_left = true;
    return true;
  }

  // Does the same for the sets of the categories with the lowest means.
  bool try_categories(int32_t column, const SortedColumn& sorted, uint64_t places, Split& best) {
    if (sorted.is_constant(places)) return false;
    const bool saw_missing = sorted.last_code(places) == kMissing;
    std::array<Category, kSmall> categories;
    int n = 0;
    for (; places; places &= places - 1) {
      const int place = lowest_bit(places);
      const int i = sorted.sample[place];
      if (n == 0 || categories[n - 1].code != sorted.code[place])
        categories[n++] = {sorted.code[place], 0, 0, 0};
      categories[n - 1].weight += weight_[i];
      categories[n - 1].part += part_[i];
    }
    for (int g = 0; g < n; ++g)
      categories[g].mean =
          static_cast<double>(categories[g].part) / static_cast<double>(categories[g].weight);
    std::sort(categories.begin(), categories.begin() + n);
    int64_t weight = 0, part = 0;
    for (int g = 0; g + 1 < n; ++g) {
      weight += categories[g].weight;
      part += categories[g].part;
      if (!split_.improve(weight, part, true, best.score)) continue;
      const double score = best.score;
      best = Split{};
      best.score = score;
      best.column = column;
      best.categorical = true;
      for (int i = 0; i <= g; ++i) best.left.insert(categories[i].code);
      best.saw_missing = saw_missing;
      best.missing_left = best.left.contains(kMissing);
    }
    return true;
  }

 private:
  struct Category {
    int code;
    int64_t weight, part;
    double mean;
    bool operator<(const Category& other) const {
      return mean != other.mean ? mean < other.mean : code < other.code;
    }
  };

  // Replaces `best` if a threshold between two of these places is better. `weight` and `part` are
  // sums that are on the left of all thresholds. Returns whether `best` was replaced.
  MDDF_TARGET_AVX2 MDDF_INLINE bool search(int32_t column, const SortedColumn& sorted,
                                           uint64_t places, int64_t weight, int64_t part,
                                           Split& best) const {
    double score = best.score;
    int code = sorted.code[lowest_bit(places)], threshold = -1, first_right = 0;
    while (true) {
      const int i = sorted.sample[lowest_bit(places)];
      weight += weight_[i];
      part += part_[i];
      places &= places - 1;
      if (!places) break;
      const int next = sorted.code[lowest_bit(places)];
      const bool is_better = split_.improve(weight, part, code != next, score);
      threshold = is_better ? code : threshold;
      first_right = is_better ? next : first_right;
      code = next;
    }
    if (threshold < 0) return false;
    best.score = score;
    best.column = column;
    best.categorical = best.saw_missing = best.missing_left = false;
    best.threshold = threshold;
    best.first_right = first_right;
    return true;
  }

  TargetSplit split_;
  double weight_of_node_ = 0, factor_ = 0;
  std::array<int64_t, kSmall> weight_{}, part_{};  // by sample
};

}  // namespace mddf

#endif
