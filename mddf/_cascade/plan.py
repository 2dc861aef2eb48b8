"""What a cascade is to be: what makes kinds of cascades different, and the layers of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._cascade.model import VectorLayout
from mddf._ensemble.coefficients import CoefficientRule, OwnReweighting, Reweighting
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import Folds


@dataclass(frozen=True)
class CascadeKind:
    """What makes one kind of cascade different from another.

    Attributes
    ----------
    forests : tuple of str
        Names of a layer's forests where the user does not say.
    rule : CoefficientRule
        From margins to the layers' coefficients.
    reweighting : Reweighting, OwnReweighting or None
        From margins to the samples' weights in the next layer.
    redraw : bool
        Draw by the factors rather than weigh.
    sees_raw, sees_augmented : bool
        Whether layers after the first see raw features and those of the layer before.
    augmentation : {"auto", "mean", "per-forest"}
        Which class vectors a layer passes on.
    depth_step : int or None
        c in c (t + 1), the depth limit of the random forests of layer t, counted from 1.
    """

    forests: tuple[str, ...]
    rule: CoefficientRule
    reweighting: Reweighting | OwnReweighting | None = None
    redraw: bool = False
    sees_raw: bool = True
    sees_augmented: bool = True
    augmentation: str = "per-forest"
    depth_step: int | None = None

    def layout(self, n_forests: int, n_classes: int, n_seen: int) -> VectorLayout:
        """Of the vectors of so many forests, if a layer sees `n_seen` features or more."""
        per_forest = self.augmentation == "per-forest" or (
            self.augmentation == "auto" and n_forests * n_classes <= n_seen
        )
        return VectorLayout(n_forests, n_classes, per_forest)

    def depth(self, number: int) -> int | None:
        """Depth limit of a layer's random forests; the first layer is number 0."""
        return None if self.depth_step is None else int(self.depth_step) * (number + 2)


@dataclass(frozen=True)
class CascadePlan:
    """The layers of a cascade.

    Attributes
    ----------
    kind : CascadeKind
    forests : list of MemberSpec
        Of each layer, before the kind limits their depth.
    folds : callable
        From the number of a layer to its folds; None means out-of-bag predictions.
    refit : bool
        Keep forests of all samples rather than those of the folds.
    grains : sequence of ndarray of int32
        Raw columns that the layers see, in turn.
    layout : VectorLayout
    """

    kind: CascadeKind
    forests: list[MemberSpec]
    folds: Callable[[int], Folds | None]
    refit: bool
    grains: Sequence[np.ndarray]
    layout: VectorLayout

    def members(self, number: int) -> list[MemberSpec]:
        """Those of a layer; the first one is number 0."""
        depth = self.kind.depth(number)
        return [forest.limited(depth) for forest in self.forests]

    def columns(self, number: int, n_raw: int) -> np.ndarray:
        """What a layer sees of a table with so many features."""
        raw = self.grains[number % len(self.grains)]
        if number == 0 or not self.kind.sees_augmented:
            return raw
        augmented = np.arange(n_raw, n_raw + self.layout.n_columns, dtype=np.int32)
        return np.concatenate([raw, augmented]) if self.kind.sees_raw else augmented


def resolve_grains(grains: Any, n_features: int) -> list[np.ndarray]:
    """Columns of each grain, from the parameter of that name; None is one with all."""
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
