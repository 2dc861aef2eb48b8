// Grows symmetric trees: all leaves of a level have the same split.
//
// A leaf stays undivided if the split of the level would leave too few rows on one side. Leaves
// are therefore never empty, and there are at most as many leaves as rows.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "gradient_boosting/count.hpp"
#include "gradient_boosting/histograms.hpp"
#include "gradient_boosting/row_lists.hpp"
#include "gradient_boosting/sorted_rows.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

template <int kWidth, bool kHasCount, int kOutputs>
class SymmetricGrower {
 public:
  using Sum = Sums<kWidth>;
  using RoundOf = Round<kWidth, kHasCount, kOutputs>;
  using ScorerOf = Scorer<kWidth, kHasCount, kOutputs>;
  using Bounded = BoundedLeaf<kWidth, kHasCount, kOutputs>;

  SymmetricGrower(const Columns& columns, const Options& options)
      : columns_(columns),
        options_(options),
        draws_(columns, options),
        orders_(columns.count()),
        counter_(columns, options.uses_simd()) {
    if (prefers_sorted_rows()) sorted_rows_ = std::make_unique<SortedRows>(columns);
  }

  void grow(const RoundOf& round, Random& random, Team& team, Interrupt& interrupt, Grown& tree) {
    tree.clear();
    if (sorted_rows_) tree.leaf_of.assign(columns_.n_rows(), 0);
    tree.leaf_of_path.assign(1, 0);
    begin(round, team);
    std::vector<uint8_t> groups = draws_.all_groups();
    for (int level = 0; level < options_.max_depth; ++level) {
      interrupt.poll(columns_.n_rows() * columns_.count() + columns_.n_cells());
      const std::vector<int> drawn = draws_.draw(groups, random);
      order(round, drawn, team);
      // Histograms of other columns are needed at later levels only.
      const bool is_last = level + 1 == options_.max_depth;
      const std::vector<int>& counted = draws_.are_few() || is_last ? drawn : draws_.all();
      Split best = search(round, {drawn, counted}, tree.leaf_of, team);
      if (!best.is_valid()) break;
      best.set_codes(columns_[best.column], order_of(best.column));
      const std::vector<Sum> lefts =
          sorted_rows_ ? left_of_sorted(round, best, tree.leaf_of) : count_left(best, team);
      best.score = improvement(round.scorer, best, lefts);
      if (!(best.score > 0)) break;
      draws_.keep_groups(best.column, groups);
      divide(round, best, lefts, is_last, tree, team);
      tree.splits.push_back(best);
    }
    for (const Leaf<kWidth>& leaf : leaves_) tree.limits.push_back(leaf.limits);
    if (!sorted_rows_) find_leaves(tree, team);
  }

 private:
  // Columns whose splits are searched at a level, and columns whose rows are counted.
  struct LevelColumns {
    const std::vector<int>& drawn;
    const std::vector<int>& counted;
  };

  // Whether to visit sorted rows instead of counting histograms. A visit costs about as much as
  // counting 14 rows, or as comparing seven bins of a leaf. These are rough figures.
  bool prefers_sorted_rows() const {
    const int64_t n = columns_.n_rows();
    if (columns_.shards().are_several()) return false;  // only histograms are exchanged
    if (n > kMaxSortedRows || options_.counting == Counting::kHistograms) return false;
    if (!options_.monotonic.empty()) return false;
    if (options_.counting == Counting::kSortedRows) return true;
    const int64_t leaves = std::min<int64_t>(int64_t{1} << options_.max_depth, n);
    const int64_t steps = 14 * n * options_.max_depth * columns_.count();
    const int64_t counted = n * (options_.max_depth + 1) / 2 * columns_.count();
    return steps < counted + 2 * leaves * columns_.n_cells();
  }

  const uint8_t* order_of(int c) const { return orders_[c].empty() ? nullptr : orders_[c].data(); }

  void begin(const RoundOf& round, Team& team) {
    leaves_.assign(1, {round.total, round.scorer.of_leaf(round.total), {}});
    is_ordered_.assign(columns_.count(), 0);
    if (sorted_rows_) return;
    lists_.begin(round.order, round.n_drawn, round.gradients, columns_.rows(), team);
    start_ = {0, lists_.size()};
    slot_of_ = {0};
    to_count_ = {{0, -1}};
    n_slots_ = 1;
  }

