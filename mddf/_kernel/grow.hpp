// Growing trees, depth first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "predict.hpp"
#include "random.hpp"
#include "samples.hpp"
#include "split_search.hpp"
#include "trees.hpp"

namespace mddf {

struct GrowOptions {
  bool random_thresholds = false;
  int64_t max_features = 1;  // columns drawn per node
  int64_t max_depth = 0;
  int64_t min_samples_split = 2;
  int64_t min_samples_leaf = 1;
};

// What a block of trees is grown on.
struct TrainingSet {
  BinMatrix matrix;
  Bins bins;
  const uint16_t* labels;  // of every row of the matrix
  int n_classes;
  std::vector<int32_t> columns;  // candidates
};

// Columns in random order without replacement. Columns known to be constant stay in front:
// [0, known) from above, [known, known + found) from this node.
class ColumnPool {
 public:
  explicit ColumnPool(std::vector<int32_t> columns) : columns_(std::move(columns)) {}

  void begin(int64_t known) {
    known_ = known;
    drawn_known_ = found_ = drawn_ = 0;
    end_ = static_cast<int64_t>(columns_.size());
  }
  // Draws one column; a negative number means that it is known to be constant.
  int32_t draw(Random& random) {
    const int64_t at = drawn_known_ + static_cast<int64_t>(random.below(end_ - found_ - drawn_known_));
    ++drawn_;
    if (at < known_) {
      std::swap(columns_[at], columns_[drawn_known_++]);
      return -1;
    }
    return take(at + found_);
  }
  // Draws one of those not known to be constant.
  int32_t draw_unknown(Random& random) {
    ++drawn_;
    return take(known_ + found_ + static_cast<int64_t>(random.below(end_ - found_ - known_)));
  }
  // Takes note which of the last `n` columns drawn (latest first) were found to be constant.
  void mark_constant(const uint8_t* constant_latest_first, int64_t n) {
    const int64_t first = end_;
    for (int64_t i = 0; i < n; ++i) {
      if (!constant_latest_first[i]) continue;
      std::swap(columns_[first + i], columns_[end_]);
      std::swap(columns_[end_], columns_[known_ + found_]);
      ++end_;
      ++found_;
    }
  }
  bool any_unknown() const { return end_ > known_ + found_; }
  int64_t drawn() const { return drawn_; }
  bool only_constant() const { return end_ == static_cast<int64_t>(columns_.size()); }
  int64_t constant() const { return known_ + found_; }

 private:
  int32_t take(int64_t at) {
    std::swap(columns_[at], columns_[--end_]);
    return columns_[end_];
  }
  std::vector<int32_t> columns_;
  int64_t known_ = 0, drawn_known_ = 0, found_ = 0, end_ = 0, drawn_ = 0;
};

template <class Sample, class Criterion>
class TreeGrower {
 public:
  using Weight = typename Sample::Weight;

  TreeGrower(const TrainingSet& data, const GrowOptions& options)
      : data_(data),
        options_(options),
        search_(options.min_samples_leaf),
        pool_(data.columns),
        class_weight_(data.n_classes, 0),
        local_(data.n_classes, 0) {}

  std::vector<Sample>& samples() { return samples_; }

  // Grows one tree on samples() and appends it to `trees`; adds each column's share of the
  // decrease of impurity to `importances` where that is wanted.
  void grow(Random& random, Trees& trees, LeafTable& leaves, double* importances) {
    random_ = &random;
    importances_ = importances;
    nodes_.assign(1, 0);
    scratch_.resize(samples_.size());
    stack_.assign(1, {0, 0, static_cast<int64_t>(samples_.size()), 0, 0, -1});
    while (!stack_.empty()) {
      const Frame frame = stack_.back();
      stack_.pop_back();
      visit(frame, leaves);
    }
    trees.nodes.insert(trees.nodes.end(), nodes_.begin(), nodes_.end());
    trees.tree_start.push_back(static_cast<int64_t>(trees.nodes.size()));
  }

 private:
  struct Frame {
    uint32_t index;
    int64_t start, end, depth, n_constant;
    int32_t from_column;  // the column that the parent was split on
  };

