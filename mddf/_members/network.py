"""Small networks of dense layers on normal scores, which fit smooth functions of many columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from mddf import _core
from mddf._base.elementary import softmax
from mddf._base.serialization import register_serializable
from mddf._members.kernel import INDICATOR, LEAST_WEIGHT, NormalScores
from mddf._members.linear import FeatureEncoding
from mddf._members.screening import screened

_N_HIDDEN, _BATCH = 2, 128
# Numbers of the table as it is encoded, at most, and products of a network's fit: fewer rows or
# epochs beyond that.
_MOST_CELLS, _MOST_PRODUCTS = 2**24, 1.2e10
# Rows of a block that is predicted, and numbers of it as it is encoded, at most.
_BLOCK, _CELLS_OF_BLOCK = 1024, 2**22
# Rows on either side of a split by which columns of wide tables are judged, at most.
_LEAST_ROWS = 5


def _mean(values: np.ndarray) -> np.ndarray:
    """Means along the first axis, added up in turn.

    NumPy would add up eight single numbers or more in another order than it does rows.
    """
    return values.cumsum(axis=0)[-1] / len(values)


class Network(BaseEstimator):
    """What the classifier and the regressor share; use one of them.

    Numbers are their normal scores, beside indicators of missing values and of categories. Two
    hidden layers follow, by stochastic gradients that are the same bits on every machine: Adam, a
    rate that rises and falls, dropout for classes, and scales of the inputs that are learned, as
    in D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by default", NeurIPS 2024. Networks
    that start elsewhere are averaged.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Which columns hold codes of categories, below 256.
    n_networks : int, default=4
    random_state : int, RandomState or None, default=None
        Of their weights at the start, of the order of rows and of dropout.

    Attributes
    ----------
    columns_ : ndarray of int
        That the networks see: all, but of a wide table some that split best on their own.
    encoding_ : NormalScores
        Of these.
    missing_ : ndarray of int
        Which of these have an indicator of missing values.
    weights_ : list of ndarray of float32 of shape (n_networks, n_in, n_out)
        Of each layer.
    biases_ : list of ndarray of float32 of shape (n_networks, n_out)
    """

    _are_classes: ClassVar[bool]
    _width: ClassVar[int]  # of each hidden layer
    _n_epochs: ClassVar[int]  # at most
    _rates: ClassVar[tuple[float, ...]]  # of the networks in turn
    _dropout: ClassVar[float]
    _decay: ClassVar[float] = 0.01

    def __init__(self, categorical: Any, n_networks: int = 4, random_state: Any = None) -> None:
        self.categorical = categorical
        self.n_networks = n_networks
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Fit targets of shape (n_samples, n_outputs)."""
        self.n_features_in_ = X.shape[1]
        random = check_random_state(self.random_state)
        self.columns_ = screened(X, targets, sample_weight, min(_LEAST_ROWS, 1 + len(X) // 4))
        seen, categorical = X[:, self.columns_], np.asarray(self.categorical, bool)[self.columns_]
        self.encoding_ = NormalScores.from_rows(seen, FeatureEncoding.from_rows(seen, categorical))
        self.missing_ = np.flatnonzero(np.isnan(seen).any(axis=0) & ~categorical)
        width = self._width
        n_units = self._n_inputs + (_N_HIDDEN - 1) * width + targets.shape[1]
        n_products = 3 * width * n_units
        most_rows = int(min(_MOST_CELLS / self._n_inputs, _MOST_PRODUCTS / n_products))
        most_rows = max(_BATCH, most_rows)
        rows = slice(None) if len(X) <= most_rows else random.permutation(len(X))[:most_rows]
        inputs = np.concatenate([some.astype(np.float32) for some in self._encoded(X[rows])])
        targets = np.ascontiguousarray(targets[rows], np.float32)
        weight = None
        if sample_weight is not None:
            weight = (sample_weight[rows] / sample_weight[rows].mean()).astype(np.float32)
        n_epochs = min(self._n_epochs, int(_MOST_PRODUCTS / (n_products * len(inputs))))
        seeds = random.randint(2**32, size=self.n_networks, dtype=np.uint64)
        networks = [
            _core.train_network(
                inputs,
                targets,
                weight,
                width=width,
                n_hidden=_N_HIDDEN,
                n_epochs=max(1, n_epochs),
                batch=_BATCH,
                rate=rate,
                dropout=self._dropout,
                decay=self._decay,
                are_classes=self._are_classes,
                seed=int(seed),
            )
            for seed, rate in zip(seeds, cycle(self._rates), strict=False)
        ]
        layers = [list(zip(*of_all, strict=True)) for of_all in zip(*networks, strict=True)]
        self.weights_ = [np.stack(weights) for weights, _ in layers]
        self.biases_ = [np.stack(biases) for _, biases in layers]

    @property
    def _n_inputs(self) -> int:
        encoding = self.encoding_
        return len(encoding.values) + encoding.encoding.n_codes + len(self.missing_)

    def _encoded(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Rows as the networks see them, some at a time."""
        block = max(1, min(_BLOCK, _CELLS_OF_BLOCK // self._n_inputs))
        for first in range(0, len(X), block):
            some = X[first : first + block, self.columns_]
            rows = self.encoding_.dense(some)
            rows[:, len(self.encoding_.values) :] /= INDICATOR
            yield np.hstack([rows, np.isnan(some[:, self.missing_])])

    def _outputs(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """What the networks make of some rows at a time, shape (n_networks, n_rows, n_outputs)."""
        last = len(self.weights_) - 1
        for encoded in self._encoded(X):
            found = []
            for network in range(self.n_networks):
                values = encoded
                for number, (weights, biases) in enumerate(
                    zip(self.weights_, self.biases_, strict=True)
                ):
                    given = values, weights[network], biases[network]
                    values = _core.dense_layer(*given, activate=number < last)
                found.append(values)
            yield np.stack(found)


def _that_count(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows that count beside the largest weight, their targets, and their weights as shares of it.

    Others do not decide how targets are scaled: theirs could be too large for single precision.
    """
    if weight is None:
        return X, targets, None
    weight = weight / weight.max()
    counts = weight > LEAST_WEIGHT
    return X[counts], targets[counts], weight[counts]


@register_serializable("network classifier")
class NetworkClassifier(ClassifierMixin, Network):
    """Networks whose softmax is fitted by the log-loss; their probabilities are averaged.

    Parameters
    ----------
    categorical, n_networks, random_state
        As `Network` has them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    _are_classes, _width, _n_epochs, _rates, _dropout = True, 64, 40, (0.01, 0.02), 0.15

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        self.classes_, labels = np.unique(y, return_inverse=True)
        X, labels, weight = _that_count(X, labels, sample_weight)
        self._learn(X, labels[:, None] == np.arange(len(self.classes_)), weight)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return np.concatenate([_mean(softmax(values)) for values in self._outputs(X)])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("network regressor")
class NetworkRegressor(RegressorMixin, Network):
    """Networks by squared errors, of one or more numbers within the range of the targets.

    Parameters
    ----------
    categorical, n_networks, random_state
        As `Network` has them.

    Attributes
    ----------
    mean_, scale_, least_, most_ : ndarray of shape (n_outputs,)
        Of the targets.
    """

    _are_classes, _width, _n_epochs, _rates, _dropout = False, 32, 200, (0.05,), 0.0

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        values = np.reshape(y, (len(X), -1)).astype(np.float64)
        X, values, weight = _that_count(X, values, sample_weight)
        self.mean_ = np.average(values, axis=0, weights=weight)
        squares = np.square(values - self.mean_)
        spread = np.sqrt(np.average(squares, axis=0, weights=weight))
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.least_, self.most_ = values.min(axis=0), values.max(axis=0)
        self._learn(X, (values - self.mean_) / self.scale_, weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        found = [
            _mean(np.clip(values * self.scale_ + self.mean_, self.least_, self.most_))
            for values in self._outputs(X)
        ]
        return np.concatenate(found)
