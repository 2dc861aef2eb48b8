// Grows trees leaf by leaf: the leaf whose split has the largest gain is split next.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/frontier.hpp"
#include "gradient_boosting/count.hpp"
#include "gradient_boosting/histograms.hpp"
#include "gradient_boosting/row_lists.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

template <int kWidth, bool kHasCount, int kOutputs>
class LeafWiseGrower {
 public:
  using Sum = Sums<kWidth>;
  using RoundOf = Round<kWidth, kHasCount, kOutputs>;

  LeafWiseGrower(const Columns& columns, const Options& options)
      : columns_(columns),
        options_(options),
        draws_(columns, options),
        counter_(columns, options.uses_simd()) {}

  void grow(const RoundOf& round, Random& random, Team& team, Interrupt& interrupt, Grown& tree) {
    tree.clear();
    begin(round, team);
    search(round, {0, -1}, random, team, interrupt);
    int n_leaves = 1;
    while (n_leaves < options_.max_leaf_nodes && !frontier_.empty()) {
      const int best = frontier_.pop().node;
      ++n_leaves;
      const std::pair<int, int> children = divide(round, best, tree, team);
      if (n_leaves < options_.max_leaf_nodes) search(round, children, random, team, interrupt);
    }
    finish(tree, team);
  }

 private:
  struct Node {
    Leaf<kWidth> leaf;
    int64_t first = 0, last = 0;              // range of its rows that were drawn
    int64_t first_other = 0, last_other = 0;  // range of its other rows
    double n_rows = 0;                        // number of its drawn rows in all shards
    int depth = 0, slot = -1;
    std::vector<uint8_t> groups;
    Split split;
    Sum left;         // sums on the left of the split
    int parent = -1;  // number of the split above it
    bool is_right = false, is_split = false;
  };

  // A leaf that may be split.
  struct Candidate {
    int node;
    double gain;
    int index() const { return node; }
  };

  void begin(const RoundOf& round, Team& team) {
    frontier_.clear();
    const auto n_rows = static_cast<int64_t>(round.order.size());
    lists_.begin(round.order, n_rows, round.gradients, columns_.rows(), team);
    Node root;
    root.leaf = {round.total, round.scorer.of_leaf(round.total), {}};
    root.last = root.first_other = round.n_drawn;
    root.last_other = n_rows;
    root.n_rows = columns_.shards().sum(static_cast<double>(round.n_drawn));
    root.groups = draws_.all_groups();
    nodes_.assign(1, root);
    free_.resize(histograms_.size());
    std::iota(free_.rbegin(), free_.rend(), 0);
    parent_slot_ = -1;
  }

  bool may_split(const Node& node, const RoundOf& round) const {
    const auto& scorer = round.scorer;
    const Sum& sum = node.leaf.sum;
    return (options_.max_depth == 0 || node.depth < options_.max_depth) &&
           sum.of[scorer.kHessian] >= 2 * int64_t{scorer.least_hessian} &&
           sum.of[scorer.kCount] >= 2 * int64_t{scorer.least_count};
  }

  // A node whose split is searched, and the columns to search.
  struct Searched {
    int node;
    std::vector<int> columns;
    std::vector<ColumnSplit> best;  // of each column that is counted
  };

  // Finds the best splits of the two children of a node, or of the root (then `both.second` is
  // -1).
  void search(const RoundOf& round, std::pair<int, int> both, Random& random, Team& team,
              Interrupt& interrupt) {
    const int parent_slot = std::exchange(parent_slot_, -1);
    std::vector<Searched> searched;
    for (const int i : {both.first, both.second}) {
      if (i < 0) continue;
      // Columns are drawn even if the node may not be split, so that later draws do not change.
      std::vector<int> columns = draws_.draw(nodes_[i].groups, random);
      if (may_split(nodes_[i], round)) searched.push_back({i, std::move(columns), {}});
    }
    if (searched.empty()) {
      if (parent_slot >= 0) free_.push_back(parent_slot);
      return;
    }
    if (draws_.are_few())
      search_drawn(round, searched, team, interrupt);
    else
      search_all(round, both, parent_slot, searched, team, interrupt);
    for (Searched& search : searched) keep_best(round, search);
    for (const int i : {both.first, both.second})
      if (i >= 0 && (!nodes_[i].split.is_valid() || draws_.are_few())) release(nodes_[i]);
  }

