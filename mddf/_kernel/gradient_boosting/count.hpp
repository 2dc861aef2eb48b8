// Counting rows into histograms: the passes over the rows, and their division among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/prefetch.hpp"
#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/histograms.hpp"
#include "gradient_boosting/score.hpp"
#include "gradient_boosting/team.hpp"

namespace mddf::gradient {

// Sums while rows are added to them; Packed{} is 0, and arrays are not initialised. Two sums are
// one number of 64 bits, the second times 2^32 plus the first, so that both are added by one
// instruction.
template <int kWidth>
class alignas(kWidth * sizeof(int32_t)) Packed {
 public:
  Packed() = default;
  MDDF_INLINE explicit Packed(const Sums<kWidth>& sums) { std::copy_n(sums.of, kWidth, of_); }
  MDDF_INLINE void add(const Packed& other) {
    for (int j = 0; j < kWidth; ++j) of_[j] += other.of_[j];
  }
  MDDF_INLINE void subtract(const Packed& other) {
    for (int j = 0; j < kWidth; ++j) of_[j] -= other.of_[j];
  }
  MDDF_INLINE Sums<kWidth> sums() const {
    Sums<kWidth> sums;
    std::copy_n(of_, kWidth, sums.of);
    return sums;
  }

 private:
  int32_t of_[kWidth];
};
template <>
class Packed<2> {
 public:
  Packed() = default;
  MDDF_INLINE explicit Packed(const Sums<2>& sums)
      : bits_((static_cast<uint64_t>(static_cast<uint32_t>(sums.of[1])) << 32) +
              static_cast<uint64_t>(int64_t{sums.of[0]})) {}
  MDDF_INLINE void add(const Packed& other) { bits_ += other.bits_; }
  MDDF_INLINE void subtract(const Packed& other) { bits_ -= other.bits_; }
  MDDF_INLINE Sums<2> sums() const {
    Sums<2> sums;
    sums.of[0] = static_cast<int32_t>(static_cast<uint32_t>(bits_));
    sums.of[1] = static_cast<int32_t>((bits_ - static_cast<uint64_t>(int64_t{sums.of[0]})) >> 32);
    return sums;
  }

 private:
  uint64_t bits_;
};

// Rows of a leaf, with their gradients in the same order.
template <int kWidth>
struct LeafRows {
  const int32_t* rows;
  const Packed<kWidth>* gradients;
  int64_t n;

  LeafRows part(int64_t first, int64_t last) const {
    return {rows + first, gradients + first, last - first};
  }
};

// Codes of up to TableCodes::kGroup adjacent bundles, and of up to four separate columns.
struct GroupedCodes {
  const uint8_t* codes;
  MDDF_INLINE uint8_t of(int64_t row, int j) const { return codes[row * TableCodes::kGroup + j]; }
  MDDF_INLINE void fetch(int64_t row) const { prefetch_near(codes + row * TableCodes::kGroup); }
};
struct SeparateCodes {
  const uint8_t* codes[4];
  MDDF_INLINE uint8_t of(int64_t row, int j) const { return codes[j][row]; }
  MDDF_INLINE void fetch(int64_t) const {}
};

// Fills histograms of some columns, on all threads of a team.
template <int kWidth>
class HistogramCounter {
 public:
  using Sum = Sums<kWidth>;
  // A histogram to fill, and the rows to count.
  struct Task {
    LeafRows<kWidth> rows;
    Sum* histogram;
  };
  // Rows of a task that one thread counts in one pass.
  struct Part {
    size_t task;
    int64_t first, last;
    int64_t partial;  // number of the partial histogram it fills; -1 for the whole task
  };

  HistogramCounter(const Columns& columns, bool use_simd)
      : columns_(columns), use_simd_(use_simd) {}

  // Calls work(range) for ranges of these columns after their cells were filled. Within one
  // process, small histograms are counted and searched pass by pass, while they are in the cache.
  template <class Work>
  void count(const std::vector<Task>& tasks, const std::vector<int>& columns, Team& team,
             const Work& work) {
    const std::vector<ColumnRange> passes = passes_over(columns);
    const auto n_passes = static_cast<int64_t>(passes.size());
    const std::vector<Part> parts = parts_of(tasks, n_passes, team.n_threads());
    if (parts.size() == tasks.size() && !columns_.shards().are_several())
      return team.each(n_passes, [&](int64_t p) {
        for (const Task& task : tasks) fill(passes[p], task.rows, task.histogram);
        work(passes[p]);
      });
    partials_.resize(n_partials(parts) * columns_.n_cells());
    // All passes of a part are next to each other: a thread gets whole parts, and their rows and
    // gradients stay in its cache.
    team.each(static_cast<int64_t>(parts.size()) * n_passes, [&](int64_t i) {
      const Part& part = parts[i / n_passes];
      const Task& task = tasks[part.task];
      const ColumnRange& pass = passes[i % n_passes];
      if (part.partial < 0)
        fill(pass, task.rows, task.histogram);
      else
        fill_partial(pass, task.rows.part(part.first, part.last), partial(part.partial));
    });
    const auto add_up = [&](const ColumnRange& range) {
      for (size_t p = 0; p < parts.size();) {
        const size_t first = p;
        while (++p < parts.size() && parts[p].task == parts[first].task) {
        }
        if (parts[first].partial < 0) continue;
        for (const int c : range)
          add_partials(c, parts[first].partial, static_cast<int64_t>(p - first),
                       tasks[parts[first].task].histogram);
      }
    };
    const auto n_columns = static_cast<int64_t>(columns.size());
    const int64_t n_ranges = std::min<int64_t>(n_columns, 2 * team.n_threads());
    const auto range = [&](int64_t r) {
      return ColumnRange{columns.data() + n_columns * r / n_ranges,
                         columns.data() + n_columns * (r + 1) / n_ranges};
    };
    if (!columns_.shards().are_several())
      return team.each(n_ranges, [&](int64_t r) {
        add_up(range(r));
        work(range(r));
      });
    team.each(n_ranges, [&](int64_t r) { add_up(range(r)); });
    std::vector<Sum*> histograms;
    for (const Task& task : tasks) histograms.push_back(task.histogram);
    sum_over_shards<kWidth>(columns_, {columns.data(), columns.data() + n_columns}, histograms);
    team.each(n_ranges, [&](int64_t r) { work(range(r)); });
  }

