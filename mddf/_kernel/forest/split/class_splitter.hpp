// Splits a node with classes: draws columns, searches them by the fastest method, and divides the
// samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "forest/data/bin_cells.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/training.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/histogram.hpp"
#include "forest/split/node_classes.hpp"
#include "forest/split/split.hpp"
#include "forest/split/split_search.hpp"

namespace mddf {

template <class Sample, class Criterion>
class ClassSplitter {
 public:
  using Weight = typename Sample::Weight;

  ClassSplitter(const ClassSplitter&) = delete;
  ClassSplitter(const TrainingSet& data, const GrowOptions& options, Interrupt& interrupt)
      : classes(data.target.n_classes),
        node(data.target.n_classes),
        interrupt_(interrupt),
        data_(data),
        options_(options),
        is_completely_random_(options.random_thresholds && options.max_features == 1 &&
                              !options.limits_leaves() && !options.weighs_splits()),
        search_(options) {
    for (const int32_t column : data.columns) need_labels_ |= data.bins.categorical[column] != 0;
    need_labels_ |= options.random_thresholds || options.limits_leaves();
    drawn_.resize(kMaxDrawn);
    constant_.resize(kMaxDrawn);
  }

  static constexpr int64_t kMaxDrawn = 64;

  ClassCounter<Sample> classes;
  NodeClasses<Weight> node;  // the node to split
  BinMatrix matrix{};        // the table, or copies of its rows

  ColumnPool& pool() { return pool_; }
  SplitSearch<Criterion, Weight>& search() { return search_; }

  // Finds the best split of `node`. The codes of its samples are in `matrix`. `n_constant` columns
  // are known to be constant.
  void find(const Sample* samples, int64_t n_constant, Random& random, Split& best) {
    const int64_t max_drawn = std::clamp<int64_t>(kTileBytes / node.n_samples, 1, kMaxDrawn);
    random_ = &random;
    numbered_ = false;
    tile_codes_ = nullptr;
    search_.begin_node();
    pool_.draw_candidates(random, n_constant, options_.max_features, max_drawn, drawn_.data(),
                          constant_.data(), [&](int64_t width) MDDF_INLINED {
                            tile_codes_ = nullptr;
                            interrupt_.poll(4 * width * node.n_samples);
                            if (!try_histograms(samples, width, best))
                              try_tile(samples, width, best);
                          });
  }

  // The same for a node of divided rows, from counts of their bins. Columns are drawn in the same
  // order.
  void find(DividedClassRows& rows, uint32_t index, int64_t n_constant, Random& random,
            Split& best) {
    const int64_t max_drawn = std::clamp<int64_t>(kTileBytes / node.n_samples, 1, kMaxDrawn);
    random_ = &random;
    search_.begin_node();
    const auto try_columns = [&](int64_t width) {
      rows.count_bins(index, node.present.data(), node.n_present, drawn_.data(), width);
      for (int64_t j = 0; j < width; ++j) {
        const BinCounts counts = rows.counts(j, data_.bins.count(drawn_[j]));
        constant_[j] = !try_column(drawn_[j], counts, best);
        if (best.column == drawn_[j]) best_counts_.take(counts);
      }
    };
    pool_.draw_candidates(random, n_constant, options_.max_features, max_drawn, drawn_.data(),
                          constant_.data(), try_columns);
  }

  // Fills `classes` with the classes of both sides of the split that was found last by counts, and
  // sends what the node does not have to the side with more weight. Returns the rows on the left.
  uint32_t divide_counts(Split& split) {
    const BinCounts counts = best_counts_.cells();
    std::vector<Weight> left(node.n_present, 0);
    uint32_t n_left = 0;
    CodeSet on_right;
    counts.for_each_code([&](int code) {
      if (split.goes_right(static_cast<uint8_t>(code))) return on_right.insert(code);
      n_left += counts.rows(code);
      for (int c = 0; c < node.n_present; ++c) left[c] += counts.weight(code, c);
    });
    classes.divide(left.data(), node);
    send_unseen(split, classes.left.total() > classes.right.total(), on_right, data_.bins);
    return n_left;
  }

