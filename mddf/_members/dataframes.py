"""Data frames that estimators of other packages are fitted on, from numeric rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.serialization import register_serializable
from mddf._binning.categories import CategoryEncoder
from mddf._input.table import Table
from mddf._members.booster_conventions import FrameLayout, learns_categories, plain_names


@register_serializable("frame columns")
@dataclass(frozen=True)
class FrameColumns:
    """Columns of the table passed to fit."""

    names: list[Hashable]
    whole: dict[int, str]  # NumPy types of the columns of integers and booleans
    # Whether X was an array. Only estimators that learn categories then get data frames.
    of_array: bool = False

    @classmethod
    def from_table(cls, table: Table) -> FrameColumns | None:
        """Columns of a table; None if pandas is not installed."""
        if find_spec("pandas") is None:
            return None
        if table.names is not None:
            return cls(list(table.names), table.whole_types)
        return cls([f"x{c}" for c in range(table.shape[1])], {}, of_array=True)


@dataclass(frozen=True)
class FrameMaker:
    """Converts numeric rows to pandas data frames with the columns of the table passed to fit."""

    columns: FrameColumns
    encoders: Mapping[int, CategoryEncoder]  # by the columns that hold categories

    @property
    def codes_of(self) -> dict[int, dict[object, float]]:
        """The codes of each column's categories."""
        return {c: encoder.codes_by_category for c, encoder in self.encoders.items()}

    def serves(self, model: BaseEstimator) -> bool:
        """Whether an estimator gets data frames, rather than arrays with codes of categories."""
        if not self.columns.of_array:
            return True
        if self.encoders and learns_categories(model):
            return True
        layout = FrameLayout.for_model(model)
        return bool(layout.text_categories or layout.text)

    def frame(self, numbers: np.ndarray, layout: FrameLayout) -> Any:
        """Make a data frame from an array of shape (n_rows, n_columns).

        Categories that are not in the training data are missing. If there were more categories
        than `max_bins`, one of the rarest stands for all that share a code.
        """
        import pandas as pd

        cells = {}
        for c in range(numbers.shape[1]):
            if c in layout.text_categories:
                cells[c] = self._text(c, numbers[:, c])
            elif c in layout.text:
                cells[c] = np.asarray(self._text(c, numbers[:, c]), object)
            else:
                cells[c] = self._cells(c, numbers[:, c], plain=layout.plain)
        frame = pd.DataFrame(cells, index=pd.RangeIndex(len(numbers)))
        names = self.columns.names
        frame.columns = pd.Index(plain_names(names) if layout.plain else names)
        return frame

    def _cells(self, c: int, numbers: np.ndarray, *, plain: bool) -> Any:
        if c in self.encoders:
            import pandas as pd

            codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
            categories = self.encoders[c].first_categories()
            if not categories:  # XGBoost cannot take a column without any
                return np.zeros(len(numbers))
            if plain and not all(type(category) in (str, int) for category in categories):
                categories = list(map(_as_text, categories))
            return pd.Categorical.from_codes(codes, categories=categories)
        if c in self.columns.whole and not np.isnan(numbers).any():
            with np.errstate(invalid="ignore"):  # of numbers that are out of range
                whole = numbers.astype(self.columns.whole[c])
            if np.array_equal(whole, numbers):
                return whole
        return np.ascontiguousarray(numbers)

    def _text(self, c: int, numbers: np.ndarray) -> Any:
        """Categories or numbers as text, with a category of its own for missing values."""
        import pandas as pd

        missing = np.isnan(numbers)
        if c in self.encoders:
            names = list(map(_as_text, self.encoders[c].first_categories()))
            codes = np.where(missing, len(names), numbers).astype(np.int64)
        else:
            values, places = np.unique(numbers[~missing], return_inverse=True)
            names = list(map(_as_text, values.tolist()))
            codes = np.full(len(numbers), len(names))
            codes[~missing] = places
        return pd.Categorical.from_codes(codes, categories=[*names, _name_of_missing(names)])


def _as_text(value: Hashable) -> str:
    """The text of a category. Whole numbers have no decimal point, as CatBoost writes integers."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _name_of_missing(names: Sequence[str]) -> str:
    """A name for missing values that differs from all categories."""
    name = "(missing)"
    while name in names:
        name = f"({name})"
    return name


@dataclass(frozen=True)
class ModelInputs:
    """Rows in the form that each of several models accepts: an array or a data frame."""

    numbers: np.ndarray
    frames: FrameMaker | None = None
    _made: dict[FrameLayout, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def for_model(self, model: BaseEstimator) -> Any:
        """The array, or a data frame by the conventions of a model that has its parameters."""
        if self.frames is None or not self.frames.serves(model):
            return self.numbers
        layout = FrameLayout.for_model(model)
        if layout not in self._made:
            self._made[layout] = self.frames.frame(self.numbers, layout)
        return self._made[layout]
