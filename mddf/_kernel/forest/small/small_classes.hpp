// Grows classification subtrees of at most 64 samples. The trees are completely random, or use the
// best splits by Gini impurity.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/small/small_sweep.hpp"
#include "forest/small/small_trees.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/tree_writer.hpp"

namespace mddf {

#ifdef MDDF_AVX2

template <class Criterion>
class SmallClasses : public avx2::RandomSmallNodes<SmallClasses<Criterion>, TreeWriter> {
  using Base = avx2::RandomSmallNodes<SmallClasses, TreeWriter>;
  friend avx2::SmallNodes<SmallClasses, TreeWriter>;
  using Base::data_, Base::options_, Base::pool_, Base::writer_, Base::weight_of, Base::gathered;
  using Base::kUsualPlanes, Base::n_planes_, Base::n_samples_, Base::planes_;

 public:
  using Node = typename Base::Node;

  SmallClasses(const SmallClasses&) = delete;
  SmallClasses(const TrainingSet& data, const GrowOptions& options, ColumnPool& pool,
               TreeWriter& writer)
      : Base(data, options, pool, writer), class_index_(data.target.n_classes) {}

  // Whether subtrees can be grown this way. With whole-number weights, the sums of the Gini terms
  // are whole numbers and do not depend on the order of addition. The terms of other criteria are
  // not whole numbers.
  static bool suits(const GrowOptions& options) {
    if (!options.uses_simd() || options.limits_leaves() || options.weighs_splits()) return false;
    if (options.random_thresholds) return options.max_features == 1;
    return std::is_same_v<Criterion, Gini>;
  }

  // Grows the subtree below a node with more than one class.
  MDDF_TARGET_AVX2 void grow(Node node, const BootstrapSample* samples,
                             const NodeClasses<uint32_t>& classes, const BinMatrix& matrix,
                             Random& random) {
    Base::enter(samples, static_cast<int>(classes.n_samples), matrix);
    enter_classes(samples, classes);
    Base::grow_from(node, random);
  }

 private:
  void enter_classes(const BootstrapSample* samples, const NodeClasses<uint32_t>& classes) {
    classes_ = &classes;
    class_mask_.assign(classes.n_present, 0);
    for (int c = 0; c < classes.n_present; ++c)
      class_index_[classes.present[c]] = static_cast<uint16_t>(c);
    for (int i = 0; i < n_samples_; ++i) {
      class_of_[i] = class_index_[samples[i].label];
      sample_weight_[i] = static_cast<uint8_t>(samples[i].weight);
      class_mask_[class_of_[i]] |= uint64_t{1} << i;
    }
  }

  MDDF_TARGET_AVX2 double score(uint64_t mask) const {
    if (!options_.random_thresholds)
      return Criterion::side(static_cast<double>(sum_of_squares_),
                             static_cast<double>(node_weight_));
    double terms = 0, total = 0;
    for (const uint64_t members : class_mask_) {
      const double weight = weight_of(mask & members);
      terms += Criterion::term(weight);
      total += weight;
    }
    return Criterion::side(terms, total);
  }

  MDDF_TARGET_AVX2 void on_node(const Node& node) {
    if (!options_.random_thresholds) count_classes(node.mask);
    node_score_ = writer_.wants_importances() ? score(node.mask) : 0;
    writer_.gain(node.from_column, node_score_);
  }
  int64_t on_split(const Node&, const Split& split, uint64_t) {
    writer_.gain(split.column, -node_score_);
    return 0;
  }

  // Writes a leaf if the node is pure. Returns true if it is not pure and must be visited.
  MDDF_TARGET_AVX2 bool place(const Node& node) {
    const int c = class_of_[lowest_bit(node.mask)];
    if (node.mask & ~class_mask_[c]) return true;
    const auto weight = weight_of(node.mask);
    writer_.pure_leaf(node.index, classes_->present[c], static_cast<double>(weight));
    writer_.gain(node.from_column, Criterion::pure(weight));
    return false;
  }

