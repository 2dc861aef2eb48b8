// Python bindings of growing trees on rows that are divided among several processes.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/call.hpp"
#include "bindings/inputs.hpp"
#include "forest/grow/blocks.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/shard_sums.hpp"

namespace mddf {
namespace {

template <class T>
Out<T, 1> copy_of(const T* values, int64_t n) {
  return to_numpy(std::vector<T>(values, values + n));
}

// Whether each of the 256 codes goes left, as 0 or 1.
Out<uint8_t, 1> left_codes(const Split& split) {
  std::vector<uint8_t> left(256);
  for (int code = 0; code < 256; ++code) left[code] = !split.goes_right(static_cast<uint8_t>(code));
  // A set that was completed by send_unseen() does not hold the code of missing values.
  left[kMissing] = split.missing_left;
  return to_numpy(std::move(left));
}

// Calls methods of an object of Python: `ClassPeers` and `ValuePeers` in
// _clusters/forest_growth.py.
template <class Base, class Data>
class PythonRows : public Base {
 public:
  PythonRows(nb::object rows, Data& data, int64_t most_copied)
      : rows_(std::move(rows)), data_(data), most_copied_(most_copied) {}

  int64_t most_copied() const override { return most_copied_; }

 protected:
  // Takes the codes of copied rows as the matrix of the training data; returns the other arrays.
  nb::tuple take_copies(uint32_t node) {
    nb::tuple parts = nb::cast<nb::tuple>(rows_.attr("copy")(node));
    codes_ = nb::cast<In<uint8_t, 2>>(parts[0]);
    const auto n = static_cast<int64_t>(codes_->shape(0));
    check(static_cast<int64_t>(codes_->shape(1)) == data_.bins.n_columns && n > 0 &&
              n <= most_copied_,
          "copy: expected some rows of all columns");
    // Codes by columns would save less time than it takes to make them.
    data_.matrix = {codes_->data(), n, data_.bins.n_columns};
    return parts;
  }
  // Takes cells of some columns.
  template <class T>
  void take_cells(std::optional<In<T, 1>>& cells, nb::object array, const int32_t* columns,
                  int64_t n_columns, int64_t width) {
    cells = nb::cast<In<T, 1>>(array);
    start_.assign(1, 0);
    for (int64_t j = 0; j < n_columns; ++j)
      start_.push_back(start_.back() + (data_.bins.count(columns[j]) + 1) * width);
    check_length("cells", cells->shape(0), start_.back());
  }

  nb::object rows_;
  Data& data_;
  const int64_t most_copied_;
  std::vector<int64_t> start_;  // of the cells of each column
  int64_t n_begun_ = 0;         // number of trees that have begun

 private:
  std::optional<In<uint8_t, 2>> codes_;
};

class PythonClassRows : public PythonRows<DividedClassRows, TrainingSet> {
 public:
  using PythonRows::PythonRows;

  int64_t begin(std::vector<uint32_t>& weights) override {
    nb::gil_scoped_acquire acquire;
    const auto [n, all] =
        nb::cast<std::tuple<int64_t, In<uint32_t, 1>>>(rows_.attr("begin")(n_begun_++));
    check_length("weights", all.shape(0), weights.size());
    std::copy_n(all.data(), weights.size(), weights.begin());
    return n;
  }
  void count_bins(uint32_t node, const uint16_t* present, int n_present, const int32_t* columns,
                  int64_t n_columns) override {
    nb::gil_scoped_acquire acquire;
    n_present_ = n_present;
    take_cells(
        cells_,
        rows_.attr("count_bins")(node, copy_of(present, n_present), copy_of(columns, n_columns)),
        columns, n_columns, 1 + n_present);
  }
  BinCounts counts(int64_t i, int n_bins) const override {
    return {cells_->data() + start_[i], n_bins, n_present_};
  }
  void divide(uint32_t node, const Split& split, uint32_t left) override {
    nb::gil_scoped_acquire acquire;
    rows_.attr("divide")(node, split.column, left_codes(split), left);
  }
  void copy(uint32_t node, std::vector<BootstrapSample>& samples) override {
    nb::gil_scoped_acquire acquire;
    const nb::tuple parts = take_copies(node);
    const auto labels = nb::cast<In<uint16_t, 1>>(parts[1]);
    const auto counts = nb::cast<In<uint32_t, 1>>(parts[2]);
    const size_t n = static_cast<size_t>(data_.matrix.n_rows);
    check_length("labels", labels.shape(0), n);
    check_length("counts", counts.shape(0), n);
    samples.resize(n);
    for (size_t i = 0; i < n; ++i) {
      check(labels.data()[i] < data_.target.n_classes, "labels: expected numbers of classes");
      check(counts.data()[i] <= kMaxSampleCount,
            "a tree drew a row more than 65535 times; use fewer draws or more equal weights");
      samples[i] = {static_cast<uint32_t>(i), labels.data()[i],
                    static_cast<uint16_t>(counts.data()[i])};
    }
  }

