// forest/tree: trees in arrays. Writers append splits and leaves node by node; views read them.
// This header has the layout of a node in eight bytes, the table of the class distributions of
// leaves, and the checks of arrays that come from files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "common/interrupt.hpp"
#include "common/reserve.hpp"
#include "common/span.hpp"
#include "forest/data/bins.hpp"

namespace mddf {

// A node is one word:
//   bits 0-31   internal: index of the left child (the right one is next to it);
//               leaf: the class if bit 31 is set, else a row of the leaf table
//   bits 32-53  column
//               leaf: weight of its samples, also in the next eight bits, see weight_code
//   bits 54-61  numeric: highest bin that goes left (one more when missing goes left);
//               categorical: number of set words (bits 54-56), missing goes left (bit 61)
//   bits 62-63  kind
// The words of a category set follow the right child: bit b of word w is category 64 w + b.
enum Kind : uint64_t { kNumeric = 0, kNumericMissingLeft = 1, kCategorical = 2, kLeaf = 3 };

constexpr uint64_t kMaxColumns = uint64_t{1} << 22;
constexpr uint32_t kPureBit = uint32_t{1} << 31;
constexpr uint64_t kMaxWeight = 0x3fbfffff;  // code of the largest finite weight of a leaf

namespace node {
inline uint64_t make(Kind kind, uint32_t column, uint32_t threshold, uint32_t payload) {
  return static_cast<uint64_t>(kind) << 62 | static_cast<uint64_t>(threshold & 255) << 54 |
         static_cast<uint64_t>(column) << 32 | payload;
}
inline uint64_t raise_threshold(uint64_t n, int by) {
  return n + (static_cast<uint64_t>(by) << 54);
}
inline uint64_t kind(uint64_t n) { return n >> 62; }
inline uint32_t payload(uint64_t n) { return static_cast<uint32_t>(n); }
inline uint32_t column(uint64_t n) { return static_cast<uint32_t>(n >> 32) & (kMaxColumns - 1); }
inline uint32_t threshold(uint64_t n) { return static_cast<uint32_t>(n >> 54) & 255; }
inline bool is_leaf(uint64_t n) { return n >= kLeaf << 62; }

// Code of a positive weight in 30 bits, 8 of which are an exponent. Whole numbers up to 2^23 are
// exact, other weights are rounded. The code 0 is for trees with unknown weights.
inline uint32_t weight_code(double weight) {
  const uint64_t code = (uint64_t{bit_cast<uint32_t>(static_cast<float>(weight))} + 1) >> 1;
  return static_cast<uint32_t>(std::clamp<uint64_t>(code, 1, kMaxWeight));
}
inline uint64_t leaf_weight(uint64_t n) { return n >> 32 & 0x3fffffff; }
inline uint64_t make_leaf(uint32_t payload, double weight) {
  return kLeaf << 62 | static_cast<uint64_t>(weight_code(weight)) << 32 | payload;
}
inline uint32_t set_words(uint64_t n) { return threshold(n) & 7; }
inline bool missing_left(uint64_t n) { return (threshold(n) & 128) != 0; }

// Adding one to the code wraps "missing" to zero, so one comparison serves both directions.
inline bool numeric_goes_right(uint64_t n, uint8_t bin) {
  return static_cast<uint8_t>(bin + (kind(n) & 1)) > threshold(n);
}
inline bool category_goes_right(uint64_t n, const uint64_t* tree, uint8_t bin) {
  if (bin == kMissing) return !missing_left(n);
  const uint32_t word = bin >> 6;
  if (word >= set_words(n)) return true;
  return ((tree[payload(n) + 2 + word] >> (bin & 63)) & 1) == 0;
}
// Child of a node for a row with this bin.
inline uint32_t next(uint64_t n, const uint64_t* tree, uint8_t bin) {
  const bool right =
      kind(n) == kCategorical ? category_goes_right(n, tree, bin) : numeric_goes_right(n, bin);
  return payload(n) + right;
}
}  // namespace node

// Different class distributions of leaves in sparse form. Probabilities are multiples of 2^-30, so
// that sums over trees are exact in double precision and do not depend on the order of trees.
class LeafTable {
 public:
  std::vector<uint32_t> start{0};
  std::vector<uint16_t> label;
  std::vector<float> probability;

  // Adds a distribution (ascending classes and their positive weights); returns the payload of the
  // leaf.
  uint32_t add(const uint16_t* classes, const double* weights, size_t n) {
    if (n == 1) return kPureBit | classes[0];
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += weights[i];
    entries_.clear();
    for (size_t i = 0; i < n; ++i) {
      const float p = static_cast<float>(std::nearbyint(weights[i] / total * 0x1.0p30) * 0x1.0p-30);
      if (p != 0) entries_.emplace_back(classes[i], p);
    }
    return find_or_append();
  }

  // Adds a distribution of another table; returns its row.
  uint32_t add(const uint16_t* classes, const float* probabilities, size_t n) {
    entries_.clear();
    for (size_t i = 0; i < n; ++i) entries_.emplace_back(classes[i], probabilities[i]);
    return find_or_append();
  }

