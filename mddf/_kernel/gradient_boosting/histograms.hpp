// Sums by bin, and splits found from them.
//
// A histogram has a cell for each code of each column. Those of numbers hold the sums up to their
// bin, which places to split are compared by, and those of categories and missing values the sums
// of their own rows. Either may be taken away from another histogram's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/compared.hpp"
#include "gradient_boosting/score.hpp"

namespace mddf::gradient {

// Rows of a leaf, and their gradients in the same order.
template <int kWidth>
struct LeafRows {
  const int32_t* rows;
  const Sums<kWidth>* gradients;
  int64_t n;
};

// Adds rows to the cells of some columns: equal codes in a row wait for each other's store, those
// of other columns do not.
template <int kColumns, int kWidth>
MDDF_INLINE void count_some(const Columns& columns, const int* chosen, const LeafRows<kWidth>& of,
                            Sums<kWidth>* histogram) {
  const uint8_t* codes[kColumns];
  Sums<kWidth>* cells[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    codes[j] = columns[chosen[j]].codes;
    cells[j] = histogram + columns[chosen[j]].offset;
  }
  for (int64_t i = 0; i < of.n; ++i) {
    const int32_t row = of.rows[i];
    const Sums<kWidth> gradient = of.gradients[i];
    for (int j = 0; j < kColumns; ++j) cells[j][codes[j][row]].add(gradient);
  }
}

template <int kWidth>
MDDF_INLINE void add_up(const Column& column, Sums<kWidth>* cells) {
  if (column.categorical) return;
  Sums<kWidth> sum;
  for (int b = 0; b < column.n_bins; ++b) {
    sum.add(cells[b]);
    cells[b] = sum;
  }
}

// Some of the columns, by their numbers.
struct Chosen {
  const int* first;
  const int* last;
  const int* begin() const { return first; }
  const int* end() const { return last; }
};

// Fills the cells of some columns of a histogram.
template <int kWidth>
MDDF_INLINE void count_body(const Columns& columns, const Chosen& chosen,
                            const LeafRows<kWidth>& of, Sums<kWidth>* histogram) {
  for (const int c : chosen)
    std::fill_n(histogram + columns[c].offset, columns[c].n_cells(), Sums<kWidth>{});
  const int* at = chosen.first;
  for (; at + 4 <= chosen.last; at += 4) count_some<4>(columns, at, of, histogram);
  switch (chosen.last - at) {
    case 3:
      count_some<3>(columns, at, of, histogram);
      break;
    case 2:
      count_some<2>(columns, at, of, histogram);
      break;
    case 1:
      count_some<1>(columns, at, of, histogram);
      break;
  }
  for (const int c : chosen) add_up(columns[c], histogram + columns[c].offset);
}
template <int kWidth>
void count(const Columns& columns, const Chosen& chosen, const LeafRows<kWidth>& of,
           Sums<kWidth>* histogram, bool wide) {
  simd::with_vectors(wide, [&]() MDDF_INLINED { count_body(columns, chosen, of, histogram); });
}

// Takes the cells of some columns away from others.
template <int kWidth>
void take_away(const Columns& columns, const Chosen& chosen, const Sums<kWidth>* part,
               Sums<kWidth>* from) {
  for (const int c : chosen) {
    const int64_t first = columns[c].offset, last = first + columns[c].n_cells();
    for (int64_t i = first; i < last; ++i) from[i].subtract(part[i]);
  }
}

// What is left of a place to split a column. `order`: of categories, their codes in the order of
// the search; else null.
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

// Where the first of the largest numbers is.
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
    int found = 0;
    for (int j = 0; j < kLanes; ++j) found |= of[at + j] == largest;
    if (found) break;
  }
  while (of[at] != largest) ++at;
  return at;
}

// Scores of all places to split a column: with what is missing on the right, after each bin, and
// with it on the left, from "nothing else is" on.
template <class Number>
struct Scores {
  Number missing_right[256], missing_left[256];

  MDDF_INLINE void clear(const Column& column) {
    std::fill_n(missing_right, column.n_bins, Number{0});
    if (column.has_missing) std::fill_n(missing_left, column.n_bins, Number{0});
  }
  // Calls take(place, missing_left, score) with the best place for either side.
  template <class Take>
  MDDF_INLINE void best(const Column& column, const Take& take) const {
    int at = first_largest(missing_right, column.n_bins - !column.has_missing);
    take(at, false, missing_right[at]);
    if (!column.has_missing) return;
    at = first_largest(missing_left, column.n_bins);
    take(at - 1, true, missing_left[at]);
  }
};

// Adds what n places improve in a leaf, of which these are the sums on the left: as whole numbers,
// or with all digits.
template <class ComparedLeaf, int kWidth>
MDDF_INLINE void score_places(const Sums<kWidth>* left, int n, const ComparedLeaf& leaf,
                              int32_t* scores) {
  for (int b = 0; b < n; ++b) scores[b] += static_cast<int32_t>(leaf.improvement(left[b]));
}
template <class ComparedLeaf, int kWidth>
MDDF_INLINE void score_places(const Sums<kWidth>* left, int n, const ComparedLeaf& leaf,
                              float* scores) {
  for (int b = 0; b < n; ++b) scores[b] += leaf.improvement(left[b]);
}
template <class BoundedLeaf, int kWidth>
MDDF_INLINE void score_places(const Sums<kWidth>* left, int n, const BoundedLeaf& leaf,
                              double* scores) {
  for (int b = 0; b < n; ++b) scores[b] += leaf.improvement(left[b]);
}

// Adds what splits of a column improve in a leaf.
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
