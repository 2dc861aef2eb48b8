// Grows a tree, depth first or with the largest gains first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "common/bounds.hpp"
#include "common/frontier.hpp"
#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "forest/data/training.hpp"
#include "forest/split/split.hpp"

namespace mddf {

// The children of a node. The root is on the left.
enum Side { kLeft, kRight };

// The rows of a tree that are all in this process, as opposed to DividedRows.
struct LocalRows {};

// State of a tree during its growth, on which the rules for classes and for values are built.
// `NodeState` is the part of a node that depends on its targets.
template <class Data, class TreeSample, class Writer, class NodeState>
class TreeState {
 public:
  using Sample = TreeSample;

  TreeState(const TreeState&) = delete;
  TreeState(const Data& data, const GrowOptions& options, Interrupt& interrupt)
      : interrupt_(interrupt), data_(data), options_(options), writer_(options.prune > 0) {}

 protected:
  struct Frame {
    uint32_t index, start, end, depth, n_constant;
    int32_t from_column;  // column of the split of the parent
    uint32_t buffer;      // number (0 or 1) of the array with the samples of the node
    NodeState state;

    uint32_t size() const { return end - start; }
  };

  static Frame root_frame(uint32_t n_samples) { return {0, 0, n_samples, 0, 0, -1, 0, {}}; }

  const Sample* samples_of(const Frame& frame) const {
    return samples_[frame.buffer].data() + frame.start;
  }
  Sample* samples_of(const Frame& frame) { return samples_[frame.buffer].data() + frame.start; }
  // Place of the samples of the children of a node.
  Sample* samples_below(const Frame& frame) {
    return samples_[1 - frame.buffer].data() + frame.start;
  }

  // Replaces a node, whose split was written, by its left child, which has n_left samples; returns
  // the right child. `left` is the index of the left child. The first n_constant columns of the
  // pool are constant in both.
  Frame divide_frame(Frame& frame, const Split& split, uint32_t left, uint32_t n_left,
                     int64_t n_constant) const {
    // The columns are in this order only as long as the tree is grown depth first.
    const uint32_t known = options_.max_leaf_nodes > 0 ? 0 : static_cast<uint32_t>(n_constant);
    const uint32_t middle = frame.start + n_left, depth = frame.depth + 1;
    const uint32_t buffer = 1 - frame.buffer;
    const Frame right{left + 1, middle, frame.end, depth, known, split.column, buffer, frame.state};
    frame = {left, frame.start, middle, depth, known, split.column, buffer, frame.state};
    return right;
  }

  // Sets the limits of the children of a node. `middle` is the mean of their predictions.
  void bound_children(uint32_t index, uint32_t left, int32_t column, double middle) {
    const Bounds here = bounds_[index];
    if (bounds_.size() < size_t{left} + 2) bounds_.resize(size_t{left} + 2);
    std::tie(bounds_[left], bounds_[left + 1]) = here.divided(options_.monotonic[column], middle);
  }

  Interrupt& interrupt_;
  const Data& data_;
  const GrowOptions options_;
  Writer writer_;
  Random* random_ = nullptr;
  double weight_ = 0;  // total weight of the samples of the tree
  std::array<std::vector<Sample>, 2> samples_;
  std::vector<Bounds> bounds_;  // limits of each node, if there are constraints
};

// `Rules` derive from TreeState and handle the targets: ClassRules or ValueRules. `rows` are
// LocalRows or Rules::Divided. A node is entered before it is split, and stays the current one
// until the next is entered. Rules define:
//   root(rows): sums up the root and its weight_
//   place(frame, side, rows): writes a leaf if the child on this side is pure; returns true if not
//   enter(side, rows): makes the child on this side the current node
//   push(side, rows), pop(frame, rows): keep a child until it becomes the current node
//   enter_copy(frame): the current node now has copies of divided rows
//   grow_small(frame): grows the whole subtree of a small node; returns false if it does not
//   begin_node(frame, rows): prepares the search or the leaf
//   find(frame, rows, split), gain(split), accept(frame, split)
//   divide(frame, split, rows): writes the split; frame becomes the left child, returns the right
//   leaf(frame, rows): writes a leaf
//   list(frame), resume(frame), resume(frame, split, gain): keep a node in the frontier; make it
//     the current one, to become a leaf or to be divided
template <class Rules>
class Grower : private Rules {
 public:
  using Rules::Rules;
  using typename Rules::Divided, typename Rules::Sample, typename Rules::Trees;

  // The samples of the next tree, which are changed while it is grown.
  std::vector<Sample>& samples() { return samples_[0]; }

  // Grows a tree on samples() and appends it to `trees`. Adds the decrease of impurity by each
  // column to `importances`, unless it is null.
  void grow(Random& random, Trees& trees, double* importances) {
    samples_[1].resize(samples_[0].size());
    const Frame root = begin(local_, random, trees, importances);
    if (options_.max_leaf_nodes > 0)
      grow_best_first(root);
    else
      grow_depth_first(root, local_);
    writer_.end(data_.bins, options_.prune * weight_);
  }

  // Does the same on divided rows, depth first. All sums must be exact.
  void grow(Divided& rows, Random& random, Trees& trees, double* importances) {
    const Frame root = begin(rows, random, trees, importances);
    grow_depth_first(root, rows);
    writer_.end(data_.bins, options_.prune * weight_);
  }

