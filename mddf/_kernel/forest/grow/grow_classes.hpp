// Grows a classification tree, depth first or with the largest gains first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/gathered_rows.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/frontier.hpp"
#include "forest/small/small_classes.hpp"
#include "forest/small/small_nodes.hpp"
#include "forest/split/bounds.hpp"
#include "forest/split/class_splitter.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/tree_writer.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

template <class Sample, class Criterion>
class TreeGrower {
 public:
  using Weight = typename Sample::Weight;

  TreeGrower(const TreeGrower&) = delete;
  TreeGrower(const TrainingSet& data, const GrowOptions& options, Interrupt& interrupt)
      : interrupt_(interrupt),
        data_(data),
        options_(options),
        splitter_(data, options, interrupt),
        pool_(splitter_.pool()),
        classes_(splitter_.classes),
        node_(splitter_.node),
        writer_(options.prune > 0) {
    if constexpr (kHasSmall)
      if (Small::suits(options_)) small_.emplace(data_, options_, pool_, writer_);
  }

  // The samples of the next tree, which are changed while it is grown.
  std::vector<Sample>& samples() { return samples_[0]; }

  // Grows a tree on samples() and appends it to `trees`. Adds the decrease of impurity by each
  // column to `importances`, unless it is null.
  void grow(Random& random, GrownTrees& trees, double* importances) {
    samples_[1].resize(samples_[0].size());
    const uint32_t n = static_cast<uint32_t>(samples_[0].size());
    classes_.count_root(samples_[0].data(), n);
    Frame frame = begin(random, trees, importances, n);
    if (options_.max_leaf_nodes > 0) {
      grow_best_first(frame);
    } else if (place(frame, classes_.left)) {
      classes_.take(classes_.left, node_);
      while (visit(frame) || next(frame)) {
      }
    }
    writer_.end(data_.bins, options_.prune * weight_);
  }

  // Does the same on divided rows, depth first. The sums of `Sample` must be exact.
  void grow(DividedClassRows& rows, Random& random, GrownTrees& trees, double* importances) {
    std::vector<Weight> weights(data_.target.n_classes);
    const int64_t n = rows.begin(weights);
    classes_.count_root(weights.data());
    Frame frame = begin(random, trees, importances, static_cast<uint32_t>(n));
    if (place(frame, classes_.left)) {
      classes_.take(classes_.left, node_);
      while (visit(frame, rows) || next(frame)) {
      }
    }
    writer_.end(data_.bins, options_.prune * weight_);
  }

 private:
  using List = ClassList<Weight>;
  using Small = SmallClasses<Criterion>;
#ifdef MDDF_AVX2
  static constexpr bool kHasSmall = std::is_same_v<Sample, CountedSample>;
#else
  static constexpr bool kHasSmall = false;
#endif

  struct Frame {
    uint32_t index, start, end, depth, n_constant;
    int32_t from_column;  // column of the split of the parent
    uint32_t buffer;      // number (0 or 1) of the array with the samples of the node
    int32_t n_classes;
  };
  struct Candidate {  // a node and its best split
    Frame frame;
    Split split;
    size_t first_class;  // position of its classes in listed_
    double gain;         // gain of the split
    uint32_t index() const { return frame.index; }
  };

  // Begins a tree; the classes of the root are in classes_.left.
  Frame begin(Random& random, GrownTrees& trees, double* importances, uint32_t n) {
    random_ = &random;
    writer_.begin(trees, importances);
    pool_.restart(data_.columns);
    waiting_.clear();
    copied_end_ = 0;
    weight_ = static_cast<double>(classes_.left.total());
    splitter_.search().set_min_leaf_weight(options_.min_weight_leaf * weight_);
    if (options_.is_monotonic()) bounds_.assign(1, {0, 1});
    return {0, 0, n, 0, 0, -1, 0, 0};
  }

