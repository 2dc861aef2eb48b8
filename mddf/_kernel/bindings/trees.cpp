#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <memory>
#include <utility>

#include "bindings/tree_reader.hpp"
#include "forest/grow_block.hpp"
#include "forest/predict.hpp"

namespace mddf {
namespace {

using nb::arg;

template <class T>
std::vector<T> copied(const In<T, 1>& values) {
  return std::vector<T>(values.data(), values.data() + values.shape(0));
}

void check_bins(const BinMatrix& matrix, const Bins& bins) {
  std::vector<uint8_t> counts(bins.n_columns);
  for (int64_t c = 0; c < bins.n_columns; ++c) counts[c] = static_cast<uint8_t>(bins.count(c));
  uint8_t wrong = 0;  // a missing value's code plus one wraps to 0
  for (int64_t r = 0; r < matrix.n_rows; ++r) {
    const uint8_t* row = matrix.row(r);
    for (int64_t c = 0; c < bins.n_columns; ++c)
      wrong |= static_cast<uint8_t>(row[c] + 1) > counts[c];
  }
  if (wrong) throw std::invalid_argument("bins: a code is not below the column's number of bins");
  if (!matrix.by_column) return;
  for (int64_t c = 0; c < bins.n_columns; ++c) {
    const uint8_t* column = matrix.by_column + c * matrix.n_rows;
    for (int64_t r = 0; r < matrix.n_rows; ++r)
      wrong |= static_cast<uint8_t>(column[r] + 1) > counts[c];
  }
  if (wrong)
    throw std::invalid_argument("by_column: a code is not below the column's number of bins");
}

void check_range(const char* name, int64_t got, int64_t least, int64_t most) {
  if (got < least || got > most)
    refuse(std::string(name) + ": expected " + std::to_string(least) + " to " +
           std::to_string(most) + ", got " + std::to_string(got));
}

void check_at_least(const char* name, int64_t got, int64_t least) {
  if (got < least)
    refuse(std::string(name) + ": expected at least " + std::to_string(least) + ", got " +
           std::to_string(got));
}

// Refuses the first value that is not allowed. A message is made up only then: there are many
// values, and meanwhile no other thread can enter Python.
template <class T, class Allowed>
void check_each(const char* name, const In<T, 1>& values, const char* expected, Allowed allowed) {
  for (size_t i = 0; i < values.shape(0); ++i)
    if (!allowed(values.data()[i]))
      refuse(std::string(name) + ": expected " + expected + ", got " +
             std::to_string(values.data()[i]) + " at position " + std::to_string(i));
}

void check_rows(const char* name, const In<int32_t, 1>& rows, int64_t n_rows) {
  check_each(name, rows, "rows of bins",
             [n_rows](int32_t row) { return 0 <= row && row < n_rows; });
}

TrainingSet training_set(const InBins& matrix, const In<double, 1>& values,
                         const In<int64_t, 1>& bin_start, const In<uint8_t, 1>& categorical,
                         const In<uint16_t, 1>& labels, int n_classes,
                         const In<int32_t, 1>& columns) {
  TrainingSet data;
  data.matrix = as_matrix(matrix);
  const int64_t n_columns = data.matrix.n_columns;
  check_range("rows of bins", data.matrix.n_rows, 1, INT32_MAX - 1);
  check_range("columns of bins", n_columns, 0, kMostColumns - 1);
  check_length("bin_start", bin_start.shape(0), n_columns + 1);
  check_length("categorical", categorical.shape(0), n_columns);
  const int64_t* start = bin_start.data();
  check(start[0] == 0 && start[n_columns] == static_cast<int64_t>(values.shape(0)),
        "bin_start: expected to begin with 0 and end with the number of values");
  for (int64_t c = 0; c < n_columns; ++c)
    check_range("bin_start, bins of a column", start[c + 1] - start[c], 1, kMostBins);
  data.bins = {nullptr, values.data(), start, categorical.data(), n_columns};
  check_range("n_classes", n_classes, 1, 65535);
  check_length("labels", labels.shape(0), data.matrix.n_rows);
  check_each("labels", labels, "labels below n_classes",
             [n_classes](uint16_t label) { return label < n_classes; });
  data.labels = labels.data();
  data.n_classes = n_classes;
  data.columns = copied(columns);
  check(!data.columns.empty(), "columns: expected at least one candidate column");
  check_each("columns", columns, "columns of bins",
             [n_columns](int32_t column) { return 0 <= column && column < n_columns; });
  return data;
}

void check_options(const BlockOptions& options, int64_t n_draws) {
  check_at_least("max_features", options.grow.max_features, 1);
  check_at_least("max_depth", options.grow.max_depth, 0);
  check_at_least("min_samples_leaf", options.grow.min_samples_leaf, 1);
  check(options.grow.min_weight_leaf >= 0, "min_weight_leaf: expected at least 0, got " +
                                               std::to_string(options.grow.min_weight_leaf));
  check_range("n_draws", n_draws, 0, INT32_MAX - 1);
}

std::unique_ptr<TreeReader> grow(
    InBins matrix, In<double, 1> values, In<int64_t, 1> bin_start, In<uint8_t, 1> categorical,
    In<uint16_t, 1> labels, int n_classes, In<int32_t, 1> columns, In<int32_t, 1> rows,
    In<uint64_t, 1> seeds, std::optional<In<double, 1>> weights,
    std::optional<In<uint64_t, 1>> cumulative, int64_t n_draws, bool balance, bool entropy,
    bool random_thresholds, int64_t max_features, int64_t max_depth, int64_t min_samples_split,
    int64_t min_samples_leaf, double min_weight_leaf, std::optional<In<int32_t, 1>> held_out_rows,
    bool out_of_bag, std::optional<InOut<double, 2>> sums, std::optional<InOut<int32_t, 1>> n_trees,
    std::optional<InOut<double, 2>> importances, std::optional<InBins> by_column) {
  TrainingSet data =
      training_set(matrix, values, bin_start, categorical, labels, n_classes, columns);
  if (by_column) {
    check(by_column->shape(0) == matrix.shape(1) && by_column->shape(1) == matrix.shape(0),
          "by_column: expected the shape of bins, transposed");
    data.matrix.by_column = by_column->data();
  }
  BlockOptions options;
  options.entropy = entropy;
  options.n_draws = n_draws;
  options.balance = balance;
  options.grow = {random_thresholds, max_features,     max_depth,
                  min_samples_split, min_samples_leaf, min_weight_leaf};
  check_options(options, n_draws);
  const int64_t n_rows = data.matrix.n_rows;
  check(rows.shape(0) > 0, "rows: expected at least one row to train on");
  check_rows("rows", rows, n_rows);
  check(!balance || weights, "balance: only with weights");
  if (weights) {
    check_length("weights", weights->shape(0), n_rows);
    check_each("weights", *weights, "finite numbers that are not negative",
               [](double weight) { return weight >= 0 && std::isfinite(weight); });
  }
  if (cumulative) {
    check_length("cumulative", cumulative->shape(0), rows.shape(0));
    check_each(
        "cumulative", *cumulative, "sums that do not fall",
        [before = uint64_t{0}](uint64_t sum) mutable { return std::exchange(before, sum) <= sum; });
    check(cumulative->data()[rows.shape(0) - 1] > 0, "cumulative: expected a positive total");
  }
  HeldOut held_out;
  check(sums || !(held_out_rows || out_of_bag),
        "sums: needed with held_out_rows or out_of_bag, got None");
  if (sums || n_trees) {
    check(sums && n_trees, "sums, n_trees: expected both or neither");
    check(out_of_bag != held_out_rows.has_value(),
          "held_out_rows, out_of_bag: expected one of them");
    check(!out_of_bag || n_draws > 0, "out_of_bag: only with a bootstrap");
    if (held_out_rows) {
      check_rows("held_out_rows", *held_out_rows, n_rows);
      held_out.rows = {held_out_rows->data(), static_cast<int64_t>(held_out_rows->shape(0))};
    }
    held_out.out_of_bag = out_of_bag;
    const size_t length = out_of_bag ? rows.shape(0) : held_out_rows->shape(0);
    check_length("sums", sums->shape(0), length);
    check(static_cast<int>(sums->shape(1)) == n_classes, "sums: expected n_classes columns");
    check_length("n_trees", n_trees->shape(0), length);
    held_out.sums = sums->data();
    held_out.n_trees = n_trees->data();
  }
  if (importances) {
    check_length("importances", importances->shape(0), seeds.shape(0));
    check(static_cast<int64_t>(importances->shape(1)) == data.bins.n_columns,
          "importances: expected one column per column of bins");
  }
  GrownTrees grown;
  {
    nb::gil_scoped_release release;
    check_bins(data.matrix, data.bins);
    grown =
        grow_block(data, options, {rows.data(), static_cast<int64_t>(rows.shape(0))},
                   weights ? weights->data() : nullptr, cumulative ? cumulative->data() : nullptr,
                   held_out, seeds.data(), static_cast<int64_t>(seeds.shape(0)),
                   importances ? importances->data() : nullptr);
  }
  return std::make_unique<TreeReader>(std::move(grown));
}

// Rows [first, last) of bins, checked against the trees.
BinMatrix row_range(const TreesView& trees, const InBins& bins, int64_t first, int64_t last) {
  const BinMatrix matrix = as_matrix(bins);
  check(matrix.n_columns == trees.n_columns, "bins: expected " + std::to_string(trees.n_columns) +
                                                 " columns, got " +
                                                 std::to_string(matrix.n_columns));
  check(0 <= first && first <= last && last <= matrix.n_rows,
        "first, last: expected a range of rows");
  return {matrix.row(first), last - first, matrix.n_columns};
}

void add_probabilities_to(TreeReader& reader, InBins bins, int64_t first, int64_t last,
                          InOut<double, 2> out) {
  const TreesView& trees = reader.checked();
  const BinMatrix rows = row_range(trees, bins, first, last);
  check(out.shape(0) == bins.shape(0) && static_cast<int>(out.shape(1)) == trees.n_classes,
        "out: expected one row per row of bins and one column per class");
  nb::gil_scoped_release release;
  add_probabilities(trees, rows, out.data() + first * trees.n_classes);
}

void leaf_indices_to(TreeReader& reader, InBins bins, int64_t first, int64_t last,
                     InOut<int64_t, 2> out) {
  const TreesView& trees = reader.checked();
  const BinMatrix rows = row_range(trees, bins, first, last);
  check(out.shape(0) == bins.shape(0) && static_cast<int64_t>(out.shape(1)) == trees.n_trees(),
        "out: expected one row per row of bins and one column per tree");
  nb::gil_scoped_release release;
  leaf_indices(trees, rows, out.data() + first * trees.n_trees());
}

}  // namespace
}  // namespace mddf