  // Moves the samples of the node to `to`, first the samples of the left child; returns their
  // number.
  uint32_t partition(const Split& split, const Sample* from, uint32_t n, Sample* to) {
    if (!tile_codes_) {
      drawn_[0] = split.column;
      gather(from, n, 1);
      tile_codes_ = tile_.data();
    }
    return divide_samples(split, from, tile_codes_, n, to, sides_, options_.uses_simd());
  }
  // Must be called if another node was searched since the split was found.
  void forget_codes() { tile_codes_ = nullptr; }

 private:
  // Searches the drawn columns by histograms if these are used for all of them; returns false if
  // not.
  bool try_histograms(const Sample* samples, int64_t width, Split& best) {
    if (options_.random_thresholds) return false;
    for (int64_t j = 0; j < width; ++j)
      if (data_.bins.categorical[drawn_[j]] ||
          !search_.prefers_histogram(node, data_.bins.count(drawn_[j])))
        return false;
    const int64_t bytes =
        256 * static_cast<int64_t>(node.few() ? sizeof(Packed<Weight>)
                                              : sizeof(Weight) * padded(node.n_present));
    const int64_t at_once = std::clamp<int64_t>(kTileBytes / bytes, 4, kMaxDrawn);
    for (int64_t j = 0; j < width; j += at_once) {
      const int64_t n_columns = std::min(at_once, width - j);
      if (node.few())
        search_histograms(samples, j, n_columns, packed_histogram_, 1, best);
      else
        search_histograms(samples, j, n_columns, histogram_, padded(node.n_present), best);
    }
    return true;
  }

  template <class Bin>
  void search_histograms(const Sample* samples, int64_t first, int64_t n, std::vector<Bin>& memory,
                         int64_t per_bin, Split& best) {
    const size_t size = static_cast<size_t>(256 * per_bin);
    if (memory.size() < size * n) memory.resize(size * n);
    Bin* bins[kMaxDrawn];
    for (int64_t j = 0; j < n; ++j) {
      bins[j] = memory.data() + j * size;
      std::fill_n(bins[j], data_.bins.count(drawn_[first + j]) * per_bin, Bin{});
      std::fill_n(bins[j] + kMissing * per_bin, per_bin, Bin{});
    }
    classes.fill(samples, node, matrix, drawn_.data() + first, static_cast<int>(n), bins);
    for (int64_t j = 0; j < n; ++j) {
      const int32_t column = drawn_[first + j];
      constant_[first + j] =
          !search_.from_histogram(node, bins[j], data_.bins.count(column), column, best);
    }
  }

  // Searches the drawn columns one by one.
  void try_tile(const Sample* samples, int64_t width, Split& best) {
    if (!is_completely_random_ && !numbered_) classes.number_samples(samples, need_labels_, node);
    numbered_ = true;
    gather(samples, node.n_samples, width);
    for (int64_t j = 0; j < width; ++j) {
      const uint8_t* codes = tile_.data() + j * tile_stride_;
      constant_[j] = !try_column(drawn_[j], codes, best);
      if (best.column == drawn_[j]) tile_codes_ = codes;
    }
  }

