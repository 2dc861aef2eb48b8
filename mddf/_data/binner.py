"""From what users pass as X to one byte per cell."""

from __future__ import annotations

from collections.abc import Mapping, Set
from hashlib import blake2b

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._data.bin_rows import drawn_rows
from mddf._data.binning import (
    NUMERIC_DTYPES,
    BinnedTable,
    apply_bins,
    bin_by_rank,
    empty_codes,
    find_bins,
    is_large,
    join_bins,
    narrowed,
    spare_bins,
)
from mddf._data.cells import NUMBER, missing_cells
from mddf._data.sampling import summed_weights
from mddf._data.table import ArrayTable, SparseTable, Table

# The share of cells that a sparse matrix stores at most where it is not better made dense.
_SPARSE = 0.25
# From so many rows on it is worth saying that a column has nearly as many categories.
_MANY_ROWS = 100
# So few rows are coded by a dict: an encoder looks at its input for longer.
_FEW_ROWS = 100
_NEARLY_ALL = 0.9
# What may have a hash, but no order by which categories get their codes.
_NO_CATEGORIES = (tuple, list, Set, Mapping, complex, np.complexfloating)


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

    Attributes
    ----------
    categorical_ : ndarray of bool of shape (n_columns,)
        Which columns are categories.
    bins_ : Bins
    encoders_ : dict of int to OrdinalEncoder
        Of the columns of categories. One that fit did not see becomes NaN, as what is missing.
    kinds_ : list of str or None
        What fit saw in each column: "number", "text", ..., None if nothing was there.
    """

    def __init__(self, categorical_features=None, max_bins=255, n_jobs=None):
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def fit_transform(self, table: Table, sample_weight=None, *, n_spare=0) -> BinnedTable:
        """Learn the bins of a table and code it for growing trees.

        Parameters
        ----------
        table : Table
        sample_weight : ndarray of shape (n_rows,), default=None
            Weight k counts as k rows; rows without weight are not looked at.
        n_spare : int, default=0
            Columns to leave room for on the right, constant until they are replaced.

        Returns
        -------
        BinnedTable
        """
        if sample_weight is not None and np.all(sample_weight == sample_weight[0]):
            sample_weight = None
        self._learn_categories(table, sample_weight)
        n_rows, n_columns = table.shape
        codes, by_column = empty_codes(n_rows, n_columns + n_spare)
        rows = drawn_rows(table, np.flatnonzero(~self.categorical_), sample_weight)
        if rows is not None and sample_weight is not None:
            sample_weight = sample_weight[rows]
        a_bin_each = n_rows <= self.max_bins and rows is None and sample_weight is None
        found = []
        for columns in table.blocks():
            block = self._block(table, columns)
            self._forget_kinds(block, columns)
            part = slice(columns.start, columns.stop)
            if a_bin_each and isinstance(block, np.ndarray) and not self.categorical_[part].any():
                at = {"out": codes, "first_column": columns.start, "by_column": by_column}
                found.append(bin_by_rank(block, **at, n_jobs=self.n_jobs))
                continue
            if sample_weight is None:
                block = narrowed(block, codes, columns.start, self.n_jobs)
            bins = find_bins(
                block if rows is None else block[rows],
                categorical=self.categorical_[part],
                n_categories=self._n_categories(columns),
                sample_weight=sample_weight,
                max_bins=self.max_bins,
                n_jobs=self.n_jobs,
            )
            self._code(block, bins, columns, codes, by_column)
            found.append(bins)
        self.bins_ = join_bins(*found)
        return BinnedTable(join_bins(self.bins_, spare_bins(n_spare)), codes, by_column)

    def recode(self, table: Table) -> BinnedTable:
        """Code another table as the first one was, for growing more trees."""
        codes = self.transform(table)
        by_column = np.ascontiguousarray(codes.T) if is_large(codes.shape) else None
        return BinnedTable(self.bins_, codes, by_column)

    def transform(self, table: Table, *, n_spare=0, numbers=None, wanted=None) -> np.ndarray:
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

        Returns
        -------
        ndarray of uint8 of shape (n_rows, n_columns + n_spare)
        """
        codes = np.zeros((table.shape[0], table.shape[1] + n_spare), np.uint8)
        unseen: list[str] = []
        for columns in table.blocks():
            if numbers is None:
                block = self._block(table, columns, unseen)
            else:
                block = self._numbers(table, columns, unseen)
                numbers[:, columns.start : columns.stop] = block
            bins = self.bins_.columns(columns.start, columns.stop)
            part = None if wanted is None else wanted[columns.start : columns.stop]
            self._code(block, bins, columns, codes, None, part)
        _warn_of_unseen(unseen)
        return codes

    def is_plain(self, table: Table) -> bool:
        """Whether a table is an array of numbers without categories."""
        return (
            isinstance(table, ArrayTable)
            and table.cells.dtype in NUMERIC_DTYPES
            and not self.encoders_
        )

    def plain_numbers(self, table: Table) -> np.ndarray | None:
        """The cells of an array of floats without categories, not copied; None of other tables."""
        if not (isinstance(table, ArrayTable) and self.is_plain(table)):
            return None
        floats = table.cells.dtype in (np.float64, np.float32)
        return np.require(table.cells, requirements="A") if floats else None

    def numbers(self, table: Table) -> np.ndarray:
        """A table as numbers: codes of categories, NaN for what is missing."""
        return self._numbers(table, range(table.shape[1]))

    def is_missing(self, table: Table, c: int) -> bool:
        """Whether all cells of a column of a new table count as missing, so that none is read.

        A column without a value has no kind, and is missing where the other table has one.

        Raises
        ------
        TypeError
            If it holds another kind of thing than at fit.
        """
        before, now = self.kinds_[c], table.kind(c)
        if now == before:
            return False
        if before is None:  # numbers are read nonetheless: infinities are refused
            return self.categorical_[c] or now != NUMBER
        if now is None or table.is_empty(c):
            return True
        raise TypeError(f"column {table.place(c)} of X must hold {before}s as in fit, got {now}")

    def _block(self, table: Table, columns: range, unseen: list[str] | None = None):
        """What `_numbers` gives; a sparse matrix, if that says the same in far fewer cells."""
        if (
            isinstance(table, SparseTable)
            and table.share_stored(columns) <= _SPARSE
            and not self.categorical_[columns.start : columns.stop].any()
        ):
            return table.stored(columns)
        return self._numbers(table, columns, unseen)

    def _code(self, block, bins, columns, codes, by_column, wanted=None) -> None:
        apply_bins(
            block,
            bins,
            out=codes,
            first_column=columns.start,
            by_column=by_column,
            wanted=wanted,
            n_jobs=self.n_jobs,
        )

    def _learn_categories(self, table: Table, weights: np.ndarray | None) -> None:
        self.categorical_ = category_mask(table, self.categorical_features)
        self.encoders_: dict[int, OrdinalEncoder] = {}
        self.kinds_: list[str | None] = [NUMBER] * table.shape[1]
        for c in np.flatnonzero(self.categorical_).tolist():
            kind = table.kind(c)
            try:
                self.encoders_[c] = self._encoder(table, c, weights)
            except TypeError as error:
                raise TypeError(
                    "the categories of a column must be all strings or all numbers; got "
                    f"{kind} in column {table.place(c)}"
                ) from error
            self.kinds_[c] = kind if len(_present(self.encoders_[c])) else None
            missing = _missing(table, c)
            self._warn_of_categories(
                table, c, missing if weights is None else missing[weights > 0]
            )
        if table.names is not None:
            for c in np.flatnonzero(~self.categorical_).tolist():
                self.kinds_[c] = table.kind(c)

    def _encoder(self, table: Table, c: int, weights: np.ndarray | None) -> OrdinalEncoder:
        """Learns codes of categories; of more than `max_bins`, the lightest get one together."""
        counted = slice(None) if weights is None else weights > 0
        factors = table.factors(c)
        if factors is not None and len(factors[1]) <= self.max_bins:  # all get one of their own
            numbers, different = factors
            values = different[np.unique(numbers[counted])]
        else:
            values = table.values(c)[counted]
        if any(issubclass(kind, _NO_CATEGORIES) for kind in set(map(type, values))):
            raise TypeError("such objects have no order")
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
            max_categories=self.max_bins,
        ).fit(values.reshape(-1, 1))
        if weights is None or encoder.infrequent_categories_[0] is None:
            return encoder
        known, there = _present(encoder), ~missing_cells(values)
        places = np.searchsorted(known, values[there])
        total = summed_weights(places, weights[counted][there], len(known))
        # An encoder counts rows: the heaviest categories get one more than the others.
        heaviest = np.argsort(total, kind="stable")[1 - self.max_bins :]
        return encoder.fit(np.concatenate([known, known[heaviest]]).reshape(-1, 1))

    def _warn_of_categories(self, table: Table, c: int, missing: np.ndarray) -> None:
        n_there = len(missing) - np.count_nonzero(missing)
        n = sum(1 for _ in _present(self.encoders_[c]))
        if n > self.max_bins:
            warn(
                f"column {table.place(c)} has {n} categories, more than max_bins={self.max_bins}: "
                "the rarest of them share a bin"
            )
        elif n_there >= _MANY_ROWS and n > _NEARLY_ALL * n_there:
            warn(
                f"column {table.place(c)} has {n} categories in {n_there} rows: trees learn "
                "little from what is nearly never the same"
            )
        if isinstance(self.categorical_features, str) and table.is_plain_text(c):
            numbers = sum(map(_looks_like_number, map(str, _present(self.encoders_[c]))))
            if 2 * numbers > n:
                warn(
                    f"column {table.place(c)} is text and taken as categories, but {numbers} of "
                    f"its {n} values are numbers: if it is meant as one, turn it into one first"
                )

    def _forget_kinds(self, block, columns: range) -> None:
        """Of columns of numbers in which none is: they have no kind."""
        if isinstance(block, np.ndarray):
            for i in np.flatnonzero(np.isnan(block[0])):
                if np.isnan(block[:, i]).all():
                    self.kinds_[columns[i]] = None

    def _n_categories(self, columns: range) -> np.ndarray:
        counts = np.zeros(len(columns), np.int64)
        for i, c in enumerate(columns):
            if self.categorical_[c]:
                infrequent = self.encoders_[c].infrequent_categories_[0]
                counts[i] = sum(1 for _ in _present(self.encoders_[c]))
                counts[i] -= 0 if infrequent is None else len(infrequent) - 1
        return counts

    def _numbers(self, table: Table, columns: range, unseen: list[str] | None = None):
        """Some columns as numbers.

        What holds another kind of thing than at fit is refused. Of a table that is new, `unseen`
        takes the columns of mostly new categories.
        """
        compared = [table.names is not None or self.categorical_[c] for c in columns]
        there = [
            i for i, c in enumerate(columns) if not (compared[i] and self.is_missing(table, c))
        ]
        numeric = [i for i in there if not self.categorical_[columns[i]]]
        if len(numeric) == len(columns):
            return table.numbers(columns)
        block = np.full((table.shape[0], len(columns)), np.nan)
        for i in sorted(set(there) - set(numeric)):
            c = columns[i]
            block[:, i] = codes = self._codes(table, c)
            if unseen is not None:
                share = np.mean(np.isnan(codes) & ~_missing(table, c))
                if share > 0.5:
                    unseen.append(f"{table.place(c)} ({share:.0%} of the rows)")
        if numeric:
            block[:, numeric] = table.numbers([columns[i] for i in numeric])
        return block

    def _codes(self, table: Table, c: int) -> np.ndarray:
        """Codes of a column's cells, NaN for what is missing or new."""
        encoder, factors = self.encoders_[c], table.factors(c)
        if factors is not None:
            numbers, different = factors
            return encoder.transform(different.reshape(-1, 1)).ravel()[numbers]
        values = table.values(c)
        if len(values) > _FEW_ROWS or encoder.categories_[0].dtype.kind in "mM":
            if encoder.categories_[0].dtype.kind == "O":  # an encoder compares alike with alike
                values = values.astype(object)
            return encoder.transform(values.reshape(-1, 1)).ravel()
        lookups = self.__dict__.setdefault("_lookups", {})
        if c not in lookups:
            known = encoder.categories_[0]
            codes = encoder.transform(known.astype(object).reshape(-1, 1)).ravel()
            lookups[c] = dict(zip(known.tolist(), codes.tolist(), strict=True))
        return np.array([lookups[c].get(value, np.nan) for value in values.tolist()], float)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_lookups"}


