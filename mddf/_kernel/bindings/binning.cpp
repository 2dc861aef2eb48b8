#include "bindings/call.hpp"
#include "bindings/tables.hpp"
#include "forest/binning/apply_bins.hpp"
#include "forest/binning/find_bins.hpp"
#include "forest/binning/sparse.hpp"
#include "forest/data/bin_matrix.hpp"

namespace mddf {
namespace {

nb::tuple as_tuple(AllBins bins) {
  return nb::make_tuple(to_numpy(std::move(bins.edges)), to_numpy(std::move(bins.values)),
                        to_numpy(std::move(bins.counts)));
}

void check_max_bins(int max_bins) {
  check(2 <= max_bins && max_bins <= kMaxBins,
        "max_bins: expected 2 to 255, got " + std::to_string(max_bins));
}

// Destination of the codes of a table whose first column is first_column of `out`.
template <class AnyTable>
Codes as_codes(const AnyTable& table, const InOut<uint8_t, 2>& out, int64_t first_column,
               const std::optional<InOut<uint8_t, 2>>& by_column) {
  const auto stride = static_cast<int64_t>(out.shape(1));
  check(static_cast<int64_t>(out.shape(0)) == table.n_rows, "out: expected one row per row of x");
  check(0 <= first_column && first_column <= stride - table.n_columns,
        "out: expected at least first_column + x.shape[1] columns");
  if (!by_column) return {out.data() + first_column, stride, nullptr};
  check(by_column->shape(0) == out.shape(1) && by_column->shape(1) == out.shape(0),
        "by_column: expected the shape of out, transposed");
  return {out.data() + first_column, stride, by_column->data() + first_column * table.n_rows};
}

template <class T>
nb::tuple find_bins_of(AnyTable<T> x, std::optional<In<double, 1>> weights, int64_t first,
                       int64_t last, int max_bins, Cancel* cancel) {
  const CellsView<T> table = as_cells<T>(x);
  check_max_bins(max_bins);
  check_part(first, last, table.n_columns, "columns");
  if (weights) check_length("weights", weights->shape(0), table.n_rows);
  return as_tuple(without_gil(cancel, [&](Interrupt& interrupt) {
    return find_bins(table, data_or_null(weights), first, last, max_bins, interrupt);
  }));
}

template <class T>
bool to_bytes_of(AnyTable<T> x, int64_t first, int64_t last, InOut<uint8_t, 2> out,
                 int64_t first_column, Cancel* cancel) {
  const CellsView<T> table = as_cells<T>(x);
  check(table.column_stride == 1 || table.n_columns <= 1,
        "x: expected cells of a row side by side");
  check_part(first, last, table.n_rows, "rows");
  const Codes bytes = as_codes(table, out, first_column, std::nullopt);
  return without_gil(cancel, [&](Interrupt& interrupt) {
    const bool use_simd = simd::supported();
    for (int64_t row = first; row < last; ++row) {
      interrupt.poll(table.n_columns);
      if (!as_bytes(table.data + row * table.row_stride, table.n_columns,
                    bytes.by_row + row * bytes.stride, use_simd))
        return false;
    }
    return true;
  });
}

template <class T>
SparseCellsView<T> as_sparse(const In<T, 1>& cells, const In<int32_t, 1>& rows,
                             const In<int64_t, 1>& start, int64_t n_rows) {
  check_length("rows", rows.shape(0), cells.shape(0));
  check_range("n_rows", n_rows, 0, INT32_MAX);
  check(start.shape(0) > 0 && start.data()[0] == 0 &&
            start.data()[start.shape(0) - 1] == static_cast<int64_t>(cells.shape(0)),
        "start: expected to begin with 0 and end with the number of cells");
  for (size_t c = 0; c + 1 < start.shape(0); ++c)
    check_range("start, cells of a column", start.data()[c + 1] - start.data()[c], 0, n_rows);
  return {cells.data(), rows.data(), start.data(), n_rows,
          static_cast<int64_t>(start.shape(0)) - 1};
}

template <class T>
nb::tuple find_bins_of_sparse(In<T, 1> cells, In<int32_t, 1> rows, In<int64_t, 1> start,
                              int64_t n_rows, int64_t first, int64_t last, int max_bins,
                              Cancel* cancel) {
  const SparseCellsView<T> table = as_sparse(cells, rows, start, n_rows);
  check_max_bins(max_bins);
  check_part(first, last, table.n_columns, "columns");
  return as_tuple(without_gil(cancel, [&](Interrupt& interrupt) {
    return find_bins(table, first, last, max_bins, interrupt);
  }));
}

template <class T>
void apply_bins_to_sparse(In<T, 1> cells, In<int32_t, 1> rows, In<int64_t, 1> start, int64_t n_rows,
                          In<double, 1> edges, In<int64_t, 1> bin_start, int64_t first,
                          int64_t last, InOut<uint8_t, 2> out, int64_t first_column,
                          std::optional<InOut<uint8_t, 2>> by_column, Cancel* cancel) {
  const SparseCellsView<T> table = as_sparse(cells, rows, start, n_rows);
  const Bins bins = as_bins(edges, bin_start, nullptr, table.n_columns);
  check_part(first, last, table.n_columns, "columns");
  const Codes codes = as_codes(table, out, first_column, by_column);
  check(without_gil(cancel,
                    [&](Interrupt& interrupt) {
                      return apply_bins(table, bins, first, last, codes, interrupt);
                    }),
        "rows: expected rows of the table");
}

template <class T>
nb::tuple bin_by_rank_of(AnyTable<T> x, int64_t first, int64_t last, InOut<uint8_t, 2> out,
                         int64_t first_column, std::optional<InOut<uint8_t, 2>> by_column,
                         Cancel* cancel) {
  const CellsView<T> table = as_cells<T>(x);
  check(table.n_rows <= kMaxBins, "x: expected at most 255 rows");
  check_part(first, last, table.n_columns, "columns");
  const Codes codes = as_codes(table, out, first_column, by_column);
  return as_tuple(without_gil(cancel, [&](Interrupt& interrupt) {
    return bin_by_rank(table, nullptr, first, last, &codes, interrupt);
  }));
}

template <class T>
void apply_bins_to(AnyTable<T> x, In<double, 1> edges, In<int64_t, 1> bin_start,
                   In<uint8_t, 1> categorical, int64_t first, int64_t last, InOut<uint8_t, 2> out,
                   int64_t first_column, std::optional<InOut<uint8_t, 2>> by_column,
                   std::optional<In<bool, 1>> wanted, Cancel* cancel) {
  const CellsView<T> table = as_cells<T>(x);
  check_length("categorical", categorical.shape(0), table.n_columns);
  const Bins bins = as_bins(edges, bin_start, categorical.data(), table.n_columns);
  check_part(first, last, table.n_rows, "rows");
  const Codes codes = as_codes(table, out, first_column, by_column);
  if (wanted) check_length("wanted", wanted->shape(0), table.n_columns);
  const auto* of_wanted = wanted ? reinterpret_cast<const uint8_t*>(wanted->data()) : nullptr;
  without_gil(cancel, [&](Interrupt& interrupt) {
    apply_bins(table, bins, first, last, of_wanted, codes, interrupt);
  });
}

constexpr const char* kFindBins = R"(Find the bins of columns [first, last) of a table.

Parameters
----------
x : array of shape (n_rows, n_columns)
    float64, float32, int64, int32 or uint8, any strides. NaN is missing; no infinities.
weights : float64 array of shape (n_rows,) or None
    Rows without positive weight are ignored.
first, last : int
max_bins : int
    From 2 to 255.
cancel : Cancel or None
    Stops the call on request.

Returns
-------
edges : float64 array of shape (n_bins,)
    Upper edges of the bins, column after column. The last edge of a column is infinite.
values : float64 array of shape (n_bins,)
    Value that represents each bin.
counts : int64 array of shape (last - first,)
    Number of bins of each column.)";

constexpr const char* kToBytes = R"(Write rows [first, last) of a table as bytes.

Parameters
----------
x : array of shape (n_rows, n_columns)
    As for find_bins, except uint8. The cells of a row must be adjacent.
first, last : int
out, first_column
    As for apply_bins.
cancel : Cancel or None
    Stops the call on request.

Returns
-------
bool
    False if a cell is not an integer from 0 to 255. The written bytes are then invalid.)";

