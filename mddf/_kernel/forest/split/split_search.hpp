// The best threshold of one column at one node; category sets have a search of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/codes64.hpp"
#include "common/wide.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/training.hpp"
#include "forest/split/bin_sweep.hpp"
#include "forest/split/category_search.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"

namespace mddf {

template <class Criterion, class Weight>
class SplitSearch {
 public:
  using Packed = mddf::Packed<Weight>;
  using Node = NodeClasses<Weight>;

  explicit SplitSearch(const GrowOptions& options)
      : options_(options), bin_sweep_(options.wide()) {}

  // The columns that follow are those of another node.
  void begin_node() { has_begun_ = false; }

  // The least weight of a leaf in the tree that follows.
  void set_least_weight(double weight) { least_weight_ = weight; }

  // Whether a split leaves both sides enough.
  bool allows(int64_t rows_left, double weight_left, const Node& node) const {
    return rows_left >= options_.min_samples_leaf &&
           node.n_samples - rows_left >= options_.min_samples_leaf &&
           weight_left >= least_weight_ && node.weight - weight_left >= least_weight_;
  }

  // Improves `best` by column's best split; `codes` are the bins of the node's samples. False if
  // the column is constant here.
  bool numeric(const Node& node, const uint8_t* codes, int32_t column, Split& best) {
    uint8_t low = codes[0], high = codes[0];
    for (int64_t i = 1; i < node.n_samples; ++i) {
      low = std::min(low, codes[i]);
      high = std::max(high, codes[i]);
    }
    if (low == high) return false;
    begin(best);
    has_missing_ = high == kMissing;
    if (has_missing_) {
      high = low;
      for (int64_t i = 0; i < node.n_samples; ++i)
        if (codes[i] != kMissing) high = std::max(high, codes[i]);
    }
    if (node.few() && !options_.limits_leaves()) {
      group_few_classes(node, codes, low, high);
      search_few_classes(node);
    } else {
      search_sorted(node, codes, low, high);
    }
    finish(column, best);
    return true;
  }

  // Whether a histogram of this many bins is the quicker way for a node.
  bool prefers_histogram(const Node& node, int n_bins) const {
    if (options_.limits_leaves()) return false;  // it does not count samples
    // Where sums are rounded, the way shows in their last bits: it must not change.
    constexpr int kLeast = (std::is_integral_v<Sum> ? 2 : 4) * kFewRows;
    constexpr int kBinsPerSample = std::is_integral_v<Sum> ? 3 : 2;
    if (node.few()) return node.n_samples > kLeast && n_bins <= 4 * node.n_samples;
    return static_cast<int64_t>(n_bins) * node.n_present <= kBinsPerSample * node.n_samples;
  }

  // The same as numeric() from histograms: 256 bins of the packed weights of few classes ...
  bool from_histogram(const Node& node, const Packed* bins, int n_bins, int32_t column,
                      Split& best) {
    n_groups_ = 0;
    for (int bin = 0; bin < n_bins; ++bin) add_group(bin, bins[bin]);
    missing_ = bins[kMissing];
    has_missing_ = !missing_.empty();
    if (n_groups_ + has_missing_ < 2) return false;
    begin(best);
    search_few_classes(node);
    finish(column, best);
    return true;
  }
  // ... or 256 bins of padded(n_present) weights, one per class.
  bool from_histogram(const Node& node, const Weight* bins, int n_bins, int32_t column,
                      Split& best) {
    const Weight* missing = bins + kMissing * padded(node.n_present);
    has_missing_ = std::any_of(missing, missing + node.n_present, [](Weight w) { return w > 0; });
    begin(best);
    const bool varies = search_bins(node, bins, 0, n_bins, missing);
    finish(column, best);
    return varies;
  }

  // The same for a categorical column.
  bool categorical(const Node& node, const uint8_t* codes, int n_bins, int32_t column,
                   Split& best) {
    const auto allowed = [&](int64_t rows_left, double weight_left) {
      return allows(rows_left, weight_left, node);
    };
    return category_search_.search(node, codes, n_bins, column, allowed, best);
  }

 private:
  static constexpr int kFewRows = 32;
  static constexpr int kFewestGroups = 8;  // for all thresholds at once to pay
  using Sum = typename Sweep<Criterion, Weight>::Sum;

