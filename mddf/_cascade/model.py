"""What is kept of a cascade, and asking it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._cascade.layer import Layer, layer_vectors
from mddf._data.binning import apply_bins
from mddf._ensemble.vote import UNCALIBRATED, Calibration


@register_serializable("class vector layout")
@dataclass(frozen=True)
class VectorLayout:
    """How the class vectors of a layer's forests lie in the columns that the next layer sees.

    Attributes
    ----------
    n_forests, n_classes : int
    per_forest : bool
        Each forest's vector, side by side, rather than their mean.
    """

    n_forests: int
    n_classes: int
    per_forest: bool

    @property
    def n_columns(self) -> int:
        """Columns that a layer adds."""
        return self.n_classes * (self.n_forests if self.per_forest else 1)

    def columns(self, vectors: np.ndarray) -> np.ndarray:
        """Those of a layer's vectors (n_forests, n_samples, n_classes)."""
        return side_by_side(vectors) if self.per_forest else vectors.mean(axis=0)

    def mean(self, columns: np.ndarray) -> np.ndarray:
        """The mean over forests of such columns, shape (n_samples, n_classes)."""
        if not self.per_forest:
            return columns
        return columns.reshape(len(columns), self.n_forests, self.n_classes).mean(axis=1)


def side_by_side(vectors: np.ndarray) -> np.ndarray:
    """Vectors of shape (n_forests, n_samples, n_classes) as columns, forest by forest."""
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


@register_serializable("cascade")
@dataclass
class CascadeModel:
    """What predictions need of a fitted cascade.

    Attributes
    ----------
    layers : list of Layer
    alphas : list of ndarray
        For each layer, the coefficients of it and those before once it was grown.
    layout : VectorLayout
    n_raw : int
        Columns of X.
    calibration : Calibration
        What `predict_proba` makes of the probabilities of the layers together.
    """

    layers: list[Layer]
    alphas: list[np.ndarray]
    layout: VectorLayout
    n_raw: int
    calibration: Calibration = UNCALIBRATED

    @property
    def needs_numbers(self) -> bool:
        """Whether some member is a classifier from outside, which sees numbers."""
        return any(layer.has_external for layer in self.layers)

    @property
    def row_bytes(self) -> int:
        """What asking all layers about a row takes, about."""
        layout = self.layout
        vectors = layout.n_forests * layout.n_classes
        kept = len(self.layers) * (layout.n_columns + vectors)
        return (8 if self.needs_numbers else 1) * self.n_raw + 8 * (kept + 4 * vectors)

    def trees(self) -> list:
        """All blocks of trees."""
        folds = (fold for layer in self.layers for member in layer.members for fold in member)
        return [block for fold in folds if isinstance(fold, list) for block in fold]


def combine(columns: Sequence[np.ndarray], alphas: np.ndarray) -> np.ndarray:
    """Mean of the layers' columns, weighted by their coefficients, of which one is not 0."""
    used = np.flatnonzero(alphas)
    total = columns[used[0]] * (alphas[used[0]] / alphas.sum())
    for layer in used[1:]:
        total += columns[layer] * (alphas[layer] / alphas.sum())
    return total


def stages(
    model: CascadeModel, codes: np.ndarray, numbers: np.ndarray | None, *, n_jobs=None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ask the layers in turn about new samples.

    Parameters
    ----------
    model : CascadeModel
    codes : ndarray of uint8 of shape (n_samples, n_raw + layout.n_columns)
        The columns of the layer before are written over.
    numbers : ndarray of shape (n_samples, n_raw) or None
        Only needed if ``model.needs_numbers``.
    n_jobs : int, default=None

    Yields
    ------
    vectors : ndarray of shape (n_forests, n_samples, n_classes)
        The layer's own.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the layers so far together, not calibrated.
    """
    layout = model.layout
    augmented = np.zeros((len(codes), layout.n_columns))
    columns: list = []
    for layer, alphas in zip(model.layers, model.alphas, strict=True):
        if columns:
            apply_bins(augmented, layer.bins, out=codes, first_column=model.n_raw, n_jobs=n_jobs)
        vectors = layer_vectors(layer, codes, numbers, augmented, layout.n_classes, n_jobs=n_jobs)
        columns.append(layout.columns(vectors))
        augmented = combine(columns, alphas)
        yield vectors, layout.mean(augmented)
