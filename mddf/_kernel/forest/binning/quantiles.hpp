// Finds bins of about equal weight.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/midpoint.hpp"
#include "common/simd.hpp"
#include "forest/binning/cells.hpp"

namespace mddf {

// Bins of one column: bin b holds values in (edges[b - 1], edges[b]].
struct ColumnBins {
  std::vector<double> edges;   // n_bins - 1, ascending
  std::vector<double> values;  // n_bins: position of the bin when a threshold is drawn
};

// The bins of several columns, one after the other.
struct AllBins {
  std::vector<double> edges;  // each column ends with infinity
  std::vector<double> values;
  std::vector<int64_t> counts;

  void add(const ColumnBins& bins) {
    edges.insert(edges.end(), bins.edges.begin(), bins.edges.end());
    edges.push_back(std::numeric_limits<double>::infinity());
    values.insert(values.end(), bins.values.begin(), bins.values.end());
    counts.push_back(static_cast<int64_t>(bins.values.size()));
  }
  // Adds a column with one bin for each of n ascending values.
  template <class Value>
  void add(const Value* ascending, int64_t n) {
    if (n == 0) return add(ColumnBins{{}, {0}});  // no value present: one bin that no cell uses
    values.insert(values.end(), ascending, ascending + n);
    edges.resize(edges.size() + n, std::numeric_limits<double>::infinity());
    double* edge = edges.data() + edges.size() - n;
    for (int64_t i = 0; i + 1 < n; ++i) edge[i] = midpoint(ascending[i], ascending[i + 1]);
    counts.push_back(n);
  }
};

// One present value and its weight.
struct WeightedValue {
  double value, weight;
};

namespace detail {

// Makes bins of about equal weight from ascending values. Equal values must come together. A value
// as heavy as a bin gets a bin of its own.
template <class Value>
class QuantileBins {
 public:
  QuantileBins(double total, int max_bins) : remaining_(total), bins_left_(max_bins) {
    bins_.edges.reserve(max_bins);
    bins_.values.reserve(max_bins);
    share();
  }

  void add(double value, double weight) {
    if (is_full_ || (bins_left_ > 1 && weight_ > 0 && weight >= share_)) close(value);
    if (weight_ == 0) first_ = value;
    last_ = value;
    last_begin_ = nullptr;
    weight_ += weight;
    is_full_ = bins_left_ > 1 && weight_ >= share_;
  }

  // Adds values of weight 1, in any order, that are above all values so far. Returns false and adds
  // nothing if they may not fall into one bin; then their order matters.
  bool add_together(const Value* begin, const Value* end) {
    const double weight = static_cast<double>(end - begin);
    if (bins_left_ > 1 && (is_full_ || weight_ + weight >= share_)) return false;
    if (weight_ == 0) first_ = *std::min_element(begin, end);
    last_begin_ = begin;
    last_end_ = end;
    weight_ += weight;
    return true;
  }

  ColumnBins finish() {
    bins_.values.push_back(midpoint(first_, last()));
    return std::move(bins_);
  }

 private:
  void share() { share_ = remaining_ / bins_left_; }
  double last() { return last_begin_ ? *std::max_element(last_begin_, last_end_) : last_; }
  void close(double next) {
    bins_.values.push_back(midpoint(first_, last()));
    bins_.edges.push_back(midpoint(last(), next));
    remaining_ -= weight_;
    weight_ = 0;
    --bins_left_;
    share();
  }

  ColumnBins bins_;
  double remaining_, share_ = 0, weight_ = 0, first_ = 0, last_ = 0;
  const Value* last_begin_ = nullptr;
  const Value* last_end_ = nullptr;
  int bins_left_;
  bool is_full_ = false;
};

// Sorts values of weight 1 as far as their quantiles need. Values are divided into many intervals.
// Only intervals that contain the end of a bin are divided again.
template <class Value>
class PartialSort {
 public:
  PartialSort(QuantileBins<Value>& bins, bool use_simd) : bins_(bins), use_simd_(use_simd) {}