  MDDF_TARGET_AVX2 void mixed_leaf(const Node& node) {
    uint16_t labels[kSmall];
    double weights[kSmall];
    int n = 0;
    for (size_t c = 0; c < class_mask_.size(); ++c) {
      const double weight = weight_of(node.mask & class_mask_[c]);
      if (weight == 0) continue;
      labels[n] = classes_->present[c];
      weights[n++] = weight;
    }
    writer_.leaf(node.index, labels, weights, n);
  }

  // Finds the best threshold or category set of randomly drawn columns. Returns the samples that go
  // to the right.
  MDDF_TARGET_AVX2 uint64_t find_best_split(const Node& node, Random& random, Split& best) {
    uint64_t right = 0;
    std::array<int32_t, kSmall> drawn;
    std::array<uint8_t, kSmall> constant;
    const bool all_at_once = scores_at_once_pay(node.mask);
    if (all_at_once)
      sweep_.begin(members_.data(), class_weight_.data(), n_node_classes_, sample_weight_.data());
    const auto try_columns = [&](int64_t n) MDDF_TARGET_AVX2 {
      Base::gather(drawn.data(), n, node.mask);
      if (all_at_once)
        return try_all_at_once(drawn.data(), n, node.mask, best, right, constant.data());
      for (int64_t j = 0; j < n; ++j)
        constant[j] = !try_one(drawn[j], gathered(j, drawn[j]), node.mask, best, right);
    };
    pool_.draw_candidates(random, node.n_constant, options_.max_features, kSmall, drawn.data(),
                          constant.data(), try_columns);
    if (best.categorical) {
      Base::gather(&best.column, 1, node.mask);
      Base::send_unseen(gathered(0, best.column), node.mask, right, best);
    }
    return right;
  }

  // Stores the members and the weight of each class of the node.
  MDDF_TARGET_AVX2 void count_classes(uint64_t mask) {
    n_node_classes_ = 0;
    sum_of_squares_ = node_weight_ = 0;
    for (const uint64_t members : class_mask_) {
      if (!(mask & members)) continue;
      for (int p = 0; p < std::max(n_planes_, kUsualPlanes); ++p)
        digits_[n_node_classes_][p] = members & planes_[p];
      members_[n_node_classes_] = mask & members;
      const int64_t total = weight_of_class(n_node_classes_, mask);
      class_weight_[n_node_classes_++] = total;
      sum_of_squares_ += total * total;
      node_weight_ += total;
    }
  }

  MDDF_TARGET_AVX2 int64_t weight_of_class(int c, uint64_t mask) const {
    const auto& digits = digits_[c];
    int64_t weight =
        static_cast<int64_t>(count_bits(mask & digits[0]) + (count_bits(mask & digits[1]) << 1) +
                             (count_bits(mask & digits[2]) << 2));
    for (int p = kUsualPlanes; p < n_planes_; ++p)
      weight += static_cast<int64_t>(count_bits(mask & digits[p])) << p;
    return weight;
  }

  // Whether scoring all thresholds of a column at once (SmallSweep) is faster. The preparation of a
  // node does not pay off for few columns or few samples. Measured: from five columns on
  // (mddf/_kernel/README.md).
  MDDF_TARGET_AVX2 bool scores_at_once_pay(uint64_t mask) const {
    return options_.max_features >= 5 && count_bits(mask) >= 6 &&
           node_weight_ <= SmallSweep::kMaxWeight;
  }

  // Replaces `best` if one of the columns has a better split. Marks constant columns. All columns
  // are scored in single precision. Only the columns with the highest score are then evaluated
  // exactly.
  MDDF_TARGET_AVX2 void try_all_at_once(const int32_t* drawn, int64_t n, uint64_t mask, Split& best,
                                        uint64_t& right, uint8_t* constant) {
    float best_score = static_cast<float>(best.score);
    uint64_t best_columns = 0, unscored_columns = 0;
    for (int64_t j = 0; j < n; ++j) {
      const uint8_t* column_codes = gathered(j, drawn[j]);
      const Codes64 codes(column_codes);
      const __m128i some = _mm_cvtsi32_si128(column_codes[lowest_bit(mask)]);
      const bool is_constant = !(mask & ~codes.equal_to(some).bits());
      constant[j] = is_constant;
      if (is_constant) continue;
      const uint64_t bit = uint64_t{1} << j;
      if (data_.bins.categorical[drawn[j]] || (codes.missing() & mask)) {
        unscored_columns |= bit;
        continue;
      }
      // No split is better than one into two pure children.
      if (best_score >= static_cast<float>(node_weight_)) continue;
      const float score = sweep_.score(column_codes, columns_[j]);
      if (score > best_score) best_columns = 0;
      if (score >= best_score) best_columns |= bit;
      best_score = std::max(best_score, score);
    }
    for (uint64_t rest = best_columns | unscored_columns; rest; rest &= rest - 1) {
      const int j = lowest_bit(rest);
      const int code = unscored_columns >> j & 1 ? -1 : sweep_.code_with(best_score, columns_[j]);
      if (code < 0)
        try_one(drawn[j], gathered(j, drawn[j]), mask, best, right);
      else
        try_threshold(drawn[j], Codes64(gathered(j, drawn[j])), code, mask, best, right);
    }
  }

