// Rules by which a classification tree is grown; see Grower.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/bounds.hpp"
#include "common/interrupt.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/gathered_rows.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/grow/grower.hpp"
#include "forest/small/small_classes.hpp"
#include "forest/split/class_splitter.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/tree_writer.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// Where the classes of a node are kept.
struct ListedClasses {
  int32_t n_classes = 0;
  size_t first = 0;  // position in the list of the frontier
};

template <class TreeSample, class Criterion>
class ClassRules : public TreeState<TrainingSet, TreeSample, TreeWriter, ListedClasses> {
  using Base = TreeState<TrainingSet, TreeSample, TreeWriter, ListedClasses>;

 public:
  using Sample = TreeSample;
  using Trees = GrownTrees;
  using Divided = DividedClassRows;

  ClassRules(const TrainingSet& data, const GrowOptions& options, Interrupt& interrupt)
      : Base(data, options, interrupt),
        splitter_(data, options, interrupt),
        pool_(splitter_.pool()),
        classes_(splitter_.classes),
        node_(splitter_.node) {
    if constexpr (kHasSmall)
      if (Small::suits(options_)) small_.emplace(data_, options_, pool_, writer_);
  }

 protected:
  using typename Base::Frame;
  using Weight = typename Sample::Weight;
  using Base::bounds_, Base::data_, Base::interrupt_, Base::options_, Base::random_;
  using Base::samples_, Base::weight_, Base::writer_;

  static constexpr Bounds kUnlimited{0, 1};  // predictions are shares of the second class

  ColumnPool& pool() { return pool_; }
  auto& search() { return splitter_.search(); }

  Frame root(LocalRows&) {
    const uint32_t n = static_cast<uint32_t>(samples_[0].size());
    classes_.count_root(samples_[0].data(), n);
    return begin_root(n);
  }
  Frame root(DividedClassRows& rows) {
    std::vector<Weight> weights(data_.target.n_classes);
    const int64_t n = rows.begin(weights);
    classes_.count_root(weights.data());
    return begin_root(static_cast<uint32_t>(n));
  }

  template <class Rows>
  bool place(const Frame& frame, Side side, const Rows&) {
    const List& classes = list_of(side);
    if (classes.size > 1) return true;
    const double weight = static_cast<double>(classes.weight[0]);
    if (options_.is_monotonic())
      writer_.leaf(frame.index, payload(frame, classes.label.data(), &weight, 1), weight);
    else
      writer_.pure_leaf(frame.index, classes.label[0], weight);
    writer_.gain(frame.from_column, Criterion::side(Criterion::term(weight), weight));
    return false;
  }
  template <class Rows>
  void enter(Side side, const Rows&) {
    classes_.take(list_of(side), node_);
  }
  template <class Rows>
  void push(Side side, const Rows&) {
    classes_.push(list_of(side));
  }
  template <class Rows>
  void pop(const Frame& frame, const Rows&) {
    classes_.pop(frame.state.n_classes, node_);
  }
  void enter_copy(const Frame&) {
    if constexpr (kHasSmall)
      if (small_) small_->copy_last_rows();
    copied_end_ = 0;
  }

  bool grow_small(const Frame& frame) {
    node_.n_samples = frame.size();
    Sample* samples = this->samples_of(frame);
    choose_matrix(frame, samples);
    if constexpr (kHasSmall) {
      if (small_ && node_.n_samples <= kSmall) {
        interrupt_.poll(node_.n_samples *
                        std::min<int64_t>(options_.max_features, splitter_.kMaxDrawn));
        small_->grow({frame.index, frame.depth, frame.n_constant, frame.from_column, 0}, samples,
                     node_, splitter_.matrix, *random_);
        return true;
      }
    }
    return false;
  }

  template <class Rows>
  void begin_node(const Frame& frame, const Rows&) {
    node_.n_samples = frame.size();
    const bool is_wanted = writer_.wants_importances() || options_.weighs_splits();
    score_ = is_wanted ? node_.template score<Criterion>() : 0;
    writer_.gain(frame.from_column, score_);
  }
  void find(const Frame& frame, Split& split, LocalRows&) {
    splitter_.find(this->samples_of(frame), frame.n_constant, *random_, split);
  }
  void find(const Frame& frame, Split& split, DividedClassRows& rows) {
    splitter_.find(rows, frame.index, frame.n_constant, *random_, split);
  }
  double gain(const Split& split) const { return split.score - score_; }
  void accept(const Frame&, const Split&) {}