  void visit(const Frame& frame, LeafTable& leaves) {
    const Sample* samples = samples_.data() + frame.start;
    const int64_t n = frame.end - frame.start;
    bool pure = true;
    for (int64_t i = 1; i < n && pure; ++i) pure = samples[i].label == samples[0].label;
    if (pure && !importances_) {
      nodes_[frame.index] = node::make(kLeaf, 0, 0, kPureBit | samples[0].label);
      return;
    }
    count_classes(samples, n);
    double score = 0;
    if (importances_) {
      // The gain of a split is the score of both children less that of the parent.
      double terms = 0;
      for (const double total : node_.total) terms += Criterion::term(total);
      score = Criterion::side(terms, node_.weight);
      if (frame.from_column >= 0) importances_[frame.from_column] += score;
    }
    Split split;
    if (!pure && frame.depth < options_.max_depth && n >= options_.min_samples_split &&
        n >= 2 * options_.min_samples_leaf)
      split = find_split(samples, frame);
    if (split.column < 0) {
      for (size_t c = 0; c < node_.present.size(); ++c)
        class_weight_[node_.present[c]] = static_cast<Weight>(node_.total[c]);
      nodes_[frame.index] =
          node::make(kLeaf, 0, 0, leaves.add(class_weight_.data(), data_.n_classes));
      for (const uint16_t c : node_.present) class_weight_[c] = 0;
      return;
    }
    if (importances_) importances_[split.column] -= score;
    divide(frame, split);
  }

  // Which classes are present and what they weigh; costs nothing for those that are not.
  void count_classes(const Sample* samples, int64_t n) {
    node_.n_samples = n;
    node_.present.clear();
    for (int64_t i = 0; i < n; ++i) {
      Weight& weight = class_weight_[samples[i].label];
      if (weight == 0) node_.present.push_back(static_cast<uint16_t>(samples[i].label));
      weight += samples[i].weight;
    }
    std::sort(node_.present.begin(), node_.present.end());
    node_.total.clear();
    node_.weight = 0;
    for (const uint16_t c : node_.present) {
      node_.total.push_back(static_cast<double>(class_weight_[c]));
      node_.weight += node_.total.back();
      class_weight_[c] = 0;
    }
  }

  void number_labels(const Sample* samples, int64_t n) {
    for (size_t c = 0; c < node_.present.size(); ++c)
      local_[node_.present[c]] = static_cast<uint16_t>(c);
    node_.label.resize(n);
    node_.sample_weight.resize(n);
    for (int64_t i = 0; i < n; ++i) {
      node_.label[i] = local_[samples[i].label];
      node_.sample_weight[i] = samples[i].weight;
    }
    if (node_.present.size() != 2) return;
    node_.packed.resize(n);
    for (int64_t i = 0; i < n; ++i)
      node_.packed[i] = pack(Weight(node_.sample_weight[i]), node_.label[i] != 0);
  }

  Split find_split(const Sample* samples, const Frame& frame) {
    const int64_t n = node_.n_samples;
    const bool take_first = options_.random_thresholds && options_.max_features == 1;
    if (!take_first) number_labels(samples, n);
    Split best;
    const int64_t most = std::clamp<int64_t>(kTileBytes / n, 1, kMostDrawn);
    pool_.begin(frame.n_constant);
    while (pool_.any_unknown() &&
           (pool_.drawn() < options_.max_features || pool_.only_constant())) {
      drawn_.clear();
      while (static_cast<int64_t>(drawn_.size()) < most && pool_.any_unknown() &&
             (pool_.drawn() < options_.max_features || drawn_.empty())) {
        const int32_t column = pool_.drawn() < options_.max_features
                                   ? pool_.draw(*random_)
                                   : pool_.draw_unknown(*random_);
        if (column >= 0) drawn_.push_back(column);
        if (pool_.drawn() >= options_.max_features && !pool_.only_constant()) break;
      }
      if (drawn_.empty()) continue;
      gather(samples, n);
      constant_.assign(drawn_.size(), 0);
      for (size_t j = 0; j < drawn_.size(); ++j)
        constant_[drawn_.size() - 1 - j] =
            !try_column(drawn_[j], tile_.data() + j * tile_stride_, take_first, best);
      pool_.mark_constant(constant_.data(), static_cast<int64_t>(drawn_.size()));
    }
    n_constant_ = pool_.constant();
    if (best.column >= 0 && !best.categorical && !options_.random_thresholds)
      best.threshold = cut_between(best);
    return best;
  }

