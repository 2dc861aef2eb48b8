// Grows a regression tree, whose leaves hold means or medians, depth first or with the largest
// gains first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/prefetch.hpp"
#include "common/random.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/frontier.hpp"
#include "forest/small/small_nodes.hpp"
#include "forest/small/small_values.hpp"
#include "forest/split/bounds.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/value_trees.hpp"
#include "forest/tree/value_writer.hpp"

namespace mddf {

// `Search` finds splits by the criterion.
template <class Node, class Search>
class ValueGrower {
  static constexpr bool kOne = Node::kOne;

 public:
  ValueGrower(const ValueGrower&) = delete;
  ValueGrower(const ValueTraining& data, const GrowOptions& options, Interrupt& interrupt)
      : interrupt_(interrupt),
        data_(data),
        options_(options),
        take_first_(options.random_thresholds && options.max_features == 1 &&
                    !options.limits_leaves() && !options.weighs_splits() &&
                    options.loss == Loss::kSquaredError),
        from_root_(kOne && take_first_),
        wide_(options.wide()),
        node_(data.target),
        root_(data.target),
        subtree_(data.target),
        side_(data.target),
        search_(data, options, node_),
        writer_(options.prune > 0) {
#ifdef MDDF_AVX2
    if constexpr (kOne)
      if (SmallValues::suits(data_, options_)) small_.emplace(data_, options_, pool_, writer_);
#endif
  }

  // The samples of the next tree, which are changed while it is grown.
  std::vector<RowSample>& samples() { return samples_[0]; }

  // Grows a tree on samples() and appends it to `trees`. Adds the decrease of impurity by each
  // column to `importances`, unless it is null.
  void grow(Random& random, GrownValueTrees& trees, double* importances) {
    samples_[1].resize(samples_[0].size());
    const uint32_t n = static_cast<uint32_t>(samples_[0].size());
    if (from_root_) measure_from(root_, samples_[0].data(), n);
    const Sums sums = add_up(samples_[0].data(), n);
    begin(random, trees, importances, sums.weight);
    light_ = true;
    for (const RowSample& sample : samples_[0]) light_ &= sample.weight <= kMaxLight;
    const Frame root{0, 0, n, 0, 0, -1, 0, sums};
    if (options_.max_leaf_nodes > 0) {
      grow_best_first(root);
    } else {
      place(root);
      while (!waiting_.empty()) {
        const Frame frame = waiting_.back();
        waiting_.pop_back();
        visit(frame);
      }
    }
    writer_.end(data_.bins, options_.prune * weight_);
  }

  // Does the same on divided rows, depth first, for a single output whose leaves hold means.
  void grow(DividedValueRows& rows, Random& random, GrownValueTrees& trees, double* importances) {
    const ValueSums sums = rows.begin();
    light_ = rows.most_weight() <= kMaxLight;
    begin(random, trees, importances, static_cast<int64_t>(sums.weight));
    if (from_root_) root_.take(sums);
    place_divided({0, 0, static_cast<uint32_t>(sums.rows), 0, 0, -1, 0, {}}, sums);
    while (!waiting_.empty()) {
      const Frame frame = waiting_.back();
      const ValueSums of_node = waiting_sums_.back();
      waiting_.pop_back();
      waiting_sums_.pop_back();
      visit(frame, of_node, rows);
    }
    writer_.end(data_.bins, options_.prune * weight_);
  }

 private:
  struct Sums {
    int64_t weight = 0, part = 0;
  };
  struct Frame {
    uint32_t index, start, end, depth, n_constant;
    int32_t from_column;  // column of the split of the parent
    uint32_t buffer;      // number (0 or 1) of the array with the samples of the node
    Sums sums;
    bool in_subtree = false;  // whether it is in a subtree of at most kSmall samples
  };
  struct Candidate {  // a node and its best split
    Frame frame;
    Split split;
    double gain;  // gain of the split
    uint32_t index() const { return frame.index; }
  };

  void begin(Random& random, GrownValueTrees& trees, double* importances, int64_t weight) {
    random_ = &random;
    writer_.begin(trees, importances);
    pool_.restart(data_.columns);
    waiting_.clear();
    weight_ = static_cast<double>(weight);
    search_.set_min_leaf_weight(options_.min_weight_leaf * weight_);
    if (options_.is_monotonic()) bounds_.assign(1, {});
  }