  // Makes a pure node a leaf; returns whether the node may be split.
  bool place(const Frame& frame, const List& classes) {
    if (classes.size > 1) return true;
    const double weight = static_cast<double>(classes.weight[0]);
    if (options_.is_monotonic())
      writer_.leaf(frame.index, payload(frame, classes.label.data(), &weight, 1), weight);
    else
      writer_.pure_leaf(frame.index, classes.label[0], weight);
    writer_.gain(frame.from_column, Criterion::side(Criterion::term(weight), weight));
    return false;
  }

  // Takes the next waiting node; returns false if there is none.
  bool next(Frame& frame) {
    if (waiting_.empty()) return false;
    frame = waiting_.back();
    waiting_.pop_back();
    classes_.pop(frame.n_classes, node_);
    return true;
  }

  // Splits the node, whose classes are in node_, or makes it a leaf. Returns true if `frame` and
  // node_ are now a child that must be visited next.
  bool visit(Frame& frame) {
    Sample* samples = samples_of(frame);
    node_.n_samples = frame.end - frame.start;
    choose_matrix(frame, samples);
    interrupt_.poll(16 * node_.n_samples);
    if constexpr (kHasSmall) {
      if (small_ && node_.n_samples <= kSmall) {
        interrupt_.poll(node_.n_samples *
                        std::min<int64_t>(options_.max_features, splitter_.kMaxDrawn));
        small_->grow({frame.index, frame.depth, frame.n_constant, frame.from_column, 0}, samples,
                     node_, splitter_.matrix, *random_);
        return false;
      }
    }
    Split split;
    const double score = find_split(frame, samples, split);
    if (split.column < 0) {
      leaf(frame);
      return false;
    }
    Frame right;
    divide(frame, split, score, right);
    return place_children(frame, right);
  }

  // Does the same for a node of divided rows.
  bool visit(Frame& frame, DividedClassRows& rows) {
    node_.n_samples = frame.end - frame.start;
    if (node_.n_samples <= rows.most_copied()) {
      grow_copy(frame, rows);
      return false;
    }
    interrupt_.poll(16 * 256);
    Split split;
    const double score = find_split(frame, split, [&] {
      splitter_.find(rows, frame.index, frame.n_constant, *random_, split);
    });
    if (split.column < 0) {
      leaf(frame);
      return false;
    }
    note_split(frame, split, score);
    const uint32_t node = frame.index;
    Frame right;
    write_split(frame, split, splitter_.divide_counts(split), right);
    rows.divide(node, split, frame.index);
    return place_children(frame, right);
  }

  // Grows the subtree of a node of divided rows, whose classes are in node_, on copies of the rows.
  void grow_copy(Frame frame, DividedClassRows& rows) {
    rows.copy(frame.index, samples_[0]);
    if constexpr (kHasSmall)
      if (small_) small_->copy_last_rows();
    samples_[1].resize(samples_[0].size());
    copied_end_ = 0;
    frame.start = 0;
    frame.end = static_cast<uint32_t>(samples_[0].size());
    frame.buffer = 0;
    const size_t n_waiting = waiting_.size();
    while (visit(frame) || (waiting_.size() > n_waiting && next(frame))) {
    }
  }

  // Makes pure children of a node leaves. Returns true if `frame` and node_ are now a child that
  // must be visited next.
  bool place_children(Frame& frame, const Frame& right) {
    const bool visit_right = place(right, classes_.right);
    if (!place(frame, classes_.left)) {
      if (visit_right) classes_.take(classes_.right, node_), frame = right;
      return visit_right;
    }
    classes_.take(classes_.left, node_);
    if (visit_right) classes_.push(classes_.right), waiting_.push_back(right);
    return true;
  }

  // Grows a tree in which the nodes with the largest gains are split first.
  void grow_best_first(const Frame& root) {
    listed_.clear();
    frontier_.clear();
    consider(root, classes_.left);
    for (int64_t n_leaves = 1; n_leaves < options_.max_leaf_nodes && !frontier_.empty();
         ++n_leaves) {
      Candidate best = frontier_.pop();
      take_listed(best);
      interrupt_.poll(16 * node_.n_samples);
      splitter_.forget_codes();
      Frame right;
      divide(best.frame, best.split, best.split.score - best.gain, right);
      // Both children are placed before node_ changes.
      const List of_right = classes_.right;
      consider(best.frame, classes_.left);
      consider(right, of_right);
    }
    for (const Candidate& rest : frontier_.all()) take_listed(rest), leaf(rest.frame);
  }

