// Counts the classes of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "forest/data/bin_matrix.hpp"
#include "forest/split/histogram.hpp"

namespace mddf {

// The classes of a node, their weights, and the labels of its samples as indices of present
// classes.
template <class Weight>
struct NodeClasses {
  explicit NodeClasses(int n_classes) : present(n_classes), total(n_classes) {}

  int64_t n_samples = 0;
  int n_present = 0;
  std::vector<uint16_t> present;  // n_present classes, ascending
  std::vector<double> total;      // weight of each present class
  double weight = 0;
  std::vector<uint16_t> label;  // by sample: index into present
  std::vector<Weight> sample_weight;
  std::vector<Packed<Weight>> packed;  // by sample, if there are few classes

  bool few() const { return n_present <= kFewClasses && weight <= Packed<Weight>::kMaxWeight; }

  template <class Criterion>
  double score() const {
    double terms = 0;
    for (int c = 0; c < n_present; ++c) terms += Criterion::term(total[c]);
    return Criterion::side(terms, weight);
  }
};

// Classes of a node with their weights.
template <class Weight>
struct ClassList {
  explicit ClassList(int n_classes) : label(n_classes), weight(n_classes) {}
  int size = 0;
  std::vector<uint16_t> label;
  std::vector<Weight> weight;

  Weight total() const {
    Weight sum = 0;
    for (int c = 0; c < size; ++c) sum += weight[c];
    return sum;
  }
};

// Counts the classes of nodes. A stack keeps the classes of nodes that wait to be split.
template <class Sample>
class ClassCounter {
 public:
  using Weight = typename Sample::Weight;
  using List = ClassList<Weight>;
  using Node = NodeClasses<Weight>;

  explicit ClassCounter(int n_classes)
      : left(n_classes), right(n_classes), weight_(n_classes, 0), number_(n_classes, 0) {
    if (!kExact) left_weight_.resize(n_classes);
  }

  List left, right;  // classes of the children, after divide()

  // Fills `left` with the classes of the root of a tree, and clears the stack.
  void count_root(const Sample* samples, uint32_t n) {
    stack_.clear();
    count(samples, n, weight_.data());
    take_root();
  }
  // The same from the weight of each class.
  void count_root(const Weight* weights) {
    stack_.clear();
    std::copy_n(weights, weight_.size(), weight_.begin());
    take_root();
  }

  // Fills `left` and `right` with the classes of the children. The first n_left samples belong to
  // the left child. Counts are computed for the smaller side and subtracted for the larger side.
  // Real weights are summed on both sides, because a difference would have rounding errors.
  void divide(const Sample* samples, uint32_t n_left, uint32_t n, const Node& node) {
    const bool count_left = n_left <= n - n_left;
    if (count_left || !kExact) count(samples, n_left, weight_.data());
    if constexpr (!kExact) {
      for (int c = 0; c < node.n_present; ++c) {
        left_weight_[c] = weight_[node.present[c]];
        weight_[node.present[c]] = 0;
      }
    }
    if (!count_left || !kExact) count(samples + n_left, n - n_left, weight_.data());
    left.size = right.size = 0;
    for (int c = 0; c < node.n_present; ++c) {
      const uint16_t label = node.present[c];
      const Weight counted = weight_[label];
      Weight to_left, to_right;
      if constexpr (kExact) {
        const Weight other = static_cast<Weight>(node.total[c]) - counted;
        to_left = count_left ? counted : other;
        to_right = count_left ? other : counted;
      } else {
        to_left = left_weight_[c];
        to_right = counted;
      }
      weight_[label] = 0;
      left.label[left.size] = right.label[right.size] = label;
      left.weight[left.size] = to_left;
      right.weight[right.size] = to_right;
      left.size += to_left > 0;
      right.size += to_right > 0;
    }
  }

  // The same from the weights on the left of each present class, which are whole numbers.
  void divide(const Weight* left_weights, const Node& node) {
    left.size = right.size = 0;
    for (int c = 0; c < node.n_present; ++c) {
      left.label[left.size] = right.label[right.size] = node.present[c];
      left.weight[left.size] = left_weights[c];
      right.weight[right.size] = static_cast<Weight>(node.total[c]) - left_weights[c];
      left.size += left.weight[left.size] > 0;
      right.size += right.weight[right.size] > 0;
    }
  }

