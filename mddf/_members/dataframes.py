"""Rows of numbers as data frames, which estimators of other packages are fitted on and asked."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.categories import CategoryEncoder
from mddf._input.table import Table


@register_serializable("frame columns")
@dataclass(frozen=True)
class FrameColumns:
    """The columns of the data frame that fit saw.

    Attributes
    ----------
    names : list
    whole : dict of int to str
        Columns of whole numbers and booleans, and what numpy calls their types.
    """

    names: list[Any]
    whole: dict[int, str]

    @classmethod
    def of(cls, table: Table) -> FrameColumns | None:
        """None if the table is no data frame, or pandas is not there to make others."""
        if table.names is None or find_spec("pandas") is None:
            return None
        return cls(list(table.names), table.whole_types)


@dataclass(frozen=True)
class FrameMaker:
    """Makes data frames of pandas from rows of numbers, with columns as fit saw them.

    Attributes
    ----------
    columns : FrameColumns
    encoders : dict of int to CategoryEncoder
        Of the columns of categories.
    """

    columns: FrameColumns
    encoders: dict[int, CategoryEncoder]

    @property
    def codes_of(self) -> dict[int, dict[Any, float]]:
        """The codes of each column's categories."""
        return {c: encoder.codes_by_category for c, encoder in self.encoders.items()}

    def __call__(self, numbers: np.ndarray) -> Any:
        """The rows, as a data frame.

        Categories have their values and the dtype of categories; what is missing, or what fit did
        not see, is missing. Of categories beyond `max_bins`, the first stands for the rarest.
        """
        import pandas as pd

        cells = {c: self._cells(c, numbers[:, c]) for c in range(numbers.shape[1])}
        made = pd.DataFrame(cells, index=pd.RangeIndex(len(numbers)))
        made.columns = pd.Index(self.columns.names)
        return made

    def _cells(self, c: int, numbers: np.ndarray) -> Any:
        if c in self.encoders:
            import pandas as pd

            codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
            return pd.Categorical.from_codes(codes, categories=self.encoders[c].of_codes())
        if c in self.columns.whole and not np.isnan(numbers).any():
            with np.errstate(invalid="ignore"):  # of numbers that are out of range
                whole = numbers.astype(self.columns.whole[c])
            if np.array_equal(whole, numbers):
                return whole
        return np.ascontiguousarray(numbers)