  // The last bin left of the middle between the two neighbouring bins that the node has.
  int cut_between(const Split& split) const {
    if (split.first_right == kMissing) return kMissing - 1;
    const double* values = data_.bins.values + data_.bins.bin_start[split.column];
    return cut_at(values, split.last_left, split.first_right - 1,
                  midpoint(values[split.last_left], values[split.first_right]));
  }
  // The last bin in [low, high] whose value is at most `at`; `low` if there is none.
  static int cut_at(const double* values, int low, int high, double at) {
    return static_cast<int>(std::upper_bound(values + low + 1, values + high + 1, at) - values) - 1;
  }

  void gather(const Sample* samples, int64_t n) {
    tile_stride_ = (n + 63) / 64 * 64;
    const size_t width = drawn_.size();
    tile_.resize(tile_stride_ * width);
    uint8_t* tile = tile_.data();
    const int32_t* columns = drawn_.data();
    if (width == 1) {
      for (int64_t i = 0; i < n; ++i) tile[i] = data_.matrix.row(samples[i].row)[columns[0]];
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t* row = data_.matrix.row(samples[i].row);
      for (size_t j = 0; j < width; ++j) tile[j * tile_stride_ + i] = row[columns[j]];
    }
  }

  // Improves `best` by this column; false if it is constant here.
  bool try_column(int32_t column, const uint8_t* codes, bool take_first, Split& best) {
    const bool categorical = data_.bins.categorical[column] != 0;
    if (!options_.random_thresholds)
      return categorical ? search_.categorical(node_, codes, column, best)
                         : search_.numeric(node_, codes, column, best);
    Split split;
    split.column = column;
    if (categorical ? !draw_category_set(codes, split) : !draw_threshold(codes, split))
      return false;
    if (take_first && options_.min_samples_leaf == 1) {
      best = split;
      return true;
    }
    score_split(codes, take_first, split);
    if (split.score > best.score) best = split;
    return true;
  }

  bool draw_threshold(const uint8_t* codes, Split& split) {
    const int64_t n = node_.n_samples;
    uint8_t low = codes[0], high = codes[0];
    for (int64_t i = 1; i < n; ++i) {
      low = std::min(low, codes[i]);
      high = std::max(high, codes[i]);
    }
    if (low == high) return false;
    if (high == kMissing) {
      split.saw_missing = true;
      high = low;
      for (int64_t i = 0; i < n; ++i)
        if (codes[i] != kMissing) high = std::max(high, codes[i]);
      if (low == high) {  // one value, and rows without it
        split.threshold = kMissing - 1;
        return true;
      }
      split.missing_left = random_->next() >> 63;
    }
    const double* values = data_.bins.values + data_.bins.bin_start[split.column];
    const double share = random_->uniform();
    split.threshold = cut_at(values, low, high - 1,
                             values[low] * (1 - share) + values[high] * share);
    return true;
  }

  // Every category that is present goes left or right by a coin, but not all to one side.
  bool draw_category_set(const uint8_t* codes, Split& split) {
    CategorySet seen;
    for (int64_t i = 0; i < node_.n_samples; ++i) seen.insert(codes[i]);
    int present[256], n_present = 0;
    for (int code = 0; code < 256; ++code)
      if (seen.contains(code)) present[n_present++] = code;
    if (n_present < 2) return false;
    split.categorical = true;
    split.saw_missing = seen.contains(kMissing);
    int n_left = 0;
    for (int i = 0; i < n_present; ++i)
      if (random_->next() >> 63) split.left.insert(present[i]), ++n_left;
    if (n_left == 0 || n_left == n_present) {
      split.left = CategorySet{};
      split.left.insert(present[random_->below(n_present)]);
    }
    split.missing_left = split.left.contains(kMissing);
    return true;
  }

  // Scores a drawn split by the criterion; a split that leaves too few samples keeps -infinity.
  void score_split(const uint8_t* codes, bool skip_score, Split& split) {
    const int64_t n = node_.n_samples;
    int64_t n_right = 0;
    for (int64_t i = 0; i < n; ++i) n_right += split.goes_right(codes[i]);
    if (std::min(n_right, n - n_right) < options_.min_samples_leaf) return;
    if (skip_score) {
      split.score = 0;
      return;
    }
    left_total_.assign(node_.present.size(), 0);
    for (int64_t i = 0; i < n; ++i)
      if (!split.goes_right(codes[i]))
        left_total_[node_.label[i]] += static_cast<double>(node_.sample_weight[i]);
    double left = 0, terms_left = 0, terms_right = 0;
    for (size_t c = 0; c < left_total_.size(); ++c) {
      left += left_total_[c];
      terms_left += Criterion::term(left_total_[c]);
      terms_right += Criterion::term(node_.total[c] - left_total_[c]);
    }
    split.score =
        Criterion::improve(split.score, terms_left, left, terms_right, node_.weight - left);
  }

