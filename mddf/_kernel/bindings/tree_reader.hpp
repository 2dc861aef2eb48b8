// Trees in NumPy arrays, which are read without copies.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "forest/tree/trees.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

// Checks every word of a block of trees once, before it is used. The caller chooses when, at the
// latest at the first use, because the check reads all of a memory-mapped file.
template <class View>
class Reader {
 public:
  Reader(const Reader&) = delete;

  // Throws std::invalid_argument if the trees are not valid. The GIL must be held.
  void check() {
    if (is_checked_) return;
    without_gil(nullptr, [this](Interrupt& interrupt) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_checked_) return;
      const TreeFacts facts = check_trees(view_, interrupt);
      view_.has_categorical = facts.has_categorical;
      n_nodes_ = facts.n_nodes;
      is_checked_ = true;
    });
  }
  const View& checked() {
    check();
    return view_;
  }
  int64_t n_nodes() {
    check();
    return n_nodes_;
  }
  // Computed at the first call.
  const std::vector<uint8_t>& columns_used() {
    check();
    without_gil(nullptr, [this](Interrupt& interrupt) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (columns_used_.empty()) columns_used_ = mddf::columns_used(view_, interrupt);
    });
    return columns_used_;
  }

 protected:
  Reader() = default;

  // Marks trees that were just grown as checked.
  void trust(const GrownNodes& grown) {
    view_.has_categorical = grown.has_categorical;
    n_nodes_ = grown.n_nodes;
    is_checked_ = true;
  }
  template <class T>
  static In<T, 1> owned(std::vector<T> values) {
    const size_t size = values.size();
    return In<T, 1>(to_numpy<const T>(std::move(values), {size}));
  }

  View view_;

 private:
  int64_t n_nodes_ = 0;
  std::vector<uint8_t> columns_used_;
  std::atomic<bool> is_checked_{false};
  std::mutex mutex_;
};

// Keeps the arrays of trees with class distributions alive.
class TreeReader : public Reader<TreesView> {
 public:
  TreeReader(int n_classes, int64_t n_columns, In<uint64_t, 1> nodes, In<int64_t, 1> tree_start,
             In<uint32_t, 1> leaf_start, In<uint16_t, 1> leaf_class, In<float, 1> leaf_probability)
      : arrays_{std::move(nodes), std::move(tree_start), std::move(leaf_start),
                std::move(leaf_class), std::move(leaf_probability)} {
    view_ = {{n_columns, false, as_span(arrays_.nodes), as_span(arrays_.tree_start)},
             n_classes,
             as_span(arrays_.leaf_start),
             as_span(arrays_.leaf_class),
             as_span(arrays_.leaf_probability)};
  }
  explicit TreeReader(GrownTrees&& grown)
      : TreeReader(grown.n_classes, grown.n_columns, owned(std::move(grown.nodes)),
                   owned(std::move(grown.tree_start)), owned(std::move(grown.leaves.start)),
                   owned(std::move(grown.leaves.label)),
                   owned(std::move(grown.leaves.probability))) {
    trust(grown);
  }

  // The arguments of the constructor.
  nb::tuple parts() const {
    return nb::make_tuple(view_.n_classes, view_.n_columns, shared(arrays_.nodes),
                          shared(arrays_.tree_start), shared(arrays_.leaf_start),
                          shared(arrays_.leaf_class), shared(arrays_.leaf_probability));
  }

 private:
  struct {
    In<uint64_t, 1> nodes;
    In<int64_t, 1> tree_start;
    In<uint32_t, 1> leaf_start;
    In<uint16_t, 1> leaf_class;
    In<float, 1> leaf_probability;
  } arrays_;
};

// Keeps the arrays of regression trees alive.
class ValueTreeReader : public Reader<ValueTreesView> {
 public:
  ValueTreeReader(int n_outputs, int64_t n_columns, In<uint64_t, 1> nodes,
                  In<int64_t, 1> tree_start, In<double, 1> leaf_value)
      : arrays_{std::move(nodes), std::move(tree_start), std::move(leaf_value)} {
    view_ = {{n_columns, false, as_span(arrays_.nodes), as_span(arrays_.tree_start)},
             n_outputs,
             as_span(arrays_.leaf_value)};
  }
  explicit ValueTreeReader(GrownValueTrees&& grown)
      : ValueTreeReader(grown.n_outputs, grown.n_columns, owned(std::move(grown.nodes)),
                        owned(std::move(grown.tree_start)), owned(std::move(grown.leaf_value))) {
    trust(grown);
  }

  // The arguments of the constructor.
  nb::tuple parts() const {
    return nb::make_tuple(view_.n_outputs, view_.n_columns, shared(arrays_.nodes),
                          shared(arrays_.tree_start), shared(arrays_.leaf_value));
  }

 private:
  struct {
    In<uint64_t, 1> nodes;
    In<int64_t, 1> tree_start;
    In<double, 1> leaf_value;
  } arrays_;
};

}  // namespace mddf
