// The best threshold or category set of a column by the absolute error, from medians.
//
// The numbers on each side of all thresholds of a column are those of the node less some bins, more
// and more of them: two walks, from either end, find all medians in a time in proportion to the
// samples.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/split/bounds.hpp"
#include "forest/split/middle.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/sort_few.hpp"
#include "forest/split/split.hpp"

namespace mddf {

template <bool kOne>
class AbsoluteSearch {
 public:
  static constexpr bool kMedians = true;  // in leaves

  AbsoluteSearch(const TrainingData& data, const GrowOptions& options, const NodeValues<kOne>& node)
      : data_(data),
        options_(options),
        node_(node),
        in_order_(node.n_outputs()),
        place_(node.n_outputs()) {}
  static constexpr int kAtOnce = 1;

  void set_least_weight(double weight) { least_weight_ = weight; }
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }

  // To be called when the node's cells are there.
  void begin(const RowSample* samples, int64_t n) {
    samples_ = samples;
    n_ = n;
    if (static_cast<int64_t>(codes_.size()) < n) {
      codes_.resize(n);
      rows_.resize(n);
      order_.resize(n);
      members_.resize(n);
    }
    whole_ = 0;
    for (int j = 0; j < node_.n_outputs(); ++j) {
      sort_output(j);
      left_.start(in_order_[j]);
      whole_ += factor(j) * static_cast<double>(left_.deviation());
    }
  }

  // Improves `best` by a column; marks it if it is constant here.
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

  // The decrease of the absolute error by a split with this score, in units of the largest bound.
  double gain(double score) const { return whole_ + score; }

  // Scores a drawn split, given the codes of the node's samples; one that may not be keeps
  // -infinity.
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
        left_.start(in_order_[j]);
        for (int64_t i = 0; i < n_; ++i)
          if (split.goes_right(codes[i]) != (side == 1)) left_.take(place_[j][i]);
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
    uint32_t first, last;  // of its samples in members_
    int64_t weight;
    double order;
  };
  struct Cut {  // after a group of the sequence
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
    InOrder& in_order = in_order_[j];
    in_order.numbers.resize(n_ + 2);
    in_order.numbers.front() = in_order.numbers.back() = {0, 0, 0};
    in_order.weight = node_.total()[0];
    in_order.part = node_.total()[1 + j];
    in_order.shift = node_.shift(j);
    if (static_cast<int64_t>(place_[j].size()) < n_) place_[j].resize(n_);
    for (int64_t rank = 0; rank < n_; ++rank) {
      const uint32_t i = keys[rank].second;
      if (j == 0) rows_[rank] = samples_[i].row, order_[rank] = i;
      place_[j][i] = static_cast<int32_t>(rank + 1);
      in_order.numbers[rank + 1] = {node_.distance(i, j), node_.cell(i)[1 + j], node_.cell(i)[0]};
    }
  }

  // Samples that are members of groups: of one output their places, of more their numbers.
  uint32_t member(int64_t rank) const {
    return kOne ? static_cast<uint32_t>(rank + 1) : order_[rank];
  }
  int32_t place(int j, uint32_t member) const {
    return kOne ? static_cast<int32_t>(member) : place_[j][member];
  }

  // Lists the codes that the node has, what is missing last, and their samples: in the order of the
  // first output.
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
        group.weight += in_order_[0].numbers[place(0, members_[m])].weight;
  }

  // The best of the sets that hold the categories with the least medians; of several outputs, those
  // of each in turn.
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
    while (2 * (up_to += in_order_[j].numbers[places_[at]].weight) < group.weight) ++at;
    return static_cast<double>(in_order_[j].numbers[places_[at]].distance);
  }

  // Offers the splits after each group of the sequence; `first` 1: not after the first alone, which
  // is what is missing.
  void search_sequence(int32_t column, Split& best, size_t first = 0) {
    const size_t last = sequence_.size() - 1;
    cuts_.assign(last, {0, {0, 0}});
    for (int j = 0; j < node_.n_outputs(); ++j) {
      left_.start(in_order_[j]);
      right_.start(in_order_[j]);
      for (size_t g = 0; g < last; ++g) {  // neither waits for the other
        if (last - g > first) take_away(left_, last - g, j, cuts_[last - g - 1], 0);
        take_away(right_, g, j, cuts_[g], 1);
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
  // What is left without one group more.
  void take_away(Middle& middle, size_t g, int j, Cut& cut, int side) {
    const Group& group = groups_[sequence_[g]];
    for (uint32_t m = group.first; m < group.last; ++m) middle.take(place(j, members_[m]));
    middle.settle();
    cut.sum += factor(j) * static_cast<double>(middle.deviation());
    if (options_.is_monotonic()) cut.median[side] = middle.median();
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
                        n_ - rows_left >= options_.min_samples_leaf && left >= least_weight_ &&
                        right >= least_weight_;
    if (!enough || !options_.is_monotonic()) return enough;
    return bounds_.allow(options_.monotonic[column], node_.at_distance(0, median_left),
                         node_.at_distance(0, median_right));
  }

  const TrainingData& data_;
  const GrowOptions options_;
  const NodeValues<kOne>& node_;
  double least_weight_ = 0, whole_ = 0;
  Bounds bounds_;
  const RowSample* samples_ = nullptr;
  int64_t n_ = 0;
  Middle left_, right_;
  std::vector<InOrder> in_order_;            // of each output, the node's numbers
  std::vector<uint32_t> order_;              // ... and whose they are
  std::vector<std::vector<int32_t>> place_;  // ... and each sample's place among them
  std::vector<std::pair<int64_t, uint32_t>> keys_;
  std::vector<uint32_t> rows_;  // in the order of the first output
  std::vector<uint8_t> codes_;  // of these, in one column
  std::vector<Group> groups_;
  std::vector<uint32_t> members_;
  std::vector<int> sequence_;
  std::vector<int32_t> places_;
  std::vector<Cut> cuts_;
};

}  // namespace mddf
