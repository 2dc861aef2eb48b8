// From raw columns to one byte per cell: finding the bins, and looking values up.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace mddf {

constexpr int kMissing = 255;      // the bin code of a missing (or unseen) value
constexpr int kMostBins = 255;     // codes 0 .. 254
constexpr int64_t kColumnGroup = 8;  // columns handled together: one cache line of doubles

// A strided two-dimensional view; strides count elements.
template <class T>
struct Table {
  const T* data;
  int64_t n_rows, n_columns, row_stride, column_stride;
  double at(int64_t row, int64_t column) const {
    return static_cast<double>(data[row * row_stride + column * column_stride]);
  }
};

// Bins of one column: bin b holds values in (edges[b - 1], edges[b]].
struct ColumnBins {
  std::vector<double> edges;   // n_bins - 1, ascending
  std::vector<double> values;  // n_bins: what stands for the bin when a threshold is drawn
};

// The largest double that keeps "x <= edge" true for a and false for b (a < b), near the middle.
inline double midpoint(double a, double b) {
  const double middle = a / 2 + b / 2;
  return middle >= a && middle < b ? middle : a;
}

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

// One present value: its order key alone where every weight is 1, else with its weight.
struct WeightedKey {
  uint64_t key;
  double weight;
};
inline uint64_t key_of(uint64_t cell) { return cell; }
inline uint64_t key_of(const WeightedKey& cell) { return cell.key; }
inline double weight_of(uint64_t) { return 1; }
inline double weight_of(const WeightedKey& cell) { return cell.weight; }

// Equal values, and what they weigh together.
struct Run {
  double value, weight;
};

// Sorts ascending: least significant digit first, skipping digits that are all equal (values
// that came from float32 or integers have many).
inline void sort_cells(std::vector<uint64_t>& keys) {
  constexpr int kDigits = 6, kBits = 11, kSize = 1 << kBits;
  if (keys.size() < 4096) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<size_t> counts(static_cast<size_t>(kDigits) * kSize, 0);
  for (const uint64_t key : keys)
    for (int d = 0; d < kDigits; ++d) ++counts[d * kSize + ((key >> (d * kBits)) & (kSize - 1))];
  std::vector<uint64_t> scratch(keys.size());
  for (int d = 0; d < kDigits; ++d) {
    size_t* count = counts.data() + d * kSize;
    if (count[(keys[0] >> (d * kBits)) & (kSize - 1)] == keys.size()) continue;
    size_t position = 0;
    for (int i = 0; i < kSize; ++i) {
      const size_t here = count[i];
      count[i] = position;
      position += here;
    }
    for (const uint64_t key : keys) scratch[count[(key >> (d * kBits)) & (kSize - 1)]++] = key;
    keys.swap(scratch);
  }
}
inline void sort_cells(std::vector<WeightedKey>& cells) {
  // By weight too, so that the sums do not depend on the order of the rows.
  std::sort(cells.begin(), cells.end(), [](const WeightedKey& a, const WeightedKey& b) {
    return a.key < b.key || (a.key == b.key && a.weight < b.weight);
  });
}

// The distinct values of a column, if there are few.
class DistinctValues {
 public:
  // False if there are more than `most`.
  template <class Cell>
  bool collect(const std::vector<Cell>& cells, size_t most) {
    slots_.fill(-1);
    keys_.clear();
    uint64_t last = 0;
    for (const Cell& cell : cells) {
      const uint64_t key = key_of(cell);
      if (key == last) continue;  // no double has the key 0
      last = key;
      size_t slot = (key * 0x9e3779b97f4a7c15u) >> 54;
      while (slots_[slot] >= 0 && keys_[slots_[slot]] != key)
        slot = (slot + 1) & (slots_.size() - 1);
      if (slots_[slot] >= 0) continue;
      if (keys_.size() == most) return false;
      slots_[slot] = static_cast<int>(keys_.size());
      keys_.push_back(key);
    }
    std::sort(keys_.begin(), keys_.end());
    return true;
  }
  const std::vector<uint64_t>& keys() const { return keys_; }

 private:
  std::array<int, 1024> slots_;
  std::vector<uint64_t> keys_;
};

// Bins of about equal weight; a value as heavy as a bin gets a bin of its own.
inline ColumnBins quantile_bins(const std::vector<Run>& runs, int max_bins) {
  ColumnBins bins;
  double remaining = 0;
  for (const Run& run : runs) remaining += run.weight;
  int bins_left = max_bins;
  size_t first = 0;
  double weight = 0;
  const auto close = [&](size_t last) {  // the bin of runs first .. last; more runs follow
    bins.values.push_back(midpoint(runs[first].value, runs[last].value));
    bins.edges.push_back(midpoint(runs[last].value, runs[last + 1].value));
    remaining -= weight;
    weight = 0;
    first = last + 1;
    --bins_left;
  };
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    if (bins_left > 1 && weight > 0 && runs[i].weight >= remaining / bins_left) close(i - 1);
    weight += runs[i].weight;
    if (bins_left > 1 && weight >= remaining / bins_left) close(i);
  }
  bins.values.push_back(midpoint(runs[first].value, runs.back().value));
  return bins;
}

}  // namespace detail

