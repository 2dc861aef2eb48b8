// The best threshold or category set of one column at one node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "criterion.hpp"
#include "samples.hpp"

namespace mddf {

// A set of bin codes; code 255 is "missing".
struct CategorySet {
  std::array<uint64_t, 4> words{};
  void insert(int code) { words[code >> 6] |= uint64_t{1} << (code & 63); }
  void erase(int code) { words[code >> 6] &= ~(uint64_t{1} << (code & 63)); }
  bool contains(int code) const { return (words[code >> 6] >> (code & 63)) & 1; }
};

struct Split {
  double score = -std::numeric_limits<double>::infinity();
  int32_t column = -1;
  bool categorical = false;
  bool missing_left = false;
  bool saw_missing = false;  // the node has rows without a value in this column
  int last_left = 0;         // numeric: the node's last bin on the left ...
  int first_right = 0;       // ... and its next one, kMissing if only missing rows go right
  int threshold = 0;         // numeric: highest bin that goes left
  CategorySet left;          // categorical: codes that go left

  bool goes_right(uint8_t bin) const {
    if (categorical) return !left.contains(bin);
    return static_cast<uint8_t>(bin + missing_left) > threshold + missing_left;
  }
};

// The classes of a node that are not pure: its samples' labels are numbered by those present.
template <class Weight>
struct NodeClasses {
  int64_t n_samples = 0;
  std::vector<uint16_t> present;  // ascending
  std::vector<double> total;      // weight of each present class
  double weight = 0;
  std::vector<uint16_t> label;    // of each sample: index into present
  std::vector<Weight> sample_weight;
  std::vector<decltype(pack(Weight{}, false))> packed;  // of each sample, if two are present
};

template <class Criterion, class Weight>
class SplitSearch {
 public:
  using Packed = decltype(pack(Weight{}, false));
  using Node = NodeClasses<Weight>;

  explicit SplitSearch(int64_t min_samples_leaf) : min_leaf_(min_samples_leaf) {
    head_.fill(-1);
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
    has_missing_ = high == kMissing;
    if (has_missing_) {
      high = low;
      for (int64_t i = 0; i < node.n_samples; ++i)
        if (codes[i] != kMissing) high = std::max(high, codes[i]);
    }
    improved_ = false;
    best_score_ = best.score;
    const int64_t n_bins = high - low + 1;
    const int64_t n_classes = static_cast<int64_t>(node.present.size());
    if (min_leaf_ > 1 || (n_classes > 2 && (has_missing_ || n_bins * n_classes > 4 * node.n_samples)))
      search_sorted(node, codes, low, high);
    else if (n_classes == 2)
      search_two_classes(node, codes, low, high);
    else
      search_histogram(node, codes, low, high);
    if (improved_) {
      best.score = best_score_;
      best.column = column;
      best.categorical = false;
      best.saw_missing = has_missing_;
      best.missing_left = missing_left_;
      best.last_left = last_left_;
      best.first_right = first_right_;
    }
    return true;
  }

