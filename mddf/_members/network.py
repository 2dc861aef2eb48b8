"""Small networks of dense layers on normal scores, which fit smooth functions of many columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from mddf import _core
from mddf._base.elementary import softmax
from mddf._base.serialization import register_serializable
from mddf._members.kernel import LEAST_WEIGHT
from mddf._members.linear import FeatureEncoding
from mddf._members.scores import INDICATOR, NormalScores
from mddf._members.screening import screened

# Number of hidden layers. One layer had the same loss as two on six small classification sets.
_N_HIDDEN = 2
# Number of rows of a batch. Not tuned.
_BATCH = 128
# Largest number of cells of the encoded table (64 MB in single precision), and of multiplications
# of the fit of a network. Larger tables are fitted with fewer rows or epochs. Set by hand.
_MOST_CELLS = 2**24
_MOST_PRODUCTS = 1.2e10
# Largest numbers of rows and of encoded cells of a block of predictions, which bound its memory.
# Not tuned.
_BLOCK = 1024
_BLOCK_CELLS = 2**22
# Fewest rows on each side of the splits by which columns of wide tables are chosen. Not tuned.
_MIN_SAMPLES_LEAF = 5


def _ordered_mean(values: np.ndarray) -> np.ndarray:
    """Means along the first axis, with terms added one after the other.

    `numpy.mean` adds in an order that depends on the shape of the array.
    """
    return values.cumsum(axis=0)[-1] / len(values)


class Network(BaseEstimator):
    """Base class of the network classifier and regressor.

    Inputs are normal scores of the numeric columns, and indicators of missing values and
    categories. Two hidden layers are trained by stochastic gradients, with the same bits on every
    machine: Adam, a learning rate that rises and falls, dropout for classifiers, and learned
    scales of the inputs, as in D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by default",
    NeurIPS 2024. The predictions of networks with different initial weights are averaged.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Columns that hold codes of categories, below 256.
    n_networks : int, default=4
    random_state : int, RandomState or None, default=None
        Seeds the initial weights, the order of rows and dropout.

    Attributes
    ----------
    columns_ : ndarray of int
        Input columns: all columns, or the columns of a wide table whose splits gain most.
    encoding_ : NormalScores
        Encoding of `columns_`.
    missing_ : ndarray of int
        Positions in `columns_` of the columns with an indicator of missing values.
    weights_ : list of ndarray of float32 of shape (n_networks, n_in, n_out)
        Weights of each layer.
    biases_ : list of ndarray of float32 of shape (n_networks, n_out)
    """

    # On 15 splits of small tables, one network had 0.974 of the loss of a deep forest without
    # networks, and eight had 0.973. Other widths, epochs, rates and dropouts came within 0.02 of
    # the subclasses' values, as did ten times the decay.
    _are_classes: ClassVar[bool]
    _width: ClassVar[int]  # units of each hidden layer
    _n_epochs: ClassVar[int]  # at most
    _rates: ClassVar[tuple[float, ...]]  # learning rates of the networks in turn
    _dropout: ClassVar[float]
    _decay: ClassVar[float] = 0.01

    def __init__(
        self,
        categorical: npt.ArrayLike,
        n_networks: int = 4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.categorical = categorical
        self.n_networks = n_networks
        self.random_state = random_state

    def _learn(self, X: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Fit targets of shape (n_samples, n_outputs)."""
        # 1. Choose and encode columns.
        self.n_features_in_ = X.shape[1]
        random = check_random_state(self.random_state)
        leaf = min(_MIN_SAMPLES_LEAF, 1 + len(X) // 4)
        self.columns_ = screened(X, targets, sample_weight, leaf)
        columns = X[:, self.columns_]
        categorical = np.asarray(self.categorical, bool)[self.columns_]
        encoding = FeatureEncoding.from_rows(columns, categorical)
        self.encoding_ = NormalScores.from_rows(columns, encoding)
        self.missing_ = np.flatnonzero(np.isnan(columns).any(axis=0) & ~categorical)
        # 2. Draw as many rows and take as many epochs as the bounds allow.
        n_units = self._n_inputs + (_N_HIDDEN - 1) * self._width + targets.shape[1]
        n_products = 3 * self._width * n_units  # of a row in an epoch, forward and backward
        most_rows = int(min(_MOST_CELLS / self._n_inputs, _MOST_PRODUCTS / n_products))
        most_rows = max(_BATCH, most_rows)
        rows = slice(None) if len(X) <= most_rows else random.permutation(len(X))[:most_rows]
        inputs = np.concatenate([block.astype(np.float32) for block in self._encoded(X[rows])])
        targets = np.ascontiguousarray(targets[rows], np.float32)
        weight = None
        if sample_weight is not None:
            weight = (sample_weight[rows] / sample_weight[rows].mean()).astype(np.float32)
        n_epochs = min(self._n_epochs, int(_MOST_PRODUCTS / (n_products * len(inputs))))
        # 3. Train the networks, and stack their weights by layer.
        seeds = random.randint(2**32, size=self.n_networks, dtype=np.uint64)
        networks = [
            _core.train_network(
                inputs,
                targets,
                weight,
                width=self._width,
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
        layers = list(zip(*networks, strict=True))
        self.weights_ = [np.stack([weights for weights, _ in layer]) for layer in layers]
        self.biases_ = [np.stack([biases for _, biases in layer]) for layer in layers]

    @property
    def _n_inputs(self) -> int:
        encoding = self.encoding_
        return encoding.n_numbers + encoding.encoding.n_codes + len(self.missing_)

    def _encoded(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Inputs of the networks, by blocks of rows."""
        n_rows = max(1, min(_BLOCK, _BLOCK_CELLS // self._n_inputs))
        for first in range(0, len(X), n_rows):
            block = X[first : first + n_rows, self.columns_]
            encoded = self.encoding_.dense(block)
            encoded[:, self.encoding_.n_numbers :] /= INDICATOR
            yield np.hstack([encoded, np.isnan(block[:, self.missing_])])

    def _outputs(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Outputs of the networks by blocks of rows, shape (n_networks, n_rows, n_outputs)."""
        for encoded in self._encoded(X):
            yield np.stack([self._output(i, encoded) for i in range(self.n_networks)])

    def _output(self, network: int, values: np.ndarray) -> np.ndarray:
        last = len(self.weights_) - 1
        for layer, (weights, biases) in enumerate(zip(self.weights_, self.biases_, strict=True)):
            values = _core.dense_layer(
                values, weights[network], biases[network], activate=layer < last
            )
        return values


def _drop_light_rows(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Drop rows of negligible weight, and scale weights by the largest.

    Scaled targets of such rows could be too large for single precision.
    """
    if weight is None:
        return X, targets, None
    weight = weight / weight.max()
    is_kept = weight > LEAST_WEIGHT
    return X[is_kept], targets[is_kept], weight[is_kept]


@register_serializable("network classifier")
class NetworkClassifier(ClassifierMixin, Network):
    """Networks that minimise the log-loss, and whose probabilities are averaged."""

    # On the set polish, learning rates of 0.01, 0.02, and both in turn had 0.80, 0.66 and 0.72
    # times the loss of a deep forest without networks. On other sets the rate hardly mattered.
    _are_classes = True
    _width = 64
    _n_epochs = 40
    _rates = (0.01, 0.02)
    _dropout = 0.15

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit labels of shape (n_samples,)."""
        self.classes_, labels = np.unique(y, return_inverse=True)
        X, labels, weight = _drop_light_rows(X, labels, sample_weight)
        self._learn(X, labels[:, None] == np.arange(len(self.classes_)), weight)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return np.concatenate([_ordered_mean(softmax(values)) for values in self._outputs(X)])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("network regressor")
class NetworkRegressor(RegressorMixin, Network):
    """Networks that minimise squared errors, with predictions in the range of the targets.

    `mean_`, `scale_`, `least_` and `most_` are the mean, standard deviation and range by output.
    """

    _are_classes = False
    _width = 32
    _n_epochs = 200
    _rates = (0.05,)
    _dropout = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        values = np.reshape(y, (len(X), -1)).astype(np.float64)
        X, values, weight = _drop_light_rows(X, values, sample_weight)
        self.mean_ = np.average(values, axis=0, weights=weight)
        squares = np.square(values - self.mean_)
        spread = np.sqrt(np.average(squares, axis=0, weights=weight))
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.least_ = values.min(axis=0)
        self.most_ = values.max(axis=0)
        self._learn(X, (values - self.mean_) / self.scale_, weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        means = [
            _ordered_mean(np.clip(values * self.scale_ + self.mean_, self.least_, self.most_))
            for values in self._outputs(X)
        ]
        return np.concatenate(means)
