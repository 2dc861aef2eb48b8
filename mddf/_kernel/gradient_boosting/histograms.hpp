// Histograms of gradients, and the scores of splits from them.
//
// A histogram has a cell for each code of each column. Cells of numeric columns hold cumulative
// sums over the bins up to theirs, from which splits are scored. Cells of categories and of
// missing values hold the sums of their own rows. Histograms of both kinds can be subtracted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/compared.hpp"
#include "gradient_boosting/score.hpp"

namespace mddf::gradient {

// A range of positions of columns.
struct ColumnRange {
  const int* first;
  const int* last;
  const int* begin() const { return first; }
  const int* end() const { return last; }
};

// Replaces the cells of some columns of several histograms by their sums over all shards, in one
// exchange.
template <int kWidth>
void sum_over_shards(const Columns& columns, const ColumnRange& chosen,
                     const std::vector<Sums<kWidth>*>& histograms) {
  std::vector<Sums<kWidth>> cells;
  const auto for_each_column = [&](auto visit) {
    for (Sums<kWidth>* histogram : histograms)
      for (const int c : chosen) visit(histogram + columns[c].offset, columns[c].n_cells());
  };
  for_each_column([&](const Sums<kWidth>* of, int n) { cells.insert(cells.end(), of, of + n); });
  columns.shards().sum(reinterpret_cast<int32_t*>(cells.data()),
                       static_cast<int64_t>(cells.size()) * kWidth);
  const Sums<kWidth>* from = cells.data();
  for_each_column([&](Sums<kWidth>* to, int n) {
    std::copy_n(from, n, to);
    from += n;
  });
}

// Subtracts the cells of some columns from the cells of another histogram.
template <int kWidth>
void subtract(const Columns& columns, const ColumnRange& chosen, const Sums<kWidth>* part,
              Sums<kWidth>* from) {
  for (const int c : chosen) {
    const int64_t first = columns[c].offset, last = first + columns[c].n_cells();
    for (int64_t i = first; i < last; ++i) from[i].subtract(part[i]);
  }
}

// Sums on the left of a split. `order` has the codes of a categorical column in the order of the
// search; it is null otherwise.
template <int kWidth>
Sums<kWidth> left_of(const Column& column, const uint8_t* order, const Sums<kWidth>* cells,
                     int place, bool missing_left) {
  Sums<kWidth> sum;
  if (missing_left) sum = cells[column.n_bins];
  if (order)
    for (int at = 0; at <= place; ++at) sum.add(cells[order[at]]);
  else if (place >= 0)
    sum.add(cells[place]);
  return sum;
}

// Position of the first largest number.
template <class Number>
MDDF_INLINE int first_largest(const Number* of, int n) {
  constexpr int kLanes = 16;
  Number most[kLanes];
  std::fill_n(most, kLanes, of[0]);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) most[j] = of[i + j] > most[j] ? of[i + j] : most[j];
  for (; i < n; ++i) most[0] = of[i] > most[0] ? of[i] : most[0];
  Number largest = most[0];
  for (int j = 1; j < kLanes; ++j) largest = most[j] > largest ? most[j] : largest;
  int at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    int is_in_block = 0;
    for (int j = 0; j < kLanes; ++j) is_in_block |= of[at + j] == largest;
    if (is_in_block) break;
  }
  while (of[at] != largest) ++at;
  return at;
}

// Scores of all splits of a column. `missing_right` has the scores of splits after each bin, with
// missing values on the right. `missing_left` begins with the split that has only missing values
// on the left.
template <class Number>
struct Scores {
  Number missing_right[256], missing_left[256];

  MDDF_INLINE void clear(const Column& column) {
    missing_right[0] = missing_left[0] = 0;  // compilers do not know that there is a bin
    std::fill_n(missing_right, column.n_bins, Number{0});
    if (column.has_missing) std::fill_n(missing_left, column.n_bins, Number{0});
  }
  // Calls take(place, missing_left, score) for the best split of either kind.
  template <class Take>
  MDDF_INLINE void best(const Column& column, const Take& take) const {
    int at = first_largest(missing_right, column.n_bins - !column.has_missing);
    take(at, false, missing_right[at]);
    if (!column.has_missing) return;
    at = first_largest(missing_left, column.n_bins);
    take(at - 1, true, missing_left[at]);
  }
};

// Adds the gains of n splits of a leaf to the scores; `left` has the sums on the left of each
// split. Gains are cut to whole numbers if scores are, so that sums over leaves are exact.
template <class ComparedLeaf, int kWidth, class Number>
MDDF_INLINE void score_places(const Sums<kWidth>* left, int n, const ComparedLeaf& leaf,
                              Number* scores) {
  for (int b = 0; b < n; ++b) scores[b] += static_cast<Number>(leaf.improvement(left[b]));
}

// Adds the gains of all splits of a leaf by a column to the scores.
template <class ComparedLeaf, int kWidth, class Number>
MDDF_INLINE void scan(const Column& column, const uint8_t* order, const Sums<kWidth>* cells,
                      const ComparedLeaf& leaf, Scores<Number>& scores) {
  Sums<kWidth> sums[256];
  const int n = column.n_bins;
  const Sums<kWidth>* left = cells;
  if (order) {
    Sums<kWidth> sum;
    for (int b = 0; b < n; ++b) {
      sum.add(cells[order[b]]);
      sums[b] = sum;
    }
    left = sums;
  }
  score_places(left, n, leaf, scores.missing_right);
  if (!column.has_missing) return;
  const Sums<kWidth> missing = cells[n];
  for (int b = n - 1; b > 0; --b) {
    sums[b] = left[b - 1];
    sums[b].add(missing);
  }
  sums[0] = missing;
  score_places(sums, n, leaf, scores.missing_left);
}

}  // namespace mddf::gradient
