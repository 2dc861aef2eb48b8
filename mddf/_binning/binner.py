"""Learn codes of one byte per cell for the columns of a table, and code other tables with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._binning.binned_table import BinnedTable, coded_table, empty_codes, spare_bins
from mddf._binning.bins import Bins, apply_bins, join_bins, learn_bins
from mddf._binning.categories import CategoryEncoder, look_up_all
from mddf._binning.column_table import ColumnTable, missing_as_n_bins, write_columns
from mddf._binning.encoded_rows import CategoryLevels, EncodedRows
from mddf._binning.unknown_categories import UnknownCategories, expected_share
from mddf._input.category_mask import category_mask
from mddf._input.cell_values import NUMBER
from mddf._input.table import ArrayTable, Column, ObjectBlock, Table
from mddf._input.table_warnings import TableWarnings


def _codes_of_block(columns: range, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays for the codes of these columns alone, by rows and by columns."""
    shape = (n_rows, len(columns))
    return np.empty(shape, np.uint8), np.empty(shape[::-1], np.uint8)


def _file_columns(by_column: np.ndarray, bins: Bins) -> Iterator[np.ndarray]:
    """Columns of codes as a `ColumnTable` stores them."""
    for column, n_bins in zip(by_column, np.diff(bins.start).tolist(), strict=True):
        yield missing_as_n_bins(column, n_bins)


def _refuse_codes_folder(table: Table) -> None:
    """Refuse a table whose codes were to be in a file, which trees of forests do not read."""
    if table.codes_folder is not None:
        raise ValueError(
            "codes_folder of by_columns must be None for estimators other than "
            "GradientBoostingClassifier and GradientBoostingRegressor, got "
            f"{short(table.codes_folder)}"
        )


