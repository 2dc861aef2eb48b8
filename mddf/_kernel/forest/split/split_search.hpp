// Finds the best split of a column at a node with classes, by the fastest of several methods.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "common/bounds.hpp"
#include "forest/data/bin_cells.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/training.hpp"
#include "forest/split/best_threshold.hpp"
#include "forest/split/bin_sweep.hpp"
#include "forest/split/binned_search.hpp"
#include "forest/split/category_search.hpp"
#include "forest/split/criterion.hpp"
#include "forest/split/few_classes_search.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/sort_few.hpp"
#include "forest/split/sorted_search.hpp"
#include "forest/split/split.hpp"

namespace mddf {

template <class Criterion, class Weight>
class SplitSearch {
 public:
  using Packed = mddf::Packed<Weight>;
  using Node = NodeClasses<Weight>;

  explicit SplitSearch(const GrowOptions& options)
      : options_(options), sorted_(options.uses_simd()), bin_sweep_(options.uses_simd()) {}

  // Begins with a new node.
  void begin_node() { bin_sweep_.begin_node(); }

  // Sets the least weight of a leaf for the next tree.
  void set_min_leaf_weight(double weight) { min_leaf_weight_ = weight; }

  // Sets the limits of the share of the second class for the next node.
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }

  // Whether both sides of a split have enough samples and weight, and satisfy monotonic
  // constraints. second_left() returns the weight of the second class on the left.
  template <class Second>
  bool allows(const Node& node, int32_t column, int64_t rows_left, double weight_left,
              Second second_left) const {
    const double weight_right = node.weight - weight_left;
    const bool enough = rows_left >= options_.min_samples_leaf &&
                        node.n_samples - rows_left >= options_.min_samples_leaf &&
                        weight_left >= min_leaf_weight_ && weight_right >= min_leaf_weight_;
    if (!enough || !options_.is_monotonic()) return enough;
    const double second = second_left();
    return bounds_.allow(options_.monotonic[column], second / weight_left,
                         (node.total[1] - second) / weight_right);
  }

  // Replaces `best` if the column has a better split. `codes` has the bins of the node's samples.
  // Returns false if the column is constant in the node.
  bool numeric(const Node& node, const uint8_t* codes, int32_t column, Split& best) {
    const CodeRange range = range_of(codes, node.n_samples);
    if (range.is_constant()) return false;
    BestThreshold threshold(best, range.has_missing);
    if (node.few() && !options_.limits_leaves()) {
      few_classes_.group(node, codes, range.low, range.high);
      few_classes_.search(node, bin_sweep_, threshold);
    } else {
      search(node, codes, range.low, range.high, column, threshold);
    }
    threshold.improve(column, best);
    return true;
  }

  // Whether a histogram with this number of bins is used for a node.
  bool prefers_histogram(const Node& node, int n_bins) const {
    if (options_.limits_leaves()) return false;  // histograms do not count samples
    // The limits are not tuned. They must not change: the last bits of rounded sums depend on the
    // method, and so does the split.
    constexpr int kLeast = (kExact ? 2 : 4) * kFewCodes;
    constexpr int kBinsPerSample = kExact ? 3 : 2;
    if (node.few()) return node.n_samples > kLeast && n_bins <= 4 * node.n_samples;
    return static_cast<int64_t>(n_bins) * node.n_present <= kBinsPerSample * node.n_samples;
  }

  // The same as numeric(), from a histogram of 256 bins of packed weights, for few classes.
  bool from_histogram(const Node& node, const Packed* bins, int n_bins, int32_t column,
                      Split& best) {
    few_classes_.take_histogram(bins, n_bins);
    BestThreshold threshold(best, few_classes_.has_missing());
    if (few_classes_.n_groups() + threshold.has_missing < 2) return false;
    few_classes_.search(node, bin_sweep_, threshold);
    threshold.improve(column, best);
    return true;
  }
  // The same as numeric(), from a histogram of 256 bins of padded(n_present) weights, one per
  // class.
  bool from_histogram(const Node& node, const Weight* bins, int n_bins, int32_t column,
                      Split& best) {
    const Weight* missing = bins + kMissing * padded(node.n_present);
    BestThreshold threshold(best, std::any_of(missing, missing + node.n_present,
                                              [](Weight weight) { return weight > 0; }));
    const bool varies = search_bins(node, bins, 0, n_bins, missing, bin_sweep_, threshold);
    threshold.improve(column, best);
    return varies;
  }