  Frame divide(Frame& frame, Split& split, LocalRows&) {
    note_split(frame, split);
    const uint32_t n = frame.size();
    Sample* samples = this->samples_below(frame);
    const uint32_t n_left = splitter_.partition(split, this->samples_of(frame), n, samples);
    classes_.divide(samples, n_left, n, node_);
    // Categories and missing values that the node does not have go to the side with more weight.
    const bool left_is_larger = classes_.left.total() > classes_.right.total();
    send_unseen(split, left_is_larger, samples + n_left, n - n_left, splitter_.matrix, data_.bins);
    return write_split(frame, split, n_left);
  }
  Frame divide(Frame& frame, Split& split, DividedClassRows& rows) {
    note_split(frame, split);
    const uint32_t node = frame.index;
    const uint32_t n_left = splitter_.divide_counts(split);
    const Frame right = write_split(frame, split, n_left);
    rows.divide(node, split, frame.index);
    return right;
  }

  template <class Rows>
  void leaf(const Frame& frame, const Rows&) {
    writer_.leaf(frame.index, payload(frame), node_.weight);
  }

  void list(Frame& frame) {
    frame.state = {node_.n_present, listed_.size()};
    for (int c = 0; c < node_.n_present; ++c)
      listed_.emplace_back(node_.present[c], node_.total[c]);
  }
  void resume(const Frame& frame) {
    node_.n_samples = frame.size();
    node_.n_present = frame.state.n_classes;
    node_.weight = 0;
    for (int c = 0; c < node_.n_present; ++c) {
      std::tie(node_.present[c], node_.total[c]) = listed_[frame.state.first + c];
      node_.weight += node_.total[c];
    }
  }
  void resume(const Frame& frame, const Split& split, double gain) {
    resume(frame);
    score_ = split.score - gain;
    splitter_.forget_codes();
  }

 private:
  using List = ClassList<Weight>;
  using Small = SmallClasses<Criterion>;
#ifdef MDDF_AVX2
  static constexpr bool kHasSmall = std::is_same_v<Sample, BootstrapSample>;
#else
  static constexpr bool kHasSmall = false;
#endif

  const List& list_of(Side side) const { return side == kLeft ? classes_.left : classes_.right; }

  // Begins a tree; the classes of the root are in classes_.left.
  Frame begin_root(uint32_t n) {
    listed_.clear();
    copied_end_ = 0;
    splitter_.matrix = data_.matrix;
    weight_ = static_cast<double>(classes_.left.total());
    return Base::root_frame(n);
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

  // Subtracts the score of a node that will be split from the importances, and notes the node for
  // pruning.
  void note_split(const Frame& frame, const Split& split) {
    writer_.gain(split.column, -score_);
    if (options_.prune > 0)
      writer_.note(frame.index, split.score - score_, payload(frame), node_.weight);
  }

  // Writes a split with n_left samples on the left. `frame` becomes the left child.
  Frame write_split(Frame& frame, const Split& split, uint32_t n_left) {
    const uint32_t left = writer_.inner(frame.index, split);
    if (options_.is_monotonic())
      this->bound_children(frame.index, left, split.column,
                           (second_share(classes_.left) + second_share(classes_.right)) / 2);
    Frame right = this->divide_frame(frame, split, left, n_left, pool_.constant());
    frame.state.n_classes = classes_.left.size;
    right.state.n_classes = classes_.right.size;
    return right;
  }

  // Share of the second of two classes.
  static double second_share(const List& list) {
    double second = 0;
    for (int c = 0; c < list.size; ++c)
      if (list.label[c] == 1) second = static_cast<double>(list.weight[c]);
    return second / static_cast<double>(list.total());
  }

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

  ClassSplitter<Sample, Criterion> splitter_;
  ColumnPool& pool_;
  ClassCounter<Sample>& classes_;
  NodeClasses<Weight>& node_;
  std::optional<Small> small_;
  double score_ = 0;  // score of the current node, if it is needed
  GatheredRows gathered_rows_;
  uint32_t copied_end_ = 0;                          // end of the samples that refer to copied rows
  std::vector<std::pair<uint16_t, double>> listed_;  // classes of the nodes in the frontier
};

}  // namespace mddf
