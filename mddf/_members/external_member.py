"""Members of fitted stages that are no forests of this package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import StageMember
from mddf._fitted.vector_layout import rounded
from mddf._members.external_training import Frames, external_vectors
from mddf._trees.arrays import shares


@dataclass(frozen=True)
class ExternalMember(StageMember):
    """Fitted estimators, which see numbers; vectors that are rounded are scaled to sum 1 first.

    Attributes
    ----------
    frames : callable or None
        Makes data frames of the numbers, if these are what the estimators see.
    """

    frames: Frames | None = None

    @property
    def has_trees(self) -> bool:
        """See StageMember."""
        return False

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        """See StageMember."""
        numbers = rows.numbers
        assert numbers is not None
        X = numbers if self.frames is None else self.frames(numbers)
        each = [external_vectors(one, X, self.n_columns, self.name) for one in self.models]
        if not self.is_rounded:
            return np.mean(each, axis=0)
        return rounded(shares(np.sum(each, axis=0)))
