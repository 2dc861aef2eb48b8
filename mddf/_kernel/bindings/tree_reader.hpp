// Trees in NumPy arrays, read in place.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "forest/trees.hpp"

namespace mddf {

// Keeps the arrays of a block of trees alive and looks at every word of them once, before anything
// is read through them. When that is, the first use at the latest, is for the caller to choose: it
// brings all of a memory-mapped file into memory.
class TreeReader {
 public:
  TreeReader(int n_classes, int64_t n_columns, In<uint64_t, 1> nodes, In<int64_t, 1> tree_start,
             In<uint32_t, 1> leaf_start, In<uint16_t, 1> leaf_class, In<float, 1> leaf_probability)
      : arrays_{std::move(nodes), std::move(tree_start), std::move(leaf_start),
                std::move(leaf_class), std::move(leaf_probability)} {
    view_ = {n_classes,
             n_columns,
             false,
             as_span(arrays_.nodes),
             as_span(arrays_.tree_start),
             as_span(arrays_.leaf_start),
             as_span(arrays_.leaf_class),
             as_span(arrays_.leaf_probability)};
  }
  // What was grown here needs no check.
  explicit TreeReader(GrownTrees&& grown)
      : TreeReader(grown.n_classes, grown.n_columns, owned(std::move(grown.nodes)),
                   owned(std::move(grown.tree_start)), owned(std::move(grown.leaves.start)),
                   owned(std::move(grown.leaves.label)),
                   owned(std::move(grown.leaves.probability))) {
    view_.has_categorical = grown.has_categorical;
    n_nodes_ = grown.n_nodes;
    is_checked_ = true;
  }

  // Throws std::invalid_argument if the trees cannot be read. To be called with the GIL.
  void check() {
    if (is_checked_) return;
    without_gil(nullptr, [this](Watch& watch) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_checked_) return;
      const TreeFacts facts = check_trees(view_, watch);
      view_.has_categorical = facts.has_categorical;
      n_nodes_ = facts.n_nodes;
      is_checked_ = true;
    });
  }
  const TreesView& checked() {
    check();
    return view_;
  }
  int64_t n_nodes() {
    check();
    return n_nodes_;
  }

  // The arguments of the constructor.
  nb::tuple parts() const {
    return nb::make_tuple(view_.n_classes, view_.n_columns, shared(arrays_.nodes),
                          shared(arrays_.tree_start), shared(arrays_.leaf_start),
                          shared(arrays_.leaf_class), shared(arrays_.leaf_probability));
  }

 private:
  template <class T>
  static In<T, 1> owned(std::vector<T> values) {
    const size_t size = values.size();
    return In<T, 1>(handed_over<const T>(std::move(values), {size}));
  }

  struct {
    In<uint64_t, 1> nodes;
    In<int64_t, 1> tree_start;
    In<uint32_t, 1> leaf_start;
    In<uint16_t, 1> leaf_class;
    In<float, 1> leaf_probability;
  } arrays_;
  TreesView view_;
  int64_t n_nodes_ = 0;
  std::atomic<bool> is_checked_{false};
  std::mutex mutex_;
};

}  // namespace mddf
