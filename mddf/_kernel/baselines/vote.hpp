// Trees of a fitted ensemble, applied to new rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::boosting {

// Trees one after another in flat arrays; the nodes of tree t are [start[t], start[t + 1]).
// Children are counted from the start of their tree and follow their parent.
struct FlatTrees {
  const std::int32_t* feature;  // < 0: leaf
  const double* threshold;      // x <= threshold goes left
  const std::int32_t *left, *right;
  const std::int8_t* label;
  const std::int64_t* start;
  std::size_t n_trees, n_nodes;

  // nullptr when every index is in range, else an error message.
  const char* problem(std::size_t n_features) const;
};

// labels[t * n_rows + i]: prediction of tree t for row i of the row-major x.
void tree_labels(const FlatTrees& trees, const double* x, std::size_t n_rows,
                 std::size_t n_features, std::int8_t* labels, Interrupt& interrupt);

// votes[i] = sum over trees of weight[t] times the tree's label.
void tree_votes(const FlatTrees& trees, const double* weight, const double* x, std::size_t n_rows,
                std::size_t n_features, double* votes, Interrupt& interrupt);

// Whether all values, n_learners x n_rows, are -1 or +1.
inline bool all_signs(const std::int8_t* values, std::size_t n_learners, std::size_t n_rows,
                      Interrupt& interrupt) {
  std::uint8_t wrong = 0;
  for (std::size_t j = 0; j < n_learners && wrong == 0; ++j, values += n_rows) {
    interrupt.poll(static_cast<std::int64_t>(n_rows / 4));
    for (std::size_t i = 0; i < n_rows; ++i) {  // no early exit, so that vectors are used
      wrong |= static_cast<std::uint8_t>((values[i] != 1) & (values[i] != -1));
    }
  }
  return wrong == 0;
}

// edges[j] = sum_i signed_weight[i] * values[j * n_rows + i].
template <class Value>
void learner_edges(const Value* values, std::size_t n_learners, std::size_t n_rows,
                   const double* signed_weight, double* edges, Interrupt& interrupt) {
  for (std::size_t j = 0; j < n_learners; ++j) {
    interrupt.poll(static_cast<std::int64_t>(n_rows));
    const Value* row = values + j * n_rows;
    double sums[4] = {0.0, 0.0, 0.0, 0.0};  // independent chains of additions
    std::size_t i = 0;
    for (; i + 4 <= n_rows; i += 4) {
      for (std::size_t k = 0; k < 4; ++k) {
        sums[k] += signed_weight[i + k] * static_cast<double>(row[i + k]);
      }
    }
    for (; i < n_rows; ++i) {
      sums[0] += signed_weight[i] * static_cast<double>(row[i]);
    }
    edges[j] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

}  // namespace mddf::boosting