  // Sorts the categories of columns that are drawn for the first time in this tree.
  void order(const RoundOf& round, const std::vector<int>& drawn, Team& team) {
    std::vector<int> unsorted;
    for (const int c : drawn)
      if (columns_[c].categorical && !std::exchange(is_ordered_[c], 1)) unsorted.push_back(c);
    const auto n_unsorted = static_cast<int64_t>(unsorted.size());
    std::vector<std::vector<Sum>> cells(unsorted.size());
    team.each(n_unsorted, [&](int64_t i) {
      const Column& column = columns_[unsorted[i]];
      cells[i].resize(column.n_cells());
      for (int64_t k = 0; k < round.n_drawn; ++k) {
        const int32_t row = round.order[k];
        cells[i][column.codes[columns_.rows()[row]]].add(round.gradients[row]);
      }
    });
    for (std::vector<Sum>& of_column : cells)
      columns_.shards().sum(reinterpret_cast<int32_t*>(of_column.data()),
                            static_cast<int64_t>(of_column.size()) * kWidth);
    team.each(n_unsorted, [&](int64_t i) {
      const int c = unsorted[i];
      orders_[c].resize(columns_[c].n_bins);
      order_categories(cells[i].data(), columns_[c].n_bins, round.smoothing, round.lane,
                       orders_[c].data());
      if (sorted_rows_) sorted_rows_->sort(columns_, c, orders_[c].data());
    });
  }

  // The split of a level with the largest total gain. Gains of leaves are rounded to whole numbers
  // (under monotonic constraints to multiples of a unit), so that their sums are exact.
  Split search(const RoundOf& round, const LevelColumns& level,
               const std::vector<uint16_t>& leaf_of, Team& team) {
    if (round.scorer.monotonic) {
      return search_by_histograms(level, team, [&](int c, const uint8_t* order) {
        Scores<double> scores;
        scores.clear(columns_[c]);
        for (size_t l = 0; l < leaves_.size(); ++l)
          scan(columns_[c], order, cells_of(l, c),
               Bounded{round.scorer, leaves_[l], draws_.sign(c)}, scores);
        return best_of(scores, c);
      });
    }
    compared_.clear();
    for (const Leaf<kWidth>& leaf : leaves_) compared_.emplace_back(round.scorer, leaf);
    if (sorted_rows_) return search_sorted_rows(round, level.drawn, leaf_of, team);
    return search_by_histograms(level, team, [&](int c, const uint8_t* order) {
      ColumnSplit best;
      simd::with_vectors(options_.uses_simd(), [&]() MDDF_INLINED {
        Scores<int32_t> scores;
        scores.clear(columns_[c]);
        for (size_t l = 0; l < leaves_.size(); ++l)
          scan(columns_[c], order, cells_of(l, c), compared_[l], scores);
        best = best_of(scores, c);
      });
      return best;
    });
  }

  template <class Number>
  MDDF_INLINE ColumnSplit best_of(const Scores<Number>& scores, int c) const {
    ColumnSplit best;
    scores.best(columns_[c], [&](int place, bool missing_left, Number score) {
      if (score > best.score) best = {place, missing_left, static_cast<double>(score)};
    });
    return best;
  }

  // `by_column` has the splits by the columns.
  static Split best_of(const std::vector<int>& columns, const std::vector<ColumnSplit>& by_column) {
    Split best;
    for (const int c : columns)
      if (by_column[c].score > best.score) best = {by_column[c], c, {}};
    return best;
  }

  // Total gain of a split over all leaves.
  double improvement(const ScorerOf& scorer, const Split& split,
                     const std::vector<Sum>& lefts) const {
    double sum = 0;
    for (size_t l = 0; l < leaves_.size(); ++l)
      sum += scorer.improvement(lefts[l], leaves_[l], draws_.sign(split.column));
    return sum;
  }

  // -- search by visits of sorted rows