  // Finds the split of a node and its gain, or makes the node a leaf.
  void consider(const Frame& frame, const List& classes) {
    if (!place(frame, classes)) return;
    classes_.take(classes, node_);
    node_.n_samples = frame.end - frame.start;
    splitter_.matrix = data_.matrix;
    interrupt_.poll(16 * node_.n_samples);
    Candidate candidate{frame, {}, listed_.size(), 0};
    const double score = find_split(frame, samples_of(frame), candidate.split);
    if (candidate.split.column < 0) return leaf(frame);
    candidate.gain = candidate.split.score - score;
    candidate.frame.n_classes = classes.size;
    for (int c = 0; c < classes.size; ++c)
      listed_.emplace_back(classes.label[c], classes.weight[c]);
    frontier_.push(candidate);
  }

  void take_listed(const Candidate& candidate) {
    node_.n_samples = candidate.frame.end - candidate.frame.start;
    node_.n_present = candidate.frame.n_classes;
    node_.weight = 0;
    for (int c = 0; c < node_.n_present; ++c) {
      node_.present[c] = listed_[candidate.first_class + c].first;
      node_.total[c] = static_cast<double>(listed_[candidate.first_class + c].second);
      node_.weight += node_.total[c];
    }
    splitter_.matrix = data_.matrix;
  }

  // Chooses whether the codes of a node are read from the table or from copies of its rows.
  void choose_matrix(const Frame& frame, Sample* samples) {
    if (frame.start < copied_end_) return;
    BinMatrix& matrix = splitter_.matrix;
    matrix = data_.matrix;
#ifdef MDDF_AVX2
    if (data_.nonzero_rows && NonzeroRows::pays(node_.n_samples)) {
      data_.nonzero_rows->prefetch_rows(samples, node_.n_samples);
      matrix = {nullptr, 0, matrix.n_columns, nullptr, data_.nonzero_rows};
      copied_end_ = frame.end;
    }
#endif
    if (!GatheredRows::suits(data_.matrix, options_) ||
        !GatheredRows::pays(data_.matrix, node_.n_samples))
      return;
    matrix = gathered_rows_.copy(data_.matrix, samples, node_.n_samples);
    copied_end_ = frame.end;
  }

  // Finds the best allowed split of a node; returns the score of the node if it is needed.
  double find_split(const Frame& frame, const Sample* samples, Split& split) {
    return find_split(frame, split,
                      [&] { splitter_.find(samples, frame.n_constant, *random_, split); });
  }
  template <class Find>
  double find_split(const Frame& frame, Split& split, Find find) {
    const bool is_wanted = writer_.wants_importances() || options_.weighs_splits();
    const double score = is_wanted ? node_.template score<Criterion>() : 0;
    writer_.gain(frame.from_column, score);
    if (frame.depth >= options_.max_depth || node_.n_samples < options_.min_samples_split ||
        node_.n_samples / 2 < options_.min_samples_leaf)
      return score;
    if (options_.is_monotonic()) splitter_.search().set_bounds(bounds_[frame.index]);
    find();
    if (options_.min_decrease > 0 && is_too_little(split.score - score)) split.column = -1;
    return score;
  }
  bool is_too_little(double gain) const { return options_.decreases_too_little(gain / weight_); }

  // Divides the samples and writes the node, whose classes are in node_. `frame` becomes the left
  // child. The classes of both children are then in classes_.
  void divide(Frame& frame, Split& split, double score, Frame& right) {
    note_split(frame, split, score);
    const uint32_t n = frame.end - frame.start;
    Sample* samples = samples_[1 - frame.buffer].data() + frame.start;
    const uint32_t n_left = splitter_.partition(split, samples_of(frame), n, samples);
    classes_.divide(samples, n_left, n, node_);
    // Categories and missing values that the node does not have go to the side with more weight.
    const bool left_is_larger = classes_.left.total() > classes_.right.total();
    send_unseen(split, left_is_larger, samples + n_left, n - n_left, splitter_.matrix, data_.bins);
    write_split(frame, split, n_left, right);
  }

