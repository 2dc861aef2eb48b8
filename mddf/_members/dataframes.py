"""Data frames that users' estimators are fitted on, from numeric rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
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
    """Columns of the data frame passed to fit, as which numeric rows are converted to frames."""

    names: list[Hashable]
    whole: dict[int, str]  # NumPy types of the columns of integers and booleans

    @classmethod
    def from_table(cls, table: Table) -> FrameColumns | None:
        """Columns of a data frame; None for an array, or if pandas is not installed."""
        if table.names is None or find_spec("pandas") is None:
            return None
        return cls(list(table.names), table.whole_types)

    def frame(self, numbers: np.ndarray, encoders: Mapping[int, CategoryEncoder]) -> Any:
        """Make a data frame of pandas from an array of shape (n_rows, n_columns).

        The columns that hold categories have encoders. Categories that are not in the training
        data are missing. If there were more categories than `max_bins`, one of the rarest
        stands for all that share a code.
        """
        import pandas as pd

        cells = {
            c: self._cells(c, numbers[:, c], encoders.get(c)) for c in range(numbers.shape[1])
        }
        frame = pd.DataFrame(cells, index=pd.RangeIndex(len(numbers)))
        frame.columns = pd.Index(self.names)
        return frame

    def _cells(self, c: int, numbers: np.ndarray, encoder: CategoryEncoder | None) -> Any:
        if encoder is not None:
            import pandas as pd

            codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
            return pd.Categorical.from_codes(codes, encoder.first_categories())
        if c in self.whole and not np.isnan(numbers).any():
            with np.errstate(invalid="ignore"):  # of numbers that are out of range
                whole = numbers.astype(self.whole[c])
            if np.array_equal(whole, numbers):
                return whole
        return np.ascontiguousarray(numbers)
