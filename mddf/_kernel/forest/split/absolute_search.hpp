// Finds the best threshold or category set of a column by the absolute error, whose leaves hold
// medians.
//
// The bins of a column are removed one after another from the samples of the node, once from either
// end. The median of the rest moves by few places each time. Two such passes find the medians on
// both sides of all thresholds in time proportional to the number of samples.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/bounds.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/running_median.hpp"
#include "forest/split/sort_few.hpp"
#include "forest/split/split.hpp"

namespace mddf {

template <bool kOne>
class AbsoluteSearch {
 public:
  static constexpr bool kMedians = true;  // leaves hold medians

  AbsoluteSearch(const TrainingData& data, const GrowOptions& options, const NodeValues<kOne>& node)
      : data_(data),
        options_(options),
        node_(node),
        sorted_(node.n_outputs()),
        sorted_place_(node.n_outputs()) {}
  static constexpr int kAtOnce = 1;

  void set_min_leaf_weight(double weight) { min_leaf_weight_ = weight; }
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }

  // Begins with a node whose cells are ready.
  void begin(const RowSample* samples, int64_t n) {
    samples_ = samples;
    n_ = n;
    if (static_cast<int64_t>(codes_.size()) < n) {
      codes_.resize(n);
      rows_.resize(n);
      order_.resize(n);
      members_.resize(n);
    }
    node_deviation_ = 0;
    for (int j = 0; j < node_.n_outputs(); ++j) {
      sort_output(j);
      left_.start(sorted_[j]);
      node_deviation_ += factor(j) * static_cast<double>(left_.deviation());
    }
  }

  // Replaces `best` if the column has a better split; marks the column if it is constant in the
  // node.
  void try_columns(const int32_t* columns, int64_t, Split& best, uint8_t* constant) {
    const int32_t column = columns[0];
    const BinMatrix::Column from = data_.matrix.column(column, n_);
    for (int64_t r = 0; r < n_; ++r) codes_[r] = from[rows_[r]];
    gather_groups();
    const int n_groups = static_cast<int>(groups_.size());
    constant[0] = n_groups < 2;
    if (constant[0]) return;
    if (data_.bins.categorical[column]) return search_categories(column, best);
    sequence_.resize(n_groups);
    for (int g = 0; g < n_groups; ++g) sequence_[g] = g;
    search_sequence(column, best);
    if (groups_.back().code != kMissing || n_groups == 2) return;
    std::rotate(sequence_.begin(), sequence_.end() - 1, sequence_.end());
    search_sequence(column, best, 1);
  }

  // Returns the decrease of the absolute error by a split with this score, as a share of the
  // largest bound on targets.
  double gain(double score) const { return node_deviation_ + score; }

  // Sets the score of a random split. It stays -infinity if the split is not allowed.
  void score(const uint8_t* codes, Split& split) {
    double sum = 0;
    std::array<double, 2> median{};
    std::array<int64_t, 2> rows{}, weight{};
    for (int64_t i = 0; i < n_; ++i) {
      const int side = split.goes_right(codes[i]);
      ++rows[side];
      weight[side] += samples_[i].weight;
    }
    for (int j = 0; j < node_.n_outputs(); ++j)
      for (const int side : {0, 1}) {
        left_.start(sorted_[j]);
        for (int64_t i = 0; i < n_; ++i)
          if (split.goes_right(codes[i]) != (side == 1)) left_.take(sorted_place_[j][i]);
        left_.settle();
        sum += factor(j) * static_cast<double>(left_.deviation());
        median[side] = left_.median();
      }
    if (allows(split.column, rows[0], static_cast<double>(weight[0]), median[0], median[1]))
      split.score = -sum;
  }

 private:
  struct Group {
    int code;
    uint32_t first, last;  // range of its samples in members_
    int64_t weight;
    double order;
  };
  struct Cut {  // the split after a group of the sequence
    double sum;
    std::array<double, 2> median;
  };

  double factor(int j) const { return node_.in_units(j, 1, 0) * node_.unit(j); }