 private:
  uint32_t find_or_append() {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const auto& [label, p] : entries_) {
      hash = (hash ^ (uint64_t{bit_cast<uint32_t>(p)} << 16 ^ label)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    const auto range = known_.equal_range(hash);
    for (auto it = range.first; it != range.second; ++it)
      if (equal(it->second)) return it->second;
    const uint32_t row = static_cast<uint32_t>(start.size() - 1);
    if (row >= kPureBit || label.size() + entries_.size() > UINT32_MAX)
      throw std::length_error("too many distinct leaf distributions in one block of trees");
    for (const auto& entry : entries_) {
      label.push_back(entry.first);
      probability.push_back(entry.second);
    }
    start.push_back(static_cast<uint32_t>(label.size()));
    known_.emplace(hash, row);
    return row;
  }
  bool equal(uint32_t row) const {
    if (start[row + 1] - start[row] != entries_.size()) return false;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (label[start[row] + i] != entries_[i].first ||
          probability[start[row] + i] != entries_[i].second)
        return false;
    return true;
  }
  std::vector<std::pair<uint16_t, float>> entries_;
  std::unordered_multimap<uint64_t, uint32_t> known_;
};

// View of the nodes of a block of trees.
struct NodesView {
  int64_t n_columns = 0;
  bool has_categorical = false;
  Span<uint64_t> nodes;  // nodes of all trees, tree after tree
  Span<int64_t> tree_start;

  int64_t n_trees() const { return tree_start.size - 1; }
  const uint64_t* tree(int64_t t) const { return nodes.data + tree_start[t]; }
  int64_t tree_size(int64_t t) const { return tree_start[t + 1] - tree_start[t]; }
};

// View of trees whose leaves are class distributions.
struct TreesView : NodesView {
  int n_classes = 0;
  Span<uint32_t> leaf_start;
  Span<uint16_t> leaf_class;
  Span<float> leaf_probability;

  int width() const { return n_classes; }  // length of a prediction
};

// A block of trees while it grows.
struct GrownNodes {
  int64_t n_columns = 0;
  bool has_categorical = false;
  int64_t n_nodes = 0;
  std::vector<uint64_t> nodes;
  std::vector<int64_t> tree_start{0};

  NodesView nodes_view() const { return {n_columns, has_categorical, nodes, tree_start}; }
};

struct GrownTrees : GrownNodes {
  int n_classes = 0;
  LeafTable leaves;

