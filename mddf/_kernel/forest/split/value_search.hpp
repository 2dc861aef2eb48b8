// Finds the best split of a column at a node with numeric targets.
//
// The gain of a split is the decrease of the squared error, summed over outputs. Let W be the
// weight of the node, S the weighted sum of the distances of its targets from the lowest target,
// and D = S_left - W_left S / W. The decrease is
//   W D^2 / (W_left W_right).
// In this form, rounding errors are far below the range of the targets of the node.
//
// With the Poisson deviance, the score of a side is S ln(S / W), where S is the sum of the targets.
// The gain is the score of both sides minus the score of the node. The entropy of targets that are
// 0 or 1 has the same form.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "common/bounds.hpp"
#include "common/elementary.hpp"
#include "forest/data/bin_cells.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/split.hpp"
#include "forest/split/threshold_sweep.hpp"

namespace mddf {

template <class Node, Loss kLoss = Loss::kSquaredError>
class ValueSearch {
  static constexpr bool kOne = Node::kOne;
  using Cell = typename Node::Cell;

 public:
  static constexpr bool kMedians = false;  // leaves hold means

  ValueSearch(const TrainingData& data, const GrowOptions& options, const Node& node)
      : sweeps_(kSweeps && options.uses_simd() && !options.limits_leaves()),
        data_(data),
        options_(options),
        node_(node),
        left_(node.stride()),
        mean_(node.stride()) {
    sums_.resize(kAtOnce * 256 * node.stride());
    rows_.resize(kAtOnce * 256);
  }
  static constexpr int kAtOnce = 4;

  // Sets the least weight of a leaf for the next tree.
  void set_min_leaf_weight(double weight) { min_leaf_weight_ = weight; }

  // Begins with a node whose cells are ready, or with a node of n divided rows, whose total is
  // known and whose samples are null.
  void begin(const RowSample* samples, int64_t n) {
    samples_ = samples;
    n_ = n;
    weight_ = static_cast<double>(node_.total()[0]);
#ifdef MDDF_AVX2
    if constexpr (kSweeps) sweep_.begin(node_.total()[0], node_.total()[1]);
#endif
    for (int j = 1; j <= node_.n_outputs(); ++j)
      mean_[j] = static_cast<double>(node_.total()[j]) / weight_;
    if constexpr (kLoss != Loss::kSquaredError) {
      std::copy_n(node_.total(), node_.stride(), left_.begin());
      node_score_ = 0;
      for (int j = 1; j <= node_.n_outputs(); ++j)
        node_score_ += node_.unit(j - 1) * term(j, left_[j], weight_);
    }
  }
  // Sets the limits of the (single) output for the next node.
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }

  // Replaces `best` if one of up to four columns has a better split; marks constant columns.
  void try_columns(const int32_t* columns, int64_t width, Split& best, uint8_t* constant) {
    if (width == 4) fill<4>(columns);
    if (width == 3) fill<3>(columns);
    if (width == 2) fill<2>(columns);
    if (width == 1) fill<1>(columns);
    for (int c = 0; c < width; ++c) {
#ifdef MDDF_AVX2
      if constexpr (kSweeps) {
        if (sweeps_) {
          find_present(c, data_.bins.count(columns[c]));
          if (!data_.bins.categorical[columns[c]]) {
            constant[c] = !sweep_thresholds(columns[c], c, best);
            continue;
          }
        }
      }
#endif
      constant[c] = !search_groups(columns[c], c, best);
    }
  }

  // Replaces `best` if the column has a better split, by sums of a node of divided rows; returns
  // false if the column is constant.
  bool try_column(int32_t column, const BinSumsOfValues& sums, Split& best) {
    present_[0] = CodeSet{};
    sums.for_each_code([&](int code) {
      present_[0].insert(code);
      sums_[code * node_.stride()] = sums.weight(code);
      sums_[code * node_.stride() + 1] = sums.part(code);
      rows_[code] = static_cast<uint32_t>(sums.rows(code));
    });
    return search_groups(column, 0, best);
  }

  // Sets the score of a random split by such sums.
  void score(const BinSumsOfValues& sums, Split& split) {
    std::fill(left_.begin(), left_.end(), 0);
    int64_t rows_left = 0;
    sums.for_each_code([&](int code) {
      if (split.goes_right(static_cast<uint8_t>(code))) return;
      left_[0] += sums.weight(code);
      left_[1] += sums.part(code);
      rows_left += sums.rows(code);
    });
    if (allows(split.column, rows_left)) split.score = improve(split.score);
  }

  // The decrease of the squared error by a split with this score; see NodeValues for its unit.
  double gain(double score) const {
    if constexpr (kLoss != Loss::kSquaredError) return score - node_score_;
    return weight_ * score * (kOne ? node_.factor(0) : 1);
  }

  // Sets the score of a random split. It stays -infinity if a side has too few samples.
  void score(const uint8_t* codes, Split& split) {
    std::fill(left_.begin(), left_.end(), 0);
    int64_t rows_left = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const Cell goes_left = !split.goes_right(codes[i]);  // a branch could not be predicted
      Node::add(left_.data(), node_.cell(i), node_.stride(), -goes_left);
      rows_left += goes_left;
    }
    if (allows(split.column, rows_left)) split.score = improve(split.score);
  }

 private:
#ifdef MDDF_AVX2
  static constexpr bool kSweeps = kOne && kLoss == Loss::kSquaredError;

  // Finds the bins of the c-th column that have a weight.
  MDDF_TARGET_AVX2 void find_present(int c, int n_bins) {
    const int64_t* cells = sums_.data() + c * 512;
    CodeSet& present = present_[c];
    present = CodeSet{};
    for (int code = 0; code < n_bins; code += 4) {
      const auto load = [&](int of) MDDF_TARGET_AVX2 {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cells + 2 * (code + of)));
      };
      // Weights of the bins 0, 2, 1, 3.
      const __m256i weights = _mm256_unpacklo_epi64(load(0), load(2));
      const __m256i in_order = _mm256_permute4x64_epi64(weights, 0b11011000);
      const int absent = _mm256_movemask_pd(
          _mm256_castsi256_pd(_mm256_cmpeq_epi64(in_order, _mm256_setzero_si256())));
      present.words[code / 64] |= static_cast<uint64_t>(~absent & 15) << code % 64;
    }
    if (cells[2 * kMissing]) present.insert(kMissing);
  }

  // Searches the thresholds of the c-th column, and sets its sums to 0 for the next column. Returns
  // false if the column is constant.
  MDDF_TARGET_AVX2 bool sweep_thresholds(int32_t column, int c, Split& best) {
    int64_t* cells = sums_.data() + c * 512;
    const CodeSet present = present_[c];
    sweep_.take_places([&](auto add) MDDF_INLINED {
      for (int word = 0; word < 4; ++word)
        for (uint64_t rest = present.words[word]; rest; rest &= rest - 1) {
          const int code = 64 * word + lowest_bit(rest);
          add(code, cells[2 * code], cells[2 * code + 1]);
          cells[2 * code] = cells[2 * code + 1] = 0;
        }
    });
    return sweep_.try_thresholds(column, best);
  }

  ThresholdSweep<kSweeps ? 256 : 4> sweep_;
#else
  static constexpr bool kSweeps = false;
