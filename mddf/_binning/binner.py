"""From what users pass as X to one byte per cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mddf._base.serialization import register_serializable
from mddf._binning.bin_subsample import drawn_rows
from mddf._binning.binned_table import BinnedTable, coded_table, empty_codes, spare_bins
from mddf._binning.bins import apply_bins, join_bins, learn_bins
from mddf._binning.categories import CategoryEncoder, look_up_all
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.high_cardinality import CategoryLevels
from mddf._binning.unknown_categories import (
    UnknownColumn,
    expected_share,
    first_different,
    is_far_above,
    warn_of_unknown,
)
from mddf._input.category_mask import category_mask
from mddf._input.cell_values import NUMBER
from mddf._input.subjects import (
    counts_of_whole_numbers,
    looks_like_subjects,
    warn_of_subjects,
)
from mddf._input.table import ArrayTable, Column, Table

# Models that were stored before the expected share was known warn from this share on.
_FORMER_LIMIT = 0.25


@dataclass
class UnknownCounts:
    """Unknown categories of the predictions of a model since it was loaded.

    Attributes
    ----------
    n_rows : int
        Rows that were predicted.
    unknown : dict of int to int
        Rows with an unknown category, by column.
    warned : set of int
        Columns that users were warned of.
    """

    n_rows: int = 0
    unknown: dict[int, int] = field(default_factory=dict)
    warned: set[int] = field(default_factory=set)


@register_serializable("binner")
class Binner:
    """Learns how the columns of a table are coded in one byte per cell, and codes others alike.

    A numeric column with at most `max_bins` different values gets one bin for each, any other one
    bins of about equal weight; a column of categories gets one bin for each of them. One more code
    is kept for what is missing.

    Parameters
    ----------
    categorical_features : "from_dtype", array of bool, int or str, or None
    max_bins : int
        From 2 to 255. Of more categories, the rarest share a bin.
    n_jobs : int or None, default=None
        Number of threads; does not change the result.
    many_levels : int or None, default=None
        Columns of so many categories are coded elsewhere, and may have more than `max_bins`.

    Attributes
    ----------
    categorical_ : ndarray of bool of shape (n_columns,)
        Which columns are categories.
    bins_ : Bins
    encoders_ : dict of int to CategoryEncoder
        Of the columns of categories. One that fit did not see becomes NaN, as what is missing.
    unknown_limits_ : dict of int to float
        Of the columns of categories: the largest share of rows that are expected to hold a
        category that fit did not see.
    kinds_ : list of str or None
        What fit saw in each column: "number", "text", ..., None if nothing was there.
    """

    def __init__(
        self,
        categorical_features: Any = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        many_levels: int | None = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.many_levels = many_levels

    @classmethod
    def of_numbers(cls, n_columns: int) -> Binner:
        """One that knows columns of numbers, and no bins."""
        made = cls()
        made.categorical_ = np.zeros(n_columns, bool)
        made.encoders_, made.kinds_ = {}, [NUMBER] * n_columns
        made.unknown_limits_ = {}
        return made

    def fit_transform(
        self,
        table: Table,
        sample_weight: np.ndarray | None = None,
        *,
        n_spare: int = 0,
        has_groups: bool = False,
    ) -> BinnedTable:
        """Learn the bins of a table and code it for growing trees.

        Parameters
        ----------
        table : Table
        sample_weight : ndarray of shape (n_rows,), default=None
            Weight k counts as k rows; rows without weight are not looked at.
        n_spare : int, default=0
            Columns to leave room for on the right, constant until they are replaced.
        has_groups : bool, default=False
            Whether the user says which rows belong together; otherwise, columns that look like
            repeated subjects are warned of.

        Returns
        -------
        BinnedTable
        """
        if sample_weight is not None and np.all(sample_weight == sample_weight[0]):
            sample_weight = None
        self.learn_kinds(table, sample_weight, warns_of_subjects=not has_groups)
        codes, by_column = empty_codes(table.shape[0], table.shape[1] + n_spare)
        rows = drawn_rows(
            self._blocks_of_numbers(table), table.shape[0], table.bin_rows, sample_weight
        )
        found = []
        for columns in table.blocks():
            block = self._block(table, columns)
            self._forget_kinds(block, columns)
            if not has_groups:
                self._look_for_subjects(table, block, columns, sample_weight)
            bins = learn_bins(
                block,
                n_categories=self._n_categories(columns),
                rows=rows,
                sample_weight=sample_weight,
                max_bins=self.max_bins,
                out=codes,
                first_column=columns.start,
                by_column=by_column,
                n_jobs=self.n_jobs,
            )
            found.append(bins)
        self.bins_ = join_bins(*found)
        return BinnedTable(join_bins(self.bins_, spare_bins(n_spare)), codes, by_column)

    def recode(self, table: Table) -> BinnedTable:
        """Code another table as the first one was, for growing more trees."""
        return coded_table(self.bins_, self.transform(table))

    def transform(
        self,
        table: Table,
        *,
        n_spare: int = 0,
        numbers: np.ndarray | None = None,
        wanted: np.ndarray | None = None,
        levels: CategoryLevels | None = None,
    ) -> np.ndarray:
        """Code a table for asking trees about it.

        Parameters
        ----------
        table : Table
        n_spare : int, default=0
            Columns to leave room for on the right.
        numbers : ndarray of float64 of shape (n_rows, n_columns), default=None
            What `numbers` gives is put there, for both at the price of one.
        wanted : ndarray of bool of shape (n_columns,), default=None
            The codes of other columns are 0, or right. None for all.
        levels : CategoryLevels or None, default=None
            What is known of some columns, whose cells are not looked up again.

        Returns
        -------
        ndarray of uint8 of shape (n_rows, n_columns + n_spare)
        """
        codes = np.zeros((table.shape[0], table.shape[1] + n_spare), np.uint8)
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
                n_jobs=self.n_jobs,
            )
        self._watch(table, unknown)
        return codes

    def is_plain(self, table: Table) -> bool:
        """Whether a table is an array of numbers without categories."""
        return isinstance(table, ArrayTable) and table.are_numbers and not self.encoders_

    def plain_numbers(self, table: Table) -> np.ndarray | None:
        """The cells of an array of floats without categories, not copied; None of other tables."""
        if not (isinstance(table, ArrayTable) and self.is_plain(table)):
            return None
        floats = table.cells.dtype in (np.float64, np.float32)
        return np.require(table.cells, requirements="A") if floats else None

    def numbers(self, table: Table) -> np.ndarray:
        """A table as numbers: codes of categories, NaN for what is missing."""
        return self._numbers(table, range(table.shape[1]))

    def new_numbers(self, table: Table) -> np.ndarray:
        """The same of a table to predict, whose unknown categories are counted."""
        unknown: dict[int, int] = {}
        numbers = self._numbers(table, range(table.shape[1]), unknown)
        self._watch(table, unknown)
        return numbers

    def columns_of_many_levels(self) -> list[int]:
        """The columns in which fit saw at least `many_levels` categories."""
        fewest = self.many_levels
        if fewest is None:
            return []
        return [c for c, found in self.encoders_.items() if len(found.categories) >= fewest]

    def levels(self, table: Table, columns: list[int]) -> CategoryLevels:
        """The levels of some columns of categories, by the numbers that fit gave them."""
        numbers = np.empty((table.shape[0], len(columns)), np.int64)
        counts = np.array([len(self.encoders_[c].categories) for c in columns], np.int64)
        for at, c in enumerate(columns):
            column = table.column(c)
            missing = self.is_missing(column, c)
            numbers[:, at] = counts[at] if missing else self.encoders_[c].levels(column)
        return CategoryLevels(columns, numbers, counts)

    def all_levels(self, table: Table) -> CategoryLevels | None:
        """Those of all columns of many categories; None if there are none."""
        columns = self.columns_of_many_levels()
        return self.levels(table, columns) if columns else None

    def numbers_of_levels(self, table: Table, columns: list[int]) -> np.ndarray:
        """The same as `numbers`, but of some columns of categories levels in place of codes."""
        numbers = self.numbers(table)
        if columns:
            numbers = np.array(numbers, np.float64)
            levels = self.levels(table, columns)
            missing = levels.numbers == levels.counts
            numbers[:, columns] = np.where(missing, np.nan, levels.numbers)
        return numbers

    def asked_rows(self, numbers: np.ndarray, columns: list[int], n_spare: int) -> EncodedRows:
        """Rows from what `numbers_of_levels` gave of them."""
        levels = None
        if columns:
            found = numbers[:, columns]
            counts = np.array([len(self.encoders_[c].categories) for c in columns], np.int64)
            whole = np.where(np.isnan(found), counts, found).astype(np.int64)
            levels, numbers = CategoryLevels(columns, whole, counts), np.array(numbers, np.float64)
            for at, c in enumerate(columns):
                numbers[:, c] = self.encoders_[c].codes_of_levels(whole[:, at])
        raw = apply_bins(np.ascontiguousarray(numbers, float), self.bins_)
        spare = np.zeros((len(raw), n_spare), np.uint8)
        return EncodedRows(np.hstack([raw, spare]), numbers, levels)

    def is_missing(self, column: Column, c: int) -> bool:
        """Whether all cells of a new table's column `c` count as missing, so that none is read.

        A column without a value has no kind, and is missing where the other table has one.

        Raises
        ------
        TypeError
            If it holds another kind of thing than at fit.
        """
        before, now = self.kinds_[c], column.kind
        if now == before:
            return False
        if before is None:  # numbers are read nonetheless: infinities are refused
            return bool(self.categorical_[c]) or now != NUMBER
        if now is None or column.is_empty:
            return True
        raise TypeError(f"column {column.place} of X must hold {before}s as in fit, got {now}")

    def learn_kinds(
        self, table: Table, weights: np.ndarray | None, *, warns_of_subjects: bool = False
    ) -> None:
        """Learn what the columns hold, and the categories, but no bins: enough for `numbers`."""
        self.categorical_ = category_mask(table, self.categorical_features)
        self.encoders_: dict[int, CategoryEncoder] = {}
        self.unknown_limits_: dict[int, float] = {}
        self.kinds_: list[str | None] = [NUMBER] * table.shape[1]
        compared = self.categorical_ | (~table.hold_numbers & (table.names is not None))
        for c in np.flatnonzero(compared).tolist():
            column = table.column(c)
            self.kinds_[c] = column.kind
            if self.categorical_[c]:
                encoder = CategoryEncoder.learn(column, weights, self.max_bins)
                shared = self.many_levels is None or len(encoder.categories) < self.many_levels
                encoder.warn(column, weights, self.max_bins if shared else None)
                if isinstance(self.categorical_features, str):
                    encoder.warn_of_numbers(column)
                if not len(encoder.categories):
                    self.kinds_[c] = None
                self.encoders_[c] = encoder
                levels = encoder.levels(column)
                levels = levels if weights is None else levels[weights > 0]
                n_levels = len(encoder.categories)
                self.unknown_limits_[c] = expected_share(levels, n_levels)
                counts = np.bincount(levels[levels < n_levels], minlength=n_levels)
                if warns_of_subjects and looks_like_subjects(counts):
                    warn_of_subjects(column.place, counts)

    def _blocks_of_numbers(self, table: Table) -> Iterator[np.ndarray]:
        for columns in table.blocks():
            chosen = [c for c in columns if not self.categorical_[c]]
            if chosen:
                yield table.numbers(chosen)

    def _n_categories(self, columns: range) -> np.ndarray | None:
        """How many codes each column of categories has, -1 for one of numbers."""
        if not self.categorical_[columns.start : columns.stop].any():
            return None
        return np.array(
            [self.encoders_[c].n_codes if c in self.encoders_ else -1 for c in columns]
        )

    def _look_for_subjects(
        self,
        table: Table,
        block: np.ndarray | sparse.csc_matrix,
        columns: range,
        weights: np.ndarray | None,
    ) -> None:
        """Warn of columns of whole numbers that look like repeated subjects."""
        if not isinstance(block, np.ndarray):
            return
        for i in np.flatnonzero(~self.categorical_[columns.start : columns.stop]).tolist():
            numbers = block[:, i] if weights is None else block[weights > 0, i]
            counts = counts_of_whole_numbers(numbers)
            if counts is not None and looks_like_subjects(counts):
                warn_of_subjects(table.place(columns[i]), counts)

    def _forget_kinds(self, block: np.ndarray | sparse.csc_matrix, columns: range) -> None:
        """Of columns of numbers in which none is: they have no kind."""
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
        """What `_numbers` gives; a sparse matrix, if that says the same in far fewer cells."""
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
        """Some columns as numbers.

        What holds another kind of thing than at fit is refused. `unknown` takes the number of rows
        of new categories, by column, where there are some. `levels` are known levels of columns.
        """
        numeric = self._surely_numeric(table, columns)
        if numeric.all():
            return table.numbers(columns)
        block = np.full((table.shape[0], len(columns)), np.nan)
        others = np.flatnonzero(~numeric).tolist()
        if table.together is not None:
            others = self._look_up(table, columns, others, block, unknown, levels)
        for i in others:
            column = table.column(columns[i])
            if self.is_missing(column, columns[i]):
                continue
            if self.categorical_[columns[i]]:
                encoder = self.encoders_[columns[i]]
                if levels is not None and columns[i] in levels.columns:
                    codes = encoder.codes_of_levels(levels.of_column(columns[i]))
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
        table: Table,
        columns: range,
        chosen: list[int],
        block: np.ndarray,
        unknown: dict[int, int] | None,
        levels: CategoryLevels | None,
    ) -> list[int]:
        """Put codes of a small table's categories into a block, all at once; what is left."""
        together, known = table.together, () if levels is None else levels.columns
        assert together is not None
        wanted = {c: self.kinds_[c] for i in chosen if (c := columns[i]) not in known}
        found, codes, new = look_up_all(together, self.encoders_, wanted)
        block[:, [c - columns.start for c in found]] = codes.T
        if unknown is not None and new.any():
            counts = np.count_nonzero(new, axis=1).tolist()
            unknown.update((c, n) for c, n in zip(found, counts, strict=True) if n)
        done = set(found)
        return [i for i in chosen if columns[i] not in done]

    def _surely_numeric(self, table: Table, columns: range) -> np.ndarray:
        """Which columns hold numbers by their type, as in fit; of arrays all but categories."""
        part = slice(columns.start, columns.stop)
        if table.names is None:
            return ~self.categorical_[part]
        as_in_fit = np.array([kind in (NUMBER, None) for kind in self.kinds_[part]])
        return ~self.categorical_[part] & as_in_fit & table.hold_numbers[part]

    def unknown_counts(self, table: Table) -> dict[int, int]:
        """Rows of a table whose category fit did not see, for each column of categories."""
        counts = dict.fromkeys(self.encoders_, 0)
        for c in counts:
            column = table.column(c)
            if not self.is_missing(column, c):
                counts[c] = int(np.count_nonzero(self._is_unknown(column, c)))
        return counts

    def _is_unknown(self, column: Column, c: int) -> np.ndarray:
        """Which cells hold a category that fit did not see."""
        encoder = self.encoders_[c]
        return encoder.levels(column) > len(encoder.categories)

    def _watch(self, table: Table, unknown: Mapping[int, int]) -> None:
        """Warn of columns with far more unknown categories than expected, once for each.

        The rows of all predictions so far are also looked at together: a service that asks about
        one row at a time would never see a share.
        """
        n_rows = table.shape[0]
        counted = self._counted
        counted.n_rows += n_rows
        reported = []
        for c, n_unknown in unknown.items():
            counted.unknown[c] = counted.unknown.get(c, 0) + n_unknown
            if c in counted.warned:
                continue
            limit = self._unknown_limit(c)
            totals = (n_unknown, n_rows), (counted.unknown[c], counted.n_rows)
            above = [total for total in totals if is_far_above(*total, limit)]
            if above:
                column = table.column(c)
                examples = first_different(column.values[self._is_unknown(column, c)])
                share = above[0][0] / above[0][1]
                reported.append(UnknownColumn(table.place(c), share, limit, examples))
                counted.warned.add(c)
        warn_of_unknown(reported)

    def _unknown_limit(self, c: int) -> float:
        """The expected share; one half for models of versions that did not store it."""
        return vars(self).get("unknown_limits_", {}).get(c, _FORMER_LIMIT)

    @property
    def _counted(self) -> UnknownCounts:
        """Unknown categories of all predictions so far."""
        counts: UnknownCounts = self.__dict__.setdefault("_unknown_counts", UnknownCounts())
        return counts

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_unknown_counts"}
        if "encoders_" in state:
            state["encoders_"] = {c: found.encoder for c, found in self.encoders_.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "encoders_" in state:
            of_columns = state["encoders_"].items()
            self.encoders_ = {c: CategoryEncoder(encoder) for c, encoder in of_columns}


class NewRows:
    """A table's rows as codes and, if asked for, as numbers, made for one block after the other.

    Of arrays of numbers nothing is made for all rows at once. Of other tables codes are, since
    their columns are read whole: for kinds and unseen categories, which all rows tell.

    Parameters
    ----------
    binner : Binner
    table : Table
    n_spare : int, default=0
        Columns to leave room for on the right of the codes.
    wanted : ndarray of bool of shape (n_columns,), default=None
        The codes of other columns are 0, or right. None for all.
    numbers : bool, default=False
        Whether numbers are asked for.
    levels : sequence of int, default=()
        Columns whose levels are asked for.
    """

    def __init__(
        self,
        binner: Binner,
        table: Table,
        *,
        n_spare: int = 0,
        wanted: np.ndarray | None = None,
        numbers: bool = False,
        levels: Sequence[int] = (),
    ) -> None:
        self.n_rows = table.shape[0]
        self._binner, self._table = binner, table
        self._n_spare, self._wanted, self._with_numbers = n_spare, wanted, numbers
        self._levels = binner.levels(table, list(levels)) if levels else None
        self._codes: np.ndarray | None = None
        self._numbers: np.ndarray | None = None

    def codes(self) -> np.ndarray:
        """Of all rows and columns but the spare ones; blocks are copied from them."""
        if self._codes is None:
            whole = self._with_numbers and not self._table.has_rows
            self._codes, self._numbers = self._read(self._table, whole)
        return self._codes

    def block(self, first: int, end: int) -> EncodedRows:
        """Some rows; their codes may be written over."""
        levels = None if self._levels is None else self._levels.of_rows(slice(first, end))
        return EncodedRows(*self._block(first, end), levels)

    def _block(self, first: int, end: int) -> tuple[np.ndarray, np.ndarray | None]:
        whole = end - first == self.n_rows
        if self._codes is None and (whole or self._binner.is_plain(self._table)):
            table = self._table if whole else self._table.rows(first, end)
            return self._read(table, self._with_numbers, self._n_spare)
        found = self.codes()[first:end]
        codes = np.zeros((len(found), found.shape[1] + self._n_spare), np.uint8)
        codes[:, : found.shape[1]] = found
        if self._numbers is not None:
            return codes, self._numbers[first:end]
        if not self._with_numbers:
            return codes, None
        return codes, self._binner.numbers(self._table.rows(first, end))

    def _read(
        self, table: Table, with_numbers: bool, n_spare: int = 0
    ) -> tuple[np.ndarray, np.ndarray | None]:
        options: dict[str, Any] = {"n_spare": n_spare, "wanted": self._wanted}
        if table is self._table:
            options["levels"] = self._levels
        if with_numbers and table.is_read_whole:
            numbers = np.empty(table.shape)
            return self._binner.transform(table, numbers=numbers, **options), numbers
        codes = self._binner.transform(table, **options)
        return codes, self._binner.numbers(table) if with_numbers else None