  // Divides the rows of large tasks into equal parts, so that few columns keep many threads busy.
  static std::vector<Part> parts_of(const std::vector<Task>& tasks, int64_t n_passes,
                                    int n_threads) {
    int64_t n_rows = 0, n_partials = 0;
    for (const Task& task : tasks) n_rows += task.rows.n;
    // With eight passes for each thread, the passes alone are nearly equal shares.
    const bool divides = n_threads > 1 && n_passes < 8 * n_threads;
    std::vector<Part> parts;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const int64_t n = tasks[t].rows.n;
      const int64_t share =
          divides ? (n * n_threads + n_rows / 2) / std::max<int64_t>(n_rows, 1) : 1;
      const int64_t n_parts = std::max<int64_t>(1, std::min(share, n / kFewRows));
      for (int64_t i = 0; i < n_parts; ++i)
        parts.push_back(
            {t, n * i / n_parts, n * (i + 1) / n_parts, n_parts > 1 ? n_partials++ : -1});
    }
    return parts;
  }

 private:
  // Columns or bundles of a pass: a row's cells of a pass must not push each other out of the first
  // cache.
  static constexpr int kAtOnce = kWidth == 8 ? 4 : 8;
  // Rows whose codes are prefetched. A pass takes about 2 ns a row, and memory 100 ns. With 10^6
  // rows and every 16th of them in the leaf, a cell takes 0.43 ns, and 0.72 ns with 32 rows ahead.
  static constexpr int64_t kAhead = 64;

  using Cells = Packed<kWidth>[256];

  static int64_t n_partials(const std::vector<Part>& parts) {
    int64_t n = 0;
    for (const Part& part : parts) n = std::max(n, part.partial + 1);
    return n;
  }
  Packed<kWidth>* partial(int64_t i) { return partials_.data() + i * columns_.n_cells(); }

  // Whether the rows of these columns are counted by groups. A group with few of them would be read
  // for little.
  bool are_grouped(size_t n_columns) const {
    return columns_.table().has_groups() && 2 * static_cast<int>(n_columns) >= columns_.count();
  }

  // Divides columns into ranges, each for one pass over the rows.
  std::vector<ColumnRange> passes_over(const std::vector<int>& columns) {
    is_grouped_ = are_grouped(columns.size());
    std::vector<ColumnRange> passes;
    const int* end = columns.data() + columns.size();
    for (const int* first = columns.data(); first < end;) {
      const int* last = first + 1;
      if (is_grouped_)
        while (last < end && group_of(*last) == group_of(*first)) ++last;
      else
        last = std::min(first + 4, end);
      passes.push_back({first, last});
      first = last;
    }
    return passes;
  }
  const InBundle& bundle_of(int c) const { return columns_.table().bundles()[columns_[c].number]; }
  int group_of(int c) const { return bundle_of(c).number / kAtOnce; }

  template <int kColumns, class Codes>
  MDDF_INLINE static void add_rows(const Codes& codes, const LeafRows<kWidth>& of, Cells* cells) {
    int64_t i = 0;
    const auto add = [&]() MDDF_INLINED {
      const int64_t row = of.rows[i];
      const Packed<kWidth> gradient = of.gradients[i];
      for (int j = 0; j < kColumns; ++j) cells[j][codes.of(row, j)].add(gradient);
    };
    for (; i + kAhead < of.n; ++i) {
      codes.fetch(of.rows[i + kAhead]);
      add();
    }
    for (; i < of.n; ++i) add();
  }

  // Calls add_rows with the number of columns as a constant.
  template <int kColumns, class Codes>
  MDDF_INLINE static void add_rows_of(int n_columns, const Codes& codes, const LeafRows<kWidth>& of,
                                      Cells* cells) {
    if (n_columns == kColumns) return add_rows<kColumns>(codes, of, cells);
    if constexpr (kColumns > 1) add_rows_of<kColumns - 1>(n_columns, codes, of, cells);
  }