  // Counts all columns of the child with fewer rows. The histogram of the other child is the
  // parent's histogram minus this one; it is counted too if the parent's histogram was dropped.
  void search_all(const RoundOf& round, std::pair<int, int> both, int parent_slot,
                  std::vector<Searched>& searched, Team& team, Interrupt& interrupt) {
    int counted = both.first, other = both.second;
    if (other >= 0 && nodes_[other].n_rows < nodes_[counted].n_rows) std::swap(counted, other);
    if (other >= 0) nodes_[other].slot = parent_slot;
    give_slot(counted);
    std::vector<typename HistogramCounter<kWidth>::Task> tasks{
        {rows_of(counted), histogram(counted)}};
    if (other >= 0 && parent_slot < 0) {
      give_slot(other);
      tasks.push_back({rows_of(other), histogram(other)});
    }
    std::vector<std::vector<uint8_t>> is_drawn;
    for (Searched& search : searched) {
      is_drawn.emplace_back(columns_.count());
      for (const int c : search.columns) is_drawn.back()[c] = 1;
      search.best.resize(columns_.count());
    }
    count(tasks, draws_.all(), team, interrupt, [&](const ColumnRange& range) {
      if (parent_slot >= 0) subtract(columns_, range, histogram(counted), histogram(other));
      for (size_t a = 0; a < searched.size(); ++a)
        for (const int c : range)
          if (is_drawn[a][c]) search_column(round, searched[a].node, c, searched[a].best[c]);
    });
    for (Searched& search : searched) search.columns = draws_.all();
  }

  // Counts for each node only the columns that were drawn for it.
  void search_drawn(const RoundOf& round, std::vector<Searched>& searched, Team& team,
                    Interrupt& interrupt) {
    for (Searched& search : searched) {
      give_slot(search.node);
      search.best.resize(search.columns.size());
      count({{rows_of(search.node), histogram(search.node)}}, search.columns, team, interrupt,
            [&](const ColumnRange& range) {
              for (const int& c : range)
                search_column(round, search.node, c, search.best[&c - search.columns.data()]);
            });
    }
  }

  template <class Work>
  void count(const std::vector<typename HistogramCounter<kWidth>::Task>& tasks,
             const std::vector<int>& columns, Team& team, Interrupt& interrupt, const Work& work) {
    // Filling, subtracting and comparing a cell takes about as long as counting four rows: a rough
    // figure.
    int64_t steps = 4 * columns_.n_cells();
    for (const auto& task : tasks) steps += task.rows.n * static_cast<int64_t>(columns.size());
    interrupt.poll(steps);
    counter_.count(tasks, columns, steps < kMinSteps ? alone_ : team, work);
  }

  // Sets the split of a node to the best one of its columns.
  void keep_best(const RoundOf& round, const Searched& search) {
    Node& node = nodes_[search.node];
    for (size_t i = 0; i < search.columns.size(); ++i)
      if (search.best[i].score > node.split.score)
        node.split = {search.best[i], search.columns[i], {}};
    if (!node.split.is_valid()) return;
    // The histogram of the node may be dropped later.
    set_codes(round, search.node);
    const Column& column = columns_[node.split.column];
    node.left = left_by_codes(column, node.split, histogram(search.node) + column.offset);
    frontier_.push({search.node, node.split.score});
  }

  LeafRows<kWidth> rows_of(int node) const {
    return lists_.of(nodes_[node].first, nodes_[node].last);
  }
  // Gives a node a place for its histogram. If there are too many histograms, the leaf that would
  // be split last loses its own.
  void give_slot(int node) {
    const int64_t bytes = columns_.n_cells() * static_cast<int64_t>(sizeof(Sum));
    const int64_t most =
        std::max<int64_t>(3, options_.histogram_bytes / std::max<int64_t>(bytes, 1));
    if (free_.empty() && static_cast<int64_t>(histograms_.size()) >= most) {
      const Candidate* last = nullptr;
      for (const Candidate& candidate : frontier_.all())
        if (nodes_[candidate.node].slot >= 0 && (!last || candidate.gain < last->gain))
          last = &candidate;
      if (last) release(nodes_[last->node]);
    }
    if (free_.empty()) {
      free_.push_back(static_cast<int>(histograms_.size()));
      histograms_.emplace_back(columns_.n_cells());
    }
    nodes_[node].slot = free_.back();
    free_.pop_back();
  }
  void release(Node& node) {
    if (node.slot >= 0) free_.push_back(std::exchange(node.slot, -1));
  }
  Sum* histogram(int node) { return histograms_[nodes_[node].slot].data(); }

  // Finds the best split of a node by a column.
  void search_column(const RoundOf& round, int node, int c, ColumnSplit& best) {
    const Column& column = columns_[c];
    const Sum* cells = histogram(node) + column.offset;
    const Leaf<kWidth>& leaf = nodes_[node].leaf;
    const int sign = draws_.sign(c);
    uint8_t codes[256];
    const uint8_t* order = column.categorical ? codes : nullptr;
    if (order) order_categories(cells, column.n_bins, round.smoothing, round.lane, codes);
    // The gain of the best split is computed again in double precision.
    const auto keep = [&](int place, bool missing_left, auto compared) {
      if (!(compared > 0)) return;
      const Sum left = left_of(column, order, cells, place, missing_left);
      const double score = round.scorer.improvement(left, leaf, sign);
      if (score > best.score) best = {place, missing_left, score};
    };
    if (round.scorer.monotonic) {
      Scores<double> scores;
      scores.clear(column);
      scan(column, order, cells, BoundedLeaf<kWidth, kHasCount, kOutputs>{round.scorer, leaf, sign},
           scores);
      scores.best(column, keep);
      return;
    }
    const Compared<kWidth, kHasCount, kOutputs> compared(round.scorer, leaf);
    simd::with_vectors(options_.uses_simd(), [&]() MDDF_INLINED {
      Scores<float> scores;
      scores.clear(column);
      scan(column, order, cells, compared, scores);
      scores.best(column, keep);
    });
  }