  // Adds the score of a node that will be split to the importances, and notes it for pruning.
  void note_split(const Frame& frame, const Split& split, double score) {
    writer_.gain(split.column, -score);
    if (options_.prune > 0)
      writer_.note(frame.index, split.score - score, payload(frame), node_.weight);
  }

  // Writes a split with n_left samples on the left. `frame` becomes the left child.
  void write_split(Frame& frame, const Split& split, uint32_t n_left, Frame& right) {
    const uint32_t left = writer_.inner(frame.index, split);
    if (options_.is_monotonic()) bound_children(frame.index, left, split.column);
    const uint32_t middle = frame.start + n_left;
    // Which columns are constant is known where the first of them are: depth first.
    const uint32_t n_constant =
        options_.max_leaf_nodes > 0 ? 0 : static_cast<uint32_t>(pool_.constant());
    right = {left + 1,   middle,       frame.end,        frame.depth + 1,
             n_constant, split.column, 1 - frame.buffer, classes_.right.size};
    frame = {left,       frame.start,  middle,       frame.depth + 1,
             n_constant, split.column, right.buffer, classes_.left.size};
  }

  // Sets the limits of the share of the second of two classes in the children.
  void bound_children(uint32_t index, uint32_t left, int32_t column) {
    const Bounds here = bounds_[index];
    const auto share = [](const List& list) {
      double second = 0;
      for (int c = 0; c < list.size; ++c)
        if (list.label[c] == 1) second = static_cast<double>(list.weight[c]);
      return second / static_cast<double>(list.total());
    };
    const double middle = (share(classes_.left) + share(classes_.right)) / 2;
    if (bounds_.size() < size_t{left} + 2) bounds_.resize(size_t{left} + 2);
    std::tie(bounds_[left], bounds_[left + 1]) = here.divided(options_.monotonic[column], middle);
  }

  Sample* samples_of(const Frame& frame) { return samples_[frame.buffer].data() + frame.start; }
  void leaf(const Frame& frame) { writer_.leaf(frame.index, payload(frame), node_.weight); }
  uint32_t payload(const Frame& frame) {
    return payload(frame, node_.present.data(), node_.total.data(), node_.n_present);
  }
  // Payload of a leaf with these classes.
  uint32_t payload(const Frame& frame, const uint16_t* labels, const double* weights, int n) {
    if (!options_.is_monotonic()) return writer_.payload(labels, weights, n);
    double second = 0, total = 0;
    for (int c = 0; c < n; ++c) total += weights[c], second += labels[c] == 1 ? weights[c] : 0;
    const double share = bounds_[frame.index].clip(second / total);
    const std::array<uint16_t, 2> both{0, 1};
    const std::array<double, 2> shares{1 - share, share};
    const int first = share == 1;  // first class that is present
    return writer_.payload(both.data() + first, shares.data() + first, 2 - first - (share == 0));
  }

  Interrupt& interrupt_;
  const TrainingSet& data_;
  const GrowOptions options_;
  ClassSplitter<Sample, Criterion> splitter_;
  ColumnPool& pool_;
  ClassCounter<Sample>& classes_;
  NodeClasses<Weight>& node_;
  TreeWriter writer_;
  std::optional<Small> small_;
  Random* random_ = nullptr;
  double weight_ = 0;  // total weight of the samples of the tree
  std::array<std::vector<Sample>, 2> samples_;
  GatheredRows gathered_rows_;
  uint32_t copied_end_ = 0;  // end of the samples that refer to copied rows
  std::vector<Frame> waiting_;
  Frontier<Candidate> frontier_;
  std::vector<std::pair<uint16_t, Weight>> listed_;  // classes of the nodes in the frontier
  std::vector<Bounds> bounds_;  // limits of each node, if there are constraints
};

}  // namespace mddf
