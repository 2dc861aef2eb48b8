// Writes the nodes of a tree while it is grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "common/midpoint.hpp"
#include "common/prefetch.hpp"
#include "common/simd.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/cuts.hpp"
#include "forest/split/split.hpp"
#include "forest/tree/pruning.hpp"
#include "forest/tree/trees.hpp"

namespace mddf {

// Writes nodes; the type of leaves depends on `Trees`.
template <class Trees>
class NodeWriter {
 public:
  explicit NodeWriter(bool prunes) : prunes_(prunes) {}

  // `importances` gets the decrease of impurity by each column, unless it is null.
  void begin(Trees& trees, double* importances) {
    trees_ = &trees;
    importances_ = importances;
    if (prunes_) pruner_.begin();
    if (nodes_.empty()) nodes_.resize(1024);
    size_ = 1;
    n_set_words_ = 0;
    gaps_.clear();
  }

  void leaf(uint32_t index, uint32_t payload, double weight) {
    nodes_[index] = node::make_leaf(payload, weight);
  }

  // Writes an inner node and reserves its children; returns the left one's index.
  uint32_t inner(uint32_t index, const Split& split) {
    const uint32_t left = size_;
    if (left > UINT32_MAX - 8) throw std::length_error("a tree has more than 2^32 nodes");
    if (nodes_.size() < size_t{left} + 8) nodes_.resize(size_t{left} + left / 4 + 1024);
    size_ += 2;
    const uint32_t column = static_cast<uint32_t>(split.column);
    if (!split.categorical) {
      nodes_[index] = node::make(split.missing_left ? kNumericMissingLeft : kNumeric, column,
                                 split.threshold + split.missing_left, left);
      if (split.first_right > split.threshold + 1)
        enter({index, split.column, split.threshold, split.first_right});
      return left;
    }
    // Code 255 is "missing" and has its own bit in the node.
    std::array<uint64_t, 4> words = split.left.words;
    words[3] &= ~(uint64_t{1} << 63);
    uint32_t n_words = 4;
    while (n_words > 0 && words[n_words - 1] == 0) --n_words;
    std::copy(words.begin(), words.begin() + n_words, nodes_.begin() + size_);
    size_ += n_words;
    n_set_words_ += n_words;
    trees_->has_categorical = true;
    nodes_[index] =
        node::make(kCategorical, column, n_words | (split.missing_left ? 128u : 0u), left);
    return left;
  }

  // The gain of a split is the score of both children minus the score of the parent.
  bool wants_importances() const { return importances_ != nullptr; }
  void gain(int32_t column, double score) {
    if (importances_ && column >= 0 && !prunes_) importances_[column] += score;
  }
  // For trees that will be pruned: stores the gain of the split of an inner node, and its leaf.
  void note(uint32_t index, double gain, uint32_t payload, double weight) {
    pruner_.note(index, gain, node::make_leaf(payload, weight));
  }

  // Appends the tree, after pruning subtrees whose gain for each leaf is too small.
  void end(const Bins& bins, double least_worth) {
    divide_gaps(bins);
    if (prunes_) {
      pruner_.prune(nodes_, size_, least_worth, importances_);
      size_ = pruner_.size();
      n_set_words_ = pruner_.n_set_words();
    }
    trees_->nodes.insert(trees_->nodes.end(), nodes_.begin(), nodes_.begin() + size_);
    trees_->tree_start.push_back(static_cast<int64_t>(trees_->nodes.size()));
    trees_->n_nodes += size_ - n_set_words_;
  }

 protected:
  Trees* trees_ = nullptr;

 private:
  // A node whose threshold will be moved between two bins; so far it is after the lower bin.
  struct Gap {
    uint32_t index;
    int32_t column;
    int low, high;  // kMissing if only missing values go right
  };

  // Random splits have no gaps. This code is separate, so that it does not slow them down.
  MDDF_APART void enter(const Gap& gap) { gaps_.push_back(gap); }

  // Moves each threshold in a gap to the last bin left of the middle of its two bins. The values of
  // bins for the next nodes are prefetched.
  void divide_gaps(const Bins& bins) {
    constexpr size_t kAhead = 8;
    const auto values_of = [&](const Gap& gap) { return bins.values + bins.bin_start[gap.column]; };
    for (size_t i = 0; i < gaps_.size(); ++i) {
      if (i + kAhead < gaps_.size()) {
        const Gap& next = gaps_[i + kAhead];
        const int high = next.high < kMissing ? next.high : next.low;
        for (const int bin : {next.low, (next.low + high) / 2, high})
          prefetch(values_of(next) + bin);
      }
      const auto& [index, column, low, high] = gaps_[i];
      int threshold = kMissing - 1;
      if (high < kMissing) {
        const double* values = values_of(gaps_[i]);
        threshold = cut_at(values, low, high - 1, midpoint(values[low], values[high]),
                           low + (high - low - 1) / 2);
      }
      nodes_[index] = node::raise_threshold(nodes_[index], threshold - low);
    }
  }

  const bool prunes_;
  Pruner pruner_;
  std::vector<uint64_t> nodes_;
  std::vector<Gap> gaps_;
  uint32_t size_ = 0;
  uint32_t n_set_words_ = 0;
  double* importances_ = nullptr;
};

class TreeWriter : public NodeWriter<GrownTrees> {
 public:
  using NodeWriter::NodeWriter;

  void pure_leaf(uint32_t index, uint32_t label, double weight) {
    NodeWriter::leaf(index, kPureBit | label, weight);
  }
  using NodeWriter::leaf;
  void leaf(uint32_t index, const uint16_t* labels, const double* weights, int n) {
    leaf(index, payload(labels, weights, n), std::accumulate(weights, weights + n, 0.0));
  }
  // Payload of a leaf with these classes.
  uint32_t payload(const uint16_t* labels, const double* weights, int n) {
    return trees_->leaves.add(labels, weights, n);
  }
};

}  // namespace mddf
