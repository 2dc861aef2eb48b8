// The best threshold or category set of one column at one node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/midpoint.hpp"
#include "common/random.hpp"
#include "forest/criterion.hpp"
#include "forest/node_classes.hpp"
#include "forest/samples.hpp"
#include "forest/training.hpp"

namespace mddf {

struct Split {
  double score = -std::numeric_limits<double>::infinity();
  int32_t column = -1;
  bool categorical = false;
  bool missing_left = false;
  bool saw_missing = false;  // the node has rows without a value in this column
  int last_left = 0;         // numeric: the node's last bin on the left ...
  int first_right = 0;       // ... and its next one, kMissing if only missing rows go right
  int threshold = 0;         // numeric: highest bin that goes left
  CodeSet left;              // categorical: codes that go left

  // Puts every category on the left that is not in the set.
  void list_all_but(const CodeSet& on_right, int n_bins) {
    for (auto& word : left.words) word = 0;
    for (int code = 0; code < n_bins; ++code)
      if (!on_right.contains(code)) left.insert(code);
  }

  bool goes_right(uint8_t bin) const {
    if (categorical) return !left.contains(bin);
    return static_cast<uint8_t>(bin + missing_left) > threshold + missing_left;
  }
};

// Every category that is present goes left or right by a coin, but not all to one side. False if
// only one is present.
inline bool draw_category_set(int32_t column, const CodeSet& seen, Random& random, Split& split) {
  int present[256], n_present = 0, n_left = 0;
  for (int code = 0; code < 256; ++code)
    if (seen.contains(code)) present[n_present++] = code;
  if (n_present < 2) return false;
  split.column = column;
  split.categorical = true;
  split.saw_missing = seen.contains(kMissing);
  for (int i = 0; i < n_present; ++i)
    if (random.next() >> 63) split.left.insert(present[i]), ++n_left;
  if (n_left == 0 || n_left == n_present) {
    split.left = CodeSet{};
    split.left.insert(present[random.below(n_present)]);
  }
  split.missing_left = split.left.contains(kMissing);
  return true;
}

// A threshold between two values that the node has, or a set of its categories; `codes` are those
// of its samples. False if the column is constant here.
inline bool draw_split(const Bins& bins, int32_t column, const uint8_t* codes, int64_t n,
                       Random& random, Split& split) {
  if (bins.categorical[column]) {
    CodeSet seen;
    for (int64_t i = 0; i < n; ++i) seen.insert(codes[i]);
    return draw_category_set(column, seen, random, split);
  }
  uint8_t low = codes[0], high = codes[0];
  for (int64_t i = 1; i < n; ++i) {
    low = std::min(low, codes[i]);
    high = std::max(high, codes[i]);
  }
  if (low == high) return false;
  split.column = column;
  if (high == kMissing) {
    split.saw_missing = true;
    high = low;
    for (int64_t i = 0; i < n; ++i)
      if (codes[i] != kMissing) high = std::max(high, codes[i]);
    if (low == high) {  // one value, and rows without it
      split.threshold = kMissing - 1;
      return true;
    }
    split.missing_left = random.next() >> 63;
  }
  split.threshold = draw_cut(random, bins.values + bins.bin_start[column], low, high);
  return true;
}

// Moves the samples, whose codes are given, to `to`, those that go left first; returns how many
// these are.
template <class Sample>
uint32_t divide_samples(const Split& split, const Sample* samples, const uint8_t* codes, uint32_t n,
                        Sample* to, std::vector<uint8_t>& sides, bool wide) {
  const uint8_t missing_left = split.missing_left;
  if (!split.categorical)
    return simd::divide(samples, codes, n, missing_left,
                        static_cast<uint8_t>(split.threshold + missing_left), to, wide);
  // A set becomes a comparison of 0 and 1.
  if (sides.size() < n) sides.resize(n);
  for (uint32_t i = 0; i < n; ++i) sides[i] = !split.left.contains(codes[i]);
  return simd::divide(samples, sides.data(), n, 0, 0, to, wide);
}

// Lets what the node has not seen go to the side of more weight.
template <class Sample>
void send_unseen(Split& split, bool left_is_larger, const Sample* on_right, uint32_t n_right,
                 const TrainingTable& data) {
  if (split.categorical && left_is_larger) {
    CodeSet codes;
    for (uint32_t i = 0; i < n_right; ++i)
      codes.insert(data.matrix.row(on_right[i].row)[split.column]);
    split.list_all_but(codes, data.bins.count(split.column));
  }
  if (!split.saw_missing) split.missing_left = left_is_larger;
}

// The last bin left of the middle between the two neighbouring bins that the node has.
inline int cut_between(const Bins& bins, const Split& split) {
  if (split.first_right == kMissing) return kMissing - 1;
  const double* values = bins.values + bins.bin_start[split.column];
  return cut_at(values, split.last_left, split.first_right - 1,
                midpoint(values[split.last_left], values[split.first_right]),
                split.last_left + (split.first_right - split.last_left - 1) / 2);
}

template <class Criterion, class Weight>
class SplitSearch {
 public:
  using Packed = mddf::Packed<Weight>;
  using Node = NodeClasses<Weight>;