  Sums add_up(const RowSample* samples, int64_t n) const {
    Sums sums;
    for (int64_t i = 0; i < n; ++i) sums.weight += samples[i].weight;
    if constexpr (kOne)
      if (from_root_) sums.part = from_->sum_of(samples, n, sums.weight);
    return sums;
  }

  // Begins to measure sums of targets from the least target of these samples.
  void measure_from(Node& least, const RowSample* samples, int64_t n) {
    least.load_targets(samples, n);
    least.fill();
    from_ = &least;
  }

  // Makes a node with a constant target a leaf; other nodes wait.
  void place(const Frame& frame) {
    if (!place_equal(frame)) waiting_.push_back(frame);
  }
  bool place_equal(const Frame& frame) {
    const RowSample* samples = samples_of(frame);
    if (!node_.all_equal(samples, frame.end - frame.start)) return false;
    writer_.row_leaf(frame.index, node_, samples[0].row, static_cast<double>(frame.sums.weight));
    if (options_.is_monotonic()) writer_.clip_last(bounds_[frame.index]);
    return true;
  }

  // Splits the node or makes it a leaf.
  void visit(Frame frame) {
    const RowSample* samples = samples_of(frame);
    const int64_t n = frame.end - frame.start;
    interrupt_.poll(16 * n);
#ifdef MDDF_AVX2
    if (small_ && light_ && n <= kSmall)
      return small_->grow({frame.index, frame.depth, frame.n_constant, frame.from_column, 0},
                          samples, static_cast<int>(n), *random_);
#endif
    // Growth is depth first, so that a subtree is complete before other waiting nodes.
    from_ = frame.in_subtree ? &subtree_ : &root_;
    if (from_root_ && light_ && n <= kSmall && !frame.in_subtree) {  // as SmallValues does it
      measure_from(subtree_, samples, n);
      frame.sums = add_up(samples, n);
      frame.in_subtree = true;
    }
    Split split;
    look_for_split(frame, split);
    if (split.column >= 0) {
      const auto [left, right] = divide(frame, split, gain_of(split));
      place(right);
      return place(left);
    }
    if (from_root_) node_.load_targets(samples, n);
    leaf(frame);
  }

  // Nodes of divided rows wait with their sums.
  void place_divided(const Frame& frame, const ValueSums& sums) {
    if (sums.least == sums.most) {
      writer_.target_leaf(frame.index, node_, sums.least, static_cast<double>(sums.weight));
      if (options_.is_monotonic()) writer_.clip_last(bounds_[frame.index]);
      return;
    }
    waiting_.push_back(frame);
    waiting_sums_.push_back(sums);
  }

  // Splits a node of divided rows or makes it a leaf.
  void visit(Frame frame, const ValueSums& sums, DividedValueRows& rows) {
    if (sums.rows <= rows.most_copied()) return grow_copy(frame, rows);
    interrupt_.poll(16 * 256);
    frame.sums.weight = static_cast<int64_t>(sums.weight);
    node_.take(sums);
    Split split;
    if (may_split(frame, sums.rows)) {
      if (options_.is_monotonic()) search_.set_bounds(bounds_[frame.index]);
      find_split(frame, sums, rows, split);
      keep_if_enough(frame, split);
    }
    if (split.column < 0) return leaf(frame);
    const BinSumsOfValues bins = best_sums_.sums();
    int64_t left_weight = 0, left_part = 0, right_weight = 0, right_part = 0;
    CodeSet on_right;
    bins.for_each_code([&](int code) {
      const bool is_right = split.goes_right(static_cast<uint8_t>(code));
      if (is_right) on_right.insert(code);
      (is_right ? right_weight : left_weight) += bins.weight(code);
      (is_right ? right_part : left_part) += bins.part(code);
    });
    if (from_root_)
      writer_.gain(split.column, root_.gain(static_cast<double>(left_weight), left_part,
                                            static_cast<double>(right_weight), right_part));
    else
      writer_.gain(split.column, gain_of(split));
    send_unseen(split, left_weight > right_weight, on_right, data_.bins);
    const uint32_t left = writer_.inner(frame.index, split), depth = frame.depth + 1;
    const auto [of_left, of_right] = rows.divide_and_add_up(frame.index, split, left);
    if (options_.is_monotonic())
      bound_children(frame.index, left, split.column, (predict(of_left) + predict(of_right)) / 2);
    const uint32_t n_constant = static_cast<uint32_t>(pool_.constant());
    const auto child = [&](uint32_t index, const ValueSums& of_child) {
      place_divided(
          {index, 0, static_cast<uint32_t>(of_child.rows), depth, n_constant, split.column, 0, {}},
          of_child);
    };
    child(left + 1, of_right);
    child(left, of_left);
  }

