// Python bindings of growing trees.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

#include "bindings/call.hpp"
#include "bindings/inputs.hpp"
#include "forest/grow/blocks.hpp"
#include "forest/grow/row_counts.hpp"

namespace mddf {
namespace {

// Predict for each tree the rows that it did not draw.
enum class HeldOutRows { kOutOfBag };

template <class Target>
using Grown = std::tuple<std::unique_ptr<typename Target::Reader>, std::optional<Out<double, 2>>,
                         std::optional<Out<int32_t, 1>>, std::optional<Out<double, 2>>>;

int n_outputs(const TrainingSet& data) { return data.target.n_classes - 1; }
int n_outputs(const ValueTraining& data) { return data.target.n_outputs; }

template <class Data>
void check_monotonic(const GrowOptions& options, const Data& data) {
  if (!options.is_monotonic()) return;
  check_length("monotonic", options.monotonic.size(), data.matrix.n_columns);
  check(n_outputs(data) <= 1, "monotonic: only with two classes, or one output");
  for (int64_t c = 0; c < data.matrix.n_columns; ++c)
    check(options.monotonic[c] == 0 || !data.bins.categorical[c],
          "monotonic: columns of categories have no order");
}

template <class Target>
Grown<Target> grow(BinnedTable& table, const Target& target, const RowSampling& sampling,
                   const GrowOptions& options, In<uint64_t, 1> seeds,
                   std::optional<In<int32_t, 1>> columns,
                   std::optional<std::variant<HeldOutRows, In<int32_t, 1>>> held_out,
                   bool importances, Cancel* cancel) {
  const BinnedTable::Use use(table);
  Training<decltype(target.target())> data{{table.matrix(), table.bins(), {}, {}, nullptr},
                                           target.target()};
  const int64_t n_rows = data.matrix.n_rows, n_columns = data.matrix.n_columns;
  check_length("target", target.n_rows(), n_rows);
  if (columns) {
    check_each("columns", *columns, "columns of the table",
               [n_columns](int32_t column) { return 0 <= column && column < n_columns; });
    data.columns.assign(columns->data(), columns->data() + columns->shape(0));
  } else {
    for (int64_t c = 0; c < n_columns; ++c) data.columns.push_back(static_cast<int32_t>(c));
  }
  check(!data.columns.empty(), "columns: expected at least one candidate column");
  check_monotonic(options, data);
  const Sampling rows = sampling.sampling(n_rows);
  HeldOut predicted;
  if (held_out && std::holds_alternative<HeldOutRows>(*held_out)) {
    check(rows.n_draws > 0, "held_out: out of bag only with a bootstrap");
    predicted.rows = rows.rows;
    predicted.out_of_bag = true;
  } else if (held_out) {
    const auto& held_out_rows = std::get<In<int32_t, 1>>(*held_out);
    check_each("held_out", held_out_rows, "rows of the table",
               [n_rows](int32_t row) { return 0 <= row && row < n_rows; });
    predicted.rows = as_span(held_out_rows);
  }
  const size_t n_held_out = static_cast<size_t>(predicted.rows.size);
  std::vector<double> sums(n_held_out * target.width()), importance_sums;
  std::vector<int32_t> n_trees(n_held_out);
  if (held_out) predicted.sums = sums.data(), predicted.n_trees = n_trees.data();
  if (importances) importance_sums.resize(seeds.shape(0) * n_columns);
  auto grown = without_gil(cancel, [&](Interrupt& interrupt) {
    const int64_t n_draws = rows.rows.size * as_span(seeds).size;  // about one step for each sample
    if constexpr (std::is_same_v<Target, ClassLabels>)
      data.nonzero_rows = table.nonzero_rows(options, interrupt);
    data.guesses = CutGuesses(data.bins, data.columns, options.random_thresholds ? n_draws : 0);
    return grow_block(
        data,
        {options, rows, predicted, as_span(seeds), importances ? importance_sums.data() : nullptr},
        interrupt);
  });
  Grown<Target> result;
  std::get<0>(result) = std::make_unique<typename Target::Reader>(std::move(grown));
  if (held_out) {
    std::get<1>(result) = to_numpy<double, 2>(std::move(sums), {n_held_out, target.width()});
    std::get<2>(result) = to_numpy(std::move(n_trees));
  }
  if (importances)
    std::get<3>(result) = to_numpy<double, 2>(std::move(importance_sums),
                                              {seeds.shape(0), static_cast<size_t>(n_columns)});
  return result;
}

// Returns how often each row is in the sample of a tree with this seed.
Out<uint32_t, 1> sample_counts(const RowSampling& sampling, int64_t n_rows, uint64_t seed,
                               Cancel* cancel) {
  check(n_rows >= 0, "n_rows: expected at least 0");
  const Sampling rows = sampling.sampling(n_rows);
  std::vector<uint32_t> sampled(n_rows);
  without_gil(cancel, [&](Interrupt& interrupt) {
    RowCounts counts(rows, n_rows, interrupt);
    Random random(seed);
    counts.draw(random);
    for (int64_t row = 0; row < n_rows; ++row) sampled[row] = counts[row];
  });
  return to_numpy(std::move(sampled));
}

// A __reduce__ method: the type, and the arguments of its constructor.
template <class T, class Arguments>
auto reducing(Arguments arguments) {
  return [arguments](nb::handle self) {
    return nb::make_tuple(self.type(), std::invoke(arguments, nb::cast<const T&>(self)));
  };
}

using OptionalCodes = std::optional<In<uint8_t, 2>>;

void bind_table(nb::module_& m) {
  using nb::arg;
  // Writable arrays are tried first; read-only arrays are also accepted.
  const auto as_in = [](const std::optional<InOut<uint8_t, 2>>& codes) {
    return codes ? OptionalCodes(In<uint8_t, 2>(*codes)) : std::nullopt;
  };
  nb::class_<BinnedTable> bound(m, "BinnedTable",
                                R"(A coded table. The constructor checks all cells.

Parameters
----------
codes : uint8 array of shape (n_rows, n_columns)
    Codes below the number of bins of their column, or 255 for missing values. Afterwards only
    replace_columns may change them.
by_column : uint8 array of shape (n_columns, n_rows) or None
    The transposed codes. Optional; large tables are faster with it.
values : float64 array
    The values of the bins of column c are values[bin_start[c]:bin_start[c + 1]].
bin_start : int64 array of shape (n_columns + 1,)
categorical : uint8 array of shape (n_columns,)
    Whether the codes of a column have no order.)");
  bound.def(
      "__init__",
      [as_in](BinnedTable* self, InOut<uint8_t, 2> codes,
              const std::optional<InOut<uint8_t, 2>>& by_column, In<double, 1> values,
              In<int64_t, 1> bin_start, In<uint8_t, 1> categorical) {
        new (self) BinnedTable(In<uint8_t, 2>(codes), as_in(by_column), std::move(values),
                               std::move(bin_start), std::move(categorical), true);
      },
      arg("codes").noconvert(), arg("by_column").none().noconvert(), arg("values").noconvert(),
      arg("bin_start").noconvert(), arg("categorical").noconvert());
  bound.def(
      "__init__",
      [](BinnedTable* self, In<uint8_t, 2> codes, OptionalCodes by_column, In<double, 1> values,
         In<int64_t, 1> bin_start, In<uint8_t, 1> categorical) {
        new (self) BinnedTable(std::move(codes), std::move(by_column), std::move(values),
                               std::move(bin_start), std::move(categorical), false);
      },
      arg("codes").noconvert(), arg("by_column").none().noconvert(), arg("values").noconvert(),
      arg("bin_start").noconvert(), arg("categorical").noconvert());
  bound
      .def_prop_ro(
          "codes", [](const BinnedTable& table) { return shared(table.codes()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "by_column", [](const BinnedTable& table) { return shared(table.by_column()); },
          nb::rv_policy::automatic)
      .def(
          "replace_columns", &BinnedTable::replace_columns, arg("first"), arg("codes").noconvert(),
          arg("values").noconvert(), arg("bin_start").noconvert(), arg("categorical").noconvert(),
          R"(Replace the columns from first on. The arguments are as for a table of the new columns.

Raises ValueError and changes nothing if they do not fit, or if trees are growing on the table.)");
}

void bind_column_table(nb::module_& m) {
  using nb::arg;
  nb::class_<ColumnTable>(m, "ColumnTable", R"(A coded table of gradient boosting, by columns.

Parameters
----------
codes : uint8 array of shape (n_columns, n_rows)
    Codes below the number of bins of their column, or this number for missing values. It is not
    copied and must not be changed.
bin_start : int64 array of shape (n_columns + 1,)
    Column c has bin_start[c + 1] - bin_start[c] bins.
categorical : uint8 array of shape (n_columns,)
    Whether the codes of a column have no order.)")
      .def(nb::init<In<uint8_t, 2>, In<int64_t, 1>, In<uint8_t, 1>>(), arg("codes").noconvert(),
           arg("bin_start").noconvert(), arg("categorical").noconvert());
}

void bind_target(nb::module_& m) {
  using nb::arg;
  nb::class_<ClassLabels>(m, "ClassTarget", R"(Target of classification trees.

Parameters
----------
labels : uint16 array of shape (n_rows,)
    Below n_classes.
n_classes : int
    At most 65535.)")
      .def(nb::init<In<uint16_t, 1>, int>(), arg("labels").noconvert(), arg("n_classes"))
      .def("__reduce__", reducing<ClassLabels>(&ClassLabels::arguments));
}

void bind_values(nb::module_& m) {
  using nb::arg;
  nb::class_<FixedValues>(m, "ValueTarget",
                          R"(Target of regression trees, as integer multiples of a unit.

Parameters
----------
fixed : int64 array of shape (n_rows, n_outputs)
    From -2^61 to 2^61.
scale : float64 array of shape (n_outputs,)
    Factor of the squared error of each output, from 0 to 1.)")
      .def(nb::init<In<int64_t, 2>, In<double, 1>>(), arg("fixed").noconvert(),
           arg("scale").noconvert())
      .def("__reduce__", reducing<FixedValues>(&FixedValues::arguments));
}

void bind_sampling(nb::module_& m) {
  using nb::arg;
  nb::class_<RowSampling>(m, "Sampling", R"(Rows that trees are grown on, and their weights.

Parameters
----------
rows : int32 array
    Candidate rows. Bootstrap draws depend on their order.
n_draws : int
    Rows drawn with replacement for each tree; 0 takes every row once.
cumulative : uint64 array of shape (len(rows),) or None
    Cumulative sums of integer weights. Rows are drawn in proportion to these weights.
weights : float64 array of shape (n_rows,) or None
    Non-negative weights of all rows of the table within trees.
balance : bool
    Scale the weights so that all classes have the same weight in the sample of each tree.
parts : int64 array of shape (n_parts + 1,) or None
    Starts of parts of rows, and len(rows). n_draws rows are drawn from each part, and
    `cumulative` restarts in each part.
whole_parts : bool
    Draw n_draws whole parts instead of rows.)")
      .def(nb::init<In<int32_t, 1>, int64_t, std::optional<In<uint64_t, 1>>,
                    std::optional<In<double, 1>>, bool, std::optional<In<int64_t, 1>>, bool>(),
           arg("rows").noconvert(), arg("n_draws") = 0,
           arg("cumulative").none().noconvert() = nb::none(),
           arg("weights").none().noconvert() = nb::none(), arg("balance") = false,
           arg("parts").none().noconvert() = nb::none(), arg("whole_parts") = false)
      .def_prop_ro(
          "rows", [](const RowSampling& self) { return shared(self.rows()); },
          nb::rv_policy::automatic)
      .def_prop_ro("n_draws", &RowSampling::n_draws)
      .def("__reduce__", reducing<RowSampling>(&RowSampling::arguments));
}

nb::tuple arguments_of(const GrowOptions& o) {
  std::optional<Out<int8_t, 1>> monotonic;
  if (o.is_monotonic()) monotonic = to_numpy(o.monotonic);
  return nb::make_tuple(o.entropy, o.random_thresholds, o.max_features, o.max_depth,
                        o.min_samples_split, o.min_samples_leaf, o.min_weight_leaf, o.wide_vectors,
                        o.max_leaf_nodes, o.min_decrease, o.prune, o.loss, monotonic);
}

void bind_options(nb::module_& m) {
  using nb::arg;
  nb::enum_<Loss>(m, "Loss", "Criterion of regression trees.")
      .value("SQUARED_ERROR", Loss::kSquaredError)
      .value("POISSON", Loss::kPoisson)
      .value("ABSOLUTE_ERROR", Loss::kAbsoluteError)
      .value("ENTROPY", Loss::kEntropy);
  const GrowOptions usual;
  nb::class_<GrowOptions>(m, "TreeOptions", R"(Options of trees.

Parameters
----------
entropy : bool
    Use entropy instead of the Gini impurity.
random_thresholds : bool
    Draw one random threshold for each candidate column instead of searching the best one.
max_features : int
    Columns drawn for each node.
max_depth, min_samples_split, min_samples_leaf : int
    Limits, in edges and samples.
min_weight_leaf : float
    Smallest weight of a leaf, as a share of the total weight of the tree's sample.
wide_vectors : bool
    Use vector instructions if the processor has them. They change only the time.
max_leaf_nodes : int
    Largest number of leaves, grown best first; 0: no limit, grown depth first.
min_decrease : float
    Smallest decrease of impurity by a split, divided by the weight of the tree's sample. In
    regression, it is summed over outputs, in units of the bound on the targets (its square for
    squared errors).
prune : float
    Parameter alpha of minimal cost-complexity pruning, in the same unit.
loss : Loss
    Criterion of regression trees. Leaves hold medians for absolute errors, otherwise means.
monotonic : int8 array of shape (n_columns,) or None
    1: the prediction (or the share of the second of two classes) must not decrease with the
    column; -1: it must not increase.)")
      .def(
          "__init__",
          [](GrowOptions* self, bool entropy, bool random_thresholds, int64_t max_features,
             int64_t max_depth, int64_t min_samples_split, int64_t min_samples_leaf,
             double min_weight_leaf, bool wide_vectors, int64_t max_leaf_nodes, double min_decrease,
             double prune, Loss loss, const std::optional<In<int8_t, 1>>& monotonic) {
            std::vector<int8_t> directions;
            if (monotonic)
              directions.assign(monotonic->data(), monotonic->data() + monotonic->shape(0));
            new (self) GrowOptions(
                checked({entropy, random_thresholds, max_features, max_depth, min_samples_split,
                         min_samples_leaf, min_weight_leaf, wide_vectors, max_leaf_nodes,
                         min_decrease, prune, loss, std::move(directions)}));
          },
          arg("entropy") = usual.entropy, arg("random_thresholds") = usual.random_thresholds,
          arg("max_features") = usual.max_features, arg("max_depth") = usual.max_depth,
          arg("min_samples_split") = usual.min_samples_split,
          arg("min_samples_leaf") = usual.min_samples_leaf,
          arg("min_weight_leaf") = usual.min_weight_leaf, arg("wide_vectors") = usual.wide_vectors,
          arg("max_leaf_nodes") = usual.max_leaf_nodes, arg("min_decrease") = usual.min_decrease,
          arg("prune") = usual.prune, arg("loss") = usual.loss,
          arg("monotonic").none().noconvert() = nb::none())
      .def_ro("entropy", &GrowOptions::entropy)
      .def("__reduce__", reducing<GrowOptions>(&arguments_of));
}

constexpr const char* kGrow = R"(Grow one tree per seed.

Parameters
----------
table : BinnedTable
target : ClassTarget or ValueTarget
    Targets of all rows of the table.
sampling : Sampling
options : TreeOptions
seeds : uint64 array of shape (n_trees,)
columns : int32 array or None
    Columns that may be split; None: all.
held_out : int32 array, HeldOut.OUT_OF_BAG or None
    Rows to predict by all trees; or the rows of the sampling, by the trees that did not draw them.
importances : bool
    Whether to return the decrease of impurity by each column.
cancel : Cancel or None
    Stops the call on request.

Returns
-------
trees : TreeReader or ValueTreeReader
sums : float64 array of shape (rows held out, n_classes) or None
    Sums over trees of the class distributions of held-out rows. In regression, each output has
    two columns, whose sum is the prediction; both are exact for up to 2^20 trees.
n_trees : int32 array of shape (rows held out,) or None
    Number of trees in each sum.
importances : float64 array of shape (n_trees, n_columns) or None
    Decrease of impurity by each column, weighted by the samples. In regression, the decrease of
    the squared error, in units of the square of 2^61 times the unit of the target.)";

template <class Target>
void bind_grow(nb::module_& m) {
  using nb::arg;
  m.def("grow", &grow<Target>, arg("table"), arg("target"), arg("sampling"), arg("options"),
        arg("seeds").noconvert(), nb::kw_only(), arg("columns").none().noconvert() = nb::none(),
        arg("held_out").none().noconvert() = nb::none(), arg("importances") = false,
        arg("cancel").none() = nb::none(), kGrow);
}

}  // namespace
}  // namespace mddf

void bind_growing(nanobind::module_& m) {
  using namespace mddf;
  using nb::arg;
  bind_table(m);
  bind_column_table(m);
  bind_target(m);
  bind_values(m);
  bind_sampling(m);
  bind_options(m);
  nb::enum_<HeldOutRows>(m, "HeldOut", "Held-out rows that depend on the tree.")
      .value("OUT_OF_BAG", HeldOutRows::kOutOfBag);
  bind_grow<ClassLabels>(m);
  bind_grow<FixedValues>(m);
  m.def("sample_counts", &sample_counts, arg("sampling"), arg("n_rows"), arg("seed"),
        arg("cancel").none() = nb::none(),
        R"(Count how often the tree of a seed has each row in its sample.

Parameters
----------
sampling : Sampling
n_rows : int
    Number of rows of the table.
seed : int
cancel : Cancel or None

Returns
-------
uint32 array of shape (n_rows,))");
}