  explicit SplitSearch(const GrowOptions& options) : options_(options), sweep_(options.wide()) {}

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
    if (node.few()) return node.n_samples > 4 * kFewRows && n_bins <= 4 * node.n_samples;
    // Where sums are rounded, the way shows in their last bits: it must not change.
    constexpr int kBinsPerSample = std::is_integral_v<Sum> ? 3 : 2;
    return static_cast<int64_t>(n_bins) * node.n_present <= kBinsPerSample * node.n_samples;
  }

  // The same as numeric() from histograms: 256 bins of the packed weights of few classes ...
  bool from_histogram(const Node& node, const Packed* bins, int n_bins, int32_t column,
                      Split& best) {
    n_groups_ = 0;
    for (int bin = 0; bin < n_bins; ++bin) {
      if (bins[bin].empty()) continue;
      group_bin_[n_groups_] = bin;
      group_sum_[n_groups_++] = bins[bin];
    }
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
    bool varies = false;
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      sweep_.over_bins(node.total.data(), node.n_present, missing_left ? missing : nullptr, bins,
                       n_bins);
      int previous = -1;
      double left = missing_left ? sweep_.start_weight() : 0;
      for (int bin = 0; bin < n_bins; ++bin) {
        if (sweep_.weight_after(bin) == left) continue;  // an empty bin
        if (previous >= 0) offer_after(node, previous, bin, missing_left != 0), varies = true;
        left = sweep_.weight_after(bin);
        previous = bin;
      }
      if (has_missing_ && !missing_left && previous >= 0)
        offer_after(node, previous, kMissing, false), varies = true;
    }
    finish(column, best);
    return varies;
  }

  // The same for a categorical column. Two classes: the optimum, by sorting the categories by
  // their share of one class. More: the best over such orders for each of the 16 heaviest classes.
  bool categorical(const Node& node, const uint8_t* codes, int n_bins, int32_t column,
                   Split& best) {
    const int k = node.n_present;
    gather_categories(node, codes, n_bins);
    const int n_groups = static_cast<int>(categories_.size());
    if (n_groups < 2) return false;
    leaders_.resize(k);
    std::iota(leaders_.begin(), leaders_.end(), 0);
    std::stable_sort(leaders_.begin(), leaders_.end(),
                     [&](int a, int b) { return node.total[a] > node.total[b]; });
    leaders_.resize(k == 2 ? 1 : std::min(k, 16));
    group_order_.resize(n_groups);
    for (const int leader : leaders_) {
      std::iota(group_order_.begin(), group_order_.end(), 0);
      std::stable_sort(group_order_.begin(), group_order_.end(), [&](int a, int b) {
        return weight_of(a, leader) * categories_[b].total <
               weight_of(b, leader) * categories_[a].total;
      });
      sweep_.start(node.total.data(), k);
      int64_t rows_left = 0;
      for (int g = 0; g + 1 < n_groups; ++g) {
        const int group = group_order_[g];
        for (int c = 0; c < k; ++c)
          if (const double weight = weight_of(group, c); weight > 0)
            sweep_.add(c, static_cast<Sum>(weight));
        rows_left += categories_[group].rows;
        if (!allows(rows_left, sweep_.weight_left(), node)) continue;
        const double score = sweep_.improve(best.score, node.weight);
        if (!(score > best.score)) continue;
        best = Split{};
        best.score = score;
        best.column = column;
        best.categorical = true;
        for (int i = 0; i <= g; ++i) best.left.insert(categories_[group_order_[i]].code);
        best.saw_missing = categories_.back().code == kMissing;
        best.missing_left = best.left.contains(kMissing);
      }
    }
    return true;
  }

 private:
  static constexpr int kFewRows = 32;
  using Sum = typename Sweep<Criterion, Weight>::Sum;

  struct Placed {
    uint16_t label;
    Weight weight;
  };
  // Samples of one code are dealt out to stripes, so that equal codes in a row do not wait for each
  // other's store; to a single one where the order of a sum shows in its last bits.
  static constexpr int kStripes = std::is_integral_v<Sum> ? 4 : 1;
  using Stripes = std::array<uint32_t, kStripes>;

  struct Category {
    int code;
    int64_t rows = 0;
    double total = 0;
  };

  // Fills categories_ with those that the node has, in the order of their codes.
  void gather_categories(const Node& node, const uint8_t* codes, int n_bins) {
    std::array<bool, 256> seen{};
    for (int64_t i = 0; i < node.n_samples; ++i) seen[codes[i]] = true;
    std::array<int16_t, 256> slot{};
    categories_.clear();
    const auto number = [&](int code) {
      if (!seen[code]) return;
      slot[code] = static_cast<int16_t>(categories_.size());
      categories_.push_back({code});
    };
    for (int code = 0; code < n_bins; ++code) number(code);
    number(kMissing);
    const size_t k = static_cast<size_t>(node.n_present);
    weights_.assign(categories_.size() * k, 0);
    for (int64_t i = 0; i < node.n_samples; ++i) {
      const size_t g = static_cast<size_t>(slot[codes[i]]);
      const double weight = static_cast<double>(node.sample_weight[i]);
      weights_[g * k + node.label[i]] += weight;
      categories_[g].total += weight;
      ++categories_[g].rows;
    }
    n_classes_ = k;
  }
  // Of a category's samples of this class.
  double weight_of(int category, int c) const { return weights_[category * n_classes_ + c]; }

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
    best.last_left = last_left_;
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

  void search_sorted(const Node& node, const uint8_t* codes, int low, int high) {
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

  void offer_after(const Node& node, int bin, int next, bool missing_left) {
    const double left = sweep_.weight_after(bin);
    offer(Criterion::improve(best_score_, sweep_.terms_left_after(bin), left,
                             sweep_.terms_right_after(bin), node.weight - left),
          bin, next, missing_left);
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
    for (int bin = low; bin <= high; ++bin) {
      const Packed sum = take(bin);
      if (sum.empty()) continue;
      group_bin_[n_groups_] = bin;
      group_sum_[n_groups_++] = sum;
    }
    missing_ = take(kMissing);
  }

  void search_few_classes(const Node& node) {
    double total[kFewClasses] = {0, 0, 0};
    std::copy_n(node.total.data(), node.n_present, total);
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      Packed left = missing_left ? missing_ : Packed{};
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      for (int g = 0; g < last; ++g) {
        left += group_sum_[g];
        double weight = 0, terms_left = 0, terms_right = 0;
        for (int c = 0; c < kFewClasses; ++c) {
          const double here = left[c];
          weight += here;
          terms_left += Criterion::term(here);
          terms_right += Criterion::term(total[c] - here);
        }
        const double score =
            Criterion::improve(best_score_, terms_left, weight, terms_right, node.weight - weight);
        if (score > best_score_)
          offer(score, group_bin_[g], g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing,
                missing_left != 0);
      }
    }
  }

  const GrowOptions options_;
  double least_weight_ = 0;
  Sweep<Criterion, Weight> sweep_;
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
  std::array<Stripes, 256> place_{};  // where a code's next sample goes; zero between calls
  std::vector<Category> categories_;
  std::vector<double> weights_;  // of each category, by class
  size_t n_classes_ = 0;
  std::vector<int> leaders_, group_order_;
};

}  // namespace mddf
