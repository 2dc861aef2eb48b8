// Growing trees whose leaves hold classes, depth first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/gathered_rows.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/small/small_classes.hpp"
#include "forest/small/small_nodes.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"
#include "forest/split/split_search.hpp"
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
        take_first_(options.random_thresholds && options.max_features == 1),
        wide_(options.wide()),
        search_(options),
        classes_(data.target.n_classes),
        node_(data.target.n_classes) {
    for (const int32_t column : data.columns) need_labels_ |= data.bins.categorical[column] != 0;
    need_labels_ |= options.random_thresholds || options.limits_leaves();
    if constexpr (kHasSmall)
      if (Small::suits(options_)) small_.emplace(data_, options_, pool_, writer_);
    drawn_.resize(kMostDrawn);
    constant_.resize(kMostDrawn);
  }

  // The samples of the next tree; growing it changes them.
  std::vector<Sample>& samples() { return samples_[0]; }

  // Grows one tree on samples() and appends it to `trees`; adds each column's share of the
  // decrease of impurity to `importances` where that is wanted.
  void grow(Random& random, GrownTrees& trees, double* importances) {
    random_ = &random;
    writer_.begin(trees, importances);
    pool_.restart(data_.columns);
    samples_[1].resize(samples_[0].size());
    waiting_.clear();
    copied_end_ = 0;
    const uint32_t n = static_cast<uint32_t>(samples_[0].size());
    classes_.count_root(samples_[0].data(), n);
    search_.set_least_weight(options_.min_weight_leaf * static_cast<double>(classes_.left.total()));
    Frame frame{0, 0, n, 0, 0, -1, 0, 0};
    if (place(frame, classes_.left)) {
      classes_.take(classes_.left, node_);
      while (visit(frame) || next(frame)) {
      }
    }
    writer_.end(data_.bins);
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
    int32_t from_column;  // the column that the parent was split on
    uint32_t buffer;      // which of the two arrays of samples holds the node's
    int32_t n_classes;
  };

  // Makes a leaf of a pure node at once; true if the node is to be split.
  bool place(const Frame& frame, const List& classes) {
    if (classes.size > 1) return true;
    const double weight = static_cast<double>(classes.weight[0]);
    writer_.pure_leaf(frame.index, classes.label[0], weight);
    writer_.gain(frame.from_column, Criterion::side(Criterion::term(weight), weight));
    return false;
  }

  // The next of the waiting nodes; false if there is none.
  bool next(Frame& frame) {
    if (waiting_.empty()) return false;
    frame = waiting_.back();
    waiting_.pop_back();
    classes_.pop(frame.n_classes, node_);
    return true;
  }

  // Splits the node, whose classes are in node_, or makes it a leaf. True if `frame` and node_ are
  // now a child that is to be visited next.
  bool visit(Frame& frame) {
    Sample* samples = samples_[frame.buffer].data() + frame.start;
    node_.n_samples = frame.end - frame.start;
    choose_matrix(frame, samples);
    interrupt_.poll(16 * node_.n_samples);
    if constexpr (kHasSmall) {
      if (small_ && node_.n_samples <= kSmall) {
        interrupt_.poll(node_.n_samples * std::min<int64_t>(options_.max_features, kMostDrawn));
        small_->grow({frame.index, frame.depth, frame.n_constant, frame.from_column, 0}, samples,
                     node_, matrix_, *random_);
        return false;
      }
    }
    const double score = writer_.wants_importances() ? node_.template score<Criterion>() : 0;
    writer_.gain(frame.from_column, score);
    Split split;
    if (frame.depth < options_.max_depth && node_.n_samples >= options_.min_samples_split &&
        node_.n_samples / 2 >= options_.min_samples_leaf)
      find_split(samples, frame, split);
    if (split.column < 0) {
      writer_.leaf(frame.index, node_.present.data(), node_.total.data(), node_.n_present);
      return false;
    }
    writer_.gain(split.column, -score);
    return divide(frame, split);
  }

  // Reads the table, or copies of its rows, which the node's samples then stand for.
  void choose_matrix(const Frame& frame, Sample* samples) {
    if (frame.start < copied_end_) return;
    matrix_ = data_.matrix;
#ifdef MDDF_AVX2
    if (data_.nonzero_rows && NonzeroRows::pays(node_.n_samples)) {
      data_.nonzero_rows->approach(samples, node_.n_samples);
      matrix_ = {nullptr, 0, matrix_.n_columns, nullptr, data_.nonzero_rows};
      copied_end_ = frame.end;
    }
#endif
    if (!GatheredRows::suits(data_.matrix, options_) ||
        !GatheredRows::pays(data_.matrix, node_.n_samples))
      return;
    matrix_ = gathered_rows_.copy(data_.matrix, samples, node_.n_samples);
    copied_end_ = frame.end;
  }

  // Tries columns until enough were drawn and one of them was not constant.
  void find_split(const Sample* samples, const Frame& frame, Split& best) {
    const int64_t most = std::clamp<int64_t>(kTileBytes / node_.n_samples, 1, kMostDrawn);
    numbered_ = false;
    search_.begin_node();
    pool_.begin(frame.n_constant);
    while (pool_.any_unknown() &&
           (pool_.drawn() < options_.max_features || pool_.only_constant())) {
      tile_codes_ = nullptr;
      const int64_t width = pool_.draw_some(*random_, options_.max_features, most, drawn_.data());
      interrupt_.poll(4 * width * node_.n_samples);
      if (width > 0 && !try_histograms(samples, width, best)) try_tile(samples, width, best);
      // The pool wants the latest first.
      std::reverse(constant_.begin(), constant_.begin() + width);
      pool_.mark_constant(constant_.data(), width);
    }
    n_constant_ = static_cast<uint32_t>(pool_.constant());
  }

  // Tries the drawn columns by histograms, if that is the quicker way for all of them; false if
  // not.
  bool try_histograms(const Sample* samples, int64_t width, Split& best) {
    if (options_.random_thresholds) return false;
    for (int64_t j = 0; j < width; ++j)
      if (data_.bins.categorical[drawn_[j]] ||
          !search_.prefers_histogram(node_, data_.bins.count(drawn_[j])))
        return false;
    const int64_t bytes =
        256 * static_cast<int64_t>(node_.few() ? sizeof(Packed<Weight>)
                                               : sizeof(Weight) * padded(node_.n_present));
    const int64_t at_once = std::clamp<int64_t>(kTileBytes / bytes, 4, kMostDrawn);
    for (int64_t j = 0; j < width; j += at_once) {
      const int64_t here = std::min(at_once, width - j);
      if (node_.few())
        search_histograms(samples, j, here, packed_histogram_, 1, best);
      else
        search_histograms(samples, j, here, histogram_, padded(node_.n_present), best);
    }
    return true;
  }

  template <class Bin>
  void search_histograms(const Sample* samples, int64_t first, int64_t n, std::vector<Bin>& memory,
                         int64_t per_bin, Split& best) {
    const size_t size = static_cast<size_t>(256 * per_bin);
    if (memory.size() < size * n) memory.resize(size * n);
    Bin* bins[kMostDrawn];
    for (int64_t j = 0; j < n; ++j) {
      bins[j] = memory.data() + j * size;
      std::fill_n(bins[j], data_.bins.count(drawn_[first + j]) * per_bin, Bin{});
      std::fill_n(bins[j] + kMissing * per_bin, per_bin, Bin{});
    }
    classes_.fill(samples, node_, matrix_, drawn_.data() + first, static_cast<int>(n), bins);
    for (int64_t j = 0; j < n; ++j) {
      const int32_t column = drawn_[first + j];
      constant_[first + j] =
          !search_.from_histogram(node_, bins[j], data_.bins.count(column), column, best);
    }
  }

  // Tries the drawn columns one by one.
  void try_tile(const Sample* samples, int64_t width, Split& best) {
    if ((!take_first_ || options_.limits_leaves()) && !numbered_)
      classes_.number_samples(samples, need_labels_, node_);
    numbered_ = true;
    gather(samples, node_.n_samples, width);
    for (int64_t j = 0; j < width; ++j) {
      const uint8_t* codes = tile_.data() + j * tile_stride_;
      constant_[j] = !try_column(drawn_[j], codes, best);
      if (best.column == drawn_[j]) tile_codes_ = codes;
    }
  }

  // The columns' codes of the node's samples, one column after the other.
  void gather(const Sample* samples, int64_t n, int64_t width) {
    tile_stride_ = (n + 63) / 64 * 64;
    const size_t size = static_cast<size_t>(tile_stride_ * width);
    if (tile_.size() < size) tile_.resize(size);
    uint8_t* to[kMostDrawn];
    for (int64_t j = 0; j < width; ++j) to[j] = tile_.data() + j * tile_stride_;
#ifdef MDDF_AVX2
    if (matrix_.nonzero_rows) {
      for (int64_t j = 0; j < width; ++j)
        matrix_.nonzero_rows->gather(drawn_[j], samples, n, to[j]);
      return;
    }
#endif
    const auto copy = [samples, n](int64_t step, auto... of) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = samples[i].row * step;
        ((of.second[i] = of.first[at]), ...);
      }
    };
    for_each_four(n, matrix_, drawn_.data(), static_cast<int>(width), to, copy);
  }

  // Improves `best` by this column; false if it is constant here.
  bool try_column(int32_t column, const uint8_t* codes, Split& best) {
    const bool categorical = data_.bins.categorical[column] != 0;
    if (!options_.random_thresholds)
      return categorical ? search_.categorical(node_, codes, data_.bins.count(column), column, best)
                         : search_.numeric(node_, codes, column, best);
    if (take_first_ && !options_.limits_leaves())
      return draw_split(data_, column, codes, node_.n_samples, *random_, best);
    Split split;
    if (!draw_split(data_, column, codes, node_.n_samples, *random_, split)) return false;
    score_split(codes, split);
    if (split.score > best.score) best = split;
    return true;
  }

  // Scores a drawn split by the criterion; one that leaves a side too little keeps -infinity.
  void score_split(const uint8_t* codes, Split& split) {
    const int64_t n = node_.n_samples;
    int64_t n_left = 0;
    left_total_.assign(node_.n_present, 0);
    for (int64_t i = 0; i < n; ++i) {
      if (split.goes_right(codes[i])) continue;
      left_total_[node_.label[i]] += static_cast<double>(node_.sample_weight[i]);
      ++n_left;
    }
    double left = 0, terms_left = 0, terms_right = 0;
    for (size_t c = 0; c < left_total_.size(); ++c) {
      left += left_total_[c];
      terms_left += Criterion::term(left_total_[c]);
      terms_right += Criterion::term(node_.total[c] - left_total_[c]);
    }
    if (!search_.allows(n_left, left, node_)) return;
    split.score =
        Criterion::improve(split.score, terms_left, left, terms_right, node_.weight - left);
  }

  // Moves the samples and writes the node. True if there is a child to visit: in `frame`, node_.
  bool divide(Frame& frame, Split& split) {
    const uint32_t n = frame.end - frame.start;
    const uint32_t n_left = partition(frame, split);
    const Sample* samples = samples_[1 - frame.buffer].data() + frame.start;
    classes_.divide(samples, n_left, n, node_);
    // What was not seen here goes to the side of more weight.
    const bool left_is_larger = classes_.left.total() > classes_.right.total();
    send_unseen(split, left_is_larger, samples + n_left, n - n_left, matrix_, data_.bins);
    const uint32_t left = writer_.inner(frame.index, split);
    const uint32_t middle = frame.start + n_left;
    Frame right{left + 1,    middle,       frame.end,        frame.depth + 1,
                n_constant_, split.column, 1 - frame.buffer, classes_.right.size};
    frame = {left,        frame.start,  middle,       frame.depth + 1,
             n_constant_, split.column, right.buffer, 0};
    const bool visit_right = place(right, classes_.right);
    if (!place(frame, classes_.left)) {
      if (visit_right) classes_.take(classes_.right, node_), frame = right;
      return visit_right;
    }
    classes_.take(classes_.left, node_);
    if (visit_right) classes_.push(classes_.right), waiting_.push_back(right);
    return true;
  }

  // Moves the samples to the other array, the left child's first; returns how many these are.
  uint32_t partition(const Frame& frame, const Split& split) {
    const uint32_t n = frame.end - frame.start;
    const Sample* from = samples_[frame.buffer].data() + frame.start;
    Sample* to = samples_[1 - frame.buffer].data() + frame.start;
    if (!tile_codes_) {
      drawn_[0] = split.column;
      gather(from, n, 1);
      tile_codes_ = tile_.data();
    }
    return divide_samples(split, from, tile_codes_, n, to, sides_, wide_);
  }

  static constexpr int64_t kTileBytes = int64_t{1} << 20;
  static constexpr int64_t kMostDrawn = 64;

  Interrupt& interrupt_;
  const TrainingSet& data_;
  const GrowOptions options_;
  const bool take_first_;  // completely random: the first column drawn is split
  const bool wide_;
  bool need_labels_ = false;
  SplitSearch<Criterion, Weight> search_;
  ColumnPool pool_;
  ClassCounter<Sample> classes_;
  NodeClasses<Weight> node_;
  TreeWriter writer_;
  std::optional<Small> small_;
  Random* random_ = nullptr;
  uint32_t n_constant_ = 0;
  std::array<std::vector<Sample>, 2> samples_;
  BinMatrix matrix_{};  // the table, or copies of its rows
  GatheredRows gathered_rows_;
  uint32_t copied_end_ = 0;  // where the samples end that stand for copied rows
  std::vector<Frame> waiting_;
  std::vector<int32_t> drawn_;
  std::vector<uint8_t> constant_, tile_, sides_;
  std::vector<Packed<Weight>> packed_histogram_;
  std::vector<Weight> histogram_;
  bool numbered_ = false;                // node_ has labels and weights of its samples
  const uint8_t* tile_codes_ = nullptr;  // where the chosen column's codes are, if still there
  std::vector<double> left_total_;
  int64_t tile_stride_ = 0;
};

}  // namespace mddf
