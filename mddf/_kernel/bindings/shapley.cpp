// Shapley values of trees, from NumPy arrays.
#include "explain/shapley.hpp"

#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

namespace mddf {
namespace {

using explain::RowValues;
using explain::ShapleyAdder;
using explain::TreeGame;
using nb::arg;

void check_trees(const TreeGame& game) {
  std::vector<bool> has_parent(static_cast<size_t>(game.n_nodes()));
  check(game.start.size > 1 && game.start[0] == 0, "start: expected 0 and an entry for each tree");
  for (int64_t tree = 0; tree + 1 < game.start.size; ++tree) {
    const int64_t first = game.start[tree], last = game.start[tree + 1];
    check_at_least("start", last, first + 1);
    for (int64_t node = first; node < last; ++node) {
      check(node == first || has_parent[static_cast<size_t>(node)],
            "left: expected a parent above every node but the roots");
      if (game.left[node] != -1) {
        check_range("left", game.left[node], node + 1, last - 2);
        for (const int64_t child : {game.left[node], game.left[node] + 1}) {
          check(!has_parent[static_cast<size_t>(child)], "left: expected one parent for each node");
          has_parent[static_cast<size_t>(child)] = true;
        }
      }
      check_range("before", game.before[node], -1, node - 1);
      check(game.before[node] == -1 || game.before[node] > first,
            "before: expected an edge of the same tree");
      check_range("group", game.group[node], 0, game.n_groups - 1);
    }
  }
}

void add_shapley_values(In<int64_t, 1> start, In<int64_t, 1> left, In<int64_t, 1> before,
                        In<int64_t, 1> group, In<double, 2> value, In<double, 1> weights,
                        In<double, 3> ratio, In<double, 3> slope, In<uint8_t, 2> leads,
                        InOut<double, 3> contributions,
                        std::optional<InOut<double, 4>> interactions, Cancel* cancel) {
  const size_t n_nodes = left.shape(0), n_rows = leads.shape(0);
  const size_t n_steps = weights.shape(0), n_groups = contributions.shape(1);
  const size_t n_outputs = contributions.shape(2);
  check(start.shape(0) > 1 && start.data()[start.shape(0) - 1] == static_cast<int64_t>(n_nodes),
        "start: expected the number of nodes as last entry");
  check_length("before", before.shape(0), n_nodes);
  check_length("group", group.shape(0), n_nodes);
  check(value.shape(0) == n_nodes && value.shape(1) == n_outputs, "value: unexpected shape");
  for (const auto* table : {&ratio, &slope})
    check(table->shape(0) == 3 && table->shape(1) == n_nodes && table->shape(2) == n_steps,
          "ratio and slope: unexpected shape");
  check(leads.shape(1) == n_nodes, "leads: unexpected shape");
  check_length("contributions", contributions.shape(0), n_rows);
  if (interactions)
    check(interactions->shape(0) == n_rows && interactions->shape(1) == n_groups &&
              interactions->shape(2) == n_groups && interactions->shape(3) == n_outputs,
          "interactions: unexpected shape");
  const TreeGame game{as_span(start),
                      left.data(),
                      before.data(),
                      group.data(),
                      value.data(),
                      as_span(weights),
                      ratio.data(),
                      slope.data(),
                      static_cast<int64_t>(n_groups),
                      static_cast<int64_t>(n_outputs)};
  check_trees(game);
  without_gil(cancel, [&](Interrupt& interrupt) {
    ShapleyAdder adder(game, interactions.has_value());
    const size_t size = n_groups * n_outputs;
    for (size_t row = 0; row < n_rows; ++row) {
      RowValues values{contributions.data() + row * size, nullptr};
      if (interactions) values.interactions = interactions->data() + row * n_groups * size;
      adder.add_row(leads.data() + row * n_nodes, values, interrupt);
    }
  });
}

}  // namespace
}  // namespace mddf

void bind_shapley(nanobind::module_& m) {
  using namespace mddf;
  m.def("add_shapley_values", &add_shapley_values, nb::kw_only(), arg("start").noconvert(),
        arg("left").noconvert(), arg("before").noconvert(), arg("group").noconvert(),
        arg("value").noconvert(), arg("weights").noconvert(), arg("ratio").noconvert(),
        arg("slope").noconvert(), arg("leads").noconvert(), arg("contributions").noconvert(),
        arg("interactions").noconvert().none(), arg("cancel").none() = nb::none(),
        R"(Add the Shapley values of rows, summed over trees, to arrays.

The trees stand one after the other, every parent before its children.

Parameters
----------
start : int64 array of shape (n_trees + 1,)
    First node of each tree, and the number of nodes.
left : int64 array of shape (n_nodes,)
    Left child, -1 for leaves; the right child is the next node.
before : int64 array of shape (n_nodes,)
    The nearest edge above that splits by the same group, by the node it leads to; -1 if none.
group : int64 array of shape (n_nodes,)
    Group of the edge to the node; of roots, any.
value : float64 array of shape (n_nodes, n_outputs)
    Values of the leaves.
weights : float64 array of shape (n_steps,)
    Weights of the quadrature.
ratio, slope : float64 arrays of shape (3, n_nodes, n_steps)
    Factor of each edge, and the relative derivative of its group's factor, less that of the edge
    before: for rows that are led along all edges of the group, along all but this one, or that
    have left them above.
leads : uint8 array of shape (n_rows, n_nodes)
    Whether the row's value leads along the edge to the node.
contributions : float64 array of shape (n_rows, n_groups, n_outputs)
    Changed in place.
interactions : float64 array of shape (n_rows, n_groups, n_groups, n_outputs) or None
    Changed in place: the Shapley interaction index of two groups is divided over both orders, by
    which of the groups has the lower edge.
cancel : Cancel or None
    Stops the call.)");
}