  Split search_sorted_rows(const RoundOf& round, const std::vector<int>& drawn,
                           const std::vector<uint16_t>& leaf_of, Team& team) {
    std::vector<ColumnSplit> best(columns_.count());
    team.each(static_cast<int64_t>(drawn.size()), [&](int64_t i) {
      const int c = drawn[i];
      simd::with_vectors(options_.uses_simd(),
                         [&]() MDDF_INLINED { best[c] = search_sorted_column(round, c, leaf_of); });
    });
    return best_of(drawn, best);
  }

  MDDF_INLINE ColumnSplit search_sorted_column(const RoundOf& round, int c,
                                               const std::vector<uint16_t>& leaf_of) const {
    const SortedRows::Order order = (*sorted_rows_)[c];
    std::vector<ScannedLeaf<kWidth>> scanned;
    ColumnSplit best;
    int32_t highest = 0;
    for (const bool missing_left : {false, true}) {
      if (missing_left && !columns_[c].has_missing) break;
      scanned.assign(leaves_.size(), {});
      int32_t score = 0;
      if (missing_left) {
        for (int64_t k = order.n_present; k < columns_.n_rows(); ++k)
          scanned[leaf_of[order.rows[k]]].left.add(round.gradients[order.rows[k]]);
        for (size_t l = 0; l < leaves_.size(); ++l) {
          scanned[l].gain = static_cast<int32_t>(compared_[l].improvement(scanned[l].left));
          score += scanned[l].gain;
        }
        if (score > highest) {
          highest = score;
          best = {-1, true, static_cast<double>(score)};
        }
      }
      const int64_t row = scan_rows(order, round.gradients.data(), leaf_of.data(), compared_.data(),
                                    scanned.data(), score, highest);
      if (row >= 0) best = {place_of(c, row), missing_left, static_cast<double>(highest)};
    }
    return best;
  }

  // Sums on the left of a split, for each leaf.
  std::vector<Sum> left_of_sorted(const RoundOf& round, const Split& split,
                                  const std::vector<uint16_t>& leaf_of) const {
    std::vector<Sum> sums(2 * leaves_.size());
    const uint8_t* codes = columns_[split.column].codes;
    for (int64_t i = 0; i < columns_.n_rows(); ++i)
      sums[leaf_of[i] + leaves_.size() * split.right[codes[columns_.rows()[i]]]].add(
          round.gradients[i]);
    sums.resize(leaves_.size());
    return sums;
  }

  // Position of the code of a row in the order of the search.
  int place_of(int c, int64_t row) const {
    const uint8_t code = columns_[c].codes[columns_.rows()[row]];
    if (orders_[c].empty()) return code;
    const auto at = std::find(orders_[c].begin(), orders_[c].end(), code);
    return static_cast<int>(at - orders_[c].begin());
  }

  // -- search by histograms

  // Histograms have only the columns of the batch.
  Sum* histogram(int slot) { return cells_.data() + slot * batch_.n_cells - batch_.offset; }
  LeafRows<kWidth> rows_of(int leaf) const { return lists_.of(start_[leaf], start_[leaf + 1]); }

  const Sum* cells_of(size_t leaf, int c) { return histogram(slot_of_[leaf]) + columns_[c].offset; }

  // Counts columns, and calls search_column(c, order), which returns a ColumnSplit, for the drawn
  // ones.
  template <class SearchColumn>
  Split search_by_histograms(const LevelColumns& level, Team& team,
                             const SearchColumn& search_column) {
    std::vector<uint8_t> is_drawn(columns_.count());
    for (const int c : level.drawn) is_drawn[c] = 1;
    std::vector<ColumnSplit> best(columns_.count());
    const auto search = [&](const ColumnRange& range) {
      for (const ToCount& pair : to_count_)
        if (pair.sibling >= 0)
          subtract(columns_, range, histogram(slot_of_[pair.leaf]),
                   histogram(slot_of_[pair.sibling]));
      for (const int c : range)
        if (is_drawn[c]) best[c] = search_column(c, order_of(c));
    };
    const std::vector<int>& columns = are_too_many() ? level.drawn : level.counted;
    for (size_t first = 0; first < columns.size();) {
      std::vector<int> batch{columns[first]};
      while (++first < columns.size() &&
             (!are_too_many() || fits(columns_[batch[0]], columns_[columns[first]])))
        batch.push_back(columns[first]);
      count(batch, team, search);
    }
    return best_of(level.drawn, best);
  }

