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

#include "common/midpoint.hpp"
#include "common/watch.hpp"

namespace mddf {

constexpr int kMissing = 255;        // the bin code of a missing (or unseen) value
constexpr int kMostBins = 255;       // codes 0 .. 254
constexpr int64_t kColumnGroup = 8;  // columns handled together: one cache line of doubles

inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// A strided two-dimensional view; strides count elements.
template <class T>
struct Table {
  const T* data;
  int64_t n_rows, n_columns, row_stride, column_stride;
};

// A cell of the user's table. Another thread may write into it at any time, so that a compiler must
// not read it a second time: what was found out about the first value has to hold.
template <class T>
double read_cell(const T* cell) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  double value = static_cast<double>(*cell);
  asm("" : "+x"(value));  // where it came from is forgotten; a volatile read is slower
  return value;
#else
  return static_cast<double>(*const_cast<const volatile T*>(cell));
#endif
}

// Bins of one column: bin b holds values in (edges[b - 1], edges[b]].
struct ColumnBins {
  std::vector<double> edges;   // n_bins - 1, ascending
  std::vector<double> values;  // n_bins: what stands for the bin when a threshold is drawn
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

// Sorts ascending by the upper 33 bits, least significant digit first, skipping digits that are all
// equal; then runs that agree in these bits.
inline void sort_cells(std::vector<uint64_t>& keys) {
  constexpr int kFirst = 31, kDigits = 3, kBits = 11, kSize = 1 << kBits;
  if (keys.size() < 4096) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  const auto digit = [](uint64_t key, int d) {
    return (key >> (kFirst + d * kBits)) & (kSize - 1);
  };
  std::vector<uint32_t> counts(static_cast<size_t>(kDigits) * kSize, 0);
  for (const uint64_t key : keys)
    for (int d = 0; d < kDigits; ++d) ++counts[d * kSize + digit(key, d)];
  std::vector<uint64_t> scratch(keys.size());
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = counts.data() + d * kSize;
    if (count[digit(keys[0], d)] == keys.size()) continue;
    uint32_t position = 0;
    for (int i = 0; i < kSize; ++i) {
      const uint32_t here = count[i];
      count[i] = position;
      position += here;
    }
    for (const uint64_t key : keys) scratch[count[digit(key, d)]++] = key;
    keys.swap(scratch);
  }
  for (size_t start = 0, end; start < keys.size(); start = end) {
    for (end = start + 1; end < keys.size() && keys[end] >> kFirst == keys[start] >> kFirst;
         ++end) {
    }
    if (end - start > 1) std::sort(keys.begin() + start, keys.begin() + end);
  }
}
inline void sort_cells(std::vector<WeightedKey>& cells) {
  // By weight too, so that the sums do not depend on the order of the rows.
  std::sort(cells.begin(), cells.end(), [](const WeightedKey& a, const WeightedKey& b) {
    return a.key < b.key || (a.key == b.key && a.weight < b.weight);
  });
}

// The distinct values of a column, as long as there are few. Small whole numbers, the commonest
// kind, are ticked off; others are looked up in a hash table.
class DistinctValues {
 public:
  void begin(size_t most) {
    ticked_.fill(0);
    slots_.fill(-1);
    only_ticks_ = true;
    keys_.clear();
    most_ = most;
    last_ = 0;  // no double has the key 0
    few_ = true;
  }
  void add(double value, double weight) {
    if (value >= 0 && value < kTicks) {
      const int whole = static_cast<int>(value);
      if (whole == value) {
        ticked_[whole] += weight;
        return;
      }
    }
    only_ticks_ = false;
    add_key(order_key(value));
  }
  // Whether what is still to be added can matter.
  bool worth_going_on() const { return few_ || only_ticks_; }
  // Whether there are few; call it when all are added.
  bool finish() {
    for (int whole = 0; whole < kTicks; ++whole)
      if (ticked_[whole] > 0) keys_.push_back(order_key(whole));
    return few_ && keys_.size() <= most_;
  }
  // If there are many but all are ticked off: they and their weights, ascending.
  std::vector<Run> runs() const {
    std::vector<Run> runs;
    for (int whole = 0; only_ticks_ && whole < kTicks; ++whole)
      if (ticked_[whole] > 0) runs.push_back({static_cast<double>(whole), ticked_[whole]});
    return runs;
  }
  // One bin for each.
  ColumnBins bins() {
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

  std::array<double, kTicks> ticked_;
  std::array<int16_t, kSlots> slots_;
  std::vector<uint64_t> keys_;
  size_t most_ = 0;
  uint64_t last_ = 0;
  bool few_ = true, only_ticks_ = true;
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
  for (size_t i = 0; i < runs.size(); ++i) {
    if (bins_left > 1 && weight > 0 && runs[i].weight >= remaining / bins_left) close(i - 1);
    weight += runs[i].weight;
    if (bins_left > 1 && i + 1 < runs.size() && weight >= remaining / bins_left) close(i);
  }
  bins.values.push_back(midpoint(runs[first].value, runs.back().value));
  return bins;
}

}  // namespace detail