  TreesView view() const {
    return {nodes_view(), n_classes, leaves.start, leaves.label, leaves.probability};
  }
  void shrink() {
    shrink_if_loose(nodes);
    leaves.start.shrink_to_fit();
    leaves.label.shrink_to_fit();
    leaves.probability.shrink_to_fit();
  }
};

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// Facts about trees that are computed from all of their words.
struct TreeFacts {
  int64_t n_nodes = 0;
  bool has_categorical = false;
};

// Refuses a leaf table that would read out of bounds.
inline void check_leaf_table(const TreesView& trees) {
  require(!trees.leaf_start.empty() && trees.leaf_start[0] == 0 &&
              trees.leaf_start.back() == trees.leaf_class.size &&
              trees.leaf_class.size == trees.leaf_probability.size,
          "trees: the leaf table's parts do not fit together");
  for (int64_t i = 1; i < trees.leaf_start.size; ++i)
    require(trees.leaf_start[i - 1] <= trees.leaf_start[i], "trees: leaf_start must not fall");
  for (const uint16_t label : trees.leaf_class)
    require(label < trees.n_classes, "trees: a leaf's class is out of range");
  for (const float probability : trees.leaf_probability)
    require(probability > 0 && probability <= 1, "trees: a leaf's probability must be in (0, 1]");
}

// Refuses trees that would read out of bounds or never end. All words are read once in the order of
// memory. Each must be a node with exactly one parent before it, or a part of the category set of a
// node. `is_value` checks the payloads of leaves.
template <class IsValue>
TreeFacts check_nodes(const NodesView& trees, IsValue is_value, Interrupt& interrupt) {
  enum : uint8_t { kUnknown, kNode, kSet };
  require(trees.n_columns >= 1 && trees.n_columns <= static_cast<int64_t>(kMaxColumns),
          "trees: n_columns must be in [1, 2^22]");
  require(!trees.tree_start.empty() && trees.tree_start[0] == 0 &&
              trees.tree_start.back() == trees.nodes.size,
          "trees: tree_start must begin with 0 and end with the number of words");
  for (int64_t t = 0; t < trees.n_trees(); ++t)
    require(trees.tree_start[t] < trees.tree_start[t + 1], "trees: tree_start must rise");
  TreeFacts facts;
  std::vector<uint8_t> role;
  for (int64_t t = 0; t < trees.n_trees(); ++t) {
    const uint64_t size = static_cast<uint64_t>(trees.tree_size(t));
    const uint64_t* tree = trees.tree(t);
    interrupt.poll(8 * static_cast<int64_t>(size));
    role.assign(size, kUnknown);
    role[0] = kNode;
    for (uint64_t index = 0; index < size; ++index) {
      if (role[index] == kSet) continue;
      require(role[index] == kNode, "trees: a word belongs to no node");
      ++facts.n_nodes;
      const uint64_t n = tree[index];
      const uint32_t payload = node::payload(n);
      if (node::is_leaf(n)) {
        require(is_value(payload), "trees: a leaf's value is out of range");
        require(node::leaf_weight(n) <= kMaxWeight, "trees: a leaf's weight is infinite");
        continue;
      }
      require(node::column(n) < trees.n_columns, "trees: a column is out of range");
      uint32_t n_words = 0;
      if (node::kind(n) == kCategorical) {
        facts.has_categorical = true;
        n_words = node::set_words(n);
        require(n_words <= 4, "trees: a category set is too long");
      }
      require(payload > index && uint64_t{payload} + 1 + n_words < size,
              "trees: a child is out of range");
      for (uint32_t i = 0; i < 2 + n_words; ++i) {
        require(role[payload + i] == kUnknown, "trees: nodes are shared or loop");
        role[payload + i] = i < 2 ? kNode : kSet;
      }
    }
  }
  return facts;
}

// Marks the columns that nodes split, one byte for each column.
inline std::vector<uint8_t> columns_used(const NodesView& trees, Interrupt& interrupt) {
  // Leaves mark an additional column, since a branch on leaves could not be predicted.
  std::vector<uint8_t> asked(trees.n_columns + 1);
  std::vector<bool> is_set;
  for (int64_t t = 0; t < trees.n_trees(); ++t) {
    const int64_t size = trees.tree_size(t);
    const uint64_t* tree = trees.tree(t);
    interrupt.poll(size);
    is_set.assign(trees.has_categorical ? size : 0, false);
    for (int64_t index = 0; index < size; ++index) {
      const uint64_t n = tree[index];
      if (trees.has_categorical && is_set[index]) continue;
      const uint64_t column = node::column(n), is_leaf = node::is_leaf(n);
      asked[column ^ ((column ^ static_cast<uint64_t>(trees.n_columns)) & (0 - is_leaf))] = 1;
      if (node::kind(n) != kCategorical) continue;
      for (uint32_t w = 0; w < node::set_words(n); ++w) is_set[node::payload(n) + 2 + w] = true;
    }
  }
  asked.pop_back();
  return asked;
}

// Appends the trees of a block that has been checked. `new_payload` gives the payload of a leaf
// among the values of `to`.
template <class NewPayload>
void append_nodes(const NodesView& trees, NewPayload new_payload, GrownNodes& to,
                  Interrupt& interrupt) {
  std::vector<bool> is_set;
  to.has_categorical |= trees.has_categorical;
  to.nodes.reserve(to.nodes.size() + trees.nodes.size);
  for (int64_t t = 0; t < trees.n_trees(); ++t) {
    const int64_t size = trees.tree_size(t);
    const uint64_t* tree = trees.tree(t);
    interrupt.poll(size);
    is_set.assign(trees.has_categorical ? size : 0, false);
    for (int64_t index = 0; index < size; ++index) {
      uint64_t n = tree[index];
      if (!trees.has_categorical || !is_set[index]) {
        ++to.n_nodes;
        if (node::is_leaf(n))
          n = (n & ~uint64_t{UINT32_MAX}) | new_payload(node::payload(n));
        else if (node::kind(n) == kCategorical)
          for (uint32_t w = 0; w < node::set_words(n); ++w) is_set[node::payload(n) + 2 + w] = true;
      }
      to.nodes.push_back(n);
    }
    to.tree_start.push_back(static_cast<int64_t>(to.nodes.size()));
  }
}

// Joins blocks to the block that one call would have grown.
inline GrownTrees join_blocks(const std::vector<TreesView>& blocks, Interrupt& interrupt) {
  GrownTrees to;
  to.n_columns = blocks[0].n_columns;
  to.n_classes = blocks[0].n_classes;
  for (const TreesView& trees : blocks) {
    std::vector<uint32_t> new_row;
    for (int64_t i = 1; i < trees.leaf_start.size; ++i) {
      const uint32_t start = trees.leaf_start[i - 1];
      new_row.push_back(to.leaves.add(trees.leaf_class.data + start,
                                      trees.leaf_probability.data + start,
                                      trees.leaf_start[i] - start));
    }
    const auto new_payload = [&new_row](uint32_t payload) {
      return payload & kPureBit ? payload : new_row[payload];
    };
    append_nodes(trees, new_payload, to, interrupt);
  }
  to.shrink();
  return to;
}

inline TreeFacts check_trees(const TreesView& trees, Interrupt& interrupt) {
  require(trees.n_classes >= 1 && trees.n_classes <= 65535,
          "trees: n_classes must be in [1, 65535]");
  check_leaf_table(trees);
  const auto is_value = [&trees](uint32_t payload) {
    return (payload & kPureBit) ? (payload ^ kPureBit) < static_cast<uint32_t>(trees.n_classes)
                                : payload + 1 < trees.leaf_start.size;
  };
  return check_nodes(trees, is_value, interrupt);
}

}  // namespace mddf
