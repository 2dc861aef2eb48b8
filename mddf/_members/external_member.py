"""Fitted members that are estimators of other packages, or models that are kept as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.categories import CategoryEncoder
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedMember
from mddf._fitted.vector_layout import rounded
from mddf._members.dataframes import FrameColumns, FrameMaker, ModelInputs
from mddf._members.external_training import external_vectors
from mddf._trees.arrays import shares


@register_serializable("fitted estimators")
@dataclass(frozen=True)
class ExternalMember(FittedMember):
    """Fitted estimators, which predict from numbers or data frames.

    Vectors that are rounded are scaled to sum 1 first.
    """

    frame_columns: FrameColumns | None = None  # None if all of the models take arrays

    @property
    def has_trees(self) -> bool:
        return False

    def frame_maker(self, encoders: Mapping[int, CategoryEncoder]) -> FrameMaker | None:
        """Maker of the data frames that the models take; None if they take arrays."""
        return None if self.frame_columns is None else FrameMaker(self.frame_columns, encoders)

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        assert rows.numbers is not None
        inputs = ModelInputs(rows.numbers, self.frame_maker(rows.encoders))
        predictions = [
            external_vectors(model, inputs, self.n_columns, self.name) for model in self.models
        ]
        if not self.is_rounded:
            return np.mean(predictions, axis=0)
        return rounded(shares(np.sum(predictions, axis=0)))