 private:
  std::optional<In<uint32_t, 1>> cells_;
  int n_present_ = 0;
};

using SumsTuple = std::tuple<int64_t, uint64_t, int64_t, int64_t, uint64_t, uint64_t>;

ValueSums sums_of(const SumsTuple& parts) {
  const auto [rows, weight, least, most, low, high] = parts;
  return {rows, weight, least, most, low, high};
}

class PythonValueRows : public PythonRows<DividedValueRows, ValueTraining> {
 public:
  // Targets of copied rows are written to `targets`.
  PythonValueRows(nb::object rows, ValueTraining& data, int64_t most_copied,
                  std::vector<int64_t>& targets)
      : PythonRows(std::move(rows), data, most_copied), targets_(targets) {}

  ValueSums begin() override {
    nb::gil_scoped_acquire acquire;
    const auto [sums, most] =
        nb::cast<std::tuple<SumsTuple, uint32_t>>(rows_.attr("begin")(n_begun_++));
    most_weight_ = most;
    return sums_of(sums);
  }
  uint32_t most_weight() const override { return most_weight_; }
  void add_up_bins(uint32_t node, const int32_t* columns, int64_t n_columns, int64_t least,
                   int shift) override {
    nb::gil_scoped_acquire acquire;
    take_cells(cells_, rows_.attr("add_up_bins")(node, copy_of(columns, n_columns), least, shift),
               columns, n_columns, BinSumsOfValues::kWidth);
  }
  BinSumsOfValues sums(int64_t i, int n_bins) const override {
    return {cells_->data() + start_[i], n_bins};
  }
  std::pair<ValueSums, ValueSums> divide_and_add_up(uint32_t node, const Split& split,
                                                    uint32_t left) override {
    nb::gil_scoped_acquire acquire;
    const auto [of_left, of_right] = nb::cast<std::tuple<SumsTuple, SumsTuple>>(
        rows_.attr("divide")(node, split.column, left_codes(split), left));
    return {sums_of(of_left), sums_of(of_right)};
  }
  void copy(uint32_t node, std::vector<RowSample>& samples) override {
    nb::gil_scoped_acquire acquire;
    const nb::tuple parts = take_copies(node);
    const auto targets = nb::cast<In<int64_t, 1>>(parts[1]);
    const auto counts = nb::cast<In<uint32_t, 1>>(parts[2]);
    const size_t n = static_cast<size_t>(data_.matrix.n_rows);
    check_length("targets", targets.shape(0), n);
    check_length("counts", counts.shape(0), n);
    std::copy_n(targets.data(), n, targets_.begin());
    samples.resize(n);
    for (size_t i = 0; i < n; ++i) samples[i] = {static_cast<uint32_t>(i), counts.data()[i]};
  }

