// Compares the searches for thresholds of one numeric target with a plain loop. Run by test_cpp.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "forest/small/small_trees.hpp"

using namespace mddf;

#define CHECK(holds) \
  if (!(holds)) std::printf("line %d: %s\n", __LINE__, #holds), std::exit(1)

struct Sample {
  uint8_t code;
  int64_t weight, part;
};

// Tries every code as threshold, with missing values on the right and then on the left.
Split plain_search(const std::vector<Sample>& samples) {
  int64_t weight = 0, part = 0;
  bool has_missing = false;
  for (const Sample& s : samples)
    weight += s.weight, part += s.part, has_missing |= s.code == kMissing;
  const TargetSplit split(static_cast<double>(weight), part);
  Split best;
  for (int missing_left = 0; missing_left <= has_missing; ++missing_left)
    for (int threshold = 0; threshold < kMissing; ++threshold) {
      int64_t left_weight = 0, left_part = 0;
      int next = 256;
      bool has_code = false;
      for (const Sample& s : samples) {
        const bool is_left = s.code == kMissing ? missing_left : s.code <= threshold;
        has_code |= s.code == threshold;
        if (is_left) left_weight += s.weight, left_part += s.part;
        if (!is_left) next = std::min<int>(next, s.code);
      }
      if (!has_code || next > kMissing) continue;
      if (!split.improve(static_cast<double>(left_weight), left_part, true, best.score)) continue;
      best.column = 0;
      best.threshold = threshold;
      best.first_right = next;
      best.saw_missing = has_missing;
      best.missing_left = missing_left;
    }
  return best;
}

void check_equal(const Split& got, const Split& expected) {
  CHECK(got.score == expected.score && got.column == expected.column);
  CHECK(got.threshold == expected.threshold && got.first_right == expected.first_right);
  CHECK(got.saw_missing == expected.saw_missing && got.missing_left == expected.missing_left);
}

#ifdef MDDF_AVX2
MDDF_TARGET_AVX2 void check_sweep(std::vector<Sample> samples, const Split& expected) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.code < b.code; });
  int64_t weight = 0, part = 0;
  for (const Sample& s : samples) weight += s.weight, part += s.part;
  ThresholdSweep<256> sweep;
  sweep.begin(weight, part);
  sweep.take_places([&](auto add) {
    for (const Sample& s : samples) add(s.code, s.weight, s.part);
  });
  Split swept;
  CHECK(sweep.try_thresholds(0, swept) == (expected.column == 0));
  check_equal(swept, expected);
}
#endif

template <class SmallSearch, class SortedColumn>
void test_against_plain_search() {
  std::mt19937_64 random(0);
  for (int round = 0; round < 2000; ++round) {
    const int n = 2 + static_cast<int>(random() % 63);
    const int n_codes = 1 + static_cast<int>(random() % 255);
    std::vector<Sample> samples(n);
    SmallSearch small;
    uint8_t codes[kSmall] = {};
    int64_t weight = 0, part = 0;
    for (int i = 0; i < n; ++i) {
      const int code =
          round % 2 && random() % 5 == 0 ? kMissing : static_cast<int>(random() % n_codes);
      samples[i] = {static_cast<uint8_t>(code), 1 + static_cast<int64_t>(random() % 3),
                    static_cast<int64_t>(random() >> (round % 3 ? 8 : 62))};
      codes[i] = samples[i].code;
      small.set_sample(i, static_cast<double>(samples[i].weight), samples[i].part);
      weight += samples[i].weight;
      part += samples[i].part;
    }
    const Split expected = plain_search(samples);
    const uint64_t all = ~uint64_t{0} >> (kSmall - n);
    SortedColumn sorted;
    sorted.sort(codes, all);
    small.begin(static_cast<double>(weight), part, 1);
    Split got;
    CHECK(small.try_thresholds(0, sorted, sorted.places(all), got) == (expected.column == 0));
    check_equal(got, expected);
#ifdef MDDF_AVX2
    if (simd::supported()) check_sweep(samples, expected);
#endif
  }
}

int main() {
#ifdef MDDF_AVX2
  if (simd::supported()) test_against_plain_search<avx2::SmallSearch, avx2::SortedColumn>();
#endif
  test_against_plain_search<plain::SmallSearch, plain::SortedColumn>();
}