  MDDF_INLINE void count_group(const ColumnRange& pass, const LeafRows<kWidth>& of,
                               Cells* cells) const {
    const TableCodes& table = columns_.table();
    const int first = group_of(*pass.first) * kAtOnce;
    const int n = bundle_of(*(pass.last - 1)).number - first + 1;
    for (int j = 0; j < n; ++j)
      std::fill_n(cells[j], table.bundles().n_codes(first + j), Packed<kWidth>{});
    const uint8_t* codes = table.group(first / TableCodes::kGroup) + first % TableCodes::kGroup;
    add_rows_of<kAtOnce>(n, GroupedCodes{codes}, of, cells);
  }

  MDDF_INLINE void count_columns(const ColumnRange& pass, const LeafRows<kWidth>& of,
                                 Cells* cells) const {
    SeparateCodes codes{};
    const auto n = static_cast<int>(pass.last - pass.first);
    for (int j = 0; j < n; ++j) {
      codes.codes[j] = columns_[pass.first[j]].codes;
      std::fill_n(cells[j], columns_[pass.first[j]].n_cells(), Packed<kWidth>{});
    }
    add_rows_of<4>(n, codes, of, cells);
  }

  // Counts the rows of a pass, and calls take(column, cells) for each of its columns.
  template <class Take>
  MDDF_INLINE void count_pass(const ColumnRange& pass, const LeafRows<kWidth>& of,
                              const Take& take) const {
    Cells cells[kAtOnce];
    if (!is_grouped_) {
      count_columns(pass, of, cells);
      for (int j = 0; j < pass.last - pass.first; ++j) take(columns_[pass.first[j]], cells[j]);
      return;
    }
    count_group(pass, of, cells);
    Packed<kWidth> total{};  // of all codes of the bundle
    int32_t added_up = -1;   // number of the bundle that it is of
    for (const int c : pass) {
      const InBundle& in = bundle_of(c);
      const Packed<kWidth>* of_bundle = cells[in.number % kAtOnce];
      if (in.usual == InBundle::kNone) {
        take(columns_[c], of_bundle);
        continue;
      }
      if (std::exchange(added_up, in.number) != in.number) {
        total = {};
        for (int b = 0; b < columns_.table().bundles().n_codes(in.number); ++b)
          total.add(of_bundle[b]);
      }
      Cells of_column;
      copy_from_bundle(in, columns_[c].n_cells(), of_bundle, total, of_column);
      take(columns_[c], of_column);
    }
  }

  // The cells of a column of a bundle. Rows with other codes have its usual code.
  MDDF_INLINE static void copy_from_bundle(const InBundle& in, int n_cells,
                                           const Packed<kWidth>* of_bundle,
                                           const Packed<kWidth>& total, Packed<kWidth>* of_column) {
    Packed<kWidth> rest = total;
    for (int code = 0; code < n_cells; ++code) {
      if (code == in.usual) continue;
      of_column[code] = of_bundle[in.code_of(code)];
      rest.subtract(of_column[code]);
    }
    of_column[in.usual] = rest;
  }

  void fill(const ColumnRange& pass, const LeafRows<kWidth>& of, Sum* histogram) const {
    simd::with_vectors(use_simd_, [&]() MDDF_INLINED {
      count_pass(pass, of, [&](const Column& column, const Packed<kWidth>* cells) MDDF_INLINED {
        finish(column, cells, histogram);
      });
    });
  }
  void fill_partial(const ColumnRange& pass, const LeafRows<kWidth>& of,
                    Packed<kWidth>* partial) const {
    simd::with_vectors(use_simd_, [&]() MDDF_INLINED {
      count_pass(pass, of, [&](const Column& column, const Packed<kWidth>* cells) MDDF_INLINED {
        std::copy_n(cells, column.n_cells(), partial + column.offset);
      });
    });
  }
  void add_partials(int c, int64_t first, int64_t n, Sum* histogram) {
    const Column& column = columns_[c];
    Cells cells;
    std::copy_n(partial(first) + column.offset, column.n_cells(), cells);
    for (int64_t i = 1; i < n; ++i) {
      const Packed<kWidth>* from = partial(first + i) + column.offset;
      for (int b = 0; b < column.n_cells(); ++b) cells[b].add(from[b]);
    }
    finish(column, cells, histogram);
  }

  // Writes the cells of a column to a histogram; numeric columns get cumulative sums.
  MDDF_INLINE static void finish(const Column& column, const Packed<kWidth>* cells,
                                 Sum* histogram) {
    Sum* to = histogram + column.offset;
    if (column.categorical) {
      for (int b = 0; b < column.n_bins; ++b) to[b] = cells[b].sums();
    } else {
      Packed<kWidth> sum{};
      for (int b = 0; b < column.n_bins; ++b) {
        sum.add(cells[b]);
        to[b] = sum.sums();
      }
    }
    to[column.n_bins] = cells[column.n_bins].sums();
  }

  const Columns& columns_;
  const bool use_simd_;
  bool is_grouped_ = false;
  std::vector<Packed<kWidth>> partials_;
};

}  // namespace mddf::gradient