  struct Placed {
    uint16_t label;
    Weight weight;
  };
  // Samples of one code are dealt out to stripes, so that equal codes in a row do not wait for each
  // other's store; to a single one where the order of a sum shows in its last bits.
  static constexpr int kStripes = std::is_integral_v<Sum> ? 4 : 1;
  using Stripes = std::array<uint32_t, kStripes>;

  void begin(const Split& best) {
    improved_ = false;
    best_score_ = best.score;
  }
  void finish(int32_t column, Split& best) const {
    if (!improved_) return;
    best.score = best_score_;
    best.column = column;
    best.categorical = false;
    best.saw_missing = has_missing_;
    best.missing_left = missing_left_;
    best.threshold = last_left_;
    best.first_right = first_right_;
  }
  void offer(double score, int last_left, int first_right, bool missing_left) {
    if (!(score > best_score_)) return;
    best_score_ = score;
    last_left_ = last_left;
    first_right_ = first_right;
    missing_left_ = missing_left;
    improved_ = true;
  }

  // Ranks of at most 32 keys by comparing all pairs, a loop that compilers turn into vector code;
  // order_ becomes the samples by ascending code.
  void sort_few(const uint8_t* codes, int n) {
    std::array<int16_t, kFewRows> key, rank{};
    key.fill(std::numeric_limits<int16_t>::max());
    for (int i = 0; i < n; ++i) key[i] = static_cast<int16_t>(codes[i] * kFewRows + i);
    if (n <= kFewRows / 2) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < kFewRows / 2; ++i) rank[i] += key[j] < key[i];
    } else {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < kFewRows; ++i) rank[i] += key[j] < key[i];
    }
    for (int i = 0; i < n; ++i) order_[rank[i]] = i;
  }

  // Fills in_order_ with the node's samples by ascending code and, per distinct bin in [low, high],
  // group_bin_ and group_end_. Missing samples come last, behind the last group.
  void sort_samples(const Node& node, const uint8_t* codes, int low, int high) {
    const int64_t n = node.n_samples;
    if (static_cast<int64_t>(in_order_.size()) < n) in_order_.resize(n);
    n_groups_ = 0;
    if (n <= kFewRows) {
      sort_few(codes, static_cast<int>(n));
      for (int64_t i = 0; i < n; ++i) {
        const int sample = order_[i], bin = codes[sample];
        in_order_[i] = {node.label[sample], node.sample_weight[sample]};
        if (bin == kMissing) continue;
        if (n_groups_ == 0 || group_bin_[n_groups_ - 1] != bin) group_bin_[n_groups_++] = bin;
        group_end_[n_groups_ - 1] = i + 1;
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) ++place_[codes[i]][i % kStripes];
    uint32_t position = 0;
    const auto make_room = [&](int bin) {
      for (auto& place : place_[bin]) position += std::exchange(place, position);
    };
    for (int bin = low; bin <= high; ++bin) {
      const uint32_t start = position;
      make_room(bin);
      group_bin_[n_groups_] = bin;
      group_end_[n_groups_] = position;
      n_groups_ += position > start;
    }
    if (has_missing_) make_room(kMissing);
    for (int64_t i = 0; i < n; ++i)
      in_order_[place_[codes[i]][i % kStripes]++] = {node.label[i], node.sample_weight[i]};
    std::fill(place_.begin() + low, place_.begin() + high + 1, Stripes{});
    place_[kMissing] = Stripes{};
  }

  // Fills rest_ with the samples that have another code than the lowest; false if there are many.
  bool leave_out(const uint8_t* codes, int64_t n, int low) {
#ifdef MDDF_AVX2
    if (options_.wide()) {
      n_rest_ = find_others(codes, n, static_cast<uint8_t>(low), rest_.data(), kFewRows);
      return n_rest_ >= 0;
    }
#endif
    int64_t n_low = 0;
    for (int64_t i = 0; i < n; ++i) n_low += codes[i] == low;
    if (n - n_low > kFewRows) return false;
    n_rest_ = 0;
    for (int64_t i = 0; i < n; ++i) {
      rest_[n_rest_] = static_cast<uint32_t>(i);
      n_rest_ += codes[i] != low;
    }
    return true;
  }

  // Of few samples and those with the lowest code, which need not be sorted: they are on the left.
  void search_rest(const Node& node, const uint8_t* codes, int low) {
    std::array<uint8_t, kFewRows> few;
    for (int i = 0; i < n_rest_; ++i) few[i] = codes[rest_[i]];
    sort_few(few.data(), n_rest_);
    of_low_.assign(node.total.begin(), node.total.begin() + node.n_present);
    for (int i = 0; i < n_rest_; ++i)
      of_low_[node.label[rest_[i]]] -= static_cast<Sum>(node.sample_weight[rest_[i]]);
    sweep_.start(node.total.data(), node.n_present, of_low_.data());
    int last_left = low;
    for (int i = 0; i < n_rest_; ++i) {
      const int next = few[order_[i]];
      if (next != last_left)
        offer(sweep_.improve(best_score_, node.weight), last_left, next, false);
      last_left = next;
      const uint32_t sample = rest_[order_[i]];
      sweep_.add(node.label[sample], static_cast<Sum>(node.sample_weight[sample]));
    }
  }

  // By a histogram of the codes from `low` to `high`, and of missing ones.
  void search_binned(const Node& node, const uint8_t* codes, int low, int high) {
    const int64_t width = padded(node.n_present), n_bins = high - low + 1;
    bins_.assign((n_bins + 1) * width, 0);
    with_stride(node.n_present, [&](auto stride) {
      const uint16_t* label = node.label.data();
      const Weight* weight = node.sample_weight.data();
      Weight* bins = bins_.data();
      for (int64_t i = 0; i < node.n_samples; ++i) {
        const int64_t bin = std::min<int64_t>(codes[i] - low, n_bins);  // missing ones are highest
        bins[bin * stride + label[i]] += weight[i];
      }
    });
    search_bins(node, bins_.data(), low, static_cast<int>(n_bins), bins_.data() + n_bins * width);
  }

  // Whether search_binned is quicker than sorting.
  static bool prefers_bins(const Node& node, int low, int high) {
    const int cells_per_sample = node.n_present <= 32 ? 24 : 8;
    return (high - low + 1) * padded(node.n_present) <= cells_per_sample * node.n_samples;
  }

  void search_sorted(const Node& node, const uint8_t* codes, int low, int high) {
    // Where sums are exact, the way to them does not matter.
    if constexpr (std::is_integral_v<Sum>)
      if (!options_.limits_leaves()) {
        if (!has_missing_ && leave_out(codes, node.n_samples, low))
          return search_rest(node, codes, low);
        if (prefers_bins(node, low, high)) return search_binned(node, codes, low, high);
      }
    sort_samples(node, codes, low, high);
    const int64_t n_present = group_end_[n_groups_ - 1];
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      sweep_.start(node.total.data(), node.n_present);
      int64_t rows_left = 0;
      if (missing_left) {
        rows_left = node.n_samples - n_present;
        sweep_.add(in_order_.data() + n_present, rows_left);
      }
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      int64_t from = 0;
      for (int g = 0; g < last; ++g) {
        sweep_.add(in_order_.data() + from, group_end_[g] - from);
        rows_left += group_end_[g] - from;
        from = group_end_[g];
        if (!allows(rows_left, sweep_.weight_left(), node)) continue;
        offer(sweep_.improve(best_score_, node.weight), group_bin_[g],
              g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing, missing_left != 0);
      }
    }
  }

  void begin_sweep(const Node& node) {
    if (!has_begun_) bin_sweep_.begin(node.total.data(), node.n_present, node.weight);
    has_begun_ = true;
  }

  // Of the weights of bins from first_bin on, and of what is missing; false if all are in one.
  bool search_bins(const Node& node, const Weight* bins, int first_bin, int n_bins,
                   const Weight* missing) {
    begin_sweep(node);
    const auto after = [this](int bin) { return bin_sweep_.weight_after(bin); };
    bool varies = false;
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      bin_sweep_.run(missing_left ? missing : nullptr, bins, n_bins);
      const double start = bin_sweep_.start_weight();
      int first = 0, last = n_bins - 1;  // the bins that are not empty
      while (first < n_bins && after(first) == start) ++first;
      if (first == n_bins) continue;
      while (last > first && after(last - 1) == after(last)) --last;
      // After the last one only what is missing is left.
      const int end = last + (has_missing_ && !missing_left);
      varies |= first < end;
      bin_sweep_.offer_better(first, end, best_score_, [&](int bin) {
        int next = bin + 1;
        while (next <= last && after(next) == after(bin)) ++next;
        offer(bin_sweep_.improve(best_score_, bin), first_bin + bin,
              next <= last ? first_bin + next : kMissing, missing_left != 0);
      });
    }
    return varies;
  }

  // Adds a group of packed weights, if there are some: without a branch, which nobody can foretell.
  void add_group(int bin, const Packed& sum) {
    group_bin_[n_groups_] = bin;
    group_sum_[n_groups_] = sum;
    n_groups_ += !sum.empty();
  }

  // Fills the groups and missing_ with packed weights.
  void group_few_classes(const Node& node, const uint8_t* codes, int low, int high) {
    missing_ = Packed{};
    n_groups_ = 0;
    const Packed* packed = node.packed.data();
    if (node.n_samples <= kFewRows) {
      sort_few(codes, static_cast<int>(node.n_samples));
      int previous = -1;
      for (int64_t i = 0; i < node.n_samples; ++i) {
        const int bin = codes[order_[i]];
        if (bin == kMissing) {
          missing_ += packed[order_[i]];
          continue;
        }
        if (bin != previous) {
          group_bin_[n_groups_] = previous = bin;
          group_sum_[n_groups_++] = Packed{};
        }
        group_sum_[n_groups_ - 1] += packed[order_[i]];
      }
      return;
    }
    // Two copies, so that equal codes in a row do not wait for each other's store.
    int64_t i = 0;
    for (; i + 1 < node.n_samples; i += 2) {
      histogram_[0][codes[i]] += packed[i];
      histogram_[1][codes[i + 1]] += packed[i + 1];
    }
    if (i < node.n_samples) histogram_[0][codes[i]] += packed[i];
    const auto take = [this](int bin) {
      Packed sum = histogram_[0][bin];
      sum += histogram_[1][bin];
      histogram_[0][bin] = histogram_[1][bin] = Packed{};
      return sum;
    };
    for (int bin = low; bin <= high; ++bin) add_group(bin, take(bin));
    missing_ = take(kMissing);
  }

  void search_few_classes(const Node& node) {
    if (node.n_present == 2) return search_groups<2>(node);
    search_groups<kFewClasses>(node);
  }

  template <int kClasses>
  void search_groups(const Node& node) {
    double total[kFewClasses] = {0, 0, 0};
    std::copy_n(node.total.data(), node.n_present, total);
    const auto next = [this](int g) { return g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing; };
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      Packed left = missing_left ? missing_ : Packed{};
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      if (last >= kFewestGroups) {
        begin_sweep(node);
        if (bin_sweep_.run(left, group_sum_.data(), last)) {
          bin_sweep_.offer_better(0, last, best_score_, [&](int g) {
            offer(bin_sweep_.improve(best_score_, g), group_bin_[g], next(g), missing_left != 0);
          });
          continue;
        }
      }
      for (int g = 0; g < last; ++g) {
        left += group_sum_[g];
        double weight = 0, terms_left = 0, terms_right = 0;
        for (int c = 0; c < kClasses; ++c) {
          const double here = left[c];
          weight += here;
          terms_left += Criterion::term(here);
          terms_right += Criterion::term(total[c] - here);
        }
        const double score =
            Criterion::improve(best_score_, terms_left, weight, terms_right, node.weight - weight);
        if (score > best_score_) offer(score, group_bin_[g], next(g), missing_left != 0);
      }
    }
  }

  const GrowOptions options_;
  double least_weight_ = 0;
  CategorySearch<Criterion, Weight> category_search_;
  Sweep<Criterion, Weight> sweep_;
  BinSweep<Criterion, Weight> bin_sweep_;
  bool has_begun_ = false;    // bin_sweep_, with this node
  std::vector<Weight> bins_;  // search_binned's
  bool has_missing_ = false, improved_ = false, missing_left_ = false;
  double best_score_ = 0;
  int last_left_ = 0, first_right_ = 0;

  int n_groups_ = 0;
  std::array<int, 256> group_bin_;
  std::array<int64_t, 256> group_end_;
  std::array<Packed, 256> group_sum_;
  Packed missing_;
  std::array<std::array<Packed, 256>, 2> histogram_{};
  std::array<int32_t, kFewRows> order_;
  std::vector<Placed> in_order_;
  int n_rest_ = 0;
  std::array<uint32_t, kFewRows + 1> rest_;  // one more, which is written but not meant
  std::vector<Sum> of_low_;                  // weights of the lowest code, by class
  std::array<Stripes, 256> place_{};         // where a code's next sample goes; zero between calls
};

}  // namespace mddf