  // Grows the subtree of a node of divided rows on copies of its rows.
  void grow_copy(Frame frame, DividedValueRows& rows) {
    rows.copy(frame.index, samples_[0]);
#ifdef MDDF_AVX2
    if (small_) small_->copy_last_rows();
#endif
    samples_[1].resize(samples_[0].size());
    from_ = &root_;
    frame.start = frame.buffer = 0;
    frame.end = static_cast<uint32_t>(samples_[0].size());
    frame.sums = add_up(samples_[0].data(), frame.end);
    std::vector<Frame> others;
    std::swap(others, waiting_);
    visit(frame);
    while (!waiting_.empty()) {
      const Frame next = waiting_.back();
      waiting_.pop_back();
      visit(next);
    }
    std::swap(others, waiting_);
  }

  // find_split() for a node of divided rows.
  void find_split(const Frame& frame, const ValueSums& sums, DividedValueRows& rows, Split& best) {
    std::array<int32_t, kMaxDrawn> drawn;
    std::array<uint8_t, kMaxDrawn> constant;
    const Node& measured = from_root_ ? root_ : node_;
    bool has_begun = from_root_;
    pool_.begin(frame.n_constant);
    while (pool_.any_unknown() &&
           (pool_.drawn() < options_.max_features || pool_.only_constant())) {
      const int64_t width =
          pool_.draw_some(*random_, options_.max_features, kMaxDrawn, drawn.data());
      if (width > 0)
        rows.add_up_bins(frame.index, drawn.data(), width, measured.least(), measured.shift(0));
      for (int64_t j = 0; j < width; ++j) {
        const BinSumsOfValues bins = rows.sums(j, data_.bins.count(drawn[j]));
        if (!has_begun) {
          node_.set_total(bins.total_part());
          search_.begin(sums.rows);
          has_begun = true;
        }
        constant[j] = !(options_.random_thresholds ? try_random(drawn[j], bins, best)
                                                   : search_.try_column(drawn[j], bins, best));
        if (best.column == drawn[j]) best_sums_.take(bins);
      }
      std::reverse(constant.begin(), constant.begin() + width);
      pool_.mark_constant(constant.data(), width);
    }
  }
  bool try_random(int32_t column, const BinSumsOfValues& sums, Split& best) {
    Split split;
    if (!draw_split(data_, column, sums.codes(), *random_, split)) return false;
    if (!from_root_) search_.score(sums, split);
    if (take_first_ || split.score > best.score) best = split;
    return true;
  }
  // Prediction of a leaf of divided rows.
  double predict(const ValueSums& sums) {
    side_.take(sums);
    predicted_.clear();
    side_.append_means(predicted_);
    return predicted_[0];
  }

  // Grows a tree in which the nodes with the largest gains are split first.
  void grow_best_first(const Frame& root) {
    frontier_.clear();
    consider(root);
    for (int64_t n_leaves = 1; n_leaves < options_.max_leaf_nodes && !frontier_.empty();
         ++n_leaves) {
      Candidate best = frontier_.pop();
      gathered_ = -1;
      const auto [left, right] = divide(best.frame, best.split, best.gain);
      consider(left);
      consider(right);
    }
    for (const Candidate& rest : frontier_.all()) {
      node_.load_targets(samples_of(rest.frame), rest.frame.end - rest.frame.start);
      leaf(rest.frame);
    }
  }

  // Finds the split of a node and its gain, or makes the node a leaf.
  void consider(const Frame& frame) {
    if (place_equal(frame)) return;
    interrupt_.poll(16 * (frame.end - frame.start));
    Candidate candidate{frame, {}, 0};
    look_for_split(frame, candidate.split);
    if (candidate.split.column < 0) return leaf(frame);
    candidate.gain = gain_of(candidate.split);
    frontier_.push(candidate);
  }

