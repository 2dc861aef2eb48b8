// Finding the bins of raw columns.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/midpoint.hpp"
#include "common/watch.hpp"
#include "forest/binning.hpp"

namespace mddf {

constexpr int64_t kColumnGroup = 8;  // columns gathered together: one cache line of doubles

// Bins of one column: bin b holds values in (edges[b - 1], edges[b]].
struct ColumnBins {
  std::vector<double> edges;   // n_bins - 1, ascending
  std::vector<double> values;  // n_bins: what stands for the bin when a threshold is drawn
};

// One present value and its weight.
struct WeightedValue {
  double value, weight;
};

namespace detail {

inline uint64_t order_key(double v) {
  if (v == 0) v = 0;  // -0.0 and 0.0 are one value
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits ^ (static_cast<uint64_t>(-static_cast<int64_t>(bits >> 63)) | (uint64_t{1} << 63));
}

inline double from_order_key(uint64_t key) {
  key ^= ((key >> 63) - 1) | (uint64_t{1} << 63);
  double v;
  std::memcpy(&v, &key, sizeof v);
  return v;
}

// Makes bins of about equal weight of values that come in ascending order, equal ones together; a
// value as heavy as a bin gets a bin of its own.
class QuantileBins {
 public:
  QuantileBins(double total, int max_bins) : remaining_(total), bins_left_(max_bins) { share(); }

  void add(double value, double weight) {
    if (is_full_ || (bins_left_ > 1 && weight_ > 0 && weight >= share_)) close(value);
    if (weight_ == 0) first_ = value;
    last_ = value;
    last_begin_ = nullptr;
    weight_ += weight;
    is_full_ = bins_left_ > 1 && weight_ >= share_;
  }

  // The same for values of weight 1 from an interval that holds none of the values before it, in
  // any order: true if they all fall in one bin, so that their order does not matter.
  bool add_together(const double* begin, const double* end) {
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
  const double* last_begin_ = nullptr;
  const double* last_end_ = nullptr;
  int bins_left_;
  bool is_full_ = false;
};

// The distinct values of a column, as long as there are few. Small whole numbers, the commonest
// kind, are ticked off; others are looked up in a hash table.
class DistinctValues {
 public:
  void begin(size_t most) {
    ticked_.fill(0);
    slots_.fill(-1);
    keys_.clear();
    most_ = most;
    last_ = 0;  // no double has the key 0
    few_ = true;
  }
  void add(double value) {
    if (value >= 0 && value < kTicks) {
      const int whole = static_cast<int>(value);
      if (whole == value) {
        ticked_[whole] = 1;
        return;
      }
    }
    add_key(order_key(value));
  }
  // Whether there are few so far.
  bool few() {
    const auto n_ticked = static_cast<size_t>(std::count(ticked_.begin(), ticked_.end(), 1));
    return few_ = few_ && keys_.size() + n_ticked <= most_;
  }
  // One bin for each; call it once, when all are added.
  ColumnBins bins() {
    for (int whole = 0; whole < kTicks; ++whole)
      if (ticked_[whole]) keys_.push_back(order_key(whole));
    std::sort(keys_.begin(), keys_.end());
    ColumnBins bins;
    for (const uint64_t key : keys_) {
      const double value = from_order_key(key);
      if (!bins.values.empty()) bins.edges.push_back(midpoint(bins.values.back(), value));
      bins.values.push_back(value);
    }
    if (bins.values.empty()) bins.values.push_back(0);  // nothing present: one bin, never used
    return bins;
  }

 private:
  static constexpr int kTicks = 1024;
  static constexpr size_t kSlots = 1024;

  void add_key(uint64_t key) {
    if (key == last_ || !few_) return;
    last_ = key;
    size_t slot = (key * 0x9e3779b97f4a7c15u) >> 54;
    while (slots_[slot] >= 0 && keys_[slots_[slot]] != key) slot = (slot + 1) & (kSlots - 1);
    if (slots_[slot] >= 0) return;
    few_ = keys_.size() < most_;
    if (!few_) return;
    slots_[slot] = static_cast<int16_t>(keys_.size());
    keys_.push_back(key);
  }

  std::array<uint8_t, kTicks> ticked_;
  std::array<int16_t, kSlots> slots_;
  std::vector<uint64_t> keys_;
  size_t most_ = 0;
  uint64_t last_ = 0;
  bool few_ = true;
};

// Brings values of weight 1 into as much order as their quantiles take. They are divided into many
// intervals of the same length, and only those in which a bin ends are looked into, in the same
// way.
class PartialSort {
 public:
  explicit PartialSort(QuantileBins& bins) : bins_(bins) {}