  // Copies the codes of the node's samples, one column after the other.
  void gather(const Sample* samples, int64_t n, int64_t width) {
    tile_stride_ = (n + 63) / 64 * 64;
    const size_t size = static_cast<size_t>(tile_stride_ * width);
    if (tile_.size() < size) tile_.resize(size);
    uint8_t* to[kMaxDrawn];
    for (int64_t j = 0; j < width; ++j) to[j] = tile_.data() + j * tile_stride_;
#ifdef MDDF_AVX2
    if (matrix.nonzero_rows) {
      for (int64_t j = 0; j < width; ++j) matrix.nonzero_rows->gather(drawn_[j], samples, n, to[j]);
      return;
    }
#endif
    const auto copy = [samples, n](int64_t step, auto... of) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = samples[i].row * step;
        ((of.second[i] = of.first[at]), ...);
      }
    };
    for_each_four(n, matrix, drawn_.data(), static_cast<int>(width), to, copy);
  }

  // Replaces `best` if the column has a better split; returns false if it is constant in the node.
  bool try_column(int32_t column, const uint8_t* codes, Split& best) {
    const bool categorical = data_.bins.categorical[column] != 0;
    if (!options_.random_thresholds)
      return categorical ? search_.categorical(node, codes, data_.bins.count(column), column, best)
                         : search_.numeric(node, codes, column, best);
    if (is_completely_random_)
      return draw_split(data_, column, codes, node.n_samples, *random_, best);
    Split split;
    if (!draw_split(data_, column, codes, node.n_samples, *random_, split)) return false;
    score(codes, split);
    if (split.score > best.score) best = split;
    return true;
  }

  bool try_column(int32_t column, const BinCounts& counts, Split& best) {
    if (!options_.random_thresholds)
      return data_.bins.categorical[column] ? search_.categorical(node, counts, column, best)
                                            : search_.numeric(node, counts, column, best);
    const CodeSet seen = counts.codes();
    if (is_completely_random_) return draw_split(data_, column, seen, *random_, best);
    Split split;
    if (!draw_split(data_, column, seen, *random_, split)) return false;
    int64_t n_left = 0;
    left_total_.assign(node.n_present, 0);
    counts.for_each_code([&](int code) {
      if (split.goes_right(static_cast<uint8_t>(code))) return;
      for (int c = 0; c < node.n_present; ++c) left_total_[c] += counts.weight(code, c);
      n_left += counts.rows(code);
    });
    score_left(n_left, split);
    if (split.score > best.score) best = split;
    return true;
  }

  // Sets the score of a random split. It stays -infinity if a side has too few samples.
  void score(const uint8_t* codes, Split& split) {
    const int64_t n = node.n_samples;
    int64_t n_left = 0;
    left_total_.assign(node.n_present, 0);
    for (int64_t i = 0; i < n; ++i) {
      if (split.goes_right(codes[i])) continue;
      left_total_[node.label[i]] += static_cast<double>(node.sample_weight[i]);
      ++n_left;
    }
    score_left(n_left, split);
  }
  // Does this from the number of rows on the left and their class weights in left_total_.
  void score_left(int64_t n_left, Split& split) {
    double left = 0, terms_left = 0, terms_right = 0;
    for (size_t c = 0; c < left_total_.size(); ++c) {
      left += left_total_[c];
      terms_left += Criterion::term(left_total_[c]);
      terms_right += Criterion::term(node.total[c] - left_total_[c]);
    }
    if (!search_.allows(node, split.column, n_left, left, [this] { return left_total_[1]; }))
      return;
    split.score =
        Criterion::improve(split.score, terms_left, left, terms_right, node.weight - left);
  }

  // Size of the memory for codes or histograms of several columns.
  static constexpr int64_t kTileBytes = int64_t{1} << 20;

  Interrupt& interrupt_;
  const TrainingSet& data_;
  const GrowOptions options_;
  const bool is_completely_random_;  // completely random: splits the first drawn column that is not
                                     // constant
  bool need_labels_ = false;
  SplitSearch<Criterion, Weight> search_;
  ColumnPool pool_;
  Random* random_ = nullptr;
  std::vector<int32_t> drawn_;
  std::vector<uint8_t> constant_, tile_, sides_;
  std::vector<Packed<Weight>> packed_histogram_;
  std::vector<Weight> histogram_;
  bool numbered_ = false;                // whether `node` has labels and weights of its samples
  const uint8_t* tile_codes_ = nullptr;  // codes of the chosen column, if still available
  std::vector<double> left_total_;
  OwnedBinCounts best_counts_;  // counts of the chosen column, if rows are divided
  int64_t tile_stride_ = 0;
};

}  // namespace mddf
