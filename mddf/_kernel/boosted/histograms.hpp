// Sums by bin, and splits found from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "boosted/columns.hpp"
#include "boosted/score.hpp"

namespace mddf::gradient {

// Rows of a leaf, and their gradients in the same order.
template <int kWidth>
struct LeafRows {
  const int32_t* rows;
  const Sums<kWidth>* gradients;
  int64_t n;
};

// Adds rows to the cells of one column, and of four: equal codes in a row wait for each other's
// store, those of other columns do not.
template <int kWidth>
MDDF_INLINE void count_one(const uint8_t* codes, const LeafRows<kWidth>& of, Sums<kWidth>* cells) {
  for (int64_t i = 0; i < of.n; ++i) cells[codes[of.rows[i]]].add(of.gradients[i]);
}
template <int kWidth>
MDDF_INLINE void count_four(const uint8_t* const* codes, const LeafRows<kWidth>& of,
                            Sums<kWidth>* const* cells) {
  for (int64_t i = 0; i < of.n; ++i) {
    const int32_t row = of.rows[i];
    const Sums<kWidth> gradient = of.gradients[i];
    for (int j = 0; j < 4; ++j) cells[j][codes[j][row]].add(gradient);
  }
}

// Fills the cells of columns [first, last) of a histogram.
template <int kWidth>
MDDF_INLINE void count_body(const Columns& columns, int first, int last, const LeafRows<kWidth>& of,
                            Sums<kWidth>* histogram) {
  if (first == last) return;
  Sums<kWidth>* begin = histogram + columns[first].offset;
  std::fill(begin, histogram + columns[last - 1].offset + columns[last - 1].n_cells(),
            Sums<kWidth>{});
  int c = first;
  for (; c + 4 <= last; c += 4) {
    const uint8_t* codes[4];
    Sums<kWidth>* cells[4];
    for (int j = 0; j < 4; ++j) {
      codes[j] = columns[c + j].codes;
      cells[j] = histogram + columns[c + j].offset;
    }
    count_four(codes, of, cells);
  }
  for (; c < last; ++c) count_one(columns[c].codes, of, histogram + columns[c].offset);
}
#ifdef MDDF_AVX2
template <int kWidth>
MDDF_TARGET_AVX2 void count_avx2(const Columns& columns, int first, int last,
                                 const LeafRows<kWidth>& of, Sums<kWidth>* histogram) {
  count_body(columns, first, last, of, histogram);
}
#endif
template <int kWidth>
void count(const Columns& columns, int first, int last, const LeafRows<kWidth>& of,
           Sums<kWidth>* histogram, [[maybe_unused]] bool wide) {
#ifdef MDDF_AVX2
  if (wide) return count_avx2(columns, first, last, of, histogram);
#endif
  count_body(columns, first, last, of, histogram);
}

// Takes the cells of columns [first, last) away from others.
template <int kWidth>
void take_away(const Columns& columns, int first, int last, const Sums<kWidth>* part,
               Sums<kWidth>* from) {
  if (first == last) return;
  const int64_t begin = columns[first].offset;
  const int64_t end = columns[last - 1].offset + columns[last - 1].n_cells();
  for (int64_t i = begin; i < end; ++i) from[i].subtract(part[i]);
}

// Scores of all places to split a column: with what is missing on the right, after each bin, and
// with it on the left, from "nothing else is" on.
struct Scores {
  double missing_right[256], missing_left[256];
  void clear(int n_bins) {
    std::fill_n(missing_right, n_bins, 0.0);
    std::fill_n(missing_left, n_bins, 0.0);
  }
  // Takes the best of them if it beats the best split so far.
  void choose(int c, const Column& column, Split& best) const {
    const int last = column.n_bins - !column.has_missing;
    for (int b = 0; b < last; ++b)
      if (missing_right[b] > best.score) best = {c, b, false, missing_right[b], {}};
    for (int b = 0; b < column.n_bins && column.has_missing; ++b)
      if (missing_left[b] > best.score) best = {c, b - 1, true, missing_left[b], {}};
  }
};

// Running sums, number by number.
template <int kWidth>
struct Running {
  int32_t of[kWidth][256];
  Sums<kWidth> at(int b) const {
    Sums<kWidth> sum;
    for (int j = 0; j < kWidth; ++j) sum.of[j] = of[j][b];
    return sum;
  }
};

// After each bin in the order of the search.
template <class Scorer, int kWidth>
MDDF_INLINE void add_up(const Sums<kWidth>* cells, int n, const uint8_t* order,
                        Running<kWidth>& running) {
  Sums<kWidth> sum;
  for (int b = 0; b < n; ++b) {
    sum.add(cells[order ? order[b] : b]);
    for (int j = 0; j < kWidth; ++j)
      if (Scorer::uses(j)) running.of[j][b] = sum.of[j];
  }
}

template <bool kConstant, class Scorer, int kWidth>
MDDF_INLINE void score_all(const Running<kWidth>& running, int n, const Scorer& scorer,
                           const Leaf<kWidth>& leaf, double* scores) {
  const double l2 = scorer.l2, rounding = scorer.rounding, before = leaf.before;
  const Sums<kWidth> all = leaf.sum;
  for (int b = 0; b < n; ++b) {
    double left = 0, right = 0;
    for (int j = 0; j < Scorer::kGradients; ++j) {
      const double a = running.of[j][b], r = all.of[j] - running.of[j][b];
      left += a * a;
      right += r * r;
    }
    const int32_t hessian = running.of[Scorer::kHessian][b];
    const double of_left = hessian + l2, of_right = (all.of[Scorer::kHessian] - hessian) + l2;
    double gain;
    if constexpr (kConstant)
      gain = (left * (1 / of_left) + right * (1 / of_right)) - before;
    else
      gain = (left * of_right + right * of_left) / (of_left * of_right) - before;
    gain = (gain + rounding) - rounding;
    scores[b] += scorer.allowed(hessian, running.of[Scorer::kCount][b], all) ? gain : 0;
  }
}

template <class Scorer, int kWidth>
MDDF_INLINE void score_places(const Running<kWidth>& running, int n, const Scorer& scorer,
                              const Leaf<kWidth>& leaf, int sign, double* scores) {
  if (scorer.monotonic) {
    for (int b = 0; b < n; ++b)
      scores[b] += scorer.bounded(running.at(b), leaf.sum, leaf.limits, sign);
  } else if (scorer.constant) {
    score_all<true>(running, n, scorer, leaf, scores);
  } else {
    score_all<false>(running, n, scorer, leaf, scores);
  }
}

// Adds what splits of a column improve in a leaf.
template <class Scorer, int kWidth>
MDDF_INLINE void scan_body(const Column& column, const uint8_t* order, const Sums<kWidth>* cells,
                           const Scorer& scorer, const Leaf<kWidth>& leaf, int sign,
                           Scores& scores) {
  Running<kWidth> running;
  const int n = column.n_bins;
  add_up<Scorer>(cells, n, order, running);
  score_places(running, n, scorer, leaf, sign, scores.missing_right);
  if (!column.has_missing) return;
  const Sums<kWidth> missing = cells[n];
  for (int j = 0; j < kWidth; ++j) {
    if (!Scorer::uses(j)) continue;
    for (int b = n - 1; b > 0; --b) running.of[j][b] = running.of[j][b - 1] + missing.of[j];
    running.of[j][0] = missing.of[j];
  }
  score_places(running, n, scorer, leaf, sign, scores.missing_left);
}
#ifdef MDDF_AVX2
template <class Scorer, int kWidth>
MDDF_TARGET_AVX2 void scan_avx2(const Column& column, const uint8_t* order,
                                const Sums<kWidth>* cells, const Scorer& scorer,
                                const Leaf<kWidth>& leaf, int sign, Scores& scores) {
  scan_body(column, order, cells, scorer, leaf, sign, scores);
}
#endif
template <class Scorer, int kWidth>
void scan(const Column& column, const uint8_t* order, const Sums<kWidth>* cells,
          const Scorer& scorer, const Leaf<kWidth>& leaf, int sign, Scores& scores,
          [[maybe_unused]] bool wide) {
#ifdef MDDF_AVX2
  if (wide) return scan_avx2(column, order, cells, scorer, leaf, sign, scores);
#endif
  scan_body(column, order, cells, scorer, leaf, sign, scores);
}

}  // namespace mddf::gradient
