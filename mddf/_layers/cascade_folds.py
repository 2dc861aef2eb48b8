"""Folds of a cascade's layers, and the features that these see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._layers.seeds import Purpose, Seeds
from mddf._resampling.folds import (
    Folds,
    gives_folds,
    group_numbers,
    make_folds,
    rows_never_held_out,
)


@dataclass
class LayerFolds:
    """Folds of the layers of a cascade.

    A number of folds is drawn anew for each layer, so that no layer can rely on the errors of one
    split. Splits that the user gives are the same for all layers.
    """

    cv: Any  # int, splitter, iterable of (train, test), "oob" or None
    X: Any  # as in `make_folds`, like y, labels and groups
    y: np.ndarray
    labels: np.ndarray
    groups: npt.ArrayLike | None
    seeds: Seeds
    group_of_row: np.ndarray | None = field(init=False)  # (n_samples,): groups as numbers
    fixed: Folds | None = field(init=False)  # folds of all layers, if `cv` gives them

    def __post_init__(self) -> None:
        groups = self.groups
        self.group_of_row = None if groups is None else group_numbers(groups, self.labels, self.cv)
        self.fixed = self._draw(0) if gives_folds(self.cv) else None

    def for_layer(self, number: int, active: np.ndarray | None = None) -> Folds | None:
        """Folds of a layer; None for out-of-bag predictions.

        If some rows left, folds that are drawn are drawn among the active rows, and folds that
        the user gives lose the other rows.
        """
        if isinstance(self.cv, str):
            return None
        if active is None:
            active = np.ones(len(self.labels), bool)
        all_stay = active.all()
        if self.fixed is not None:
            if all_stay:
                return self.fixed
            folds = [(train[active[train]], test[active[test]]) for train, test in self.fixed]
            return [(train, test) for train, test in folds if len(train) and len(test)]
        seed = self.seeds.integer(Purpose.FOLDS, number)
        if all_stay:
            return self._draw(seed)
        rows = np.flatnonzero(active).astype(np.int32)
        groups = None if self.groups is None else _safe_indexing(self.groups, rows)
        folds = make_folds(self.cv, None, None, self.labels[rows], seed, groups=groups)
        return [(rows[train], rows[test]) for train, test in folds]

    def _draw(self, seed: int) -> Folds:
        return make_folds(
            self.cv,
            self.X,
            self.y,
            self.labels,
            seed,
            groups=self.groups,
            allow_time_order=True,
        )

    @property
    def without_past(self) -> np.ndarray:
        """Rows that no fold holds out, as there are some in time order."""
        if self.fixed is None:
            return np.empty(0, int)
        return rows_never_held_out(self.fixed, len(self.labels))


def resolve_grains(grains: Any, n_features: int) -> list[np.ndarray]:
    """Columns of each grain, from the parameter `grains`; None is one grain with all columns."""
    everything = np.arange(n_features, dtype=np.int32)
    if grains is None:
        return [everything]
    message = (
        "grains must be a list of slices or arrays of column numbers below "
        f"{n_features}, the number of columns of X, none of them empty; got "
    )
    if not is_list(grains):
        raise ValueError(f"{message}{short(grains)}")
    resolved = []
    for grain in grains:
        try:
            chosen = grain if isinstance(grain, slice) else np.asarray(grain)
            resolved.append(everything[chosen])
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{message}{short(grain)}") from error
    if not resolved or any(columns.ndim != 1 or len(columns) == 0 for columns in resolved):
        raise ValueError(f"{message}{short(grains)}")
    return resolved
