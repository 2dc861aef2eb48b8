"""Categories of a column, and their codes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from mddf._base.messages import warn
from mddf._input.cell_values import missing_cells
from mddf._input.table import Column, Factors, TogetherCells
from mddf._targets.weights import summed_weights

# From so many rows on it is worth saying that a column has nearly as many categories.
_MANY_ROWS = 100
_NEARLY_ALL = 0.9
# So few numbers are looked up in a dict: an encoder looks at its input for longer.
_FEW_ROWS = 100
# What may have a hash, but no order by which categories get their codes.
_NO_CATEGORIES = (tuple, list, Set, Mapping, complex, np.complexfloating)


class CategoryEncoder:
    """Codes of a column's categories: 0, 1, ... in their order, the rarest perhaps in common.

    Parameters
    ----------
    encoder : OrdinalEncoder
        What of it is stored. It makes NaN of what is missing or new.
    """

    def __init__(self, encoder: OrdinalEncoder) -> None:
        self.encoder = encoder

    @classmethod
    def learn(cls, column: Column, weights: np.ndarray | None, max_codes: int) -> CategoryEncoder:
        """The codes of a column; of more categories than `max_codes`, the lightest share one.

        Parameters
        ----------
        column : Column
        weights : ndarray of shape (n_rows,) or None
            Rows without weight are not looked at.
        max_codes : int

        Raises
        ------
        TypeError
            If the categories have no order.
        """
        kind = column.kind
        try:
            return cls(_learnt(column, weights, max_codes))
        except TypeError as error:
            raise TypeError(
                "the categories of a column must be all strings or all numbers; got "
                f"{kind} in column {column.place}"
            ) from error

    @cached_property
    def categories(self) -> np.ndarray:
        """All categories in order, without NaN."""
        known = self.encoder.categories_[0]
        return known[~missing_cells(known)]

    @property
    def rare(self) -> np.ndarray | None:
        """Those that share the last code; None if none do."""
        return self.encoder.infrequent_categories_[0]

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.categories) - (0 if self.rare is None else len(self.rare) - 1)

    @cached_property
    def codes_by_category(self) -> dict[Any, float]:
        """The code of each category, NaN of what is missing."""
        known = self.encoder.categories_[0]
        codes = self.encoder.transform(known.astype(object).reshape(-1, 1)).ravel()
        return dict(zip(known.tolist(), codes.tolist(), strict=True))

    @cached_property
    def knows_objects(self) -> bool:
        """Whether objects are looked up in `codes_by_category`: all but those of times are."""
        return self.encoder.categories_[0].dtype.kind not in "mM"

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        listed = self.categories.astype(object).tolist()
        return dict(zip(listed, range(len(listed)), strict=True))

    def of_codes(self) -> list[Any]:
        """The category of each code; of those that share the last one, the first."""
        found: dict[int, Any] = {}
        for category, code in self.codes_by_category.items():
            if code == code:
                found.setdefault(int(code), category)
        return [found[code] for code in range(self.n_codes)]

    def codes(self, column: Column) -> np.ndarray:
        """Codes of a column's cells, NaN for what is missing or new: float64."""
        cells = column.cells
        if isinstance(cells, Factors):
            return self.look_up(cells.different)[cells.numbers]
        return self.look_up(cells.values)

    def look_up(self, values: np.ndarray) -> np.ndarray:
        """Codes of values, NaN for what is missing or new: float64."""
        known = self.encoder.categories_[0].dtype.kind
        no_objects = values.dtype.kind != "O" and known != "O" and len(values) > _FEW_ROWS
        if no_objects or not self.knows_objects:
            return np.asarray(self.encoder.transform(values.reshape(-1, 1)).ravel())
        found = map(self.codes_by_category.get, values.tolist(), repeat(np.nan))
        return np.fromiter(found, np.float64, len(values))

    def levels(self, column: Column) -> np.ndarray:
        """The number of each cell among all categories, however many there are: int64.

        How many there are for what is missing, and one more for what is new.
        """
        n, cells = len(self.categories), column.cells
        values = cells.different if isinstance(cells, Factors) else cells.values
        if n and values.dtype.kind != "O" and self.categories.dtype.kind != "O":
            found = np.searchsorted(self.categories, values)
            there = self.categories[np.minimum(found, n - 1)] == values
            found = np.where(there, found, n + 1)
        else:
            given = map(self._numbers.get, values.astype(object).tolist(), repeat(n + 1))
            found = np.fromiter(given, np.int64, len(values))
        if isinstance(cells, Factors):
            found = found[cells.numbers]
        return np.where(column.missing, n, found).astype(np.int64)

    def codes_of_levels(self, levels: np.ndarray) -> np.ndarray:
        """Codes of such numbers, NaN for what is missing or new: float64."""
        return self._code_of_level[levels]

    @cached_property
    def _code_of_level(self) -> np.ndarray:
        return np.append(self.look_up(self.categories), [np.nan, np.nan])

    def warn(self, column: Column, weights: np.ndarray | None, max_codes: int | None) -> None:
        """Warn of a column of more categories than codes, or of nearly as many as rows."""
        missing = column.missing if weights is None else column.missing[weights > 0]
        n_there, n = len(missing) - np.count_nonzero(missing), len(self.categories)
        if max_codes is not None and n > max_codes:
            warn(
                f"column {column.place} has {n} categories, more than max_bins={max_codes}: "
                "the rarest of them share a bin",
                kind=f"more categories than bins in column {column.place}",
            )
        elif n_there >= _MANY_ROWS and n > _NEARLY_ALL * n_there:
            warn(
                f"column {column.place} has {n} categories in {n_there} rows: trees learn "
                "little from what is nearly never the same",
                kind=f"nearly as many categories as rows in column {column.place}",
            )

    def warn_of_numbers(self, column: Column) -> None:
        """Warn of text that is mostly numbers, unless its type is one of categories."""
        n, numbers = len(self.categories), sum(map(_is_number, map(str, self.categories)))
        if column.type.is_plain_text and 2 * numbers > n:
            warn(
                f"column {column.place} is text and taken as categories, but {numbers} of "
                f"its {n} values are numbers: turn it into numbers or, if they are names, into a "
                "categorical type",
                kind=f"text that is mostly numbers in column {column.place}",
            )