  // Both arrays have n places; `values` are taken from the first and overwritten.
  void add(double* values, double* scratch, int64_t n, int depth = 0) {
    if (bins_.add_together(values, values + n)) return;
    if (n <= kFew || depth == kDeepest) {
      add_sorted(values, n);
      return;
    }
    const auto [least, most] = std::minmax_element(values, values + n);
    const double low = *least, range = *most - low;
    const auto n_cells = static_cast<uint32_t>(std::min<int64_t>(n / 8, kMostCells));
    const double scale = (n_cells - 1) / range;
    if (range == 0) {
      bins_.add(low, static_cast<double>(n));
      return;
    }
    if (!std::isfinite(range) || !std::isfinite(scale)) {
      add_sorted(values, n);
      return;
    }
    const auto cell = [=](double value) { return static_cast<uint32_t>((value - low) * scale); };
    std::vector<int64_t> end(n_cells + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++end[cell(values[i]) + 1];
    for (uint32_t c = 0; c < n_cells; ++c) end[c + 1] += end[c];
    for (int64_t i = 0; i < n; ++i) scratch[end[cell(values[i])]++] = values[i];
    for (int64_t c = 0, begin = 0; c < n_cells; begin = end[c++])
      if (begin < end[c]) add(scratch + begin, values + begin, end[c] - begin, depth + 1);
  }

 private:
  static constexpr int64_t kFew = 64, kMostCells = 4096;
  static constexpr int kDeepest = 6;

  void add_sorted(double* values, int64_t n) {
    std::sort(values, values + n);
    for (int64_t i = 0, end; i < n; i = end) {
      for (end = i + 1; end < n && values[end] == values[i]; ++end) {
      }
      bins_.add(values[i], static_cast<double>(end - i));
    }
  }

  QuantileBins& bins_;
};

}  // namespace detail

// Bins of a column with many values, from those present in rows with positive weight. `scratch` has
// room for as many.
inline ColumnBins find_quantile_bins(double* values, double* scratch, int64_t n, int max_bins) {
  if (n == 0) return {{}, {0}};  // another thread has written into the table meanwhile
  detail::QuantileBins bins(static_cast<double>(n), max_bins);
  detail::PartialSort(bins).add(values, scratch, n);
  return bins.finish();
}
inline ColumnBins find_quantile_bins(WeightedValue* values, WeightedValue*, int64_t n,
                                     int max_bins) {
  if (n == 0) return {{}, {0}};
  // By weight too, so that the sums do not depend on the order of the rows.
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
  detail::QuantileBins bins(total, max_bins);
  for (int64_t i = 0; i < n_runs; ++i) bins.add(values[i].value, values[i].weight);
  return bins.finish();
}

// Calls visit(j, value, weight) for every present value in rows [row, last_row) of columns
// start + [0, width), row by row.
template <class T, class Visit>
void for_each_cell(const Table<T>& table, const double* weights, int64_t row, int64_t last_row,
                   int64_t start, int64_t width, Visit visit) {
  constexpr int64_t kAhead = 16;  // rows that are asked for ahead of time
  for (; row < last_row; ++row) {
    if (row + kAhead < last_row && table.column_stride == 1)
      for (int64_t j = 0; j < width; j += 64 / static_cast<int64_t>(sizeof(T)))
        prefetch(&table.data[(row + kAhead) * table.row_stride + start + j]);
    const double weight = weights ? weights[row] : 1;
    if (!(weight > 0)) continue;
    const T* cells = table.data + row * table.row_stride + start * table.column_stride;
    for (int64_t j = 0; j < width; ++j) {
      const double value = read_cell(cells + j * table.column_stride);
      if (!std::isnan(value)) visit(j, value, weight);
    }
  }
}

// Bins of columns [first, last) of the table: a first pass finds those with few values; those with
// many are gathered, several at a time where that takes little memory, and sorted. Value is double
// where every weight is 1, else WeightedValue.
template <class Value, class T>
std::vector<ColumnBins> find_bins(const Table<T>& table, const double* weights, int64_t first,
                                  int64_t last, int max_bins, Watch& watch) {
  constexpr int64_t kFirstGroup = 32, kRowsBetweenLooks = 4096;
  std::vector<ColumnBins> result(last - first);
  std::vector<int64_t> many;
  std::vector<detail::DistinctValues> distinct(std::min(kFirstGroup, last - first));
  for (int64_t start = first; start < last; start += kFirstGroup) {
    const int64_t width = std::min(kFirstGroup, last - start);
    for (auto& values : distinct) values.begin(max_bins);
    for (int64_t row = 0; row < table.n_rows; row += kRowsBetweenLooks) {
      const int64_t end = std::min(row + kRowsBetweenLooks, table.n_rows);
      for_each_cell(table, weights, row, end, start, width,
                    [&](int64_t j, double value, double) { distinct[j].add(value); });
      watch.worked(4 * (end - row) * width);
      if (std::none_of(distinct.begin(), distinct.begin() + width,
                       [](auto& values) { return values.few(); }))
        break;
    }
    for (int64_t j = 0; j < width; ++j) {
      if (distinct[j].few())
        result[start + j - first] = distinct[j].bins();
      else
        many.push_back(start + j);
    }
  }
  if (many.empty()) return result;
  const int64_t group_size =
      std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(table.n_rows, 1), 1, kColumnGroup);
  std::vector<Value> scratch(table.n_rows), group(group_size * table.n_rows);
  for (size_t at = 0; at < many.size();) {
    int64_t width = 1;
    while (width < group_size && at + width < many.size() && many[at + width] == many[at] + width)
      ++width;
    std::array<Value*, kColumnGroup> end;
    for (int64_t j = 0; j < width; ++j) end[j] = &group[j * table.n_rows];
    const auto gather = [&](int64_t j, double value, double weight) {
      value += 0.0;  // -0.0 and 0.0 are one value
      if constexpr (std::is_same_v<Value, double>)
        *end[j]++ = value;
      else
        *end[j]++ = {value, weight};
    };
    for (int64_t row = 0; row < table.n_rows; row += kRowsBetweenLooks) {
      const int64_t last_row = std::min(row + kRowsBetweenLooks, table.n_rows);
      for_each_cell(table, weights, row, last_row, many[at], width, gather);
      watch.worked((last_row - row) * width);
    }
    for (int64_t j = 0; j < width; ++j) {
      Value* values = &group[j * table.n_rows];
      result[many[at + j] - first] =
          find_quantile_bins(values, scratch.data(), end[j] - values, max_bins);
      watch.worked(16 * table.n_rows);
    }
    at += width;
  }
  return result;
}

}  // namespace mddf