  // Adds n values. Both arrays have n places and are overwritten.
  void add(Value* values, Value* scratch, int64_t n, int depth = 0) {
    if (bins_.add_together(values, values + n)) return;
    if (n <= kFew || depth == kDeepest) {
      add_sorted(values, n);
      return;
    }
    if (std::all_of(values, values + n, [values](Value value) { return value == values[0]; })) {
      bins_.add(values[0], static_cast<double>(n));
      return;
    }
    const auto n_intervals = static_cast<int>(std::min<int64_t>(n / 8, kMaxIntervals));
    const Intervals<Value> intervals = of_sample(values, n, n_intervals);
    int32_t at[kBlockRows];
    const auto for_each = [&](auto visit) {
      for (int64_t first = 0; first < n; first += kBlockRows) {
        const int64_t here = std::min(kBlockRows, n - first);
        simd::with_vectors(use_simd_,
                           [&]() MDDF_INLINED { intervals.find(values + first, here, at); });
        for (int64_t i = 0; i < here; ++i) visit(at[i], values[first + i]);
      }
    };
    std::vector<uint32_t> end(n_intervals + 1, 0);
    for_each([&](int32_t interval, Value) { ++end[interval + 1]; });
    for (int c = 0; c < n_intervals; ++c) end[c + 1] += end[c];
    for_each([&](int32_t interval, Value value) { scratch[end[interval]++] = value; });
    for (uint32_t c = 0, begin = 0; c < static_cast<uint32_t>(n_intervals); begin = end[c++])
      if (begin < end[c]) add(scratch + begin, values + begin, end[c] - begin, depth + 1);
  }

 private:
  // Up to kFew values, or after kDeepest divisions, values are sorted completely.
  static constexpr int64_t kFew = 64, kMaxIntervals = 4096, kMaxSampled = 256;
  static constexpr int kDeepest = 6;

  static Intervals<Value> of_sample(const Value* values, int64_t n, int n_intervals) {
    std::array<Value, kMaxSampled> sample;
    const int64_t n_sampled = std::min(n / 8, kMaxSampled);
    for (int64_t i = 0; i < n_sampled; ++i) sample[i] = values[i * n / n_sampled];
    std::sort(sample.begin(), sample.begin() + n_sampled);
    return {sample.data(), n_sampled, n_intervals};
  }
  void add_sorted(Value* values, int64_t n) {
    std::sort(values, values + n);
    for (int64_t i = 0, end; i < n; i = end) {
      for (end = i + 1; end < n && values[end] == values[i]; ++end) {
      }
      bins_.add(values[i], static_cast<double>(end - i));
    }
  }

  QuantileBins<Value>& bins_;
  const bool use_simd_;
};

}  // namespace detail

// Finds the bins of a column with many values. `values` has the present values of rows with
// positive weight. `scratch` has room for n values.
template <class Value>
ColumnBins find_quantile_bins(Value* values, Value* scratch, int64_t n, int max_bins) {
  if (n == 0) return {{}, {0}};  // another thread has changed the table meanwhile
  detail::QuantileBins<Value> bins(static_cast<double>(n), max_bins);
  detail::PartialSort<Value>(bins, simd::supported()).add(values, scratch, n);
  return bins.finish();
}
inline ColumnBins find_quantile_bins(WeightedValue* values, WeightedValue*, int64_t n,
                                     int max_bins) {
  if (n == 0) return {{}, {0}};
  // Sorting also by weight makes the sums independent of the order of the rows.
  std::sort(values, values + n, [](const WeightedValue& a, const WeightedValue& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
  int64_t n_runs = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto [value, weight] = values[i];
    if (n_runs == 0 || value != values[n_runs - 1].value) values[n_runs++] = {value, 0};
    values[n_runs - 1].weight += weight;
  }
  double total = 0;
  for (int64_t i = 0; i < n_runs; ++i) total += values[i].weight;
  detail::QuantileBins<double> bins(total, max_bins);
  for (int64_t i = 0; i < n_runs; ++i) bins.add(values[i].value, values[i].weight);
  return bins.finish();
}

}  // namespace mddf