  // The same for a categorical column. Two classes: the optimum, by sorting the categories by
  // their share of one class. More: the best over such orders for each of the 16 heaviest classes.
  bool categorical(const Node& node, const uint8_t* codes, int32_t column, Split& best) {
    const size_t k = node.present.size();
    gather_categories(node, codes);
    const size_t n_groups = categories_.size();
    if (n_groups < 2) return false;
    std::vector<size_t> leaders(k);
    for (size_t c = 0; c < k; ++c) leaders[c] = c;
    std::stable_sort(leaders.begin(), leaders.end(),
                     [&](size_t a, size_t b) { return node.total[a] > node.total[b]; });
    leaders.resize(k == 2 ? 1 : std::min<size_t>(k, 16));
    std::vector<int> order(n_groups);
    for (const size_t leader : leaders) {
      for (size_t g = 0; g < n_groups; ++g) order[g] = static_cast<int>(g);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return categories_[a].weights[leader] * categories_[b].total <
               categories_[b].weights[leader] * categories_[a].total;
      });
      sweep_.start(node.total);
      int64_t rows_left = 0;
      for (size_t g = 0; g + 1 < n_groups; ++g) {
        const Category& group = categories_[order[g]];
        for (size_t c = 0; c < k; ++c)
          if (group.weights[c] > 0) sweep_.add(static_cast<int>(c), group.weights[c]);
        rows_left += group.rows;
        if (rows_left < min_leaf_ || node.n_samples - rows_left < min_leaf_) continue;
        const double score =
            Criterion::improve(best.score, sweep_.terms_left, sweep_.weight_left,
                               sweep_.terms_right, node.weight - sweep_.weight_left);
        if (!(score > best.score)) continue;
        best = Split{};
        best.score = score;
        best.column = column;
        best.categorical = true;
        for (size_t i = 0; i <= g; ++i) best.left.insert(categories_[order[i]].code);
        best.saw_missing = categories_.back().code == kMissing;
        best.missing_left = best.left.contains(kMissing);
      }
    }
    return true;
  }

 private:
  static constexpr int kFewRows = 32;

  struct Category {
    int code;
    int64_t rows;
    double total;
    std::vector<double> weights;
  };

  void gather_categories(const Node& node, const uint8_t* codes) {
    categories_.clear();
    std::array<int, 256> slot;
    slot.fill(-1);
    for (int64_t i = 0; i < node.n_samples; ++i) slot[codes[i]] = 0;
    for (int code = 0; code < 256; ++code)
      if (slot[code] == 0) {
        slot[code] = static_cast<int>(categories_.size());
        categories_.push_back({code, 0, 0, std::vector<double>(node.present.size(), 0.0)});
      }
    for (int64_t i = 0; i < node.n_samples; ++i) {
      Category& group = categories_[slot[codes[i]]];
      const double weight = static_cast<double>(node.sample_weight[i]);
      group.weights[node.label[i]] += weight;
      group.total += weight;
      ++group.rows;
    }
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

  // Fills order_ and, per distinct bin in [low, high], group_bin_ and group_end_. Missing samples
  // come last, behind the last group.
  void sort_samples(const uint8_t* codes, int64_t n, int low, int high) {
    order_.resize(std::max<int64_t>(n, kFewRows));
    n_groups_ = 0;
    if (n <= kFewRows) {
      sort_few(codes, static_cast<int>(n));
      for (int64_t i = 0; i < n && codes[order_[i]] != kMissing; ++i) {
        if (n_groups_ == 0 || group_bin_[n_groups_ - 1] != codes[order_[i]])
          group_bin_[n_groups_++] = codes[order_[i]];
        group_end_[n_groups_ - 1] = i + 1;
      }
      return;
    }
    next_.resize(n);
    for (int64_t i = n - 1; i >= 0; --i) {
      next_[i] = head_[codes[i]];
      head_[codes[i]] = static_cast<int32_t>(i);
    }
    int64_t position = 0;
    const auto take = [&](int bin) {
      for (int32_t i = head_[bin]; i >= 0; i = next_[i]) order_[position++] = i;
      head_[bin] = -1;
    };
    for (int bin = low; bin <= high; ++bin) {
      if (head_[bin] < 0) continue;
      take(bin);
      group_bin_[n_groups_] = bin;
      group_end_[n_groups_++] = position;
    }
    take(kMissing);
  }

  void search_sorted(const Node& node, const uint8_t* codes, int low, int high) {
    sort_samples(codes, node.n_samples, low, high);
    const int64_t n_present = group_end_[n_groups_ - 1];
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      sweep_.start(node.total);
      int64_t rows_left = 0;
      if (missing_left)
        for (int64_t i = n_present; i < node.n_samples; ++i, ++rows_left)
          sweep_.add(node.label[order_[i]], static_cast<double>(node.sample_weight[order_[i]]));
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      int64_t i = 0;
      for (int g = 0; g < last; ++g) {
        rows_left += group_end_[g] - i;
        for (; i < group_end_[g]; ++i)
          sweep_.add(node.label[order_[i]], static_cast<double>(node.sample_weight[order_[i]]));
        if (rows_left < min_leaf_ || node.n_samples - rows_left < min_leaf_) continue;
        offer_sweep(node, g, missing_left != 0);
      }
    }
  }

  void search_histogram(const Node& node, const uint8_t* codes, int low, int high) {
    const size_t k = node.present.size();
    const size_t n_bins = static_cast<size_t>(high - low + 1);
    histogram_.assign(n_bins * k, 0);
    for (int64_t i = 0; i < node.n_samples; ++i)
      histogram_[(codes[i] - low) * k + node.label[i]] += node.sample_weight[i];
    n_groups_ = 0;
    const auto occupied = [&](size_t bin) {
      for (size_t c = 0; c < k; ++c)
        if (histogram_[bin * k + c] > 0) return true;
      return false;
    };
    for (size_t bin = 0; bin < n_bins; ++bin)
      if (occupied(bin)) group_bin_[n_groups_++] = low + static_cast<int>(bin);
    sweep_.start(node.total);
    for (int g = 0; g + 1 < n_groups_; ++g) {
      sweep_.add_all(&histogram_[(group_bin_[g] - low) * k]);
      offer_sweep(node, g, false);
    }
  }

  void offer_sweep(const Node& node, int g, bool missing_left) {
    const double score =
        Criterion::improve(best_score_, sweep_.terms_left, sweep_.weight_left, sweep_.terms_right,
                           node.weight - sweep_.weight_left);
    offer(score, group_bin_[g], g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing, missing_left);
  }

  void search_two_classes(const Node& node, const uint8_t* codes, int low, int high) {
    Packed missing;
    n_groups_ = 0;
    if (node.n_samples <= kFewRows) {
      order_.resize(kFewRows);
      sort_few(codes, static_cast<int>(node.n_samples));
      int previous = -1;
      for (int64_t i = 0; i < node.n_samples; ++i) {
        const int bin = codes[order_[i]];
        if (bin == kMissing) {
          missing += node.packed[order_[i]];
          continue;
        }
        if (bin != previous) {
          group_bin_[n_groups_] = previous = bin;
          group_sum_[n_groups_++] = Packed{};
        }
        group_sum_[n_groups_ - 1] += node.packed[order_[i]];
      }
    } else {
      // Two copies, so that equal codes in a row do not wait for each other's store.
      int64_t i = 0;
      for (; i + 1 < node.n_samples; i += 2) {
        pair_histogram_[0][codes[i]] += node.packed[i];
        pair_histogram_[1][codes[i + 1]] += node.packed[i + 1];
      }
      if (i < node.n_samples) pair_histogram_[0][codes[i]] += node.packed[i];
      const auto take = [&](int bin) {
        Packed sum = pair_histogram_[0][bin];
        sum += pair_histogram_[1][bin];
        pair_histogram_[0][bin] = pair_histogram_[1][bin] = Packed{};
        return sum;
      };
      for (int bin = low; bin <= high; ++bin) {
        const Packed sum = take(bin);
        if (sum.empty()) continue;
        group_bin_[n_groups_] = bin;
        group_sum_[n_groups_++] = sum;
      }
      missing = take(kMissing);
    }
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      Packed left = missing_left ? missing : Packed{};
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      for (int g = 0; g < last; ++g) {
        left += group_sum_[g];
        const double both = left.both(), second = left.second();
        const double right = node.weight - both, right_second = node.total[1] - second;
        const double terms_left = Criterion::term(second) + Criterion::term(both - second);
        const double terms_right =
            Criterion::term(right_second) + Criterion::term(right - right_second);
        const double score =
            Criterion::improve(best_score_, terms_left, both, terms_right, right);
        offer(score, group_bin_[g], g + 1 < n_groups_ ? group_bin_[g + 1] : kMissing,
              missing_left != 0);
      }
    }
  }

  int64_t min_leaf_;
  Sweep<Criterion> sweep_;
  bool has_missing_ = false, improved_ = false, missing_left_ = false;
  double best_score_ = 0;
  int last_left_ = 0, first_right_ = 0;

  int n_groups_ = 0;
  std::array<int, 256> group_bin_;
  std::array<int64_t, 256> group_end_;
  std::array<Packed, 256> group_sum_;
  std::array<std::array<Packed, 256>, 2> pair_histogram_{};
  std::array<int32_t, 256> head_;
  std::vector<int32_t> next_, order_;
  std::vector<Weight> histogram_;
  std::vector<Category> categories_;
};

}  // namespace mddf