def _learnt(column: Column, weights: np.ndarray | None, max_codes: int) -> OrdinalEncoder:
    counted = slice(None) if weights is None else weights > 0
    cells = column.cells
    if isinstance(cells, Factors) and len(cells.different) <= max_codes:  # all get their own
        values = cells.different[np.unique(cells.numbers[counted])]
    else:
        values = cells.values[counted]
    if any(issubclass(kind, _NO_CATEGORIES) for kind in set(map(type, values))):
        raise TypeError("such objects have no order")
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=max_codes,
    ).fit(values.reshape(-1, 1))
    learnt = CategoryEncoder(encoder)
    if weights is None or learnt.rare is None:
        return encoder
    known, there = learnt.categories, ~missing_cells(values)
    places = np.searchsorted(known, values[there])
    total = summed_weights(places, weights[counted][there], len(known))
    # An encoder counts rows: the heaviest categories get one more than the others.
    heaviest = np.argsort(total, kind="stable")[1 - max_codes :]
    return encoder.fit(np.concatenate([known, known[heaviest]]).reshape(-1, 1))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def look_up_all(
    together: TogetherCells,
    encoders: Mapping[int, CategoryEncoder],
    wanted: Mapping[int, str | None],
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Codes of columns of a small table that hold the kinds of things that are wanted of them.

    Returns
    -------
    list of int
        Which columns these are.
    ndarray of float64 of shape (n_found, n_rows)
        Their codes, NaN for what is missing or new.
    ndarray of bool of shape (n_found, n_rows)
        What is new.
    """
    found, places, codes = [], [], []
    for c, kind in wanted.items():
        at, encoder = together.places.get(c), encoders.get(c)
        if at is None or encoder is None or kind is None or not encoder.knows_objects:
            continue
        if together.kinds[at] == kind:
            found.append(c)
            places.append(at)
            codes.append(encoder.codes_by_category.get)
    cells = together.values[places].tolist()
    looked_up = chain.from_iterable(map(map, codes, cells, repeat(repeat(np.nan))))
    shape = (len(found), together.values.shape[1])
    of_all = np.fromiter(looked_up, np.float64, shape[0] * shape[1]).reshape(shape)
    return found, of_all, np.isnan(of_all) & ~together.missing[places]