#endif
  // Whether thresholds are searched by vectors.
  const bool sweeps_;

  struct Group {
    int code, at;  // `at` is the position of its sums
    int64_t rows;
    double order;
  };

  // Sums the targets of the node by the bins of the columns.
  template <int kColumns>
  void fill(const int32_t* columns) {
    const int stride = node_.stride();
    const int64_t step = data_.matrix.column(columns[0], n_).step;
    const uint8_t* codes[kColumns];
    Cell* sums[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      codes[c] = data_.matrix.column(columns[c], n_).data;
      sums[c] = sums_.data() + c * 256 * stride;
      present_[c] = CodeSet{};
    }
    const auto add = [&](auto notes_present) MDDF_INLINED {
      for (int64_t i = 0; i < n_; ++i) {
        const int64_t at = samples_[i].row * step;
        for (int c = 0; c < kColumns; ++c) {
          const uint8_t code = codes[c][at];
          if constexpr (notes_present) present_[c].insert(code);
          Node::add(sums[c] + code * stride, node_.cell(i), stride);
        }
      }
    };
    if (sweeps_) return add(std::false_type{});
    add(std::true_type{});
    if (!options_.limits_leaves()) return;
    for (int64_t i = 0; i < n_; ++i)
      for (int c = 0; c < kColumns; ++c) ++rows_[c * 256 + codes[c][samples_[i].row * step]];
  }

  // Searches the sums of the c-th column, and sets them to 0 for the next column. Returns false if
  // the column is constant.
  bool search_groups(int32_t column, int c, Split& best) {
    gather_groups(c);
    const bool varies = n_groups_ + has_missing_ >= 2;
    if (varies) {
      if (data_.bins.categorical[column])
        search_categories(column, best);
      else
        search_thresholds(column, best);
    }
    forget_groups();
    return varies;
  }

  // Lists the bins of the c-th column that the node has, and separately its missing values.
  void gather_groups(int c) {
    n_groups_ = 0;
    has_missing_ = false;
    for (int word = 0; word < 4; ++word) {
      for (uint64_t rest = present_[c].words[word]; rest; rest &= rest - 1) {
        const int code = 64 * word + lowest_bit(rest);
        const int at = c * 256 + code;
        const Group group{code, at, rows_[at], 0};
        rows_[at] = 0;
        if (code == kMissing)
          missing_ = group, has_missing_ = true;
        else
          groups_[n_groups_++] = group;
      }
    }
  }
  // Sets the sums to 0 for the next column.
  void forget_groups() {
    const auto forget = [this](const Group& group) {
      std::fill_n(sums_.begin() + group.at * node_.stride(), node_.stride(), 0);
    };
    std::for_each(groups_.begin(), groups_.begin() + n_groups_, forget);
    if (has_missing_) forget(missing_);
  }

  bool allows(int32_t column, int64_t rows_left) const {
    if (!options_.limits_leaves()) return true;
    const double left = static_cast<double>(left_[0]), right = weight_ - left;
    const bool enough = rows_left >= options_.min_samples_leaf &&
                        n_ - rows_left >= options_.min_samples_leaf && left >= min_leaf_weight_ &&
                        right >= min_leaf_weight_;
    if (!kOne || !enough || !options_.is_monotonic()) return enough;
    const auto part = static_cast<double>(left_[1]);
    const auto part_right = static_cast<double>(node_.total()[1] - left_[1]);
    return bounds_.allow(options_.monotonic[column], node_.in_units(0, part / left, 1),
                         node_.in_units(0, part_right / right, 1));
  }

  // The larger one of `best` and the score of the split with the sums left_ on the left.
  double improve(double best) const {
    if constexpr (kLoss != Loss::kSquaredError) return improve_deviance(best);
    const double left = static_cast<double>(left_[0]);
    const double denominator = left * (weight_ - left);
    double squares = 0;
    for (int j = 1; j <= node_.n_outputs(); ++j) {
      const double distance = static_cast<double>(left_[j]) - mean_[j] * left;
      squares += kOne ? distance * distance : node_.factor(j - 1) * (distance * distance);
    }
    return squares > best * denominator ? squares / denominator : best;
  }

  // The same for the deviance, whose score is not bounded if all targets are 0 (entropy is
  // bounded).
  double improve_deviance(double best) const {
    const double left = static_cast<double>(left_[0]);
    double score = 0;
    for (int j = 1; j <= node_.n_outputs(); ++j) {
      const double of_left = term(j, left_[j], left);
      const double of_right = term(j, node_.total()[j] - left_[j], weight_ - left);
      score += node_.unit(j - 1) * (of_left + of_right);
    }
    return score > best ? score : best;
  }
  // S ln(S / W); for the deviance, minus infinity if S is 0.
  double term(int j, int64_t part, double weight) const {
    const double sum = node_.in_units(j - 1, static_cast<double>(part), weight);
    if (!(sum > 0)) return kLoss == Loss::kEntropy ? 0 : -std::numeric_limits<double>::infinity();
    return sum * QuickLogarithm::of(sum / weight);
  }

  void search_thresholds(int32_t column, Split& best) {
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
      std::fill(left_.begin(), left_.end(), 0);
      int64_t rows_left = 0;
      if (missing_left) take(missing_, rows_left);
      const int last = n_groups_ - (has_missing_ && !missing_left ? 0 : 1);
      for (int g = 0; g < last; ++g) {
        take(groups_[g], rows_left);
        if (!allows(column, rows_left)) continue;
        const double score = improve(best.score);
        if (!(score > best.score)) continue;
        best.score = score;
        best.column = column;
        best.categorical = false;
        best.saw_missing = has_missing_;
        best.missing_left = missing_left != 0;
        best.threshold = groups_[g].code;
        best.first_right = g + 1 < n_groups_ ? groups_[g + 1].code : kMissing;
      }
    }
  }

  // Searches sets of the categories with the lowest means. With one output, the best of all sets is
  // one of them. With more, categories are sorted by the means of each output in turn.
  void search_categories(int32_t column, Split& best) {
    if (has_missing_) groups_[n_groups_++] = missing_;
    for (int j = 1; j <= node_.n_outputs(); ++j) {
      for (int g = 0; g < n_groups_; ++g)
        groups_[g].order = static_cast<double>(sums_of(groups_[g])[j]) /
                           static_cast<double>(sums_of(groups_[g])[0]);
      std::sort(groups_.begin(), groups_.begin() + n_groups_, [](const Group& a, const Group& b) {
        return std::pair(a.order, a.code) < std::pair(b.order, b.code);
      });
      std::fill(left_.begin(), left_.end(), 0);
      int64_t rows_left = 0;
      for (int g = 0; g + 1 < n_groups_; ++g) {
        take(groups_[g], rows_left);
        if (!allows(column, rows_left)) continue;
        const double score = improve(best.score);
        if (!(score > best.score)) continue;
        best = Split{};
        best.score = score;
        best.column = column;
        best.categorical = true;
        for (int i = 0; i <= g; ++i) best.left.insert(groups_[i].code);
        best.saw_missing = has_missing_;
        best.missing_left = best.left.contains(kMissing);
      }
    }
  }

  const Cell* sums_of(const Group& group) const { return sums_.data() + group.at * node_.stride(); }
  void take(const Group& group, int64_t& rows_left) {
    Node::add(left_.data(), sums_of(group), node_.stride());
    rows_left += group.rows;
  }

  const TrainingData& data_;
  const GrowOptions options_;
  const Node& node_;
  double min_leaf_weight_ = 0, weight_ = 0, node_score_ = 0;
  Bounds bounds_;
  const RowSample* samples_ = nullptr;
  int64_t n_ = 0;
  std::vector<Cell> left_, sums_;
  std::vector<double> mean_;
  std::vector<uint32_t> rows_;
  std::array<CodeSet, kAtOnce> present_;
  std::array<Group, 256> groups_;
  int n_groups_ = 0;
  bool has_missing_ = false;
  Group missing_{};
};

}  // namespace mddf
