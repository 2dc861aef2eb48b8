// Rules by which a regression tree is grown, whose leaves hold means or medians; see Grower.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "common/bounds.hpp"
#include "common/interrupt.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/grower.hpp"
#include "forest/small/small_trees.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/value_trees.hpp"
#include "forest/tree/value_writer.hpp"

namespace mddf {

struct TargetSums {
  int64_t weight = 0, part = 0;
  bool in_subtree = false;  // whether they are measured in a subtree of at most kSmall samples
};

// `Search` finds splits by the criterion.
template <class Node, class Search>
class ValueRules : public TreeState<ValueTraining, RowSample, ValueWriter, TargetSums> {
  using Base = TreeState<ValueTraining, RowSample, ValueWriter, TargetSums>;
  static constexpr bool kOne = Node::kOne;

 public:
  using Trees = GrownValueTrees;
  using Divided = DividedValueRows;

  ValueRules(const ValueTraining& data, const GrowOptions& options, Interrupt& interrupt)
      : Base(data, options, interrupt),
        take_first_(options.random_thresholds && options.max_features == 1 &&
                    !options.limits_leaves() && !options.weighs_splits() &&
                    options.loss == Loss::kSquaredError),
        from_root_(kOne && take_first_),
        use_simd_(options.uses_simd()),
        node_(data.target),
        root_(data.target),
        subtree_(data.target),
        side_(data.target),
        search_(data, options, node_) {
    if constexpr (kOne) small_ = SmallValueTrees::make(data_, options_, pool_, writer_);
  }

 protected:
  static constexpr Bounds kUnlimited{};

  ColumnPool& pool() { return pool_; }
  Search& search() { return search_; }

  Frame root(LocalRows&) {
    const uint32_t n = static_cast<uint32_t>(samples_[0].size());
    if (from_root_) measure_from(root_, samples_[0].data(), n);
    Frame root = root_frame(n);
    root.state = add_up(samples_[0].data(), n);
    weight_ = static_cast<double>(root.state.weight);
    light_ = true;
    for (const RowSample& sample : samples_[0]) light_ &= sample.weight <= kMaxLight;
    return root;
  }
  // For a single output whose leaves hold means.
  Frame root(DividedValueRows& rows) {
    child_sums_[kLeft] = rows.begin();
    waiting_sums_.clear();
    weight_ = static_cast<double>(child_sums_[kLeft].weight);
    light_ = rows.most_weight() <= kMaxLight;
    if constexpr (kOne)
      if (from_root_) root_.take(child_sums_[kLeft]);
    return root_frame(static_cast<uint32_t>(child_sums_[kLeft].rows));
  }

  bool place(const Frame& frame, Side, LocalRows&) {
    const RowSample* samples = samples_of(frame);
    if (!node_.all_equal(samples, frame.size())) return true;
    writer_.row_leaf(frame.index, node_, samples[0].row, static_cast<double>(frame.state.weight));
    if (options_.is_monotonic()) writer_.clip_last(bounds_[frame.index]);
    return false;
  }
  bool place(const Frame& frame, Side side, DividedValueRows&) {
    const ValueSums& sums = child_sums_[side];
    if (sums.least != sums.most) return true;
    writer_.target_leaf(frame.index, node_, sums.least, static_cast<double>(sums.weight));
    if (options_.is_monotonic()) writer_.clip_last(bounds_[frame.index]);
    return false;
  }
  void enter(Side, LocalRows&) {}
  void push(Side, LocalRows&) {}
  void pop(const Frame&, LocalRows&) {}
  void enter(Side side, DividedValueRows&) { sums_ = child_sums_[side]; }
  void push(Side side, DividedValueRows&) { waiting_sums_.push_back(child_sums_[side]); }
  void pop(const Frame&, DividedValueRows&) {
    sums_ = waiting_sums_.back();
    waiting_sums_.pop_back();
  }
  void enter_copy(Frame& frame) {
    if (small_) small_->copy_last_rows();
    from_ = &root_;
    frame.state = add_up(samples_[0].data(), frame.size());
  }

  bool grow_small(const Frame& frame) {
    if (small_ && light_ && frame.size() <= kSmall) {
      interrupt_.poll(frame.size() * std::min<int64_t>(options_.max_features, kMaxDrawn));
      small_->grow({frame.index, frame.depth, frame.n_constant, frame.from_column},
                   samples_of(frame), static_cast<int>(frame.size()), *random_);
      return true;
    }
    return false;
  }

