// Subtrees of at most 64 samples, completely random or with the best splits by Gini: a node is a
// 64-bit mask of the samples, so that its work hardly depends on how many they are. Most nodes of a
// tree are of this kind. Draws the same numbers in the same order as the general way and grows the
// same tree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/simd.hpp"
#include "forest/codes64.hpp"
#include "forest/column_pool.hpp"
#include "forest/node_classes.hpp"
#include "forest/training.hpp"
#include "forest/tree_writer.hpp"

namespace mddf {

constexpr int64_t kSmall = 64;

#ifdef MDDF_AVX2

template <class Criterion>
class SmallSubtree {
 public:
  struct Node {
    uint32_t index, depth, n_constant;
    int32_t from_column;  // the column that the parent was split on
    uint64_t mask;
  };

  SmallSubtree(const SmallSubtree&) = delete;
  SmallSubtree(const TrainingSet& data, const GrowOptions& options, ColumnPool& pool,
               TreeWriter& writer)
      : data_(data),
        options_(options),
        pool_(pool),
        writer_(writer),
        keep_columns_(data.columns.size() <= kKept),
        slot_(keep_columns_ ? data.bins.n_columns : 0, -1),
        codes_((keep_columns_ ? kKept : 1) * kSmall),
        number_(data.target.n_classes) {}

  // Whether subtrees can be grown this way. Sums of Gini's terms are whole numbers, so that the way
  // they are added up does not matter; other criteria's are not.
  static bool suits(const TrainingSet& data, const GrowOptions& options) {
    if (!options.wide() || options.limits_leaves()) return false;
    if (options.random_thresholds) return options.max_features == 1;
    return std::is_same_v<Criterion, Gini> &&
           std::none_of(data.columns.begin(), data.columns.end(),
                        [&](int32_t column) { return data.bins.categorical[column] != 0; });
  }

  // Grows the subtree below a node that is not pure.
  MDDF_TARGET_AVX2 void grow(Node node, const CountedSample* samples,
                             const NodeClasses<uint32_t>& classes, Random& random) {
    enter(samples, classes);
    node.mask = n_samples_ == 64 ? ~uint64_t{0} : (uint64_t{1} << n_samples_) - 1;
    waiting_.clear();
    while (visit(node, random)) {
    }
    for (const int32_t column : kept_) slot_[column] = -1;
    kept_.clear();
  }

 private:
  static constexpr size_t kKept = 64;
  static constexpr int kUsualPlanes = 3;  // a bootstrap seldom draws a row eight times

  void enter(const CountedSample* samples, const NodeClasses<uint32_t>& classes) {
    n_samples_ = static_cast<int>(classes.n_samples);
    classes_ = &classes;
    class_mask_.assign(classes.n_present, 0);
    for (int c = 0; c < classes.n_present; ++c)
      number_[classes.present[c]] = static_cast<uint16_t>(c);
    uint32_t digits = 0;
    for (int i = 0; i < n_samples_; ++i) {
      at_[i] = samples[i].row * data_.matrix.n_columns;
      class_of_[i] = number_[samples[i].label];
      class_mask_[class_of_[i]] |= uint64_t{1} << i;
      digits |= samples[i].weight;
    }
    for (n_planes_ = 0; digits >> n_planes_; ++n_planes_) {
      planes_[n_planes_] = 0;
      for (int i = 0; i < n_samples_; ++i)
        planes_[n_planes_] |= static_cast<uint64_t>((samples[i].weight >> n_planes_) & 1) << i;
    }
  }

  MDDF_TARGET_AVX2 double weight_of(uint64_t mask) const {
    int64_t weight = 0;
    for (int p = 0; p < n_planes_; ++p)
      weight += static_cast<int64_t>(_mm_popcnt_u64(mask & planes_[p])) << p;
    return static_cast<double>(weight);
  }

  MDDF_TARGET_AVX2 double score(uint64_t mask) const {
    if (!options_.random_thresholds)
      return Criterion::side(static_cast<double>(whole_), static_cast<double>(weight_));
    double terms = 0;
    for (const uint64_t members : class_mask_) terms += Criterion::term(weight_of(mask & members));
    return Criterion::side(terms, weight_of(mask));
  }

