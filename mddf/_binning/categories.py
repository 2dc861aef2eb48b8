"""Categories of a column, and their codes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, repeat

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from mddf._input.cell_values import missing_cells
from mddf._input.table import Column, Factors, ObjectBlock
from mddf._targets.weights import summed_weights

# Up to this many numbers are looked up in a dict: scikit-learn's encoder takes longer to check
# its input.
_FEW_ROWS = 100
# Objects that may have a hash, but no order by which categories get their codes.
_NO_CATEGORIES = (tuple, list, Set, Mapping, complex, np.complexfloating)


class CategoryEncoder:
    """Codes of a column's categories: 0, 1, ... in sorted order; the rarest may share the last.

    Only the fitted `encoder` is stored. Missing and unknown values become NaN.
    """

    def __init__(self, encoder: OrdinalEncoder) -> None:
        self.encoder = encoder

    @classmethod
    def learn(cls, column: Column, weights: np.ndarray | None, max_codes: int) -> CategoryEncoder:
        """Learn the codes of a column, ignoring rows of weight 0.

        If there are more than `max_codes` categories, the rarest by weight share a code.
        A TypeError refuses categories without an order.
        """
        kind = column.kind
        try:
            return cls(_fitted_encoder(column, weights, max_codes))
        except TypeError as error:
            raise TypeError(
                "the categories of a column must be all strings or all numbers; got "
                f"{kind} in column {column.place}"
            ) from error

    @cached_property
    def categories(self) -> np.ndarray:
        """All categories in order, without NaN."""
        categories = self.encoder.categories_[0]
        return categories[~missing_cells(categories)]

    @property
    def rare(self) -> np.ndarray | None:
        """Categories that share the last code; None if each has its own."""
        return self.encoder.infrequent_categories_[0]

    @property
    def n_codes(self) -> int:
        return len(self.categories) - (0 if self.rare is None else len(self.rare) - 1)

    @cached_property
    def codes_by_category(self) -> dict[Hashable, float]:
        """Code of each category; NaN for missing cells."""
        categories = self.encoder.categories_[0]
        codes = self._transform(categories.astype(object))
        return dict(zip(categories.tolist(), codes.tolist(), strict=True))

    def _transform(self, values: np.ndarray) -> np.ndarray:
        """Codes of values. The encoder returns a frame if scikit-learn is set to do so."""
        return np.asarray(self.encoder.transform(values.reshape(-1, 1))).ravel()

    @cached_property
    def knows_objects(self) -> bool:
        """Whether objects can be looked up in `codes_by_category`: dates and times cannot."""
        return self.encoder.categories_[0].dtype.kind not in "mM"

    @cached_property
    def _levels(self) -> dict[Hashable, int]:
        return {category: i for i, category in enumerate(self.categories.astype(object).tolist())}

    def first_categories(self) -> list[Hashable]:
        """First category of each code; only the last code may have more than one."""
        categories: dict[int, Hashable] = {}
        for category, code in self.codes_by_category.items():
            if code == code:
                categories.setdefault(int(code), category)
        return [categories[code] for code in range(self.n_codes)]

    def codes(self, column: Column) -> np.ndarray:
        """Codes of a column's cells as float64; NaN for missing and unknown ones."""
        cells = column.cells
        if isinstance(cells, Factors):
            return self.look_up(cells.distinct)[cells.indices]
        return self.look_up(cells.values)

    def look_up(self, values: np.ndarray) -> np.ndarray:
        """Codes of values as float64; NaN for missing and unknown ones."""
        has_object_categories = self.encoder.categories_[0].dtype.kind == "O"
        is_long = len(values) > _FEW_ROWS
        is_typed = values.dtype.kind != "O" and not has_object_categories
        if (is_typed and is_long) or not self.knows_objects:
            return self._transform(values)
        codes = map(self.codes_by_category.get, values.tolist(), repeat(np.nan))
        return np.fromiter(codes, np.float64, len(values))

    def levels(self, column: Column) -> np.ndarray:
        """Place of each cell's category among all categories, as int64.

        With n categories, missing cells have level n, and unknown categories n + 1.
        """
        n = len(self.categories)
        cells = column.cells
        values = cells.distinct if isinstance(cells, Factors) else cells.values
        if n and values.dtype.kind != "O" and self.categories.dtype.kind != "O":
            levels = np.searchsorted(self.categories, values)
            is_known = self.categories[np.minimum(levels, n - 1)] == values
            levels = np.where(is_known, levels, n + 1)
        else:
            listed = map(self._levels.get, values.astype(object).tolist(), repeat(n + 1))
            levels = np.fromiter(listed, np.int64, len(values))
        if isinstance(cells, Factors):
            levels = levels[cells.indices]
        return np.where(column.missing, n, levels).astype(np.int64)

    def codes_of_levels(self, levels: np.ndarray) -> np.ndarray:
        """Codes of levels as float64; NaN for missing and unknown ones."""
        return self._code_of_level[levels]

    @cached_property
    def _code_of_level(self) -> np.ndarray:
        return np.append(self.look_up(self.categories), [np.nan, np.nan])

    def is_unknown(self, column: Column) -> np.ndarray:
        return self.levels(column) > len(self.categories)


