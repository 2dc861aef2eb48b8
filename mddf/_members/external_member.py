"""Fitted members that are estimators of other packages, or models that are kept as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import StageMember
from mddf._fitted.vector_layout import rounded
from mddf._members.dataframes import FrameMaker, ModelInputs
from mddf._members.external_training import external_vectors
from mddf._trees.arrays import shares


@dataclass(frozen=True)
class ExternalMember(StageMember):
    """Fitted estimators, which predict from numbers or data frames.

    Vectors that are rounded are scaled to sum 1 first.
    """

    frames: FrameMaker | None = None  # None if all of the models take arrays

    @property
    def has_trees(self) -> bool:
        return False

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        assert rows.numbers is not None
        inputs = ModelInputs(rows.numbers, self.frames)
        predictions = [
            external_vectors(model, inputs, self.n_columns, self.name) for model in self.models
        ]
        if not self.is_rounded:
            return np.mean(predictions, axis=0)
        return rounded(shares(np.sum(predictions, axis=0)))