// Bins of a column with many values, from those present in rows with positive weight.
template <class Cell>
ColumnBins find_quantile_bins(std::vector<Cell>& cells, int max_bins) {
  if (cells.empty()) return {{}, {0}};  // another thread has written into the table meanwhile
  detail::sort_cells(cells);
  std::vector<detail::Run> runs;
  runs.reserve(cells.size());
  uint64_t last = 0;
  for (const Cell& cell : cells) {
    if (detail::key_of(cell) != last)
      runs.push_back({detail::from_order_key(last = detail::key_of(cell)), 0});
    runs.back().weight += detail::weight_of(cell);
  }
  return detail::quantile_bins(runs, max_bins);
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

// Whether sums of the weights have no rounding, so that their order does not matter.
inline bool exact_sums(const double* weights, int64_t n) {
  double total = 0;
  for (int64_t i = 0; weights && i < n; ++i) {
    if (weights[i] != std::floor(weights[i])) return false;
    total += std::abs(weights[i]);
  }
  return total <= 0x1.0p53;
}

// Bins of columns [first, last) of the table: a first pass finds those with few values; those with
// many are gathered, several at a time where that takes little memory, and sorted.
template <class Cell, class T>
std::vector<ColumnBins> find_bins(const Table<T>& table, const double* weights, int64_t first,
                                  int64_t last, int max_bins, Watch& watch) {
  constexpr int64_t kFirstGroup = 32, kRowsBetweenLooks = 4096;
  std::vector<ColumnBins> result(last - first);
  std::vector<int64_t> many;
  const bool exact = exact_sums(weights, table.n_rows);
  std::vector<detail::DistinctValues> distinct(std::min(kFirstGroup, last - first));
  for (int64_t start = first; start < last; start += kFirstGroup) {
    const int64_t width = std::min(kFirstGroup, last - start);
    for (auto& values : distinct) values.begin(max_bins);
    for (int64_t row = 0; row < table.n_rows; row += kRowsBetweenLooks) {
      const int64_t end = std::min(row + kRowsBetweenLooks, table.n_rows);
      for_each_cell(
          table, weights, row, end, start, width,
          [&](int64_t j, double value, double weight) { distinct[j].add(value, weight); });
      watch.worked(4 * (end - row) * width);
      if (std::none_of(distinct.begin(), distinct.begin() + width,
                       [](const auto& values) { return values.worth_going_on(); }))
        break;
    }
    for (int64_t j = 0; j < width; ++j) {
      ColumnBins& bins = result[start + j - first];
      if (distinct[j].finish())
        bins = distinct[j].bins();
      else if (const auto runs = distinct[j].runs(); exact && !runs.empty())
        bins = detail::quantile_bins(runs, max_bins);
      else
        many.push_back(start + j);
    }
  }
  const int64_t group_size =
      std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(table.n_rows, 1), 1, kColumnGroup);
  std::vector<std::vector<Cell>> group(group_size);
  for (size_t at = 0; at < many.size();) {
    int64_t width = 1;
    while (width < group_size && at + width < many.size() && many[at + width] == many[at] + width)
      ++width;
    for (auto& cells : group) cells.clear();
    const auto gather = [&](int64_t j, double value, double weight) {
      const uint64_t key = detail::order_key(value);
      if constexpr (std::is_same_v<Cell, uint64_t>)
        group[j].push_back(key);
      else
        group[j].push_back({key, weight});
    };
    for (int64_t row = 0; row < table.n_rows; row += kRowsBetweenLooks) {
      const int64_t end = std::min(row + kRowsBetweenLooks, table.n_rows);
      for_each_cell(table, weights, row, end, many[at], width, gather);
      watch.worked((end - row) * width);
    }
    for (int64_t j = 0; j < width; ++j) {
      result[many[at + j] - first] = find_quantile_bins(group[j], max_bins);
      watch.worked(16 * table.n_rows);
    }
    at += width;
  }
  return result;
}

inline uint8_t search_bin(const double* edges, int n_edges, double value) {
  if (std::isnan(value)) return kMissing;
  return static_cast<uint8_t>(std::lower_bound(edges, edges + n_edges, value) - edges);
}