 private:
  std::vector<int64_t>& targets_;
  std::optional<In<int64_t, 1>> cells_;
  uint32_t most_weight_ = 0;
};

template <class Data>
void take_bins(Data& data, const BinnedTable& table) {
  data.bins = table.bins();
  data.matrix = {nullptr, 0, data.bins.n_columns};
  for (int64_t c = 0; c < data.bins.n_columns; ++c) data.columns.push_back(static_cast<int32_t>(c));
  data.guesses = CutGuesses(data.bins, data.columns, 0);
}

void check_divided(const GrowOptions& options, const In<uint64_t, 1>& seeds, int64_t n_draws,
                   int64_t most_copied) {
  check(seeds.shape(0) > 0, "seeds: expected at least one");
  check(options.max_leaf_nodes == 0, "options: divided rows are grown depth first");
  check(!options.entropy && options.loss != Loss::kAbsoluteError && options.loss != Loss::kEntropy,
        "options: divided rows need a criterion of exact sums");
  check_range("n_draws", n_draws, 0, INT32_MAX);
  // Subtrees of at most kSmall samples have code of their own, which must get all of their samples.
  check_range("most_copied", most_copied, kSmall, INT32_MAX);
}

template <class Reader>
using GrownBlock = std::tuple<std::unique_ptr<Reader>, Out<double, 2>>;

template <class Reader, class Trees>
GrownBlock<Reader> grown_trees(Trees trees, std::vector<double> importances, size_t n_trees) {
  const size_t n_columns = importances.size() / n_trees;
  return {std::make_unique<Reader>(std::move(trees)),
          to_numpy<double, 2>(std::move(importances), {n_trees, n_columns})};
}

GrownBlock<TreeReader> grow_divided_classes(BinnedTable& table, int n_classes,
                                            const GrowOptions& options, In<uint64_t, 1> seeds,
                                            int64_t n_draws, nb::object rows, int64_t most_copied,
                                            Cancel* cancel) {
  const BinnedTable::Use use(table);
  check_divided(options, seeds, n_draws, most_copied);
  check_range("n_classes", n_classes, 1, UINT16_MAX);
  TrainingSet data{};
  take_bins(data, table);
  data.target.n_classes = n_classes;
  PythonClassRows divided(std::move(rows), data, most_copied);
  std::vector<double> importances(seeds.shape(0) * data.bins.n_columns);
  GrownTrees trees = without_gil(cancel, [&](Interrupt& interrupt) {
    return grow_divided(data, {options, as_span(seeds), n_draws, importances.data()}, divided,
                        interrupt);
  });
  return grown_trees<TreeReader>(std::move(trees), std::move(importances), seeds.shape(0));
}

GrownBlock<ValueTreeReader> grow_divided_values(BinnedTable& table, const GrowOptions& options,
                                                In<uint64_t, 1> seeds, int64_t n_draws,
                                                nb::object rows, int64_t most_copied,
                                                Cancel* cancel) {
  const BinnedTable::Use use(table);
  check_divided(options, seeds, n_draws, most_copied);
  ValueTraining data{};
  take_bins(data, table);
  std::vector<int64_t> targets(most_copied);
  const double scale = 1;
  data.target = {targets.data(), 1, &scale};
  PythonValueRows divided(std::move(rows), data, most_copied, targets);
  std::vector<double> importances(seeds.shape(0) * data.bins.n_columns);
  GrownValueTrees trees = without_gil(cancel, [&](Interrupt& interrupt) {
    return grow_divided(data, {options, as_span(seeds), n_draws, importances.data()}, divided,
                        interrupt);
  });
  return grown_trees<ValueTreeReader>(std::move(trees), std::move(importances), seeds.shape(0));
}

Out<uint32_t, 1> draw_divided(uint64_t seed, int64_t n_draws, uint64_t total,
                              In<uint64_t, 1> starts, In<uint64_t, 1> ends, Cancel* cancel) {
  check(total > 0, "total: expected more than 0");
  check_length("ends", ends.shape(0), starts.shape(0));
  return to_numpy(without_gil(cancel, [&](Interrupt& interrupt) {
    Random random(seed);
    return draw_own(random, n_draws, total, as_span(starts), as_span(ends), interrupt);
  }));
}

Out<uint32_t, 1> draw_divided_uniformly(uint64_t seed, int64_t n_draws, uint64_t total,
                                        In<uint64_t, 1> places, Cancel* cancel) {
  check(total > 0, "total: expected more than 0");
  check_each("places", places, "numbers below total",
             [total](uint64_t place) { return place < total; });
  return to_numpy(without_gil(cancel, [&](Interrupt& interrupt) {
    Random random(seed);
    return draw_own(random, n_draws, total, as_span(places), interrupt);
  }));
}

ShardNode checked_node(const In<uint32_t, 1>& rows, const In<uint32_t, 1>& counts, size_t n_rows) {
  check_length("counts", counts.shape(0), rows.shape(0));
  check_each("rows", rows, "rows of the table", [n_rows](uint32_t row) { return row < n_rows; });
  return {as_span(rows), as_span(counts)};
}

void check_columns(const In<int32_t, 1>& columns, const Bins& bins) {
  check_each("columns", columns, "columns of the table",
             [&](int32_t column) { return 0 <= column && column < bins.n_columns; });
}

Out<uint32_t, 1> count_shard_bins(BinnedTable& table, In<uint32_t, 1> rows, In<uint32_t, 1> counts,
                                  In<uint16_t, 1> labels, In<uint16_t, 1> present,
                                  In<int32_t, 1> columns, Cancel* cancel) {
  const BinnedTable::Use use(table);
  const BinMatrix matrix = table.matrix();
  const Bins bins = table.bins();
  const size_t n_rows = static_cast<size_t>(matrix.n_rows);
  const ShardNode node = checked_node(rows, counts, n_rows);
  check_length("labels", labels.shape(0), n_rows);
  check_columns(columns, bins);
  std::vector<uint16_t> number(65536);
  const int64_t n_present = static_cast<int64_t>(present.shape(0));
  for (int64_t c = 0; c < n_present; ++c) number[present.data()[c]] = static_cast<uint16_t>(c);
  return to_numpy(without_gil(cancel, [&](Interrupt& interrupt) {
    return add_up_bins<uint32_t>(node, matrix, bins, as_span(columns), 1 + n_present, interrupt,
                                 [&](uint32_t* cell, int64_t i) {
                                   ++cell[0];
                                   cell[1 + number[labels.data()[node.rows[i]]]] += node.counts[i];
                                 });
  }));
}

Out<int64_t, 1> add_up_shard_bins(BinnedTable& table, In<uint32_t, 1> rows, In<uint32_t, 1> counts,
                                  In<int64_t, 1> targets, In<int32_t, 1> columns, int64_t least,
                                  int shift, Cancel* cancel) {
  const BinnedTable::Use use(table);
  const BinMatrix matrix = table.matrix();
  const Bins bins = table.bins();
  const size_t n_rows = static_cast<size_t>(matrix.n_rows);
  const ShardNode node = checked_node(rows, counts, n_rows);
  check_length("targets", targets.shape(0), n_rows);
  check_columns(columns, bins);
  check_range("shift", shift, 0, 63);
  return to_numpy(without_gil(cancel, [&](Interrupt& interrupt) {
    return add_up_bins<int64_t>(
        node, matrix, bins, as_span(columns), BinSumsOfValues::kWidth, interrupt,
        [&](int64_t* cell, int64_t i) {
          const uint64_t distance = static_cast<uint64_t>(targets.data()[node.rows[i]] - least);
          ++cell[0];
          cell[1] += node.counts[i];
          cell[2] += NodeValues<true>::weighted(distance, node.counts[i], shift, false);
        });
  }));
}

using ChildArrays = std::tuple<Out<uint32_t, 1>, Out<uint32_t, 1>>;

std::tuple<ChildArrays, ChildArrays> divide_shard_rows(BinnedTable& table, In<uint32_t, 1> rows,
                                                       In<uint32_t, 1> counts, int32_t column,
                                                       In<uint8_t, 1> left_codes, Cancel* cancel) {
  const BinnedTable::Use use(table);
  const BinMatrix matrix = table.matrix();
  const ShardNode node = checked_node(rows, counts, static_cast<size_t>(matrix.n_rows));
  check_range("column", column, 0, matrix.n_columns - 1);
  check_length("left_codes", left_codes.shape(0), 256);
  std::array<OwnedRows, 2> children = without_gil(cancel, [&](Interrupt&) {
    return divide_rows(node, matrix.column(column, node.rows.size), left_codes.data());
  });
  const auto arrays = [](OwnedRows& child) {
    return ChildArrays{to_numpy(std::move(child.rows)), to_numpy(std::move(child.counts))};
  };
  return {arrays(children[0]), arrays(children[1])};
}

SumsTuple add_up_shard(In<uint32_t, 1> rows, In<uint32_t, 1> counts, In<int64_t, 1> targets) {
  const ShardNode node = checked_node(rows, counts, targets.shape(0));
  const ValueSums sums = add_up_targets(node, targets.data());
  return {sums.rows, sums.weight, sums.least, sums.most, sums.low, sums.high};
}

}  // namespace
}  // namespace mddf