def category_mask(table: Table, categorical_features) -> np.ndarray:
    """Which columns are categories, from the parameter `categorical_features`.

    Parameters
    ----------
    table : Table
    categorical_features : None, "from_dtype", or array of bool, int or str

    Returns
    -------
    ndarray of bool of shape (n_columns,)
    """
    n_columns = table.shape[1]
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be None, 'from_dtype', or an array of bool, column "
                f"numbers or column names, got {short(categorical_features)}"
            )
        mask[:] = [table.is_categorical(c) for c in range(n_columns)]
        return mask
    try:
        given = np.asarray(categorical_features)
    except ValueError as error:
        raise ValueError(
            f"categorical_features must be a flat list, got {short(categorical_features)}"
        ) from error
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension, got an array of shape {given.shape}"
        )
    if given.size == 0:
        return mask
    if given.dtype.kind == "b":
        if len(given) != n_columns:
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {n_columns} "
                f"columns of X, got {len(given)}"
            )
        return given.copy()
    if given.dtype.kind in "iu":
        if given.min() < -n_columns or given.max() >= n_columns:
            raise ValueError(
                f"categorical_features as column numbers must lie below {n_columns}, the number "
                f"of columns of X, got {short(given.tolist())}"
            )
        mask[given] = True
        return mask
    if table.names is None:
        raise ValueError(
            "categorical_features can only name columns if X is a data frame, got "
            f"{short(given.tolist())} with an array"
        )
    names = [str(name) for name in table.names]
    for name in given:
        if str(name) not in names:
            raise ValueError(
                f"categorical_features names {str(name)!r}, which is not a column of X; its "
                f"columns are {short(names)}"
            )
        mask[names.index(str(name))] = True
    return mask


def fingerprint(*arrays: np.ndarray) -> str:
    """A hash of what arrays hold, to tell whether a table is the one of before."""
    found = blake2b(digest_size=16)
    for array in map(np.atleast_1d, arrays):
        found.update(f"{array.dtype.str} {array.shape}".encode())
        n_rows = max(1, 2**18 * len(array) // max(1, array.nbytes))
        for first in range(0, len(array), n_rows):  # of a part of a table's columns a small copy
            found.update(np.ascontiguousarray(array[first : first + n_rows]).data)
    return found.hexdigest()


def _missing(table: Table, c: int) -> np.ndarray:
    """Which cells of a column are missing."""
    factors = table.factors(c)
    return missing_cells(table.values(c)) if factors is None else factors[0] < 0


def _present(encoder: OrdinalEncoder):
    """An encoder's categories but for NaN."""
    categories = encoder.categories_[0]
    return categories[~missing_cells(categories)]


def _looks_like_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _warn_of_unseen(places: list[str]) -> None:
    if places:
        warn(
            "most of these columns' rows hold categories that fit did not see, which are treated "
            f"as missing: {', '.join(places)}"
        )
