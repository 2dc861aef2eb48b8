// Shapley values and interaction values of trees for single rows, by quadrature.
//
// Edge e leads to node e from its parent. A group of columns is a player: it is known or unknown.
// If every group is known with probability t, a row reaches a leaf with a weight that is the
// product of the `ratio` of all edges on the path. The derivative of this weight by the state of a
// group is the weight times the sum of the `slope` of the group's edges on the path. Shapley
// values are the integrals of first derivatives over t, and the interactions of two groups those
// of second derivatives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/span.hpp"

namespace mddf::explain {

// A block of trees, tree after tree, every parent before its children.
struct TreeGame {
  Span<int64_t> start;    // first node of each tree, and the number of nodes
  const int64_t* left;    // (n_nodes,): left child, the right one is the next node; -1 for leaves
  const int64_t* before;  // (n_nodes,): nearest edge above of the same group, -1 if none
  const int64_t* group;   // (n_nodes,): group of the edge; not read for roots
  const double* value;    // (n_nodes, n_outputs): not read for inner nodes
  Span<double> weights;   // of the points t of the quadrature
  // (3, n_nodes, n_steps): for rows whose values lead along all edges of the group down to this
  // one, along all but this one, or not along an edge above.
  const double* ratio;
  const double* slope;
  int64_t n_groups;
  int64_t n_outputs;

  int64_t n_nodes() const { return start.back(); }
};

// Arrays of one row, to which its values are added.
struct RowValues {
  double* contributions;  // (n_groups, n_outputs)
  double* interactions;   // (n_groups, n_groups, n_outputs), or null if they are not computed
};

// Adds up the values of rows over the trees of a block.
class ShapleyAdder {
 public:
  explicit ShapleyAdder(const TreeGame& game, bool with_interactions);

  // Adds the values of a row. `leads` of shape (n_nodes,) says whether the row's value leads along
  // an edge. An interaction is added once for each order of its two groups, (lower edge, upper
  // edge): the caller adds the transpose.
  void add_row(const uint8_t* leads, const RowValues& row, Interrupt& interrupt);

 private:
  void descend(int64_t first, int64_t last, const uint8_t* leads);
  void ascend(int64_t first, int64_t last, const RowValues& row);
  void add_edge(int64_t edge, const RowValues& row);

  const TreeGame& game_;
  std::vector<int64_t> parent_;
  // Of each edge: the lowest edge above of every other group, from `upper_start_[edge]` on.
  std::vector<int64_t> upper_start_, upper_edges_;
  // Of the row, for the nodes of a tree; the last axis of numbers has a step of the quadrature.
  std::vector<uint8_t> leads_all_, case_;
  std::vector<double> product_;    // (n_nodes, n_steps)
  std::vector<double> slope_sum_;  // (n_nodes, n_steps): of the group's edges down to this one
  std::vector<double> below_;      // (n_nodes, n_outputs, n_steps): value times product of leaves
  std::vector<double> change_;     // (n_outputs, n_steps)
};

}  // namespace mddf::explain