 private:
  using Rules::bounds_, Rules::data_, Rules::interrupt_, Rules::options_, Rules::samples_;
  using Rules::random_, Rules::weight_, Rules::writer_;
  using typename Rules::Frame;

  struct Candidate {  // a node and its best split
    Frame frame;
    Split split;
    double gain;  // gain of the split
    uint32_t index() const { return frame.index; }
  };

  template <class Rows>
  Frame begin(Rows& rows, Random& random, Trees& trees, double* importances) {
    random_ = &random;
    writer_.begin(trees, importances);
    waiting_.clear();
    Rules::pool().restart(data_.columns);
    const Frame root = Rules::root(rows);
    Rules::search().set_min_leaf_weight(options_.min_weight_leaf * weight_);
    if (options_.is_monotonic()) bounds_.assign(1, Rules::kUnlimited);
    return root;
  }

  template <class Rows>
  void grow_depth_first(const Frame& root, Rows& rows) {
    if (!Rules::place(root, kLeft, rows)) return;
    Rules::enter(kLeft, rows);
    grow_below(root, rows);
  }

  // Grows the subtree of the current node.
  template <class Rows>
  void grow_below(Frame frame, Rows& rows) {
    const size_t n_waiting = waiting_.size();
    while (visit(frame, rows) || next(frame, n_waiting, rows)) {
    }
  }

  // Takes the next waiting node; returns false if there are no more than n_waiting.
  template <class Rows>
  bool next(Frame& frame, size_t n_waiting, Rows& rows) {
    if (waiting_.size() == n_waiting) return false;
    frame = waiting_.back();
    waiting_.pop_back();
    Rules::pop(frame, rows);
    return true;
  }

  // Splits the current node or makes it a leaf. Returns true if `frame` is now a child that was
  // entered and must be visited next.
  bool visit(Frame& frame, LocalRows& rows) {
    interrupt_.poll(16 * int64_t{frame.size()});
    return !Rules::grow_small(frame) && split(frame, rows);
  }
  bool visit(Frame& frame, Divided& rows) {
    if (frame.size() > rows.most_copied()) {
      interrupt_.poll(16 * 256);
      return split(frame, rows);
    }
    rows.copy(frame.index, samples_[0]);
    samples_[1].resize(samples_[0].size());
    frame.start = frame.buffer = 0;
    frame.end = static_cast<uint32_t>(samples_[0].size());
    Rules::enter_copy(frame);
    grow_below(frame, local_);
    return false;
  }

  template <class Rows>
  bool split(Frame& frame, Rows& rows) {
    Split split;
    find_split(frame, split, rows);
    if (split.column < 0) {
      Rules::leaf(frame, rows);
      return false;
    }
    const Frame right = Rules::divide(frame, split, rows);
    const bool visit_right = Rules::place(right, kRight, rows);
    if (!Rules::place(frame, kLeft, rows)) {
      if (visit_right) Rules::enter(kRight, rows), frame = right;
      return visit_right;
    }
    Rules::enter(kLeft, rows);
    if (visit_right) Rules::push(kRight, rows), waiting_.push_back(right);
    return true;
  }

  // Finds the best allowed split of the current node.
  template <class Rows>
  void find_split(Frame& frame, Split& split, Rows& rows) {
    Rules::begin_node(frame, rows);
    const int64_t n = frame.size();
    if (frame.depth >= options_.max_depth || n < options_.min_samples_split ||
        n / 2 < options_.min_samples_leaf)
      return;
    if (options_.is_monotonic()) Rules::search().set_bounds(bounds_[frame.index]);
    Rules::find(frame, split, rows);
    if (split.column < 0) return;
    if (options_.min_decrease > 0 && options_.decreases_too_little(Rules::gain(split) / weight_))
      split.column = -1;
    else
      Rules::accept(frame, split);
  }

  // Grows a tree in which the nodes with the largest gains are split first.
  void grow_best_first(const Frame& root) {
    frontier_.clear();
    consider(root, kLeft);
    for (int64_t n_leaves = 1; n_leaves < options_.max_leaf_nodes && !frontier_.empty();
         ++n_leaves) {
      Candidate best = frontier_.pop();
      interrupt_.poll(16 * int64_t{best.frame.size()});
      Rules::resume(best.frame, best.split, best.gain);
      const Frame right = Rules::divide(best.frame, best.split, local_);
      consider(best.frame, kLeft);
      consider(right, kRight);
    }
    for (const Candidate& rest : frontier_.all()) {
      Rules::resume(rest.frame);
      Rules::leaf(rest.frame, local_);
    }
  }

  // Finds the split of a node and its gain, or makes the node a leaf.
  void consider(const Frame& frame, Side side) {
    if (!Rules::place(frame, side, local_)) return;
    Rules::enter(side, local_);
    interrupt_.poll(16 * int64_t{frame.size()});
    Candidate candidate{frame, {}, 0};
    find_split(candidate.frame, candidate.split, local_);
    if (candidate.split.column < 0) return Rules::leaf(frame, local_);
    candidate.gain = Rules::gain(candidate.split);
    Rules::list(candidate.frame);
    frontier_.push(candidate);
  }

  LocalRows local_;
  std::vector<Frame> waiting_;
  Frontier<Candidate> frontier_;
};

}  // namespace mddf