  double gain_of(const Split& split) const { return from_root_ ? 0 : search_.gain(split.score); }

  // Finds the best allowed split of a node.
  void look_for_split(const Frame& frame, Split& split) {
    const RowSample* samples = samples_of(frame);
    const int64_t n = frame.end - frame.start;
    if (!from_root_) node_.load_targets(samples, n);
    if (!may_split(frame, n)) return;
    if (!from_root_) node_.fill(), search_.begin(samples, n);
    if (options_.is_monotonic()) search_.set_bounds(bounds_[frame.index]);
    find_split(samples, n, frame, split);
    keep_if_enough(frame, split);
  }

  bool may_split(const Frame& frame, int64_t n) const {
    return frame.depth < options_.max_depth && n >= options_.min_samples_split &&
           n / 2 >= options_.min_samples_leaf;
  }
  // Drops a split that decreases too little, and notes others for pruning.
  void keep_if_enough(const Frame& frame, Split& split) {
    if (split.column < 0) return;
    if (options_.min_decrease > 0 && options_.decreases_too_little(gain_of(split) / weight_))
      split.column = -1;
    else if (options_.prune > 0)
      writer_.note(frame.index, gain_of(split), payload(frame),
                   static_cast<double>(frame.sums.weight));
  }

  const RowSample* samples_of(const Frame& frame) const {
    return samples_[frame.buffer].data() + frame.start;
  }
  // Makes a node a leaf, after its samples were summed.
  void leaf(const Frame& frame) {
    writer_.leaf(frame.index, payload(frame), static_cast<double>(frame.sums.weight));
  }
  uint32_t payload(const Frame& frame) {
    uint32_t payload;
    if constexpr (Search::kMedians)
      payload = writer_.median_payload(node_);
    else
      payload = writer_.mean_payload(node_);
    if (options_.is_monotonic()) writer_.clip_last(bounds_[frame.index]);
    return payload;
  }

  // Draws columns until there are enough and at least one of them is not constant.
  void find_split(const RowSample* samples, int64_t n, const Frame& frame, Split& best) {
    std::array<int32_t, kMaxDrawn> drawn;
    std::array<uint8_t, kMaxDrawn> constant;
    pool_.begin(frame.n_constant);
    while (pool_.any_unknown() &&
           (pool_.drawn() < options_.max_features || pool_.only_constant())) {
      const int64_t width =
          pool_.draw_some(*random_, options_.max_features, kMaxDrawn, drawn.data());
      interrupt_.poll(4 * width * n);
      if (options_.random_thresholds)
        for (int64_t j = 0; j < width; ++j) constant[j] = !try_random(samples, n, drawn[j], best);
      else
        for (int64_t j = 0; j < width; j += search_.kAtOnce)
          search_.try_columns(drawn.data() + j, std::min<int64_t>(search_.kAtOnce, width - j), best,
                              constant.data() + j);
      // The pool takes constant columns in reverse order.
      std::reverse(constant.begin(), constant.begin() + width);
      pool_.mark_constant(constant.data(), width);
    }
  }

  // Copies the codes of the node's samples in a column.
  void gather(const RowSample* samples, int64_t n, int32_t column) {
    if (static_cast<int64_t>(codes_.size()) < n) codes_.resize(n);
    const BinMatrix::Column from = data_.matrix.column(column, n);
    // In a large table, rows may be far apart, and they are also needed at the nodes below.
    if (data_.matrix.by_column && from.step != 1 && n * from.step > kFirstCacheBytes)
      for (int64_t i = 0; i < n; ++i) prefetch(from.data + samples[i].row * from.step);
    uint8_t* to = codes_.data();
    for (int64_t i = 0; i < n; ++i) to[i] = from[samples[i].row];
    gathered_ = column;
  }

  // Replaces `best` if a random split of the column is better; returns false if the column is
  // constant.
  bool try_random(const RowSample* samples, int64_t n, int32_t column, Split& best) {
    gather(samples, n, column);
    Split split;
    if (!draw_split(data_, column, codes_.data(), n, *random_, split)) return false;
    if (!from_root_) search_.score(codes_.data(), split);
    if (take_first_ || split.score > best.score) best = split;
    return true;
  }