  void begin_node(Frame& frame, LocalRows&) {
    const RowSample* samples = samples_of(frame);
    if (!from_root_) return node_.load_targets(samples, frame.size());
    // Growth is depth first, so that a subtree is complete before other waiting nodes.
    from_ = frame.state.in_subtree ? &subtree_ : &root_;
    if (light_ && frame.size() <= kSmall && !frame.state.in_subtree) {  // as SmallValues does it
      measure_from(subtree_, samples, frame.size());
      frame.state = add_up(samples, frame.size());
      frame.state.in_subtree = true;
    }
  }
  void begin_node(Frame& frame, DividedValueRows&) {
    frame.state.weight = static_cast<int64_t>(sums_.weight);
    if constexpr (kOne) node_.take(sums_);
  }

  void find(const Frame& frame, Split& best, LocalRows&) {
    const RowSample* samples = samples_of(frame);
    const int64_t n = frame.size();
    if (!from_root_) node_.fill(), search_.begin(samples, n);
    std::array<int32_t, kMaxDrawn> drawn;
    std::array<uint8_t, kMaxDrawn> constant;
    pool_.draw_candidates(*random_, frame.n_constant, options_.max_features, kMaxDrawn,
                          drawn.data(), constant.data(), [&](int64_t width) MDDF_INLINED {
                            try_columns(samples, n, drawn.data(), width, constant.data(), best);
                          });
  }
  void find(const Frame& frame, Split& best, DividedValueRows& rows) {
    std::array<int32_t, kMaxDrawn> drawn;
    std::array<uint8_t, kMaxDrawn> constant;
    const Node& measured = from_root_ ? root_ : node_;
    bool has_begun = from_root_;
    const auto try_columns = [&](int64_t width) {
      rows.add_up_bins(frame.index, drawn.data(), width, measured.least(), measured.shift(0));
      for (int64_t j = 0; j < width; ++j) {
        const BinSumsOfValues bins = rows.sums(j, data_.bins.count(drawn[j]));
        if (!has_begun) {
          node_.set_total(bins.total_part());
          search_.begin(nullptr, sums_.rows);
          has_begun = true;
        }
        constant[j] = !(options_.random_thresholds ? try_random(drawn[j], bins, best)
                                                   : search_.try_column(drawn[j], bins, best));
        if (best.column == drawn[j]) best_sums_.take(bins);
      }
    };
    pool_.draw_candidates(*random_, frame.n_constant, options_.max_features, kMaxDrawn,
                          drawn.data(), constant.data(), try_columns);
  }

  double gain(const Split& split) const { return from_root_ ? 0 : search_.gain(split.score); }
  void accept(const Frame& frame, const Split& split) {
    gain_ = gain(split);
    if (options_.prune > 0)
      writer_.note(frame.index, gain_, payload(frame), static_cast<double>(frame.state.weight));
  }

  Frame divide(Frame& frame, Split& split, LocalRows&) {
    const RowSample* from = samples_of(frame);
    RowSample* to = samples_below(frame);
    const uint32_t n = frame.size();
    if (!from_root_) writer_.gain(split.column, gain_);
    if (gathered_ != split.column || !options_.random_thresholds) gather(from, n, split.column);
    const uint32_t n_left = divide_samples(split, from, codes_.data(), n, to, sides_, use_simd_);
    // The sums of the smaller side are computed, the sums of the larger side are differences.
    const bool count_left = n_left <= n - n_left;
    const TargetSums counted = count_left ? add_up(to, n_left) : add_up(to + n_left, n - n_left);
    const TargetSums other = {frame.state.weight - counted.weight, frame.state.part - counted.part};
    const TargetSums& of_left = count_left ? counted : other;
    const TargetSums& of_right = count_left ? other : counted;
    if (from_root_)
      note_gain(split, *from_, of_left.weight, of_left.part, of_right.weight, of_right.part);
    send_unseen(split, of_left.weight > of_right.weight, to + n_left, n - n_left, data_.matrix,
                data_.bins);
    const uint32_t left = writer_.inner(frame.index, split);
    if (options_.is_monotonic())
      bound_children(frame.index, left, split.column,
                     (predict(to, n_left) + predict(to + n_left, n - n_left)) / 2);
    Frame right = divide_frame(frame, split, left, n_left, pool_.constant());
    frame.state = {of_left.weight, of_left.part, frame.state.in_subtree};
    right.state = {of_right.weight, of_right.part, right.state.in_subtree};
    return right;
  }
  Frame divide(Frame& frame, Split& split, DividedValueRows& rows) {
    const BinSumsOfValues bins = best_sums_.cells();
    std::array<TargetSums, 2> sides;
    CodeSet on_right;
    bins.for_each_code([&](int code) {
      const bool is_right = split.goes_right(static_cast<uint8_t>(code));
      if (is_right) on_right.insert(code);
      sides[is_right].weight += bins.weight(code);
      sides[is_right].part += bins.part(code);
    });
    if (from_root_)
      note_gain(split, root_, sides[kLeft].weight, sides[kLeft].part, sides[kRight].weight,
                sides[kRight].part);
    else
      writer_.gain(split.column, gain_);
    send_unseen(split, sides[kLeft].weight > sides[kRight].weight, on_right, data_.bins);
    const uint32_t index = frame.index, left = writer_.inner(index, split);
    std::tie(child_sums_[kLeft], child_sums_[kRight]) = rows.divide_and_add_up(index, split, left);
    if (options_.is_monotonic())
      bound_children(index, left, split.column,
                     (predict(child_sums_[kLeft]) + predict(child_sums_[kRight])) / 2);
    return divide_frame(frame, split, left, static_cast<uint32_t>(child_sums_[kLeft].rows),
                        pool_.constant());
  }

