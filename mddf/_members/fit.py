"""Model of a split, with its predictions of the rows that the split holds out."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np


class Fit(NamedTuple):
    """A model of a split, and its predictions of the rows that the split holds out."""

    # A `GrowthResult` without its sums, a `BoostedModel`, or a fitted estimator.
    model: Any
    held_out: np.ndarray
    vectors: np.ndarray  # (n_held_out, n_columns)
    # The same of boosted trees with the number of rounds that the other splits choose. The
    # held-out rows take part in the choice of the common number, which makes figures from
    # `vectors` too good.
    blind_vectors: np.ndarray | None = None

    @classmethod
    def without_rows(cls, model: Any, n_columns: int) -> Self:
        """Fit of a split that holds no rows out."""
        return cls(model, np.empty(0, np.int32), np.empty((0, n_columns)))