  // Divides the samples and writes the node; returns its children.
  std::pair<Frame, Frame> divide(const Frame& frame, Split& split, double gain) {
    const RowSample* from = samples_of(frame);
    RowSample* to = samples_[1 - frame.buffer].data() + frame.start;
    const uint32_t n = frame.end - frame.start;
    if (!from_root_) writer_.gain(split.column, gain);
    if (gathered_ != split.column || !options_.random_thresholds) gather(from, n, split.column);
    const uint32_t n_left = divide_samples(split, from, codes_.data(), n, to, sides_, wide_);
    // The sums of the smaller side are computed, those of the larger side are differences.
    const bool count_left = n_left <= n - n_left;
    const Sums counted = count_left ? add_up(to, n_left) : add_up(to + n_left, n - n_left);
    const Sums other = {frame.sums.weight - counted.weight, frame.sums.part - counted.part};
    const Sums &of_left = count_left ? counted : other, &of_right = count_left ? other : counted;
    if constexpr (kOne)
      if (from_root_)
        writer_.gain(split.column,
                     from_->gain(static_cast<double>(of_left.weight), of_left.part,
                                 static_cast<double>(of_right.weight), of_right.part));
    send_unseen(split, of_left.weight > of_right.weight, to + n_left, n - n_left, data_.matrix,
                data_.bins);
    const uint32_t left = writer_.inner(frame.index, split);
    if (options_.is_monotonic())
      bound_children(frame.index, left, split.column,
                     (predict(to, n_left) + predict(to + n_left, n - n_left)) / 2);
    const uint32_t middle = frame.start + n_left, depth = frame.depth + 1;
    // Which columns are constant is known where the first of them are: depth first.
    const uint32_t n_constant =
        options_.max_leaf_nodes > 0 ? 0 : static_cast<uint32_t>(pool_.constant());
    const uint32_t buffer = 1 - frame.buffer;
    return {{left, frame.start, middle, depth, n_constant, split.column, buffer, of_left,
             frame.in_subtree},
            {left + 1, middle, frame.end, depth, n_constant, split.column, buffer, of_right,
             frame.in_subtree}};
  }

  // Prediction of a leaf with these samples, for one output.
  double predict(const RowSample* samples, int64_t n) {
    side_.load_targets(samples, n);
    predicted_.clear();
    if constexpr (Search::kMedians)
      side_.append_medians(predicted_);
    else
      side_.append_means(predicted_);
    return predicted_[0];
  }
  void bound_children(uint32_t index, uint32_t left, int32_t column, double middle) {
    const Bounds here = bounds_[index];
    if (bounds_.size() < size_t{left} + 2) bounds_.resize(size_t{left} + 2);
    std::tie(bounds_[left], bounds_[left + 1]) = here.divided(options_.monotonic[column], middle);
  }

  static constexpr int64_t kMaxDrawn = 64, kFirstCacheBytes = int64_t{1} << 16;
  static constexpr uint32_t kMaxLight = 65535;  // largest weight that SmallNodes can store

  Interrupt& interrupt_;
  const ValueTraining& data_;
  const GrowOptions options_;
  const bool take_first_;  // completely random: splits the first drawn column that is not constant
  // Completely random splits need no targets. Importances may then be less precise: sums are
  // measured from the least target of the tree or of a small subtree.
  const bool from_root_;
  const bool wide_;
  double weight_ = 0;  // total weight of the samples of the tree
  Node node_, root_, subtree_, side_;
  const Node* from_ = &root_;  // node from whose least target sums are measured
  Search search_;
  ColumnPool pool_;
  ValueWriter writer_;
#ifdef MDDF_AVX2
  std::optional<SmallValues> small_;
#endif
  bool light_ = true;  // whether all weights are small enough for small_
  Random* random_ = nullptr;
  std::array<std::vector<RowSample>, 2> samples_;
  std::vector<Frame> waiting_;
  // If rows are divided: the sums of the waiting nodes, and of the bins of the chosen column.
  std::vector<ValueSums> waiting_sums_;
  OwnedBinSums best_sums_;
  std::vector<uint8_t> codes_, sides_;
  int32_t gathered_ = -1;  // column whose codes are in codes_
  Frontier<Candidate> frontier_;
  std::vector<Bounds> bounds_;  // limits of each node, if there are constraints
  std::vector<double> predicted_;
};

}  // namespace mddf