void bind_trees(nanobind::module_& m) {
  using namespace mddf;
  nb::class_<TreeReader>(m, "TreeReader")
      .def(nb::init<int, int64_t, In<uint64_t, 1>, In<int64_t, 1>, In<uint32_t, 1>, In<uint16_t, 1>,
                    In<float, 1>>(),
           arg("n_classes"), arg("n_columns"), arg("nodes").noconvert(),
           arg("tree_start").noconvert(), arg("leaf_start").noconvert(),
           arg("leaf_class").noconvert(), arg("leaf_probability").noconvert())
      .def("parts", &TreeReader::parts)
      .def("check", &TreeReader::check)
      .def("n_nodes", &TreeReader::n_nodes)
      .def("add_probabilities", &add_probabilities_to, arg("bins").noconvert(), arg("first"),
           arg("last"), arg("out").noconvert())
      .def("leaf_indices", &leaf_indices_to, arg("bins").noconvert(), arg("first"), arg("last"),
           arg("out").noconvert());
  m.def("use_wide_vectors", [](bool use) {
    const bool before = simd::wide();
    simd::wide() = use && simd::supported();
    return before;
  });
  m.def("grow", &grow, arg("bins").noconvert(), arg("values").noconvert(),
        arg("bin_start").noconvert(), arg("categorical").noconvert(), arg("labels").noconvert(),
        arg("n_classes"), arg("columns").noconvert(), arg("rows").noconvert(),
        arg("seeds").noconvert(), nb::kw_only(), arg("weights").none().noconvert() = nb::none(),
        arg("cumulative").none().noconvert() = nb::none(), arg("n_draws") = 0,
        arg("balance") = false, arg("entropy") = false, arg("random_thresholds") = false,
        arg("max_features") = 1, arg("max_depth"), arg("min_samples_split") = 2,
        arg("min_samples_leaf") = 1, arg("min_weight_leaf") = 0.0,
        arg("held_out_rows").none().noconvert() = nb::none(), arg("out_of_bag") = false,
        arg("sums").none().noconvert() = nb::none(), arg("n_trees").none().noconvert() = nb::none(),
        arg("importances").none().noconvert() = nb::none(),
        arg("by_column").none().noconvert() = nb::none());
}