  // Whether the histograms of all leaves take too much memory. Those of a few columns are then
  // counted at a time, for all leaves.
  bool are_too_many() const { return n_slots_ > slots_for(columns_.n_cells()); }
  bool fits(const Column& first, const Column& last) const {
    return n_slots_ <= slots_for(last.offset + last.n_cells() - first.offset);
  }
  int64_t slots_for(int64_t n_cells) const {
    return options_.histogram_bytes /
           std::max<int64_t>(1, n_cells * static_cast<int64_t>(sizeof(Sum)));
  }

  template <class Work>
  void count(const std::vector<int>& columns, Team& team, const Work& work) {
    if (are_too_many()) {
      const Column& last = columns_[columns.back()];
      batch_.offset = columns_[columns[0]].offset;
      batch_.n_cells = last.offset + last.n_cells() - batch_.offset;
    } else {
      batch_ = {0, columns_.n_cells()};
    }
    cells_.resize(std::max(cells_.size(), static_cast<size_t>(n_slots_ * batch_.n_cells)));
    std::vector<typename HistogramCounter<kWidth>::Task> tasks;
    for (const ToCount& pair : to_count_)
      tasks.push_back({rows_of(pair.leaf), histogram(slot_of_[pair.leaf])});
    counter_.count(tasks, columns, team, work);
  }

  // Sums on the left of a split, for each leaf.
  std::vector<Sum> count_left(const Split& split, Team& team) {
    const int c = split.column;
    if (are_too_many()) count({c}, team, [](const ColumnRange&) {});
    std::vector<Sum> sums;
    for (size_t l = 0; l < leaves_.size(); ++l)
      sums.push_back(
          left_of(columns_[c], order_of(c), cells_of(l, c), split.place, split.missing_left));
    return sums;
  }

  // Divides the rows of the leaves that are split. At the next level, the child with fewer rows is
  // counted, and the histogram of the other child is a difference. If few columns are drawn, the
  // rows of all leaves are counted instead.
  void divide_rows(const Split& split, const std::vector<uint8_t>& is_split, Team& team) {
    const uint8_t* codes = columns_[split.column].codes;
    std::vector<int64_t> middle(is_split.size());
    const auto n_leaves = static_cast<int64_t>(is_split.size());
    const auto divide = [&](int64_t l, Team& workers) {
      middle[l] = lists_.divide(start_[l], start_[l + 1], codes, split.right.data(), workers);
    };
    // All threads divide large leaves together, and small leaves one by one.
    const auto is_large = [&](int64_t l) {
      return 2 * team.n_threads() * (start_[l + 1] - start_[l]) > lists_.size();
    };
    Team alone;
    for (int64_t l = 0; l < n_leaves; ++l)
      if (is_split[l] && is_large(l)) divide(l, team);
    team.each(n_leaves, [&](int64_t l) {
      if (is_split[l] && !is_large(l)) divide(l, alone);
    });
    // Twice the number of rows that go left, minus the number of rows of the leaf.
    std::vector<double> more_on_left(is_split.size());
    for (size_t l = 0; l < is_split.size(); ++l)
      if (is_split[l])
        more_on_left[l] = static_cast<double>(2 * middle[l] - start_[l] - start_[l + 1]);
    columns_.shards().sum(more_on_left);
    std::vector<int64_t> start;
    std::vector<int> slots;
    to_count_.clear();
    for (size_t l = 0; l < is_split.size(); ++l) {
      const int number = static_cast<int>(start.size());
      start.push_back(start_[l]);
      slots.push_back(slot_of_[l]);
      if (!is_split[l]) continue;
      start.push_back(middle[l]);
      slots.push_back(slot_of_[l]);
      const bool left_is_smaller = more_on_left[l] <= 0;
      const int smaller = number + !left_is_smaller;
      slots[smaller] = n_slots_++;
      to_count_.push_back({smaller, number + left_is_smaller});
    }
    start.push_back(start_.back());
    start_ = std::move(start);
    slot_of_ = std::move(slots);
    if (!draws_.are_few() && !are_too_many()) return;
    n_slots_ = static_cast<int>(slot_of_.size());
    std::iota(slot_of_.begin(), slot_of_.end(), 0);
    to_count_.clear();
    for (int leaf = 0; leaf < n_slots_; ++leaf) to_count_.push_back({leaf, -1});
  }