  // Replaces `best` if the threshold after `code` is better. No sample of the node has a missing
  // value.
  MDDF_TARGET_AVX2 void try_threshold(int32_t column, const Codes64& codes, int code, uint64_t mask,
                                      Split& best, uint64_t& right) const {
    const uint64_t left = codes.up_to(_mm_cvtsi32_si128(code)).bits() & mask;
    const double score = score_of(left, best.score);
    if (!(score > best.score)) return;
    best.score = score;
    best.column = column;
    best.categorical = best.saw_missing = best.missing_left = false;
    best.threshold = code;
    right = mask & ~left;
    best.first_right = as_int(codes.only(right).lowest());
  }

  // Replaces `best` if this column has a better split. Returns false if the column is constant in
  // the node.
  MDDF_TARGET_AVX2 bool try_one(int32_t column, const uint8_t* from, uint64_t mask, Split& best,
                                uint64_t& right) const {
    const Codes64 codes(from);
    return data_.bins.categorical[column] ? try_categories(column, codes, mask, best, right)
                                          : try_column(column, codes, mask, best, right);
  }

  // Replaces `best` if this numeric column has a better threshold. Returns false if the column is
  // constant in the node.
  MDDF_TARGET_AVX2 bool try_column(int32_t column, const Codes64& codes, uint64_t mask, Split& best,
                                   uint64_t& right) const {
    const Codes64 rest = codes.only(mask);
    const __m128i low = rest.lowest();
    if ((codes.up_to(low).bits() & mask) == mask) return false;
    // No split is better than one into two pure children.
    if (best.score >= static_cast<double>(node_weight_)) return true;
    const uint64_t missing = codes.missing() & mask;
    uint64_t left = sweep(codes, rest, mask, 0, best);
    if (left) best.missing_left = false;
    if (missing) {
      const uint64_t with_missing = sweep(codes, rest, mask, missing, best);
      if (with_missing) left = with_missing, best.missing_left = true;
    }
    if (!left) return true;
    best.column = column;
    best.categorical = false;
    best.saw_missing = missing != 0;
    right = mask & ~left;
    return true;
  }

  // Replaces `best` if this categorical column has a better set of categories. Returns false if the
  // column is constant in the node. CategorySearch describes the method.
  MDDF_TARGET_AVX2 bool try_categories(int32_t column, const Codes64& codes, uint64_t mask,
                                       Split& best, uint64_t& right) const {
    Codes64 rest = codes.only(mask);
    std::array<uint64_t, kSmall> members;
    std::array<int, kSmall> code_of;
    int n = 0;
    for (__m128i code = rest.lowest(); as_int(code) != kMissing; code = rest.lowest()) {
      const Codes64 members_of_code = rest.equal_to(code);
      code_of[n] = as_int(code);
      members[n++] = members_of_code.bits();
      rest.take_out(members_of_code);
    }
    const uint64_t missing = codes.missing() & mask;
    if (missing) {
      code_of[n] = kMissing;
      members[n++] = missing;
    }
    if (n < 2) return false;
    // No split is better than one into two pure children.
    if (best.score >= static_cast<double>(node_weight_)) return true;
    std::array<int64_t, kSmall> weight, leader_weight;
    for (int g = 0; g < n; ++g) weight[g] = static_cast<int64_t>(weight_of(members[g]));
    std::array<int, kSmall> leaders, order;
    sort_few(n_node_classes_, leaders,
             [this](int a, int b) { return class_weight_[a] > class_weight_[b]; });
    for (int l = 0; l < n_leaders(n_node_classes_); ++l) {
      for (int g = 0; g < n; ++g) leader_weight[g] = weight_of_class(leaders[l], members[g]);
      sort_few(n, order, [&](int a, int b) {
        return leader_weight[a] * weight[b] < leader_weight[b] * weight[a];
      });
      uint64_t left = 0;
      for (int g = 0; g + 1 < n; ++g) {
        left |= members[order[g]];
        const double score = score_of(left, best.score);
        if (!(score > best.score)) continue;
        best = Split{};
        best.score = score;
        best.column = column;
        best.categorical = true;
        for (int i = 0; i <= g; ++i) best.left.insert(code_of[order[i]]);
        best.saw_missing = missing != 0;
        best.missing_left = best.left.contains(kMissing);
        right = mask & ~left;
      }
    }
    return true;
  }