  void sort_output(int j) {
    std::vector<std::pair<int64_t, uint32_t>>& keys = keys_;
    keys.resize(n_);
    for (int64_t i = 0; i < n_; ++i)
      keys[i] = {node_.fixed_value(samples_[i].row, j), static_cast<uint32_t>(i)};
    std::sort(keys.begin(), keys.end());
    SortedNumbers& sorted = sorted_[j];
    sorted.numbers.resize(n_ + 2);
    sorted.numbers.front() = sorted.numbers.back() = {0, 0, 0};
    sorted.weight = node_.total()[0];
    sorted.part = node_.total()[1 + j];
    sorted.shift = node_.shift(j);
    if (static_cast<int64_t>(sorted_place_[j].size()) < n_) sorted_place_[j].resize(n_);
    for (int64_t rank = 0; rank < n_; ++rank) {
      const uint32_t i = keys[rank].second;
      if (j == 0) rows_[rank] = samples_[i].row, order_[rank] = i;
      sorted_place_[j][i] = static_cast<int32_t>(rank + 1);
      sorted.numbers[rank + 1] = {node_.distance(i, j), node_.cell(i)[1 + j], node_.cell(i)[0]};
    }
  }

  // Members of groups: with one output, the places of the samples in its order; with several, the
  // sample numbers.
  uint32_t member(int64_t rank) const {
    return kOne ? static_cast<uint32_t>(rank + 1) : order_[rank];
  }
  int32_t place(int j, uint32_t member) const {
    return kOne ? static_cast<int32_t>(member) : sorted_place_[j][member];
  }

  // Lists the codes of the node with their samples, in the order of the first output. Missing
  // values come last.
  void gather_groups() {
    groups_.clear();
    if (n_ <= kFewCodes) {
      FewInOrder order;
      sort_few(codes_.data(), static_cast<int>(n_), order);
      for (uint32_t i = 0; i < n_; ++i) {
        const int code = codes_[order[i]];
        if (groups_.empty() || groups_.back().code != code) groups_.push_back({code, i, i, 0, 0});
        ++groups_.back().last;
        members_[i] = member(order[i]);
      }
    } else {
      std::array<uint32_t, 256> count{};
      for (int64_t r = 0; r < n_; ++r) ++count[codes_[r]];
      uint32_t position = 0;
      for (int code = 0; code < 256; ++code) {
        if (count[code] == 0) continue;
        groups_.push_back({code, position, position + count[code], 0, 0});
        position += std::exchange(count[code], position);
      }
      if (groups_.size() < 2) return;
      for (int64_t r = 0; r < n_; ++r) members_[count[codes_[r]]++] = member(r);
    }
    for (Group& group : groups_)
      for (uint32_t m = group.first; m < group.last; ++m)
        group.weight += sorted_[0].numbers[place(0, members_[m])].weight;
  }

  // Searches the sets of the categories with the lowest medians. With several outputs, the medians
  // of each output are used in turn.
  void search_categories(int32_t column, Split& best) {
    for (int j = 0; j < node_.n_outputs(); ++j) {
      for (Group& group : groups_) group.order = median_of(group, j);
      sequence_.resize(groups_.size());
      for (size_t g = 0; g < groups_.size(); ++g) sequence_[g] = static_cast<int>(g);
      std::stable_sort(sequence_.begin(), sequence_.end(),
                       [this](int a, int b) { return groups_[a].order < groups_[b].order; });
      search_sequence(column, best);
    }
  }
  double median_of(const Group& group, int j) {
    places_.clear();
    for (uint32_t m = group.first; m < group.last; ++m) places_.push_back(place(j, members_[m]));
    std::sort(places_.begin(), places_.end());
    int64_t up_to = 0;
    size_t at = 0;
    while (2 * (up_to += sorted_[j].numbers[places_[at]].weight) < group.weight) ++at;
    return static_cast<double>(sorted_[j].numbers[places_[at]].distance);
  }