constexpr const char* kBinByRank = R"(Find the bins of columns [first, last), and code the columns.

Parameters
----------
x : array of shape (n_rows, n_columns)
    As for find_bins, with at most 255 rows. Each distinct value gets a bin.
first, last : int
out, first_column, by_column
    As for apply_bins.
cancel : Cancel or None
    Stops the call on request.

Returns
-------
edges, values, counts
    As returned by find_bins.)";

constexpr const char* kFindBinsOfSparse =
    R"(Find the bins of columns [first, last) of a sparse table.

Parameters
----------
cells : float64 or float32 array
    The stored cells, column after column; others are 0. NaN is missing; no infinities.
rows : int32 array of the shape of cells
    Row of each cell, at most once in a column.
start : int64 array of shape (n_columns + 1,)
    First cell of each column, and the number of cells.
n_rows, first, last, max_bins : int
cancel : Cancel or None
    Stops the call on request.

Returns
-------
edges, values, counts
    As returned by find_bins. Columns with more values than bins have a count of 0 and no bins.)";

constexpr const char* kApplyBinsToSparse =
    R"(Write the codes of columns [first, last) of a sparse table.

Parameters
----------
cells, rows, start, n_rows
    As for find_bins_of_sparse.
edges, bin_start, out, first_column, by_column
    As for apply_bins.