  // The same as numeric(), from the rows and the class weights of each bin. Sums must be exact.
  bool numeric(const Node& node, const BinCounts& counts, int32_t column, Split& best) {
    std::array<int, 256> codes;
    int n_codes = 0;
    counts.for_each_code([&](int code) { codes[n_codes++] = code; });
    if (n_codes < 2) return false;
    BestThreshold threshold(best, codes[n_codes - 1] == kMissing);
    const int n_present = n_codes - threshold.has_missing;
    const auto is_allowed = allowed(node, column);
    for (int missing_left = 0; missing_left <= (threshold.has_missing ? 1 : 0); ++missing_left) {
      int64_t rows_left = 0;
      sweep_.start(node.total.data(), node.n_present);
      const auto take = [&](int code) {
        rows_left += counts.rows(code);
        for (int c = 0; c < node.n_present; ++c)
          if (const uint32_t weight = counts.weight(code, c)) sweep_.add(c, weight);
      };
      if (missing_left) take(kMissing);
      const int last = n_present - (threshold.has_missing && !missing_left ? 0 : 1);
      for (int i = 0; i < last; ++i) {
        take(codes[i]);
        if (!is_allowed(rows_left, sweep_)) continue;
        threshold.offer(sweep_.improve(threshold.score(), node.weight), codes[i],
                        i + 1 < n_present ? codes[i + 1] : kMissing, missing_left != 0);
      }
    }
    threshold.improve(column, best);
    return true;
  }
  bool categorical(const Node& node, const BinCounts& counts, int32_t column, Split& best) {
    return category_search_.search(node, counts, column, allowed(node, column), best);
  }

  // The same as numeric(), for a categorical column.
  bool categorical(const Node& node, const uint8_t* codes, int n_bins, int32_t column,
                   Split& best) {
    return category_search_.search(node, codes, n_bins, column, allowed(node, column), best);
  }

 private:
  // Whether sums are exact, so that all methods have the same result.
  static constexpr bool kExact = std::is_integral_v<typename Sweep<Criterion, Weight>::Sum>;

  // A function of the rows and the sums on the left that tells whether a split is allowed.
  auto allowed(const Node& node, int32_t column) const {
    return [this, &node, column](int64_t rows_left, const Sweep<Criterion, Weight>& sweep) {
      return allows(node, column, rows_left, sweep.weight_left(), [&] { return sweep.left(1); });
    };
  }

  void search(const Node& node, const uint8_t* codes, int low, int high, int32_t column,
              BestThreshold& best) {
    if constexpr (kExact)
      if (!options_.limits_leaves()) {
        if (!best.has_missing && sorted_.search_few_others(node, codes, low, best)) return;
        if (BinnedSearch<Criterion, Weight>::suits(node, low, high))
          return binned_.search(node, codes, low, high, bin_sweep_, best);
      }
    sorted_.search(node, codes, low, high, allowed(node, column), best);
  }

  const GrowOptions options_;
  double min_leaf_weight_ = 0;
  Bounds bounds_;
  CategorySearch<Criterion, Weight> category_search_;
  FewClassesSearch<Criterion, Weight> few_classes_;
  SortedSearch<Criterion, Weight> sorted_;
  BinnedSearch<Criterion, Weight> binned_;
  BinSweep<Criterion, Weight> bin_sweep_;
  Sweep<Criterion, Weight> sweep_;
};

}  // namespace mddf
