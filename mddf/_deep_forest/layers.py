"""What is kept of a deep forest, and asking it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import part
from mddf._data.binning import Bins
from mddf._members.external_fit import guest_vectors
from mddf._trees import grower

_GRAIN = 2.0**-40


@part("fitted member")
@dataclass
class Voter:
    """A fitted member of a layer.

    Attributes
    ----------
    name : str
    weight : float
        In the vote.
    exponent : float
        Of its probabilities in the vote.
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
        each = [guest_vectors(m, numbers, n_columns, self.name) for m in self.models]
        return np.mean(each, axis=0)


@part("deep forest layer")
@dataclass
class DeepLayer:
    """A fitted layer.

    Attributes
    ----------
    voters : list of Voter
    inputs : list of int
        Those whose vectors the next layer sees.
    mix : ndarray or None
        Weights of the inputs' mean, where the next layer sees only that.
    bins : Bins
        Of the columns that this layer sees of the one before.
    tried : list of ndarray or None
        Of the first layer, if it keeps no forest: importances to those that were tried.
    """

    voters: list[Voter]
    inputs: list[int]
    mix: np.ndarray | None
    bins: Bins
    tried: list[np.ndarray] | None = None

    def hand_on(self, vectors: np.ndarray) -> np.ndarray:
        """Columns for the next layer, from the vectors of all voters of this one."""
        return columns_of(vectors[self.inputs], self.mix)


def columns_of(vectors: np.ndarray, mix: np.ndarray | None) -> np.ndarray:
    """Vectors side by side, or their weighted mean."""
    if mix is not None:
        return np.average(vectors, axis=0, weights=mix)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


def rounded(vectors: np.ndarray) -> np.ndarray:
    """Whole multiples of a power of two, so that equal votes stay equal when they are added."""
    return np.rint(vectors / _GRAIN) * _GRAIN
