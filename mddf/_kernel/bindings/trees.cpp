#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/tables.hpp"
#include "bindings/tree_reader.hpp"
#include "forest/predict/leaf_quantiles.hpp"
#include "forest/predict/predict.hpp"
#include "forest/predict/predict_numbers.hpp"

namespace mddf {
namespace {

using nb::arg;

BinMatrix as_matrix(const In<uint8_t, 2>& codes) {
  return {codes.data(), static_cast<int64_t>(codes.shape(0)), static_cast<int64_t>(codes.shape(1))};
}

// Rows [first, last) of codes, checked against the trees.
BinMatrix row_range(const NodesView& trees, const In<uint8_t, 2>& codes, int64_t first,
                    int64_t last) {
  const BinMatrix matrix = as_matrix(codes);
  check(matrix.n_columns == trees.n_columns, "codes: expected " + std::to_string(trees.n_columns) +
                                                 " columns, got " +
                                                 std::to_string(matrix.n_columns));
  check_part(first, last, matrix.n_rows, "rows");
  return {matrix.row(first), last - first, matrix.n_columns};
}

template <class AnyReader>
void add_leaves_to(AnyReader& reader, In<uint8_t, 2> codes, int64_t first, int64_t last,
                   InOut<double, 2> out, Cancel* cancel) {
  const auto& trees = reader.checked();
  const BinMatrix rows = row_range(trees, codes, first, last);
  check(out.shape(0) == codes.shape(0) && static_cast<int>(out.shape(1)) == trees.width(),
        "out: expected one row per row of codes and one column per class or output");
  without_gil(cancel, [&](Interrupt& interrupt) {
    add_leaves(trees, rows, out.data() + first * trees.width(), interrupt);
  });
}

template <class AnyReader>
std::unique_ptr<AnyReader> joined(const std::vector<AnyReader*>& readers) {
  check(!readers.empty(), "blocks: expected at least one");
  std::vector<std::decay_t<decltype(readers[0]->checked())>> blocks;
  for (AnyReader* reader : readers) {
    blocks.push_back(reader->checked());
    check(blocks.back().n_columns == blocks[0].n_columns &&
              blocks.back().width() == blocks[0].width(),
          "blocks: expected trees of one forest");
  }
  decltype(join_blocks(blocks, std::declval<Interrupt&>())) trees;
  without_gil(nullptr, [&](Interrupt& interrupt) { trees = join_blocks(blocks, interrupt); });
  return std::make_unique<AnyReader>(std::move(trees));
}

template <class T, class AnyReader>
void add_leaves_of_numbers_to(AnyReader& reader, AnyTable<T> x, In<double, 1> edges,
                              In<int64_t, 1> bin_start, int64_t first, int64_t last,
                              InOut<double, 2> out, Cancel* cancel) {
  const auto& trees = reader.checked();
  const CellsView<T> table = as_cells<T>(x);
  check(!trees.has_categorical, "trees: expected numeric nodes only");
  check(table.n_columns == trees.n_columns,
        "x: expected " + std::to_string(trees.n_columns) + " columns");
  const Bins bins = as_bins(edges, bin_start, nullptr, table.n_columns);
  check_part(first, last, table.n_rows, "rows");
  check(static_cast<int64_t>(out.shape(0)) == table.n_rows &&
            static_cast<int>(out.shape(1)) == trees.width(),
        "out: expected one row per row of x and one column per class or output");
  without_gil(cancel, [&](Interrupt& interrupt) {
    add_leaves_of_numbers(trees, bins, table, first, last, out.data(), interrupt);
  });
}

template <class AnyReader>
void leaf_indices_to(AnyReader& reader, In<uint8_t, 2> codes, int64_t first, int64_t last,
                     InOut<int64_t, 2> out, Cancel* cancel) {
  const NodesView& trees = reader.checked();
  const BinMatrix rows = row_range(trees, codes, first, last);
  check(out.shape(0) == codes.shape(0) && static_cast<int64_t>(out.shape(1)) == trees.n_trees(),
        "out: expected one row per row of codes and one column per tree");
  without_gil(cancel, [&](Interrupt& interrupt) {
    leaf_indices(trees, rows, out.data() + first * trees.n_trees(), interrupt);
  });
}

template <class AnyReader>
void mark_columns(AnyReader& reader, InOut<bool, 1> out) {
  const std::vector<uint8_t>& used = reader.columns_used();
  check_length("out", out.shape(0), static_cast<int64_t>(used.size()));
  for (size_t c = 0; c < used.size(); ++c)
    if (used[c]) out.data()[c] = true;
}

constexpr const char* kOfNumbers =
    R"(Add the sum of the leaf values over the trees for rows that are not coded.

Parameters
----------
x : float64 or float32 array of shape (n_rows, n_columns)
    Any strides. NaN is missing; no infinities.
edges : float64 array
    The bins of column c are edges[bin_start[c]:bin_start[c + 1]], without categories.
bin_start : int64 array of shape (n_columns + 1,)
first, last : int
out : float64 array of shape (n_rows, n_classes or n_outputs)
cancel : Cancel or None)";

// Methods of all readers.
template <class AnyReader>
void bind_reading(nb::class_<AnyReader>& reader) {
  reader.def("parts", &AnyReader::parts, "Return the arguments of the constructor.")
      .def(
          "check", [](AnyReader& self) { self.check(); },
          R"(Check every word of the arrays, unless this has been done.

All other methods except parts call it first. A ValueError refuses invalid words.)")
      .def(
          "n_nodes", [](AnyReader& self) { return self.n_nodes(); },
          "Return the number of nodes of all trees, leaves included.")
      .def("add_leaf_values", &add_leaves_to<AnyReader>, arg("codes").noconvert(), arg("first"),
           arg("last"), arg("out").noconvert(), arg("cancel").none() = nb::none(),
           R"(Add the sum of the leaf values over the trees, for a range of rows.

Parameters
----------
codes : uint8 array of shape (n_rows, n_columns)
first, last : int
    The range.
out : float64 array of shape (n_rows, n_classes or n_outputs)
    Other rows do not change.
cancel : Cancel or None
    Stops the call on request.)")
      .def("add_leaf_values_of_numbers", &add_leaves_of_numbers_to<double, AnyReader>,
           arg("x").noconvert(), arg("edges").noconvert(), arg("bin_start").noconvert(),
           arg("first"), arg("last"), arg("out").noconvert(), arg("cancel").none() = nb::none(),
           kOfNumbers)
      .def("add_leaf_values_of_numbers", &add_leaves_of_numbers_to<float, AnyReader>,
           arg("x").noconvert(), arg("edges").noconvert(), arg("bin_start").noconvert(),
           arg("first"), arg("last"), arg("out").noconvert(), arg("cancel").none() = nb::none(),
           kOfNumbers)
      .def("leaf_indices", &leaf_indices_to<AnyReader>, arg("codes").noconvert(), arg("first"),
           arg("last"), arg("out").noconvert(), arg("cancel").none() = nb::none(),
           "Write the leaf that each row of a range ends in to out (n_rows, n_trees).")
      .def("mark_columns", &mark_columns<AnyReader>, arg("out").noconvert(),
           "Set out (bool, n_columns) to true for columns that some node splits.")
      .def_static("joined", &joined<AnyReader>, arg("blocks"),
                  "Join blocks to the block that one call would have grown.");
}

}  // namespace
}  // namespace mddf