@register_serializable("binner")
class Binner:
    """Codes the columns of a table in one byte per cell, as learned in fit.

    A numeric column with at most `max_bins` distinct values gets one bin for each value. Other
    numeric columns get bins of about equal weight. A categorical column gets one bin for each
    category; if there are more than `max_bins`, the rarest share one. One more code is reserved
    for missing cells. Columns with at least `many_levels` categories get target statistics
    elsewhere, so that there is no warning if they have more than `max_bins`. `n_jobs` is the
    number of threads of the fit, and is not stored.

    Attributes
    ----------
    categorical_ : ndarray of bool of shape (n_columns,)
        Which columns are categories.
    bins_ : Bins
    encoders_ : dict of int to CategoryEncoder
        Encoders of the categorical columns. Categories that are not in the training table
        become NaN, as missing cells do.
    unknown_limits_ : dict of int to float
        For each categorical column, the largest expected share of rows with an unknown category.
    kinds_ : list of str or None
        Kind of the values of each column in training: "number", "text", ...; None if all cells
        were missing.
    """

    def __init__(
        self,
        categorical_features: npt.ArrayLike | None = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        many_levels: int | None = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.many_levels = many_levels

    def fit_transform(
        self,
        table: Table,
        sample_weight: np.ndarray | None = None,
        *,
        warnings: TableWarnings | None = None,
        n_spare: int = 0,
    ) -> BinnedTable:
        """Learn the bins of a table and code it for growing trees.

        A row of weight k counts as k rows. The coded table gets `n_spare` constant columns on the
        right, to be replaced later. `warnings` sees the columns.
        """
        _refuse_codes_folder(table)
        codes, by_column = empty_codes(table.shape[0], table.shape[1] + n_spare)
        learned = self._learn(table, sample_weight, warnings, (codes, by_column))
        self.bins_ = join_bins(*(bins for bins, _ in learned))
        return BinnedTable(join_bins(self.bins_, spare_bins(n_spare)), codes, by_column)

    def fit_to_file(
        self,
        table: Table,
        sample_weight: np.ndarray | None = None,
        *,
        warnings: TableWarnings | None = None,
    ) -> ColumnTable:
        """Learn the bins of a table as `fit_transform` does, and write its codes to a file.

        The file is in `table.codes_folder`. Only one block of columns is in memory at a time.
        """
        assert table.codes_folder is not None
        bins_of_blocks: list[Bins] = []

        def columns_of_codes() -> Iterator[np.ndarray]:
            for bins, by_column in self._learn(table, sample_weight, warnings):
                bins_of_blocks.append(bins)
                assert by_column is not None
                yield from _file_columns(by_column, bins)

        codes = write_columns(columns_of_codes(), table.shape[::-1], table.codes_folder)
        self.bins_ = join_bins(*bins_of_blocks)
        return ColumnTable(self.bins_, codes, table.codes_folder)

    def _learn(
        self,
        table: Table,
        sample_weight: np.ndarray | None,
        warnings: TableWarnings | None,
        codes_of_table: tuple[np.ndarray, np.ndarray | None] | None = None,
    ) -> Iterator[tuple[Bins, np.ndarray | None]]:
        """Learn the bins of blocks of columns; see `fit_transform`.

        Yields the bins of each block and the codes by columns: of the whole table if there are
        arrays for it, and otherwise of the block alone.
        """
        if sample_weight is not None and np.all(sample_weight == sample_weight[0]):
            sample_weight = None
        self.learn_kinds(table, sample_weight, warnings)
        for columns in table.small_blocks() if codes_of_table is None else table.blocks():
            codes, by_column = codes_of_table or _codes_of_block(columns, table.shape[0])
            block = self._block(table, columns)
            self._forget_kinds(block, columns)
            if warnings is not None:
                is_numeric = ~self.categorical_[columns.start : columns.stop]
                warnings.see_block(columns, block, is_numeric)
            bins = learn_bins(
                block,
                n_categories=self._n_categories(columns),
                sample_weight=sample_weight,
                max_bins=self.max_bins,
                out=codes,
                first_column=0 if codes_of_table is None else columns.start,
                by_column=by_column,
                n_jobs=self.n_jobs,
            )
            yield bins, by_column

    def code(self, table: Table) -> BinnedTable:
        """Code the training table with bins that are known already."""
        codes, by_column = empty_codes(*table.shape)
        for columns in table.blocks():
            apply_bins(
                self._block(table, columns),
                self.bins_.columns(columns.start, columns.stop),
                out=codes,
                first_column=columns.start,
                by_column=by_column,
                n_jobs=self.n_jobs,
            )
        return BinnedTable(self.bins_, codes, by_column)

    def recode(self, table: Table) -> BinnedTable:
        """Code another table with the bins of the first one, to grow more trees."""
        _refuse_codes_folder(table)
        return coded_table(self.bins_, self.encode(table, n_jobs=self.n_jobs).codes)

    def recode_to_file(self, table: Table) -> ColumnTable:
        """Code another table as `recode` does, and write its codes to a file."""
        assert table.codes_folder is not None
        unknown: dict[int, int] = {}

        def columns_of_codes() -> Iterator[np.ndarray]:
            for columns in table.small_blocks():
                codes, by_column = _codes_of_block(columns, table.shape[0])
                bins = self.bins_.columns(columns.start, columns.stop)
                block = self._block(table, columns, unknown)
                apply_bins(block, bins, out=codes, by_column=by_column, n_jobs=self.n_jobs)
                yield from _file_columns(by_column, bins)

        codes = write_columns(columns_of_codes(), table.shape[::-1], table.codes_folder)
        self._watch(table, unknown)
        return ColumnTable(self.bins_, codes, table.codes_folder)

    def encode(
        self,
        table: Table,
        *,
        n_spare: int = 0,
        with_numbers: bool = False,
        wanted: np.ndarray | None = None,
        levels: CategoryLevels | None = None,
        n_jobs: int | None = None,
    ) -> EncodedRows:
        """Encode a table for predictions, `with_numbers` also as the result of :meth:`numbers`.

        The codes get `n_spare` columns of zeros on the right. Columns that are not `wanted` may be
        0. `levels` are levels of some columns that are known already, whose cells are not looked
        up again.
        """
        codes = np.zeros((table.shape[0], table.shape[1] + n_spare), np.uint8)
        # A table that is read as a whole is read only once.
        numbers = np.empty(table.shape) if with_numbers and table.is_read_whole else None
        unknown: dict[int, int] = {}
        for columns in table.blocks():
            part = slice(columns.start, columns.stop)
            if numbers is None:
                block = self._block(table, columns, unknown, levels)
            else:
                numbers[:, part] = block = self._numbers(table, columns, unknown, levels)
            apply_bins(
                block,
                self.bins_.columns(columns.start, columns.stop),
                out=codes,
                first_column=columns.start,
                wanted=None if wanted is None else wanted[part],
                n_jobs=n_jobs,
            )
        self._watch(table, unknown)
        if with_numbers and numbers is None:
            numbers = self.numbers(table)
        return EncodedRows(codes, numbers, levels, self.encoders_)

    def is_plain(self, table: Table) -> bool:
        """Whether a table is a numeric array without categories."""
        return isinstance(table, ArrayTable) and table.are_numbers and not self.encoders_

    def plain_numbers(self, table: Table) -> np.ndarray | None:
        """Return an array of floats without categories, not copied; None for other tables."""
        if not (isinstance(table, ArrayTable) and self.is_plain(table)):
            return None
        floats = table.cells.dtype in (np.float64, np.float32)
        return np.require(table.cells, requirements="A") if floats else None

    def numbers(self, table: Table) -> np.ndarray:
        """Convert a table to numbers: codes of categories, NaN for missing cells."""
        return self._numbers(table, range(table.shape[1]))

    def new_numbers(self, table: Table) -> np.ndarray:
        """Convert a table to predict as `numbers` does, and count its unknown categories."""
        unknown: dict[int, int] = {}
        numbers = self._numbers(table, range(table.shape[1]), unknown)
        self._watch(table, unknown)
        return numbers

    def columns_of_many_levels(self) -> list[int]:
        """Columns that had at least `many_levels` categories in training."""
        if self.many_levels is None:
            return []
        n_levels = {c: len(encoder.categories) for c, encoder in self.encoders_.items()}
        return [c for c, n in n_levels.items() if n >= self.many_levels]

    def levels(self, table: Table, columns: list[int]) -> CategoryLevels:
        """Number the categories of some categorical columns, in their order at fit."""
        numbers = np.empty((table.shape[0], len(columns)), np.int64)
        counts = self._level_counts(columns)
        for place, c in enumerate(columns):
            column = table.column(c)
            missing = self.is_missing(column, c)
            numbers[:, place] = counts[place] if missing else self.encoders_[c].levels(column)
        return CategoryLevels(columns, numbers, counts)

    def _level_counts(self, columns: list[int]) -> np.ndarray:
        return np.array([len(self.encoders_[c].categories) for c in columns], np.int64)

    def all_levels(self, table: Table) -> CategoryLevels | None:
        """Levels of all columns with many categories; None if there is no such column."""
        columns = self.columns_of_many_levels()
        return self.levels(table, columns) if columns else None

    def numbers_with_levels(self, table: Table, columns: list[int]) -> np.ndarray:
        """Convert a table as `numbers` does, with levels in place of codes in some columns."""
        numbers = self.numbers(table)
        if columns:
            numbers = np.array(numbers, np.float64)
            levels = self.levels(table, columns)
            missing = levels.numbers == levels.counts
            numbers[:, columns] = np.where(missing, np.nan, levels.numbers)
        return numbers

    def encode_numbers(self, numbers: np.ndarray, columns: list[int], n_spare: int) -> EncodedRows:
        """Encode rows in the form that `numbers_with_levels` returns."""
        levels = None
        if columns:
            counts = self._level_counts(columns)
            level_cells = numbers[:, columns]
            level_numbers = np.where(np.isnan(level_cells), counts, level_cells).astype(np.int64)
            levels = CategoryLevels(columns, level_numbers, counts)
            numbers = np.array(numbers, np.float64)
            for place, c in enumerate(columns):
                numbers[:, c] = self.encoders_[c].codes_of_levels(level_numbers[:, place])
        raw = apply_bins(np.ascontiguousarray(numbers, float), self.bins_)
        spare = np.zeros((len(raw), n_spare), np.uint8)
        return EncodedRows(np.hstack([raw, spare]), numbers, levels, self.encoders_)

    def is_missing(self, column: Column, c: int) -> bool:
        """Whether all cells of column `c` of a new table count as missing, so that none is read.

        This holds for a column that had values only in fit, or has values only now. A TypeError
        refuses values of another kind than in fit.
        """
        kind_at_fit = self.kinds_[c]
        kind = column.kind
        if kind == kind_at_fit:
            return False
        if kind_at_fit is None:  # numbers are still read, because infinities are refused
            return bool(self.categorical_[c]) or kind != NUMBER
        if kind is None or column.is_empty:
            return True
        raise TypeError(
            f"column {column.place} of X must hold {kind_at_fit}s as in fit, got {kind}"
        )

    def start_kinds(self, table: Table) -> list[int]:
        """Take all columns as numeric that surely are; return the others, whose kind to learn."""
        self.categorical_ = category_mask(table, self.categorical_features)
        self.encoders_: dict[int, CategoryEncoder] = {}
        self.unknown_limits_: dict[int, float] = {}
        self.kinds_: list[str | None] = [NUMBER] * table.shape[1]
        is_open = self.categorical_ | (~table.numeric_types & (table.names is not None))
        columns: list[int] = np.flatnonzero(is_open).tolist()
        return columns

    def learn_kinds(
        self, table: Table, weights: np.ndarray | None, warnings: TableWarnings | None = None
    ) -> None:
        """Learn kinds and categories of the columns, which `numbers` needs, but no bins."""
        for c in self.start_kinds(table):
            column = table.column(c)
            self.kinds_[c] = column.kind
            if not self.categorical_[c]:
                continue
            encoder = CategoryEncoder.learn(column, weights, self.max_bins)
            n_levels = len(encoder.categories)
            if not n_levels:
                self.kinds_[c] = None
            self.encoders_[c] = encoder
            levels = encoder.levels(column)
            levels = levels if weights is None or weights.all() else levels[weights > 0]
            self.unknown_limits_[c] = expected_share(levels, n_levels)
            if warnings is not None:
                has_statistics = self.many_levels is not None and n_levels >= self.many_levels
                warnings.see_categories(
                    c,
                    column,
                    encoder.categories,
                    levels,
                    max_codes=None if has_statistics else self.max_bins,
                    by_type=isinstance(self.categorical_features, str),
                )

    def _n_categories(self, columns: range) -> np.ndarray | None:
        """Number of codes of each categorical column, and -1 for each numeric one."""
        if not self.categorical_[columns.start : columns.stop].any():
            return None
        return np.array(
            [self.encoders_[c].n_codes if c in self.encoders_ else -1 for c in columns]
        )

    def _forget_kinds(self, block: np.ndarray | sparse.csc_matrix, columns: range) -> None:
        """Mark numeric columns without any value as columns without a kind."""
        if isinstance(block, np.ndarray):
            for i in np.flatnonzero(np.isnan(block[0])):
                if np.isnan(block[:, i]).all():
                    self.kinds_[columns[i]] = None

    def _block(
        self,
        table: Table,
        columns: range,
        unknown: dict[int, int] | None = None,
        levels: CategoryLevels | None = None,
    ) -> np.ndarray | sparse.csc_matrix:
        """Result of `_numbers`, as a sparse matrix if that stores far fewer cells."""
        if self.categorical_[columns.start : columns.stop].any():
            return self._numbers(table, columns, unknown, levels)
        stored = table.stored(columns)
        return self._numbers(table, columns, unknown) if stored is None else stored

    def _numbers(
        self,
        table: Table,
        columns: range,
        unknown: dict[int, int] | None = None,
        levels: CategoryLevels | None = None,
    ) -> np.ndarray:
        """Convert some columns to numbers; a TypeError refuses kinds that differ from the fit.

        The number of rows with an unknown category is written to `unknown`, for each column that
        has any. `levels` are the levels of some columns, if they are known already.
        """
        numeric = self.surely_numeric(table, columns)
        if numeric.all():
            return table.numbers(columns)
        block = np.full((table.shape[0], len(columns)), np.nan)
        not_numeric = np.flatnonzero(~numeric).tolist()
        if table.object_block is not None:
            not_numeric = self._look_up(
                table.object_block, columns, not_numeric, out=block, unknown=unknown, levels=levels
            )
        for i in not_numeric:
            column = table.column(columns[i])
            if self.is_missing(column, columns[i]):
                continue
            if self.categorical_[columns[i]]:
                encoder = self.encoders_[columns[i]]
                if levels is not None and columns[i] in levels.columns:
                    codes = encoder.codes_of_levels(levels.column(columns[i]))
                else:
                    codes = encoder.codes(column)
                block[:, i] = codes
                if unknown is not None:
                    n_unknown = int(np.count_nonzero(np.isnan(codes) & ~column.missing))
                    if n_unknown:
                        unknown[columns[i]] = n_unknown
            else:
                numeric[i] = True
        if numeric.any():
            block[:, numeric] = table.numbers([columns[i] for i in np.flatnonzero(numeric)])
        return block

    def _look_up(
        self,
        object_block: ObjectBlock,
        columns: range,
        places: list[int],
        *,
        out: np.ndarray,
        unknown: dict[int, int] | None,
        levels: CategoryLevels | None,
    ) -> list[int]:
        """Write the codes of a small table's categories to `out`, and return the places left."""
        known = () if levels is None else levels.columns
        kinds = {c: self.kinds_[c] for i in places if (c := columns[i]) not in known}
        coded_columns, codes, is_unknown = look_up_all(object_block, self.encoders_, kinds)
        out[:, [c - columns.start for c in coded_columns]] = codes.T
        if unknown is not None and is_unknown.any():
            counts = np.count_nonzero(is_unknown, axis=1).tolist()
            unknown.update((c, n) for c, n in zip(coded_columns, counts, strict=True) if n)
        done = set(coded_columns)
        return [i for i in places if columns[i] not in done]

    def surely_numeric(self, table: Table, columns: range) -> np.ndarray:
        """Mark columns of numeric type now and in fit; in arrays, all non-categorical columns."""
        part = slice(columns.start, columns.stop)
        if table.names is None:
            return ~self.categorical_[part]
        as_in_fit = np.array([kind in (NUMBER, None) for kind in self.kinds_[part]])
        return ~self.categorical_[part] & as_in_fit & table.numeric_types[part]

    def unknown_counts(self, table: Table) -> dict[int, int]:
        """Count the rows with an unknown category, for each categorical column."""
        counts = dict.fromkeys(self.encoders_, 0)
        for c in counts:
            column = table.column(c)
            if not self.is_missing(column, c):
                counts[c] = int(np.count_nonzero(self.encoders_[c].is_unknown(column)))
        return counts

    def _watch(self, table: Table, unknown: Mapping[int, int]) -> None:
        """Count unknown categories of rows to predict."""

        def values_of(c: int) -> np.ndarray:
            column = table.column(c)
            return column.values[self.encoders_[c].is_unknown(column)]

        watched: UnknownCategories = self.__dict__.setdefault("_unknown", UnknownCategories())
        watched.see(table, unknown, self.unknown_limits_, values_of)

    def __getstate__(self) -> dict[str, object]:
        # Neither counts of rows seen since the fit nor threads belong to the model.
        state = {
            name: value for name, value in vars(self).items() if name not in ("_unknown", "n_jobs")
        }
        if "encoders_" in state:
            state["encoders_"] = {c: encoder.encoder for c, encoder in self.encoders_.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, n_jobs=None)
        if "encoders_" in state:
            encoders = state["encoders_"].items()
            self.encoders_ = {c: CategoryEncoder(encoder) for c, encoder in encoders}
