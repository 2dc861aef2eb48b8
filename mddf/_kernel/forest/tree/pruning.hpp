// Minimal cost-complexity pruning (Breiman et al. 1984). Let R be the weighted impurity of a leaf.
// The pruned tree has the least sum of R + alpha over its leaves; among several, it is the smallest
// tree. Repeated removal of the weakest link has the same result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/tree/trees.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

class Pruner {
 public:
  void begin() { notes_.clear(); }

  // An inner node: the decrease of R by its split, and the word of a leaf in its place.
  void note(uint32_t index, double gain, uint64_t leaf) {
    if (notes_.size() <= index) notes_.resize(size_t{index} + 1);
    notes_[index] = {gain, leaf};
  }

  // Prunes the tree in the first `size` words. Adds the gains of the remaining splits to the
  // importances of their columns, unless `importances` is null.
  void prune(std::vector<uint64_t>& nodes, uint32_t size, double alpha, double* importances) {
    find_inner(nodes);
    worth_.assign(size, 0);
    // Advantage of a subtree over a leaf in its place. Children come after their parents.
    for (auto index = inner_.rbegin(); index != inner_.rend(); ++index) {
      const uint32_t left = node::payload(nodes[*index]);
      const double worth = notes_[*index].gain - alpha + worth_[left] + worth_[left + 1];
      if (worth > 0)
        worth_[*index] = worth;
      else
        nodes[*index] = notes_[*index].leaf;
    }
    if (importances) add_importances(nodes, importances);
    close_ranks(nodes);
  }

  // Numbers of words of the remaining nodes and of their category sets.
  uint32_t size() const { return size_; }
  uint32_t n_set_words() const { return n_set_words_; }

 private:
  struct Note {
    double gain = 0;
    uint64_t leaf = 0;
  };

  void find_inner(const std::vector<uint64_t>& nodes) {
    inner_.clear();
    if (!node::is_leaf(nodes[0])) inner_.push_back(0);
    for (size_t i = 0; i < inner_.size(); ++i) {
      const uint32_t left = node::payload(nodes[inner_[i]]);
      for (const uint32_t child : {left, left + 1})
        if (!node::is_leaf(nodes[child])) inner_.push_back(child);
    }
  }

  void add_importances(const std::vector<uint64_t>& nodes, double* importances) {
    find_inner(nodes);
    for (const uint32_t index : inner_)
      importances[node::column(nodes[index])] += notes_[index].gain;
  }

  // Moves the remaining nodes to the front, level by level.
  void close_ranks(std::vector<uint64_t>& nodes) {
    moved_.assign(1, nodes[0]);
    inner_.clear();
    n_set_words_ = 0;
    if (!node::is_leaf(nodes[0])) inner_.push_back(0);
    for (size_t i = 0; i < inner_.size(); ++i) {
      const uint64_t n = moved_[inner_[i]];
      const uint32_t from = node::payload(n), to = static_cast<uint32_t>(moved_.size());
      const uint32_t n_words = node::kind(n) == kCategorical ? node::set_words(n) : 0;
      moved_.insert(moved_.end(), nodes.begin() + from, nodes.begin() + from + 2 + n_words);
      moved_[inner_[i]] = n - from + to;
      n_set_words_ += n_words;
      for (const uint32_t child : {to, to + 1})
        if (!node::is_leaf(moved_[child])) inner_.push_back(child);
    }
    std::copy(moved_.begin(), moved_.end(), nodes.begin());
    size_ = static_cast<uint32_t>(moved_.size());
  }

  std::vector<Note> notes_;
  std::vector<uint32_t> inner_;
  std::vector<double> worth_;
  std::vector<uint64_t> moved_;
  uint32_t size_ = 0, n_set_words_ = 0;
};

// Calls change(payload) with the payload of every leaf, which it may change.
template <class Change>
void for_each_leaf(GrownNodes& trees, Change change) {
  std::vector<uint32_t> waiting;
  for (size_t t = 0; t + 1 < trees.tree_start.size(); ++t) {
    uint64_t* tree = trees.nodes.data() + trees.tree_start[t];
    waiting.assign(1, 0);
    while (!waiting.empty()) {
      uint64_t& n = tree[waiting.back()];
      waiting.pop_back();
      const uint32_t payload = node::payload(n);
      if (node::is_leaf(n)) {
        n = n - payload + change(payload);
        continue;
      }
      waiting.push_back(payload + 1);
      waiting.push_back(payload);
    }
  }
}

// Removes leaf values that only pruned nodes use.
inline void drop_unused_leaves(GrownTrees& trees) {
  constexpr uint32_t kUnknown = UINT32_MAX;
  LeafTable kept;
  const LeafTable& all = trees.leaves;
  std::vector<uint32_t> place(all.start.size() - 1, kUnknown);
  for_each_leaf(trees, [&](uint32_t payload) {
    if (payload & kPureBit) return payload;
    uint32_t& at = place[payload];
    if (at == kUnknown) {
      at = static_cast<uint32_t>(kept.start.size() - 1);
      for (uint32_t i = all.start[payload]; i < all.start[payload + 1]; ++i) {
        kept.label.push_back(all.label[i]);
        kept.probability.push_back(all.probability[i]);
      }
      kept.start.push_back(static_cast<uint32_t>(kept.label.size()));
    }
    return at;
  });
  trees.leaves = kept;
}
inline void drop_unused_leaves(GrownValueTrees& trees) {
  std::vector<double> kept;
  const int64_t width = trees.n_outputs;
  for_each_leaf(trees, [&](uint32_t payload) {
    const auto at = static_cast<uint32_t>(static_cast<int64_t>(kept.size()) / width);
    const auto from = trees.leaf_value.begin() + payload * width;
    kept.insert(kept.end(), from, from + width);
    return at;
  });
  trees.leaf_value = kept;
}

}  // namespace mddf
