// Finds the best split of a categorical column at a node with classes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "forest/data/bin_cells.hpp"
#include "forest/data/bins.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"

namespace mddf {

// With two classes, the best of all sets is found by sorting the categories by their share of one
// class. With more classes, categories are sorted by the share of each of the 16 heaviest classes
// in turn.
template <class Criterion, class Weight>
class CategorySearch {
 public:
  using Node = NodeClasses<Weight>;

  // Replaces `best` if the column has a better set. `codes` has the bins of the node's samples.
  // Returns false if the column is constant in the node. allows(rows_left, sweep) returns whether a
  // split is allowed.
  template <class Allows>
  bool search(const Node& node, const uint8_t* codes, int n_bins, int32_t column, Allows allows,
              Split& best) {
    gather_categories(node, codes, n_bins);
    return search_categories(node, column, allows, best);
  }

  // The same from the rows and the class weights of each category.
  template <class Allows>
  bool search(const Node& node, const BinCounts& counts, int32_t column, Allows allows,
              Split& best) {
    take_categories(node, counts);
    return search_categories(node, column, allows, best);
  }

 private:
  using Sum = typename Sweep<Criterion, Weight>::Sum;

  template <class Allows>
  bool search_categories(const Node& node, int32_t column, Allows allows, Split& best) {
    const int k = node.n_present;
    const int n_groups = static_cast<int>(categories_.size());
    if (n_groups < 2) return false;
    const auto weight_of = [&](int group, int c) { return weights_[group * int64_t{k} + c]; };
    leaders_.resize(k);
    std::iota(leaders_.begin(), leaders_.end(), 0);
    std::stable_sort(leaders_.begin(), leaders_.end(),
                     [&](int a, int b) { return node.total[a] > node.total[b]; });
    leaders_.resize(n_leaders(k));
    for (const int leader : leaders_) {
      group_order_.clear();  // categories without the leader come first and need no sorting
      for (int g = 0; g < n_groups; ++g)
        if (weight_of(g, leader) == 0) group_order_.push_back(g);
      const auto n_without = static_cast<std::ptrdiff_t>(group_order_.size());
      for (int g = 0; g < n_groups; ++g)
        if (weight_of(g, leader) > 0) group_order_.push_back(g);
      std::stable_sort(group_order_.begin() + n_without, group_order_.end(), [&](int a, int b) {
        return weight_of(a, leader) * categories_[b].total <
               weight_of(b, leader) * categories_[a].total;
      });
      sweep_.start(node.total.data(), k);
      int64_t rows_left = 0;
      for (int g = 0; g + 1 < n_groups; ++g) {
        const int group = group_order_[g];
        for (uint32_t i = categories_[group].first; i < categories_[group].last; ++i)
          sweep_.add(present_classes_[i].label, present_classes_[i].weight);
        rows_left += categories_[group].rows;
        if (!allows(rows_left, sweep_)) continue;
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

  struct Category {
    int code;
    int64_t rows = 0;
    double total = 0;
    uint32_t first = 0, last = 0;  // range of its classes in present_classes_
  };
  struct PresentClass {
    int label;
    Sum weight;
  };

  // Lists the categories of the node in the order of their codes, with their classes. If there are
  // many categories, most have few classes.
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
    list_present_classes(node);
  }

  // Does the same from counts.
  void take_categories(const Node& node, const BinCounts& counts) {
    categories_.clear();
    weights_.clear();
    counts.for_each_code([&](int code) {
      Category category{code};
      category.rows = counts.rows(code);
      for (int c = 0; c < node.n_present; ++c) {
        weights_.push_back(static_cast<double>(counts.weight(code, c)));
        category.total += weights_.back();
      }
      categories_.push_back(category);
    });
    list_present_classes(node);
  }

  void list_present_classes(const Node& node) {
    const size_t k = static_cast<size_t>(node.n_present);
    present_classes_.clear();
    for (size_t g = 0; g < categories_.size(); ++g) {
      categories_[g].first = static_cast<uint32_t>(present_classes_.size());
      for (int c = 0; c < node.n_present; ++c)
        if (const double weight = weights_[g * k + c]; weight > 0)
          present_classes_.push_back({c, static_cast<Sum>(weight)});
      categories_[g].last = static_cast<uint32_t>(present_classes_.size());
    }
  }

  Sweep<Criterion, Weight> sweep_;
  std::vector<Category> categories_;
  std::vector<double> weights_;  // weights of each category by class
  std::vector<PresentClass> present_classes_;
  std::vector<int> leaders_, group_order_;
};

}  // namespace mddf