// Looks up the bins of one column: a uniform grid over the edges narrows the search to the few
// edges of one cell.
class ColumnLookup {
 public:
  ColumnLookup(const double* edges, int n_edges)
      : edges_(edges), n_edges_(n_edges), grid_(n_edges > 4) {
    for (int whole = 0, bin = 0; whole < kWhole; ++whole) {
      while (bin < n_edges && whole > edges[bin]) ++bin;
      of_whole_[whole] = static_cast<uint8_t>(bin);
    }
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

  // Codes n values that are `stride` apart.
  template <class T>
  void apply(const T* values, int64_t n, int64_t stride, uint8_t* out) const {
    for (int64_t i = 0; i < n; ++i) {
      const double value = read_cell(values + i * stride);
      if (value >= 0 && value < kWhole) {
        const int whole = static_cast<int>(value);
        if (whole == value) {
          out[i] = of_whole_[whole];
          continue;
        }
      }
      out[i] = grid_ ? look_up(value) : search_bin(edges_, n_edges_, value);
    }
  }

 private:
  static constexpr int kCells = 1024, kMostSteps = 8, kWhole = 1024;
  uint8_t look_up(double value) const {
    if (std::isnan(value)) return kMissing;
    int bin = first_[cell_of(value)];
    for (int step = 0; step < steps_; ++step) bin += value > padded_[bin];
    return static_cast<uint8_t>(bin);
  }
  int cell_of(double value) const {
    const double position = (value - low_) * scale_;
    return static_cast<int>(std::min(std::max(position, 0.0), kCells - 1.0));
  }
  const double* edges_;
  int n_edges_, steps_ = 0;
  bool grid_;
  double low_ = 0, scale_ = 0;
  std::array<uint8_t, kWhole> of_whole_;  // codes of small whole numbers, the commonest values
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

// A categorical column's values are its codes already.
template <class T>
void copy_codes(const T* values, int64_t n, int64_t stride, int count, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const double value = read_cell(values + i * stride);
    out[i] = value >= 0 && value < count ? static_cast<uint8_t>(value) : uint8_t{kMissing};
  }
}

// Codes rows [first, last) of the table into out (row-major, out_stride bytes a row) and,
// if wanted, into by_column (one column after the other, all rows of the table). A categorical cell
// holds its code already; anything that is not one of them counts as missing.
template <class T>
void apply_bins(const Table<T>& table, const Bins& bins, int64_t first, int64_t last, uint8_t* out,
                int64_t out_stride, uint8_t* by_column, Watch& watch) {
  constexpr int64_t kRows = 128;  // a block's pages and cache lines serve several columns
  if (last - first < 256) {       // too few to prepare anything
    for (int64_t row = first; row < last; ++row)
      for (int64_t c = 0; c < table.n_columns; ++c) {
        const T* value = table.data + row * table.row_stride + c * table.column_stride;
        uint8_t& code = out[row * out_stride + c];
        if (bins.categorical[c])
          copy_codes(value, 1, 1, bins.count(c), &code);
        else
          code = search_bin(bins.edges + bins.bin_start[c], bins.count(c) - 1, read_cell(value));
        if (by_column) by_column[c * table.n_rows + row] = code;
      }
    return;
  }
  std::vector<ColumnLookup> lookups;
  lookups.reserve(table.n_columns);
  for (int64_t c = 0; c < table.n_columns; ++c)
    lookups.emplace_back(bins.edges + bins.bin_start[c], bins.count(c) - 1);
  std::vector<uint8_t> block(kRows * kColumnGroup);
  for (int64_t start = first; start < last; start += kRows) {
    const int64_t n = std::min(kRows, last - start);
    watch.worked(2 * n * table.n_columns);
    for (int64_t group = 0; group < table.n_columns; group += kColumnGroup) {
      const int64_t width = std::min(kColumnGroup, table.n_columns - group);
      const int64_t next = std::min(group + kColumnGroup, table.n_columns - 1);
      for (int64_t i = 0; i < n; ++i)
        prefetch(table.data + (start + i) * table.row_stride + next * table.column_stride);
      for (int64_t j = 0; j < width; ++j) {
        const int64_t c = group + j;
        const T* values = table.data + start * table.row_stride + c * table.column_stride;
        uint8_t* codes = by_column ? by_column + c * table.n_rows + start : &block[j * kRows];
        if (bins.categorical[c])
          copy_codes(values, n, table.row_stride, bins.count(c), codes);
        else
          lookups[c].apply(values, n, table.row_stride, codes);
      }
      const uint8_t* from = by_column ? by_column + group * table.n_rows + start : block.data();
      const int64_t from_stride = by_column ? table.n_rows : kRows;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < width; ++j)
          out[(start + i) * out_stride + group + j] = from[j * from_stride + i];
    }
  }
}

}  // namespace mddf