  // Finds the leaf of each row, drawn or not.
  void find_leaves(Grown& tree, Team& team) const {
    tree.leaf_of.resize(columns_.n_rows());
    team.ranges(columns_.n_rows(), kFewRows, [&](int64_t first, int64_t last) {
      const int32_t* numbers = columns_.are_all() ? nullptr : columns_.rows().data() + first;
      find_symmetric_leaves(tree, columns_, numbers, first, last - first,
                            tree.leaf_of.data() + first, options_.uses_simd());
    });
  }

  // -- both methods

  // Splits the leaves that keep enough rows on both sides. The rows of the leaves are not needed
  // after the last level.
  void divide(const RoundOf& round, Split& split, const std::vector<Sum>& lefts, bool is_last,
              Grown& tree, Team& team) {
    const Column& column = columns_[split.column];
    const int sign = draws_.sign(split.column);
    if (!column.has_missing) {
      int64_t more_on_left = 0;
      for (size_t l = 0; l < leaves_.size(); ++l)
        more_on_left += 2 * int64_t{lefts[l].of[kWidth - 1]} - leaves_[l].sum.of[kWidth - 1];
      split.send_missing(column, more_on_left > 0);
    }
    std::vector<Leaf<kWidth>> divided;
    std::vector<uint8_t> is_split(leaves_.size());
    std::vector<uint16_t> number(2 * leaves_.size());
    for (size_t l = 0; l < leaves_.size(); ++l) {
      const Leaf<kWidth>& leaf = leaves_[l];
      const Sum& left = lefts[l];
      number[2 * l] = number[2 * l + 1] = static_cast<uint16_t>(divided.size());
      is_split[l] = round.scorer.splits(left, leaf.sum, leaf.limits, sign);
      if (!is_split[l]) {
        divided.push_back(leaf);
        continue;
      }
      ++number[2 * l + 1];
      const Sum right = leaf.sum.without(left);
      const auto [at_left, at_right] = divided_limits(round.scorer, left, right, sign, leaf.limits);
      divided.push_back({left, round.scorer.of_leaf(left), at_left});
      divided.push_back({right, round.scorer.of_leaf(right), at_right});
    }
    if (sorted_rows_) {
      for (int64_t i = 0; i < columns_.n_rows(); ++i)
        tree.leaf_of[i] =
            number[2 * tree.leaf_of[i] + split.right[column.codes[columns_.rows()[i]]]];
    } else if (!is_last) {
      divide_rows(split, is_split, team);
    }
    leaves_ = std::move(divided);
    std::vector<uint16_t> paths;
    for (const uint16_t leaf : tree.leaf_of_path)
      paths.insert(paths.end(), {number[2 * leaf], number[2 * leaf + 1]});
    tree.leaf_of_path = std::move(paths);
  }

  // A leaf that is counted, and the leaf whose histogram is the rest of the parent's, or -1.
  struct ToCount {
    int leaf, sibling;
  };

  const Columns& columns_;
  const Options& options_;
  ColumnDraws draws_;
  std::vector<std::vector<uint8_t>> orders_;  // order of the categories of each column in this tree
  std::vector<uint8_t> is_ordered_;           // whether `orders_` has the column
  std::vector<Leaf<kWidth>> leaves_;
  std::vector<Compared<kWidth, kHasCount, kOutputs>> compared_;
  // Null if splits are searched by histograms, which need the members below.
  std::unique_ptr<SortedRows> sorted_rows_;
  RowLists<kWidth> lists_;
  std::vector<int64_t> start_;  // first row of each leaf in `lists_`
  std::vector<Sum> cells_;
  std::vector<int> slot_of_;
  std::vector<ToCount> to_count_;
  HistogramCounter<kWidth> counter_;
  int n_slots_ = 0;
  // Range of the cells of a histogram that are in memory.
  struct Batch {
    int64_t offset = 0, n_cells = 0;
  };
  Batch batch_;
};

}  // namespace mddf::gradient