  void leaf(const Frame& frame, LocalRows&) {
    if (from_root_) node_.load_targets(samples_of(frame), frame.size());
    write_leaf(frame);
  }
  void leaf(const Frame& frame, DividedValueRows&) { write_leaf(frame); }

  void list(const Frame&) {}
  void resume(const Frame& frame) { node_.load_targets(samples_of(frame), frame.size()); }
  void resume(const Frame&, const Split&, double gain) {
    gain_ = gain;
    gathered_ = -1;
  }

 private:
  TargetSums add_up(const RowSample* samples, int64_t n) const {
    TargetSums sums;
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

  // Adds the gain of a completely random split to the importances.
  void note_gain(const Split& split, const Node& measured, int64_t left, int64_t part_left,
                 int64_t right, int64_t part_right) {
    if constexpr (kOne)
      writer_.gain(split.column, measured.gain(static_cast<double>(left), part_left,
                                               static_cast<double>(right), part_right));
  }

  // Writes a leaf after its samples were summed.
  void write_leaf(const Frame& frame) {
    writer_.leaf(frame.index, payload(frame), static_cast<double>(frame.state.weight));
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

  // Replaces `best` if one of the columns has a better split, and marks constant columns.
  void try_columns(const RowSample* samples, int64_t n, const int32_t* columns, int64_t width,
                   uint8_t* constant, Split& best) {
    interrupt_.poll(4 * width * n);
    if (options_.random_thresholds)
      for (int64_t j = 0; j < width; ++j) constant[j] = !try_random(samples, n, columns[j], best);
    else
      for (int64_t j = 0; j < width; j += search_.kAtOnce)
        search_.try_columns(columns + j, std::min<int64_t>(search_.kAtOnce, width - j), best,
                            constant + j);
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
  bool try_random(int32_t column, const BinSumsOfValues& sums, Split& best) {
    Split split;
    if (!draw_split(data_, column, sums.codes(), *random_, split)) return false;
    if (!from_root_) search_.score(sums, split);
    if (take_first_ || split.score > best.score) best = split;
    return true;
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
  // Prediction of a leaf of divided rows.
  double predict(const ValueSums& sums) {
    side_.take(sums);
    predicted_.clear();
    side_.append_means(predicted_);
    return predicted_[0];
  }

  // Most columns that are drawn at once, and codes that surely stay in the first cache. Not tuned.
  static constexpr int64_t kMaxDrawn = 64, kFirstCacheBytes = int64_t{1} << 16;
  static constexpr uint32_t kMaxLight = 65535;  // largest weight that SmallNodes can store

  const bool take_first_;  // completely random: splits the first drawn column that is not constant
  // Completely random splits need no targets. Importances may then be less precise: sums are
  // measured from the least target of the tree or of a small subtree.
  const bool from_root_;
  const bool use_simd_;
  Node node_, root_, subtree_, side_;
  const Node* from_ = &root_;  // node from whose least target sums are measured
  Search search_;
  ColumnPool pool_;
  std::unique_ptr<SmallValueTrees> small_;
  bool light_ = true;  // whether all weights are small enough for small_
  double gain_ = 0;    // gain of the split of the current node
  // If rows are divided: the sums of the current node, its children and the waiting nodes, and of
  // the bins of the chosen column.
  ValueSums sums_;
  std::array<ValueSums, 2> child_sums_;
  std::vector<ValueSums> waiting_sums_;
  OwnedBinSums best_sums_;
  std::vector<uint8_t> codes_, sides_;
  int32_t gathered_ = -1;  // column whose codes are in codes_
  std::vector<double> predicted_;
};

}  // namespace mddf