  // Splits a node or makes it a leaf; false if no node is left to visit, else `node` is the next.
  MDDF_TARGET_AVX2 bool visit(Node& node, Random& random) {
    if (!options_.random_thresholds) begin_search(node.mask);
    const double here = writer_.wants_importances() ? score(node.mask) : 0;
    writer_.gain(node.from_column, here);
    const int64_t n = static_cast<int64_t>(_mm_popcnt_u64(node.mask));
    Split split;
    uint64_t right_mask = 0;
    if (node.depth < options_.max_depth && n >= options_.min_samples_split)
      right_mask = options_.random_thresholds ? draw_split(node, random, split)
                                              : find_best_split(node, random, split);
    if (split.column < 0) {
      mixed_leaf(node);
      return next(node);
    }
    writer_.gain(split.column, -here);
    const uint64_t left_mask = node.mask & ~right_mask;
    if (!split.saw_missing) split.missing_left = weight_of(left_mask) > weight_of(right_mask);
    const uint32_t left = writer_.inner(node.index, split);
    const uint32_t n_constant = static_cast<uint32_t>(pool_.constant());
    const Node right{left + 1, node.depth + 1, n_constant, split.column, right_mask};
    const bool visit_right = place(right);
    node = {left, node.depth + 1, n_constant, split.column, left_mask};
    if (place(node)) {
      if (visit_right) waiting_.push_back(right);
      return true;
    }
    if (!visit_right) return next(node);
    node = right;
    return true;
  }

  bool next(Node& node) {
    if (waiting_.empty()) return false;
    node = waiting_.back();
    waiting_.pop_back();
    return true;
  }

