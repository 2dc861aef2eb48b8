"""Asking an estimator of several layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mddf._data.binner import NewRows
from mddf._data.blocks import by_blocks, last
from mddf._data.estimators import warn_of_seen
from mddf._data.reading import read_table
from mddf._ensemble.stages import FittedStages
from mddf._trees import predictor


class Layered:
    """Asks its fitted stages about new rows.

    Comes before scikit-learn's classes among the bases of an estimator.
    """

    categorical_features: Any
    n_jobs: int | None
    _seen: str

    def _fitted_stages(self) -> FittedStages:
        """What a fitted model consists of."""
        raise NotImplementedError

    def _read_layers(
        self,
        X: Any,
        read: Callable[[FittedStages, Iterator[tuple[np.ndarray, np.ndarray]]], list[np.ndarray]],
        *,
        warn_if_seen: bool = False,
    ) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of what the stages say of a block."""
        fitted = self._fitted_stages()
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        # What has been seen is known by the codes of all columns.
        wanted = None if warn_if_seen else predictor.columns_used(fitted.trees(), fitted.n_raw)
        rows = NewRows(
            fitted.binner,
            table,
            n_spare=fitted.n_added,
            wanted=wanted,
            numbers=not fitted.has_trees_only,
        )
        if warn_if_seen:
            warn_of_seen(rows.codes(), self._seen)

        def read_block(first: int, end: int) -> list[np.ndarray]:
            return read(fitted, fitted.ask(*rows.block(first, end), self.n_jobs))

        return by_blocks(read_block, table.shape[0], fitted.row_bytes)

    def _read_stages(
        self, X: Any, read: Callable[[Iterator[np.ndarray]], list[np.ndarray]]
    ) -> list[np.ndarray]:
        """Arrays for all rows of X, of what `read` makes of the predictions after each layer."""
        return self._read_layers(X, lambda fitted, asked: read(fitted.outcomes(asked)))

    def _averages(self, X: Any) -> np.ndarray:
        """The average over all layers, as it is before it is calibrated or put in units."""
        (found,) = self._read_layers(X, lambda fitted, asked: [last(fitted.averages(asked))])
        return found

    def _layer_features(
        self, X: Any, make: Callable[[list[np.ndarray]], np.ndarray]
    ) -> np.ndarray:
        """Features of new rows, which `make` makes of the vectors of all layers."""

        def read(_: FittedStages, asked: Iterator[Any]) -> list[np.ndarray]:
            return [make([vectors for vectors, _ in asked])]

        (features,) = self._read_layers(X, read, warn_if_seen=True)
        return features


def column_names(classes: np.ndarray) -> list[str]:
    """Classes as parts of names that other libraries take, all different."""
    names = [re.sub(r"[^\w.+=-]", "_", str(label)) for label in classes]
    if len(set(names)) == len(names):
        return names
    return [f"{number}_{name}" for number, name in enumerate(names)]