  // Sorts the numbers 0 to n - 1 by a strict order. Equal numbers keep their order. Insertion sort
  // is enough for at most 64.
  template <class Before>
  static void sort_few(int n, std::array<int, kSmall>& order, Before before) {
    for (int i = 0; i < n; ++i) {
      int at = i;
      for (; at > 0 && before(i, order[at - 1]); --at) order[at] = order[at - 1];
      order[at] = i;
    }
  }

  // Replaces the score and the threshold of `best` if a threshold between two codes of `rest` is
  // better. The samples in `first` are on the left of every threshold. Returns the samples on the
  // left of the best threshold, or 0 if none is better.
  MDDF_TARGET_AVX2 uint64_t sweep(const Codes64& codes, Codes64 rest, uint64_t mask, uint64_t first,
                                  Split& best) const {
    uint64_t best_left = 0;
    __m128i code = rest.lowest();
    while (true) {
      const Codes64 up_to_code = codes.up_to(code);
      const uint64_t left = (up_to_code.bits() & mask) | first;
      if (left == mask) return best_left;
      rest.take_out(up_to_code);
      const __m128i next = rest.lowest();
      const double score = score_of(left, best.score);
      if (score > best.score) {
        best.score = score;
        best.threshold = as_int(code);
        best.first_right = as_int(next);
        best_left = left;
      }
      if (as_int(next) == kMissing) return best_left;
      code = next;
    }
  }

  // Returns the score of a split if it is above `best`, else `best`.
  MDDF_TARGET_AVX2 double score_of(uint64_t left, double best) const {
    int64_t weight_left = 0, terms = 0, cross_terms = 0;
    for (int c = 0; c < n_node_classes_; ++c) {
      const int64_t weight = weight_of_class(c, left);
      weight_left += weight;
      terms += weight * weight;
      cross_terms += weight * class_weight_[c];
    }
    return Criterion::improve(best, static_cast<double>(terms), static_cast<double>(weight_left),
                              static_cast<double>(sum_of_squares_ - 2 * cross_terms + terms),
                              static_cast<double>(node_weight_ - weight_left));
  }

  double node_score_ = 0;  // score of the node
  const NodeClasses<uint32_t>* classes_ = nullptr;
  std::vector<uint64_t> class_mask_;
  // The node that is searched.
  int n_node_classes_ = 0;
  int64_t node_weight_ = 0;                   // sum of the class weights
  int64_t sum_of_squares_ = 0;                // sum of their squares
  std::array<int64_t, kSmall> class_weight_;  // weight of each class
  // By class and binary digit: members of the class whose weight has the digit.
  std::array<std::array<uint64_t, 16>, kSmall> digits_;
  std::array<uint64_t, kSmall> members_;
  SmallSweep sweep_;
  std::array<SmallSweep::Column, kSmall> columns_;
  std::array<uint16_t, kSmall> class_of_{};
  std::array<uint8_t, kSmall + 1> sample_weight_{};
  std::vector<uint16_t> class_index_;  // index of a class among the present classes
};

#else

// Placeholder for builds without AVX2. It is never used.
template <class Criterion>
class SmallClasses {};

#endif

}  // namespace mddf