  // Makes a leaf of a pure node; true if it is not one.
  MDDF_TARGET_AVX2 bool place(const Node& node) {
    const int c = class_of_[__builtin_ctzll(node.mask)];
    if (node.mask & ~class_mask_[c]) return true;
    writer_.pure_leaf(node.index, classes_->present[c]);
    if (writer_.wants_importances()) {
      const double weight = weight_of(node.mask);
      writer_.gain(node.from_column, Criterion::side(Criterion::term(weight), weight));
    }
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

  // Draws columns until one is not constant and splits it; returns who goes right.
  MDDF_TARGET_AVX2 uint64_t draw_split(const Node& node, Random& random, Split& split) {
    pool_.begin(node.n_constant);
    while (pool_.any_unknown() && pool_.only_constant()) {
      const int32_t column = pool_.drawn() < 1 ? pool_.draw(random) : pool_.draw_unknown(random);
      if (column < 0) continue;
      const uint8_t* codes = codes_of(column, node.mask);
      const uint64_t right = data_.bins.categorical[column]
                                 ? draw_categories(column, codes, node.mask, random, split)
                                 : draw_threshold(column, codes, node.mask, random, split);
      const uint8_t constant = split.column < 0;
      pool_.mark_constant(&constant, 1);
      if (!constant) return right;
    }
    return 0;
  }

  // The best threshold of the columns that are drawn; returns who goes right.
  MDDF_TARGET_AVX2 uint64_t find_best_split(const Node& node, Random& random, Split& best) {
    uint64_t right = 0;
    std::array<int32_t, kSmall> drawn;
    std::array<uint8_t, kSmall> constant;
    pool_.begin(node.n_constant);
    while (pool_.any_unknown() &&
           (pool_.drawn() < options_.max_features || pool_.only_constant())) {
      const int64_t n = pool_.draw_some(random, options_.max_features, kSmall, drawn.data());
      // The pool wants the latest first.
      for (int64_t j = 0; j < n; ++j)
        constant[n - 1 - j] = !try_column(drawn[j], node.mask, best, right);
      pool_.mark_constant(constant.data(), n);
    }
    if (best.column >= 0) best.threshold = cut_between(data_.bins, best);
    return right;
  }

  // Takes note of the node's classes.
  MDDF_TARGET_AVX2 void begin_search(uint64_t mask) {
    n_here_ = 0;
    whole_ = weight_ = 0;
    for (const uint64_t members : class_mask_) {
      if (!(mask & members)) continue;
      for (int p = 0; p < std::max(n_planes_, kUsualPlanes); ++p)
        digits_[n_here_][p] = p < n_planes_ ? members & planes_[p] : 0;
      const int64_t total = weight_of_class(n_here_, mask);
      total_[n_here_++] = total;
      whole_ += total * total;
      weight_ += total;
    }
  }

  MDDF_TARGET_AVX2 int64_t weight_of_class(int c, uint64_t mask) const {
    const auto& digits = digits_[c];
    int64_t weight = static_cast<int64_t>(_mm_popcnt_u64(mask & digits[0]) +
                                          (_mm_popcnt_u64(mask & digits[1]) << 1) +
                                          (_mm_popcnt_u64(mask & digits[2]) << 2));
    for (int p = kUsualPlanes; p < n_planes_; ++p)
      weight += static_cast<int64_t>(_mm_popcnt_u64(mask & digits[p])) << p;
    return weight;
  }

  // Improves `best` by this column; false if it is constant here.
  MDDF_TARGET_AVX2 bool try_column(int32_t column, uint64_t mask, Split& best, uint64_t& right) {
    const Codes64 codes(codes_of(column, mask));
    const Codes64 rest = codes.only(mask);
    const __m128i low = rest.lowest();
    if ((codes.up_to(low).bits() & mask) == mask) return false;
    // No split is better than one into two pure children.
    if (best.score >= static_cast<double>(weight_)) return true;
    const uint64_t missing = codes.missing() & mask;
    uint64_t left = sweep(codes, rest, mask, 0, best);
    if (left) best.missing_left = false;
    if (missing) {
      const uint64_t with_missing = sweep(codes, rest, mask, missing, best);
      if (with_missing) left = with_missing, best.missing_left = true;
    }
    if (!left) return true;
    best.column = column;
    best.saw_missing = missing != 0;
    right = mask & ~left;
    return true;
  }

  // Improves `best` by a threshold between two codes of `rest`, with the samples in `first` on the
  // left from the start. Returns who goes left then; 0 if no threshold is better.
  MDDF_TARGET_AVX2 uint64_t sweep(const Codes64& codes, Codes64 rest, uint64_t mask, uint64_t first,
                                  Split& best) const {
    uint64_t best_left = 0;
    __m128i code = rest.lowest();
    while (true) {
      const Codes64 taken = codes.up_to(code);
      const uint64_t left = (taken.bits() & mask) | first;
      if (left == mask) return best_left;
      rest.take_out(taken);
      const __m128i next = rest.lowest();
      const double score = score_of(left, best.score);
      if (score > best.score) {
        best.score = score;
        best.last_left = as_int(code);
        best.first_right = as_int(next);
        best_left = left;
      }
      if (as_int(next) == kMissing) return best_left;
      code = next;
    }
  }

  // The score of a split if it is above `best`, else `best`.
  MDDF_TARGET_AVX2 double score_of(uint64_t left, double best) const {
    int64_t moved = 0, terms = 0, crossed = 0;
    for (int c = 0; c < n_here_; ++c) {
      const int64_t weight = weight_of_class(c, left);
      moved += weight;
      terms += weight * weight;
      crossed += weight * total_[c];
    }
    return Criterion::improve(best, static_cast<double>(terms), static_cast<double>(moved),
                              static_cast<double>(whole_ - 2 * crossed + terms),
                              static_cast<double>(weight_ - moved));
  }

  // The codes of all samples in this column; of a wide table only those in the mask.
  MDDF_TARGET_AVX2 const uint8_t* codes_of(int32_t column, uint64_t mask) {
    const uint8_t* from = data_.matrix.data + column;
    if (!keep_columns_) {
      for (; mask; mask &= mask - 1) {
        const int i = __builtin_ctzll(mask);
        codes_[i] = from[at_[i]];
      }
      return codes_.data();
    }
    const bool known = slot_[column] >= 0;
    if (!known) {
      slot_[column] = static_cast<int16_t>(kept_.size());
      kept_.push_back(column);
    }
    uint8_t* codes = codes_.data() + slot_[column] * kSmall;
    if (!known)
      for (int i = 0; i < n_samples_; ++i) codes[i] = from[at_[i]];
    return codes;
  }

  // The lowest and the highest code in the mask, which must not be empty.
  MDDF_TARGET_AVX2 static void range_of(const Codes64& codes, uint64_t mask, int& low, int& high) {
    const __m256i ones = _mm256_set1_epi8(-1);
    const Codes64 in(mask);
    low = as_int(Codes64(_mm256_or_si256(codes.a, _mm256_xor_si256(in.a, ones)),
                         _mm256_or_si256(codes.b, _mm256_xor_si256(in.b, ones)))
                     .lowest());
    high = 255 - as_int(Codes64(_mm256_xor_si256(_mm256_and_si256(codes.a, in.a), ones),
                                _mm256_xor_si256(_mm256_and_si256(codes.b, in.b), ones))
                            .lowest());
  }

  MDDF_TARGET_AVX2 uint64_t draw_threshold(int32_t column, const uint8_t* from, uint64_t mask,
                                           Random& random, Split& split) const {
    const Codes64 codes(from);
    int low, high;
    range_of(codes, mask, low, high);
    if (low == high) return 0;
    split.column = column;
    uint64_t missing = 0;
    if (high == kMissing) {
      missing = codes.missing() & mask;
      split.saw_missing = true;
      range_of(codes, mask & ~missing, low, high);
      if (low == high) {  // one value, and rows without it
        split.threshold = kMissing - 1;
        return missing;
      }
      split.missing_left = random.next() >> 63;
    }
    split.threshold = draw_cut(random, data_.bins.values + data_.bins.bin_start[column], low, high);
    const uint64_t right = mask & ~codes.up_to(_mm_cvtsi32_si128(split.threshold)).bits();
    return split.missing_left ? right & ~missing : right;
  }

  MDDF_TARGET_AVX2 uint64_t draw_categories(int32_t column, const uint8_t* codes, uint64_t mask,
                                            Random& random, Split& split) const {
    CategorySet seen;
    for (uint64_t rest = mask; rest; rest &= rest - 1) seen.insert(codes[__builtin_ctzll(rest)]);
    if (!draw_category_set(column, seen, random, split)) return 0;
    uint64_t right = 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const int i = __builtin_ctzll(rest);
      if (!split.left.contains(codes[i])) right |= uint64_t{1} << i;
    }
    if (weight_of(mask & ~right) > weight_of(right)) {
      CategorySet on_right;
      for (uint64_t rest = right; rest; rest &= rest - 1)
        on_right.insert(codes[__builtin_ctzll(rest)]);
      split.list_all_but(on_right, data_.bins.count(column));
    }
    return right;
  }

  const TrainingSet& data_;
  const GrowOptions& options_;
  ColumnPool& pool_;
  TreeWriter& writer_;
  const bool keep_columns_;
  std::vector<int16_t> slot_;   // where a column's codes are kept, or -1
  std::vector<int32_t> kept_;   // the columns that have a slot
  std::vector<uint8_t> codes_;  // 64 for each slot
  int n_samples_ = 0, n_planes_ = 0;
  const NodeClasses<uint32_t>* classes_ = nullptr;
  std::vector<uint64_t> class_mask_;
  // Of the node whose best split is searched: its classes' weights, and who has which digit.
  int n_here_ = 0;
  int64_t weight_ = 0, whole_ = 0;  // their sum, and that of their squares
  std::array<int64_t, kSmall> total_;
  std::array<std::array<uint64_t, 16>, kSmall> digits_;
  std::array<uint64_t, 16> planes_{};  // the samples whose weight has this binary digit
  std::array<int64_t, kSmall> at_{};
  std::array<uint16_t, kSmall> class_of_{};
  std::vector<uint16_t> number_;  // of a class among those present
  std::vector<Node> waiting_;
};

#endif

}  // namespace mddf