void bind_divided(nanobind::module_& m) {
  using namespace mddf;
  using nb::arg;
  const char* grow_text =
      R"(Grow a tree for each seed on rows that are divided among several processes.

`rows` answers for all of them; see `mddf._forest.divided`. The table has the bins. A tree is
grown after n_draws numbers of its seed. Nodes of at most most_copied rows are grown on copies.

Returns
-------
trees : TreeReader or ValueTreeReader
importances : float64 array of shape (n_trees, n_columns))";
  m.def("grow_divided_classes", &grow_divided_classes, arg("table"), arg("n_classes"),
        arg("options"), arg("seeds").noconvert(), arg("n_draws"), arg("rows"), arg("most_copied"),
        arg("cancel").none() = nb::none(), grow_text);
  m.def("grow_divided_values", &grow_divided_values, arg("table"), arg("options"),
        arg("seeds").noconvert(), arg("n_draws"), arg("rows"), arg("most_copied"),
        arg("cancel").none() = nb::none(), grow_text);
  m.def("draw_divided", &draw_divided, arg("seed"), arg("n_draws"), arg("total"),
        arg("starts").noconvert(), arg("ends").noconvert(), arg("cancel").none() = nb::none(),
        R"(Count how often the tree of a seed draws each row of a shard.

A draw is a whole number below total. Row i is drawn by the numbers from starts[i] to ends[i] - 1;
both are ascending. Other numbers draw rows of other shards.)");
  m.def("draw_divided_uniformly", &draw_divided_uniformly, arg("seed"), arg("n_draws"),
        arg("total"), arg("places").noconvert(), arg("cancel").none() = nb::none(),
        "Do what draw_divided does if row i is drawn by the number places[i] alone.");
  m.def("divide_shard_rows", &divide_shard_rows, arg("table"), arg("rows").noconvert(),
        arg("counts").noconvert(), arg("column"), arg("left_codes").noconvert(),
        arg("cancel").none() = nb::none(),
        R"(Divide the rows of a node in a shard between its children.

Parameters
----------
left_codes : uint8 array of shape (256,)
    Whether each code goes left.

Returns
-------
left, right : tuple of two uint32 arrays
    Rows and counts of each child.)");
  m.def("count_shard_bins", &count_shard_bins, arg("table"), arg("rows").noconvert(),
        arg("counts").noconvert(), arg("labels").noconvert(), arg("present").noconvert(),
        arg("columns").noconvert(), arg("cancel").none() = nb::none(),
        R"(Count the rows of a node in a shard by the bins of some columns.

Returns
-------
uint32 array
    For each column one cell for each bin and one for missing values. A cell has the number of rows
    and the weight of each of the present classes.)");
  m.def("add_up_shard_bins", &add_up_shard_bins, arg("table"), arg("rows").noconvert(),
        arg("counts").noconvert(), arg("targets").noconvert(), arg("columns").noconvert(),
        arg("least"), arg("shift"), arg("cancel").none() = nb::none(),
        R"(Add up the targets of a node in a shard by the bins of some columns.

Returns
-------
int64 array
    Cells as of count_shard_bins. A cell has the number of rows, their weight, and the sum of the
    distances from `least` times the weights, each divided by 2**shift and rounded down.)");
  m.def("add_up_shard", &add_up_shard, arg("rows").noconvert(), arg("counts").noconvert(),
        arg("targets").noconvert(),
        R"(Add up the targets of a node in a shard.

Returns
-------
rows, weight, least, most, low, high : int
    Number of rows, weight, range of the targets, and halves of the sum of weight times
    (target + 2**61).)");
}