namespace mddf {
namespace {

Out<int32_t, 2> leaf_quantiles(In<int64_t, 2> leaves, In<int64_t, 1> leaf_start,
                               In<int32_t, 1> rows, In<double, 1> weights, In<int32_t, 1> rank,
                               In<double, 1> shares, Cancel* cancel) {
  const int64_t n_rows = leaves.shape(0), n_trees = leaves.shape(1);
  const int64_t n_leaves = static_cast<int64_t>(leaf_start.shape(0)) - 1;
  const KeptSamples kept{as_span(leaf_start), as_span(rows), as_span(weights), as_span(rank)};
  check(n_leaves >= 1 && n_trees >= 1, "leaf_start, leaves: expected at least one leaf and tree");
  check_length("rank", rank.shape(0), weights.shape(0));
  int64_t before = 0;
  check_each("leaf_start", leaf_start, "places in rows that do not fall", [&](int64_t start) {
    const bool fits = before <= start && start <= kept.rows.size;
    before = start;
    return fits;
  });
  check_each("rows", rows, "samples",
             [&](int32_t row) { return 0 <= row && row < kept.weights.size; });
  for (int64_t i = 0; i < n_rows * n_trees; ++i)
    check(0 <= leaves.data()[i] && leaves.data()[i] < n_leaves, "leaves: a leaf is out of range");
  const size_t n_shares = shares.shape(0);
  std::vector<int32_t> ranks(static_cast<size_t>(n_rows) * n_shares);
  without_gil(cancel, [&](Interrupt& interrupt) {
    LeafQuantiles quantiles(kept, as_span(shares));
    for (int64_t row = 0; row < n_rows; ++row) {
      interrupt.poll(16 * n_trees);
      quantiles.find(leaves.data() + row * n_trees, n_trees, ranks.data() + row * n_shares);
    }
  });
  return to_numpy<int32_t, 2>(std::move(ranks), {leaves.shape(0), n_shares});
}

}  // namespace
}  // namespace mddf