first, last : int
cancel : Cancel or None
    Stops the call on request.)";

constexpr const char* kApplyBins = R"(Write the codes of rows [first, last) of a table.

Parameters
----------
x : array of shape (n_rows, n_columns)
    As for find_bins.
edges : float64 array
    The bins of column c are edges[bin_start[c]:bin_start[c + 1]].
bin_start : int64 array of shape (n_columns + 1,)
categorical : uint8 array of shape (n_columns,)
    Columns that hold codes. Values that are not codes become 255 (missing).
first, last : int
out : uint8 array of shape (n_rows, at least first_column + n_columns)
    Receives the codes, from first_column on.
first_column : int
by_column : uint8 array of the shape of out, transposed, or None
    Also receives the codes, transposed.
wanted : bool array of shape (n_columns,) or None
    Columns to code; the codes of other columns may stay unchanged. None: all.
cancel : Cancel or None
    Stops the call on request.)";

template <class T>
void bind_for(nb::module_& m) {
  using nb::arg;
  m.def("find_bins", &find_bins_of<T>, arg("x").noconvert(), arg("weights").none().noconvert(),
        arg("first"), arg("last"), arg("max_bins"), arg("cancel").none() = nb::none(), kFindBins);
  m.def("bin_by_rank", &bin_by_rank_of<T>, arg("x").noconvert(), arg("first"), arg("last"),
        arg("out").noconvert(), arg("first_column") = 0,
        arg("by_column").none().noconvert() = nb::none(), arg("cancel").none() = nb::none(),
        kBinByRank);
  m.def("apply_bins", &apply_bins_to<T>, arg("x").noconvert(), arg("edges").noconvert(),
        arg("bin_start").noconvert(), arg("categorical").noconvert(), arg("first"), arg("last"),
        arg("out").noconvert(), arg("first_column") = 0,
        arg("by_column").none().noconvert() = nb::none(),
        arg("wanted").none().noconvert() = nb::none(), arg("cancel").none() = nb::none(),
        kApplyBins);
}

template <class T>
void bind_to_bytes(nb::module_& m) {
  using nb::arg;
  m.def("to_bytes", &to_bytes_of<T>, arg("x").noconvert(), arg("first"), arg("last"),
        arg("out").noconvert(), arg("first_column") = 0, arg("cancel").none() = nb::none(),
        kToBytes);
}

template <class T>
void bind_for_sparse(nb::module_& m) {
  using nb::arg;
  m.def("find_bins_of_sparse", &find_bins_of_sparse<T>, arg("cells").noconvert(),
        arg("rows").noconvert(), arg("start").noconvert(), arg("n_rows"), arg("first"), arg("last"),
        arg("max_bins"), arg("cancel").none() = nb::none(), kFindBinsOfSparse);
  m.def("apply_bins_to_sparse", &apply_bins_to_sparse<T>, arg("cells").noconvert(),
        arg("rows").noconvert(), arg("start").noconvert(), arg("n_rows"), arg("edges").noconvert(),
        arg("bin_start").noconvert(), arg("first"), arg("last"), arg("out").noconvert(),
        arg("first_column") = 0, arg("by_column").none().noconvert() = nb::none(),
        arg("cancel").none() = nb::none(), kApplyBinsToSparse);
}

Out<uint64_t, 1> hash_rows(In<uint8_t, 2> codes, int64_t n_columns, In<uint16_t, 1> labels) {
  const BinMatrix matrix{codes.data(), static_cast<int64_t>(codes.shape(0)),
                         static_cast<int64_t>(codes.shape(1))};
  check_length("labels", labels.shape(0), matrix.n_rows);
  check(0 <= n_columns && n_columns <= matrix.n_columns, "n_columns: more than codes has");
  std::vector<uint64_t> hashes(matrix.n_rows);
  without_gil(nullptr, [&](Interrupt& interrupt) {
    row_hashes(matrix, n_columns, labels.data(), hashes.data(), interrupt);
  });
  return to_numpy(std::move(hashes));
}

}  // namespace
}  // namespace mddf

void bind_binning(nanobind::module_& m) {
  mddf::bind_for<double>(m);
  mddf::bind_for<float>(m);
  mddf::bind_for<int64_t>(m);
  mddf::bind_for<int32_t>(m);
  mddf::bind_for<uint8_t>(m);
  mddf::bind_to_bytes<double>(m);
  mddf::bind_to_bytes<float>(m);
  mddf::bind_to_bytes<int64_t>(m);
  mddf::bind_to_bytes<int32_t>(m);
  mddf::bind_for_sparse<double>(m);
  mddf::bind_for_sparse<float>(m);
  using nanobind::arg;
  m.def("hash_rows", &mddf::hash_rows, arg("codes").noconvert(), arg("n_columns"),
        arg("labels").noconvert(),
        "Return a fingerprint of the first n_columns codes of each row and its label.");
}