  void push(const List& list) {
    for (int c = 0; c < list.size; ++c) stack_.push_back({list.label[c], list.weight[c]});
  }
  // Moves the list that was pushed last, of `size` classes, to the node.
  void pop(int size, Node& node) {
    const size_t start = stack_.size() - size;
    node.n_present = size;
    node.weight = 0;
    for (int c = 0; c < size; ++c) {
      node.present[c] = stack_[start + c].label;
      node.total[c] = static_cast<double>(stack_[start + c].weight);
      node.weight += node.total[c];
    }
    stack_.resize(start);
  }
  static void take(const List& list, Node& node) {
    node.n_present = list.size;
    node.weight = 0;
    for (int c = 0; c < list.size; ++c) {
      node.present[c] = list.label[c];
      node.total[c] = static_cast<double>(list.weight[c]);
      node.weight += node.total[c];
    }
  }

  // Fills the histograms of the node.
  template <class Bin>
  void fill(const Sample* samples, const Node& node, const BinMatrix& matrix,
            const int32_t* columns, int width, Bin* const* bins) {
    number_classes(node);
    const HistogramInput<Sample> input{samples, node.n_samples, number_.data(), node.n_present};
    fill_histograms(input, matrix, columns, width, bins);
  }

  // Stores the samples of a node with class indices: as packed weights for few classes, as labels
  // otherwise or if `need_labels`.
  void number_samples(const Sample* samples, bool need_labels, NodeClasses<Weight>& node) {
    const size_t n = static_cast<size_t>(node.n_samples);
    number_classes(node);
    if (node.few()) {
      if (node.packed.size() < n) node.packed.resize(n);
      for (size_t i = 0; i < n; ++i)
        node.packed[i] = Packed<Weight>(samples[i].weight, number_[samples[i].label]);
      if (!need_labels) return;
    }
    if (node.label.size() < n) node.label.resize(n), node.sample_weight.resize(n);
    uint16_t* label = node.label.data();
    Weight* weight = node.sample_weight.data();
    for (size_t i = 0; i < n; ++i) {
      label[i] = number_[samples[i].label];
      weight[i] = samples[i].weight;
    }
  }

 private:
  void take_root() {
    left.size = 0;
    for (size_t c = 0; c < weight_.size(); ++c) {
      if (weight_[c] > 0) {
        left.label[left.size] = static_cast<uint16_t>(c);
        left.weight[left.size++] = weight_[c];
      }
      weight_[c] = 0;
    }
  }

  // Most classes for which counts are kept in four copies.
  static constexpr size_t kStriped = 16;
  static constexpr bool kExact = std::is_integral_v<Weight>;
  struct Entry {
    uint16_t label;
    Weight weight;
  };

  void number_classes(const NodeClasses<Weight>& node) {
    for (int c = 0; c < node.n_present; ++c) number_[node.present[c]] = static_cast<uint16_t>(c);
  }
  void count(const Sample* samples, uint32_t n, Weight* weight) const {
    uint32_t i = 0;
    if constexpr (kExact) {
      if (weight_.size() == 2) {  // labels are 0 and 1
        Weight both = 0, second = 0;
        for (; i < n; ++i) {
          both += samples[i].weight;
          second += samples[i].weight * samples[i].label;
        }
        weight[0] += both - second;
        weight[1] += second;
      } else if (weight_.size() <= kStriped) {
        // With four copies, samples of one class do not wait for the previous store.
        Weight striped[4][kStriped] = {};
        for (; i + 4 <= n; i += 4)
          for (uint32_t s = 0; s < 4; ++s)
            striped[s][samples[i + s].label] += samples[i + s].weight;
        for (size_t c = 0; c < weight_.size(); ++c)
          for (const auto& stripe : striped) weight[c] += stripe[c];
      }
    }
    for (; i < n; ++i) weight[samples[i].label] += samples[i].weight;
  }

  std::vector<Weight> weight_, left_weight_;  // weight_ is all zero between calls
  std::vector<uint16_t> number_;
  std::vector<Entry> stack_;
};

}  // namespace mddf