void bind_trees(nanobind::module_& m) {
  using namespace mddf;
  m.def("leaf_quantiles", &leaf_quantiles, arg("leaves").noconvert(), arg("leaf_start").noconvert(),
        arg("rows").noconvert(), arg("weights").noconvert(), arg("rank").noconvert(),
        arg("shares").noconvert(), arg("cancel").none() = nb::none(),
        R"(Compute ranks of quantiles of the stored targets in the leaves of rows.

Parameters
----------
leaves : int64 array of shape (n_rows, n_trees)
    The leaf of each tree that each row ends in.
leaf_start : int64 array of shape (n_leaves + 1,)
rows : int32 array
    The stored samples of leaf l are rows[leaf_start[l]:leaf_start[l + 1]].
weights : float64 array of shape (n_samples,)
rank : int32 array of shape (n_samples,)
    Ranks of the samples by their targets.
shares : float64 array of shape (n_shares,)
cancel : Cancel or None

Returns
-------
int32 array of shape (n_rows, n_shares)
    The lowest rank with at least this share of the weight up to it; all trees weigh the same.)");
  nb::class_<TreeReader> reader(
      m, "TreeReader",
      "Trees in arrays that are read in place; see mddf._trees.arrays.Trees, which wraps it.");
  reader.def(nb::init<int, int64_t, In<uint64_t, 1>, In<int64_t, 1>, In<uint32_t, 1>,
                      In<uint16_t, 1>, In<float, 1>>(),
             arg("n_classes"), arg("n_columns"), arg("nodes").noconvert(),
             arg("tree_start").noconvert(), arg("leaf_start").noconvert(),
             arg("leaf_class").noconvert(), arg("leaf_probability").noconvert());
  bind_reading(reader);
  nb::class_<ValueTreeReader> of_values(
      m, "ValueTreeReader",
      "Regression trees in arrays; see mddf._trees.arrays.ValueTrees, which wraps it.");
  of_values.def(nb::init<int, int64_t, In<uint64_t, 1>, In<int64_t, 1>, In<double, 1>>(),
                arg("n_outputs"), arg("n_columns"), arg("nodes").noconvert(),
                arg("tree_start").noconvert(), arg("leaf_value").noconvert());
  bind_reading(of_values);
}