// Bins of one column from the present values of rows with positive weight; sorts `cells`.
template <class Cell>
ColumnBins find_column_bins(std::vector<Cell>& cells, int max_bins) {
  ColumnBins bins;
  detail::DistinctValues distinct;
  if (!distinct.collect(cells, max_bins)) {
    detail::sort_cells(cells);
    std::vector<detail::Run> runs;
    uint64_t last = 0;
    for (const Cell& cell : cells) {
      if (detail::key_of(cell) != last)
        runs.push_back({detail::from_order_key(last = detail::key_of(cell)), 0});
      runs.back().weight += detail::weight_of(cell);
    }
    return detail::quantile_bins(runs, max_bins);
  }
  for (const uint64_t key : distinct.keys()) {
    const double value = detail::from_order_key(key);
    if (!bins.values.empty()) bins.edges.push_back(midpoint(bins.values.back(), value));
    bins.values.push_back(value);
  }
  if (bins.values.empty()) bins.values.push_back(0);  // nothing present: one bin, never used
  return bins;
}

// Bins of columns [first, last) of the table. Several columns are gathered in one pass over the
// rows where that takes little memory.
template <class Cell, class T>
std::vector<ColumnBins> find_bins(const Table<T>& table, const double* weights, int64_t first,
                                  int64_t last, int max_bins) {
  const int64_t group_size =
      std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(table.n_rows, 1), 1, kColumnGroup);
  std::vector<ColumnBins> result;
  std::vector<std::vector<Cell>> group(group_size);
  for (int64_t start = first; start < last; start += group_size) {
    const int64_t width = std::min(group_size, last - start);
    for (auto& cells : group) cells.clear();
    for (int64_t row = 0; row < table.n_rows; ++row) {
      if (weights && !(weights[row] > 0)) continue;
      for (int64_t j = 0; j < width; ++j) {
        const double value = table.at(row, start + j);
        if (std::isnan(value)) continue;
        const uint64_t key = detail::order_key(value);
        if constexpr (std::is_same_v<Cell, uint64_t>)
          group[j].push_back(key);
        else
          group[j].push_back({key, weights[row]});
      }
    }
    for (int64_t j = 0; j < width; ++j) result.push_back(find_column_bins(group[j], max_bins));
  }
  return result;
}

// Looks up the bins of one column: a uniform grid over the edges narrows the search to the few
// edges of one cell.
class ColumnLookup {
 public:
  ColumnLookup(const double* edges, int n_edges, bool with_grid)
      : edges_(edges), n_edges_(n_edges), grid_(with_grid && n_edges > 4) {
    if (!grid_) return;
    std::copy(edges, edges + n_edges, padded_.begin());
    std::fill(padded_.begin() + n_edges, padded_.end(), std::numeric_limits<double>::infinity());
    low_ = edges[0];
    const double width = edges[n_edges - 1] - low_;
    scale_ = (kCells - 1) / width;
    if (!(width > 0) || !std::isfinite(width) || !std::isfinite(scale_)) {
      grid_ = false;
      return;
    }
    int edge = 0;
    for (int cell = 0; cell < kCells; ++cell) {
      first_[cell] = static_cast<uint8_t>(edge);
      int here = 0;
      while (edge < n_edges && cell_of(edges[edge]) == cell) ++edge, ++here;
      steps_ = std::max(steps_, here);
    }
    grid_ = steps_ <= kMostSteps;
  }

  uint8_t operator()(double value) const {
    if (std::isnan(value)) return kMissing;
    if (!grid_)
      return static_cast<uint8_t>(std::lower_bound(edges_, edges_ + n_edges_, value) - edges_);
    int bin = first_[cell_of(value)];
    for (int step = 0; step < steps_; ++step) bin += value > padded_[bin];
    return static_cast<uint8_t>(bin);
  }

 private:
  static constexpr int kCells = 1024, kMostSteps = 8;
  int cell_of(double value) const {
    const double position = (value - low_) * scale_;
    return static_cast<int>(std::min(std::max(position, 0.0), kCells - 1.0));
  }
  const double* edges_;
  int n_edges_, steps_ = 0;
  bool grid_;
  double low_ = 0, scale_ = 0;
  std::array<uint8_t, kCells> first_;
  std::array<double, 256 + kMostSteps> padded_;
};

// The bins of all columns: those of column c lie in [bin_start[c], bin_start[c + 1]). A bin is
// known by its upper edge (infinity for the last one) and by the value that stands for it.
struct Bins {
  const double* edges;
  const double* values;
  const int64_t* bin_start;
  const uint8_t* categorical;
  int64_t n_columns;
  int count(int64_t column) const {
    return static_cast<int>(bin_start[column + 1] - bin_start[column]);
  }
};

// Codes rows [first, last) of the table into out (row-major, out_stride bytes a row). A
// categorical cell holds its code already; anything that is not one of them counts as missing.
template <class T>
void apply_bins(const Table<T>& table, const Bins& bins, int64_t first, int64_t last,
                uint8_t* out, int64_t out_stride) {
  const bool with_grid = last - first >= 256;
  std::vector<ColumnLookup> lookups;
  for (int64_t start = 0; start < table.n_columns; start += kColumnGroup) {
    const int64_t width = std::min(kColumnGroup, table.n_columns - start);
    lookups.clear();
    for (int64_t j = start; j < start + width; ++j)
      lookups.emplace_back(bins.edges + bins.bin_start[j], bins.count(j) - 1, with_grid);
    for (int64_t row = first; row < last; ++row) {
      uint8_t* target = out + row * out_stride + start;
      for (int64_t j = 0; j < width; ++j) {
        const double value = table.at(row, start + j);
        if (bins.categorical[start + j])
          target[j] = value >= 0 && value < bins.count(start + j)
                          ? static_cast<uint8_t>(value)
                          : static_cast<uint8_t>(kMissing);
        else
          target[j] = lookups[j](value);
      }
    }
  }
}

}  // namespace mddf
