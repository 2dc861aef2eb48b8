"""The fitted layers of a deep forest, and their predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._data.binning import Bins
from mddf._members.external_fit import external_vectors
from mddf._trees import grower

_GRAIN = 2.0**-40


@register_serializable("fitted member")
@dataclass
class FittedMember:
    """A fitted member of a layer.

    Attributes
    ----------
    name : str
    weight : float
        In the weighted average of the members.
    exponent : float
        To which its probabilities are raised before they are averaged.
    models : list
        Trees, or fitted classifiers; one after a refit, else one for each fold.
    is_forest : bool
    importances : ndarray or None
    unit : float or ndarray of shape (n_outputs,)
        What the leaves of its trees hold multiples of.
    """

    name: str
    weight: float
    exponent: float
    models: list
    is_forest: bool
    importances: np.ndarray | None = None
    unit: float | np.ndarray = 1.0

    def vectors(self, codes, numbers, n_columns: int, n_jobs) -> np.ndarray:
        """Class vectors of samples, or numbers: the mean over trees, or over other models."""
        if self.is_forest:
            means = grower.mean_vectors(self.models, codes, n_columns, n_jobs=n_jobs)
            return rounded(means * self.unit)
        each = [external_vectors(m, numbers, n_columns, self.name) for m in self.models]
        return np.mean(each, axis=0)


@register_serializable("deep forest layer")
@dataclass
class DeepLayer:
    """A fitted layer.

    Attributes
    ----------
    members : list of FittedMember
    inputs : list of int
        Those whose vectors the next layer sees.
    average_weights : ndarray or None
        Weights of the inputs' mean, where the next layer sees only that.
    bins : Bins
        Of the columns that this layer sees of the one before.
    tried : list of ndarray or None
        Of the first layer, if it keeps no forest: importances to those that were tried.
    """

    members: list[FittedMember]
    inputs: list[int]
    average_weights: np.ndarray | None
    bins: Bins
    tried: list[np.ndarray] | None = None

    def augment(self, vectors: np.ndarray) -> np.ndarray:
        """Features that augment the next layer's, from the vectors of all members of this one."""
        return columns_of(vectors[self.inputs], self.average_weights)


def columns_of(vectors: np.ndarray, average_weights: np.ndarray | None) -> np.ndarray:
    """Vectors side by side, or their weighted mean."""
    if average_weights is not None:
        return np.average(vectors, axis=0, weights=average_weights)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


def rounded(vectors: np.ndarray) -> np.ndarray:
    """Whole multiples of a power of two, so that equal votes stay equal when they are added."""
    return np.rint(vectors / _GRAIN) * _GRAIN