def _new_encoder(max_codes: int) -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=max_codes,
    )


def encoder_with_largest(
    categories: np.ndarray, sizes: np.ndarray, max_codes: int, *, missing: Sequence[object] = ()
) -> OrdinalEncoder:
    """Encoder in which the largest of distinct categories have codes of their own."""
    # The encoder counts rows, so the largest categories get one row more than the others. It does
    # not count missing values.
    largest = np.argsort(sizes, kind="stable")[1 - max_codes :]
    rows = [categories, categories[largest]]
    if len(missing):
        rows.append(np.array(missing, categories.dtype))
    return _new_encoder(max_codes).fit(np.concatenate(rows).reshape(-1, 1))


def _fitted_encoder(column: Column, weights: np.ndarray | None, max_codes: int) -> OrdinalEncoder:
    counted = slice(None) if weights is None else weights > 0
    cells = column.cells
    if isinstance(cells, Factors) and len(cells.distinct) <= max_codes:  # each gets a code
        values = cells.distinct[np.unique(cells.indices[counted])]
    else:
        values = cells.values[counted]
    if any(issubclass(kind, _NO_CATEGORIES) for kind in set(map(type, values))):
        raise TypeError("such objects have no order")
    encoder = _new_encoder(max_codes).fit(values.reshape(-1, 1))
    unweighted = CategoryEncoder(encoder)
    if weights is None or unweighted.rare is None:
        return encoder
    categories = unweighted.categories
    is_present = ~missing_cells(values)
    places = np.searchsorted(categories, values[is_present])
    totals = summed_weights(places, weights[counted][is_present], len(categories))
    return encoder_with_largest(categories, totals, max_codes)


def look_up_all(
    object_block: ObjectBlock,
    encoders: Mapping[int, CategoryEncoder],
    kinds: Mapping[int, str | None],
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Code the columns of a small table whose values are of the kinds that `kinds` requires.

    Returns the columns, and their codes (NaN where missing) and a mask of unknown categories, both
    of shape (n_columns, n_rows).
    """
    columns: list[int] = []
    places: list[int] = []
    for c, kind in kinds.items():
        place = object_block.places.get(c)
        encoder = encoders.get(c)
        if place is None or encoder is None or kind is None or not encoder.knows_objects:
            continue
        if object_block.kinds[place] == kind:
            columns.append(c)
            places.append(place)
    get_codes = [encoders[c].codes_by_category.get for c in columns]
    cells = object_block.values[places].tolist()
    # One iterator over all cells: nothing is called per column except the lookups themselves.
    flat = chain.from_iterable(map(map, get_codes, cells, repeat(repeat(np.nan))))
    shape = (len(columns), object_block.values.shape[1])
    codes = np.fromiter(flat, np.float64, shape[0] * shape[1]).reshape(shape)
    return columns, codes, np.isnan(codes) & ~object_block.missing[places]