  void set_codes(const RoundOf& round, int node) {
    Split& split = nodes_[node].split;
    const Column& column = columns_[split.column];
    uint8_t order[256];
    if (column.categorical)
      order_categories(histogram(node) + column.offset, column.n_bins, round.smoothing, round.lane,
                       order);
    split.set_codes(column, column.categorical ? order : nullptr);
  }

  static Sum left_by_codes(const Column& column, const Split& split, const Sum* cells) {
    if (!column.categorical)
      return left_of(column, nullptr, cells, split.place, split.missing_left);
    Sum left;
    for (int code = 0; code <= column.n_bins; ++code)
      if (!split.right[code]) left.add(cells[code]);
    return left;
  }

  std::pair<int, int> divide(const RoundOf& round, int number, Grown& tree, Team& team) {
    const int split_number = static_cast<int>(tree.splits.size());
    Node node = std::move(nodes_[number]);
    nodes_[number].is_split = true;
    Split& split = node.split;
    const Column& column = columns_[split.column];
    const Sum left = node.left;
    const Sum right = node.leaf.sum.without(left);
    if (!column.has_missing) split.send_missing(column, left.of[kWidth - 1] > right.of[kWidth - 1]);
    const auto divided = [&](int64_t first, int64_t last) {
      return lists_.divide(first, last, column.codes, split.right.data(), team);
    };
    const int64_t at = divided(node.first, node.last);
    const int64_t other_at = divided(node.first_other, node.last_other);
    const auto [at_left, at_right] =
        divided_limits(round.scorer, left, right, draws_.sign(split.column), node.leaf.limits);
    draws_.keep_groups(split.column, node.groups);
    Node child;
    child.depth = node.depth + 1;
    child.groups = node.groups;
    child.parent = split_number;
    child.leaf = {left, round.scorer.of_leaf(left), at_left};
    child.first = node.first;
    child.last = at;
    child.first_other = node.first_other;
    child.last_other = other_at;
    child.n_rows = columns_.shards().sum(static_cast<double>(at - node.first));
    nodes_.push_back(child);
    child.leaf = {right, round.scorer.of_leaf(right), at_right};
    child.first = at;
    child.last = node.last;
    child.first_other = other_at;
    child.last_other = node.last_other;
    child.n_rows = node.n_rows - child.n_rows;
    child.is_right = true;
    nodes_.push_back(child);
    parent_slot_ = node.slot;
    tree.splits.push_back(split);
    tree.left.push_back(0);
    tree.right.push_back(0);
    if (node.parent >= 0) child_of(tree, node) = split_number;
    const int n = static_cast<int>(nodes_.size());
    return {n - 2, n - 1};
  }

  static int32_t& child_of(Grown& tree, const Node& node) {
    return (node.is_right ? tree.right : tree.left)[node.parent];
  }

  // Numbers the leaves, and finds the leaf of each row, drawn or not.
  void finish(Grown& tree, Team& team) {
    const int64_t n = columns_.n_rows();
    tree.leaf_of.resize(n);
    // The table may have more rows, such as a validation set, which are not in the tree.
    if (!columns_.are_all()) leaf_of_number_.resize(columns_.n_table_rows());
    uint16_t* leaf_of = columns_.are_all() ? tree.leaf_of.data() : leaf_of_number_.data();
    std::vector<const Node*> leaves;
    for (const Node& node : nodes_) {
      if (node.is_split) continue;
      if (node.parent >= 0) child_of(tree, node) = -1 - static_cast<int32_t>(leaves.size());
      tree.limits.push_back(node.leaf.limits);
      leaves.push_back(&node);
    }
    const auto note = [&](const LeafRows<kWidth>& of, size_t leaf) {
      for (int64_t k = 0; k < of.n; ++k) leaf_of[of.rows[k]] = static_cast<uint16_t>(leaf);
    };
    team.each(static_cast<int64_t>(leaves.size()), [&](int64_t l) {
      note(lists_.of(leaves[l]->first, leaves[l]->last), l);
      note(lists_.of(leaves[l]->first_other, leaves[l]->last_other), l);
    });
    if (columns_.are_all()) return;
    team.ranges(n, kFewRows, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) tree.leaf_of[i] = leaf_of[columns_.rows()[i]];
    });
  }

  // Fewest steps that are worth waking other threads. Not tuned.
  static constexpr int64_t kMinSteps = int64_t{1} << 14;

  const Columns& columns_;
  const Options& options_;
  ColumnDraws draws_;
  Team alone_;
  std::vector<Node> nodes_;
  Frontier<Candidate> frontier_;
  RowLists<kWidth> lists_;
  HistogramCounter<kWidth> counter_;
  std::vector<std::vector<Sum>> histograms_;  // by slot
  std::vector<int> free_;                     // slots that no node has
  std::vector<uint16_t> leaf_of_number_;      // leaf of each row of the table
  int parent_slot_ = -1;                      // slot of the node that was divided last
};

}  // namespace mddf::gradient