  // Offers the split after each group of the sequence, from the group `first` on. `first` is 1 if
  // the first group has the missing values: missing values alone on the left were already offered
  // as missing values alone on the right.
  void search_sequence(int32_t column, Split& best, size_t first = 0) {
    const size_t last = sequence_.size() - 1;
    cuts_.assign(last, {0, {0, 0}});
    for (int j = 0; j < node_.n_outputs(); ++j) {
      left_.start(sorted_[j]);
      right_.start(sorted_[j]);
      for (size_t g = 0; g < last; ++g) {  // two independent chains of loads
        if (last - g > first) remove_group(left_, last - g, j, cuts_[last - g - 1], 0);
        remove_group(right_, g, j, cuts_[g], 1);
      }
    }
    int64_t rows_left = 0, weight_left = 0;
    for (size_t g = 0; g < cuts_.size(); ++g) {
      const Group& group = groups_[sequence_[g]];
      rows_left += group.last - group.first;
      weight_left += group.weight;
      const double score = -cuts_[g].sum;
      if (g < first || !(score > best.score)) continue;
      const auto& median = cuts_[g].median;
      if (allows(column, rows_left, static_cast<double>(weight_left), median[0], median[1]))
        offer(column, g, score, best);
    }
  }
  // Removes a group of the sequence, and adds the deviation of the remaining samples to the cut.
  void remove_group(RunningMedian& running, size_t g, int j, Cut& cut, int side) {
    const Group& group = groups_[sequence_[g]];
    for (uint32_t m = group.first; m < group.last; ++m) running.take(place(j, members_[m]));
    running.settle();
    cut.sum += factor(j) * static_cast<double>(running.deviation());
    if (options_.is_monotonic()) cut.median[side] = running.median();
  }

  void offer(int32_t column, size_t g, double score, Split& best) const {
    best = Split{};
    best.score = score;
    best.column = column;
    best.saw_missing = groups_.back().code == kMissing;
    if (data_.bins.categorical[column]) {
      best.categorical = true;
      for (size_t i = 0; i <= g; ++i) best.left.insert(groups_[sequence_[i]].code);
      best.missing_left = best.left.contains(kMissing);
      return;
    }
    best.missing_left = groups_[sequence_[0]].code == kMissing;
    best.threshold = groups_[sequence_[g]].code;
    best.first_right = groups_[sequence_[g + 1]].code;
  }

  bool allows(int32_t column, int64_t rows_left, double left, double median_left,
              double median_right) const {
    if (!options_.limits_leaves()) return true;
    const double right = static_cast<double>(node_.total()[0]) - left;
    const bool enough = rows_left >= options_.min_samples_leaf &&
                        n_ - rows_left >= options_.min_samples_leaf && left >= min_leaf_weight_ &&
                        right >= min_leaf_weight_;
    if (!enough || !options_.is_monotonic()) return enough;
    return bounds_.allow(options_.monotonic[column], node_.at_distance(0, median_left),
                         node_.at_distance(0, median_right));
  }

  const TrainingData& data_;
  const GrowOptions options_;
  const NodeValues<kOne>& node_;
  double min_leaf_weight_ = 0, node_deviation_ = 0;
  Bounds bounds_;
  const RowSample* samples_ = nullptr;
  int64_t n_ = 0;
  RunningMedian left_, right_;
  std::vector<SortedNumbers> sorted_;               // by output: targets in order
  std::vector<uint32_t> order_;                     // sample of each rank in the first output
  std::vector<std::vector<int32_t>> sorted_place_;  // by output: place of each sample
  std::vector<std::pair<int64_t, uint32_t>> keys_;
  std::vector<uint32_t> rows_;  // rows in the order of the first output
  std::vector<uint8_t> codes_;  // codes of these rows in the current column
  std::vector<Group> groups_;
  std::vector<uint32_t> members_;
  std::vector<int> sequence_;
  std::vector<int32_t> places_;
  std::vector<Cut> cuts_;
};

}  // namespace mddf
