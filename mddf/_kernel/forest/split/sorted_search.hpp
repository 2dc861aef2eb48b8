// Finds the best threshold of a column by sorting the samples of the node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/codes64.hpp"
#include "common/simd.hpp"
#include "forest/data/bins.hpp"
#include "forest/split/best_threshold.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/sort_few.hpp"

namespace mddf {

template <class Criterion, class Weight>
class SortedSearch {
 public:
  using Node = NodeClasses<Weight>;
  using Sum = typename Sweep<Criterion, Weight>::Sum;

  explicit SortedSearch(bool use_simd) : use_simd_(use_simd) {}

  // Offers all thresholds for which allows(rows_left, sweep) returns true. Codes lie in [low, high]
  // or are missing.
  template <class Allows>
  void search(const Node& node, const uint8_t* codes, int low, int high, const Allows& allows,
              BestThreshold& best) {
    sort_samples(node, codes, low, high, best.has_missing);
    const int64_t n_present = group_end_[n_groups_ - 1];
    for (int missing_left = 0; missing_left <= (best.has_missing ? 1 : 0); ++missing_left) {
      sweep_.start(node.total.data(), node.n_present);
      int64_t rows_left = 0;
      if (missing_left) {
        rows_left = node.n_samples - n_present;
        sweep_.add(in_order_.data() + n_present, rows_left);
      }
      const int last = n_groups_ - (best.has_missing && !missing_left ? 0 : 1);
      int64_t from = 0;
      for (int g = 0; g < last; ++g) {
        sweep_.add(in_order_.data() + from, group_end_[g] - from);
        rows_left += group_end_[g] - from;
        from = group_end_[g];
        if (!allows(rows_left, sweep_)) continue;
        best.offer(sweep_.improve(best.score(), node.weight), group_bin_[g],
                   g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing, missing_left != 0);
      }
    }
  }

  // The same if no value is missing and at most kFewCodes samples have another code than the
  // lowest; otherwise returns false. The samples with the lowest code need no sorting, because they
  // are always on the left.
  bool search_few_others(const Node& node, const uint8_t* codes, int low, BestThreshold& best) {
    if (!find_few_others(codes, node.n_samples, low)) return false;
    std::array<uint8_t, kFewCodes> few;
    for (int i = 0; i < n_others_; ++i) few[i] = codes[other_samples_[i]];
    sort_few(few.data(), n_others_, order_);
    lowest_code_weight_.assign(node.total.begin(), node.total.begin() + node.n_present);
    for (int i = 0; i < n_others_; ++i)
      lowest_code_weight_[node.label[other_samples_[i]]] -=
          static_cast<Sum>(node.sample_weight[other_samples_[i]]);
    sweep_.start(node.total.data(), node.n_present, lowest_code_weight_.data());
    int last_left = low;
    for (int i = 0; i < n_others_; ++i) {
      const int next = few[order_[i]];
      if (next != last_left)
        best.offer(sweep_.improve(best.score(), node.weight), last_left, next, false);
      last_left = next;
      const uint32_t sample = other_samples_[order_[i]];
      sweep_.add(node.label[sample], static_cast<Sum>(node.sample_weight[sample]));
    }
    return true;
  }

 private:
  struct SortedSample {
    uint16_t label;
    Weight weight;
  };
  // Samples with equal codes are distributed over stripes, so that they do not wait for the
  // previous store. Real weights use one stripe, because the order of a sum changes its last bits.
  static constexpr int kStripes = std::is_integral_v<Sum> ? 4 : 1;
  using Stripes = std::array<uint32_t, kStripes>;

  // Sorts the samples into in_order_ by code. For each distinct code in [low, high], fills
  // group_bin_ and group_end_. Missing values come after the last group.
  void sort_samples(const Node& node, const uint8_t* codes, int low, int high, bool has_missing) {
    const int64_t n = node.n_samples;
    if (static_cast<int64_t>(in_order_.size()) < n) in_order_.resize(n);
    n_groups_ = 0;
    if (n <= kFewCodes) return sort_few_samples(node, codes);
    for (int64_t i = 0; i < n; ++i) ++place_[codes[i]][i % kStripes];
    uint32_t position = 0;
    const auto count_to_place = [&](int bin) {
      for (auto& place : place_[bin]) position += std::exchange(place, position);
    };
    for (int bin = low; bin <= high; ++bin) {
      const uint32_t start = position;
      count_to_place(bin);
      group_bin_[n_groups_] = bin;
      group_end_[n_groups_] = position;
      n_groups_ += position > start;
    }
    if (has_missing) count_to_place(kMissing);
    for (int64_t i = 0; i < n; ++i)
      in_order_[place_[codes[i]][i % kStripes]++] = {node.label[i], node.sample_weight[i]};
    std::fill(place_.begin() + low, place_.begin() + high + 1, Stripes{});
    place_[kMissing] = Stripes{};
  }

  void sort_few_samples(const Node& node, const uint8_t* codes) {
    sort_few(codes, static_cast<int>(node.n_samples), order_);
    for (int64_t i = 0; i < node.n_samples; ++i) {
      const int sample = order_[i], bin = codes[sample];
      in_order_[i] = {node.label[sample], node.sample_weight[sample]};
      if (bin == kMissing) continue;
      if (n_groups_ == 0 || group_bin_[n_groups_ - 1] != bin) group_bin_[n_groups_++] = bin;
      group_end_[n_groups_ - 1] = i + 1;
    }
  }

  // Fills other_samples_ with the samples whose code is not the lowest. Returns false if there are
  // more than kFewCodes.
  bool find_few_others(const uint8_t* codes, int64_t n, int low) {
#ifdef MDDF_AVX2
    if (use_simd_) {
      n_others_ =
          find_others(codes, n, static_cast<uint8_t>(low), other_samples_.data(), kFewCodes);
      return n_others_ >= 0;
    }
#endif
    int64_t n_low = 0;
    for (int64_t i = 0; i < n; ++i) n_low += codes[i] == low;
    if (n - n_low > kFewCodes) return false;
    n_others_ = 0;
    for (int64_t i = 0; i < n; ++i) {
      other_samples_[n_others_] = static_cast<uint32_t>(i);
      n_others_ += codes[i] != low;
    }
    return true;
  }

  [[maybe_unused]] const bool use_simd_;
  Sweep<Criterion, Weight> sweep_;
  int n_groups_ = 0;
  std::array<int, 256> group_bin_;
  std::array<int64_t, 256> group_end_;
  FewInOrder order_;
  std::vector<SortedSample> in_order_;
  std::array<Stripes, 256> place_{};  // place of the next sample by code; zero between calls
  int n_others_ = 0;
  std::array<uint32_t, kFewCodes + 1> other_samples_;  // the last place is only scratch
  std::vector<Sum> lowest_code_weight_;                // by class: weight of the lowest code
};

}  // namespace mddf