  // Moves the samples, writes the node and puts the children on the stack.
  void divide(const Frame& frame, Split& split) {
    const int64_t middle = partition(frame, split);
    const int64_t n_left = middle - frame.start, n_right = frame.end - middle;
    // What was not seen here goes to the larger side.
    if (split.categorical && n_left > n_right) list_all_but_right(middle, frame.end, split);
    if (!split.saw_missing) split.missing_left = n_left > n_right;
    const uint32_t left = append_children(frame.index, split);
    stack_.push_back({left + 1, middle, frame.end, frame.depth + 1, n_constant_, split.column});
    stack_.push_back({left, frame.start, middle, frame.depth + 1, n_constant_, split.column});
  }

  // Puts every category on the left that is not among the samples on the right.
  void list_all_but_right(int64_t start, int64_t end, Split& split) const {
    split.left = CategorySet{};
    const int n_bins = data_.bins.count(split.column);
    for (int code = 0; code < n_bins; ++code) split.left.insert(code);
    for (int64_t i = start; i < end; ++i)
      split.left.erase(data_.matrix.row(samples_[i].row)[split.column]);
  }

  // Stable and free of branches; returns where the right side begins.
  int64_t partition(const Frame& frame, const Split& split) {
    Sample* left = samples_.data() + frame.start;
    Sample* right = scratch_.data();
    const int64_t n = frame.end - frame.start;
    int64_t n_left = 0, n_right = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Sample sample = left[i];
      const bool goes_right = split.goes_right(data_.matrix.row(sample.row)[split.column]);
      left[n_left] = sample;
      right[n_right] = sample;
      n_left += !goes_right;
      n_right += goes_right;
    }
    std::memcpy(static_cast<void*>(left + n_left), right, n_right * sizeof(Sample));
    return frame.start + n_left;
  }

  uint32_t append_children(uint32_t index, const Split& split) {
    const size_t left = nodes_.size();
    if (left + 8 > UINT32_MAX) throw std::length_error("a tree has more than 2^32 nodes");
    nodes_.resize(left + 2);
    const uint32_t column = static_cast<uint32_t>(split.column);
    const uint32_t child = static_cast<uint32_t>(left);
    if (!split.categorical) {
      nodes_[index] = node::make(split.missing_left ? kNumericMissingLeft : kNumeric, column,
                                 split.threshold + split.missing_left, child);
      return child;
    }
    // Code 255 is "missing" and has its own bit in the node.
    std::array<uint64_t, 4> words = split.left.words;
    words[3] &= ~(uint64_t{1} << 63);
    uint32_t n_words = 4;
    while (n_words > 0 && words[n_words - 1] == 0) --n_words;
    nodes_.insert(nodes_.end(), words.begin(), words.begin() + n_words);
    nodes_[index] =
        node::make(kCategorical, column, n_words | (split.missing_left ? 128u : 0u), child);
    return child;
  }

  static constexpr int64_t kTileBytes = int64_t{1} << 20;
  static constexpr int64_t kMostDrawn = 64;

  const TrainingSet& data_;
  const GrowOptions options_;
  SplitSearch<Criterion, Weight> search_;
  ColumnPool pool_;
  Random* random_ = nullptr;
  double* importances_ = nullptr;
  int64_t n_constant_ = 0;
  NodeClasses<Weight> node_;
  std::vector<Weight> class_weight_;  // all zero between nodes
  std::vector<uint16_t> local_;
  std::vector<Sample> samples_, scratch_;
  std::vector<Frame> stack_;
  std::vector<uint64_t> nodes_;
  std::vector<int32_t> drawn_;
  std::vector<uint8_t> constant_, tile_;
  std::vector<double> left_total_;
  int64_t tile_stride_ = 0;
};

}  // namespace mddf
