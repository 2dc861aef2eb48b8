"""Ridge regression on features of a kernel, which fits smooth functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state

from mddf._base.elementary import exp, softmax
from mddf._base.serialization import register_serializable
from mddf._ensemble.blending import fit_exponent, map_outputs
from mddf._members.linear import Encoding, product
from mddf._targets.class_outputs import places_of

# At most so many landmarks, and rows to learn from.
_LANDMARKS, MOST_ROWS = 1000, 10_000
_PENALTIES = np.logspace(-4, 2, 13)
# Rows count that have more than this share of the largest weight.
LEAST_WEIGHT = 1e-12
# Makes the landmarks' kernel matrix positive definite in floating point.
_JITTER = 1e-6
# Encoded numbers, in standard deviations.
GRAIN, FARTHEST = 2.0**-10, 2.0**8
_BLOCK = 1024
# Kernels that are tried, Laplace's by width in medians of the distance, and rows that try them.
_KERNELS: tuple[dict[str, float], ...] = (
    {"width": 0.5},
    {"width": 1.0},
    {"width": 2.0},
    {"width": 4.0},
    {"gamma": 0.25},
)
_TRIED_KERNELS = 400
# Gaussian ones have to be better by this factor: with more rows, those of Laplace gain more.
_GAUSSIAN_GAIN = 1.01
# Quantiles of a column that are kept, and what a category counts beside a normal variable.
_KNOTS, INDICATOR = 256, 0.5
# Of how many rows, and levels of a column in the mean, it is faster to compare the levels.
_FEW_ROWS, _MANY_LEVELS = 32, 16


@register_serializable("normal scores")
@dataclass
class NormalScores:
    """Columns by their quantiles as a normal variable has them, and one for each category.

    Attributes
    ----------
    encoding : Encoding
        Of the categories.
    values, scores : list of ndarray
        For each numeric column: knots in ascending order, and what is interpolated between them.
    """

    encoding: Encoding
    values: list[np.ndarray]
    scores: list[np.ndarray]

    @classmethod
    def of(cls, X: np.ndarray, encoding: Encoding) -> NormalScores:
        """Learn them from rows."""
        values, scores = [], []
        for column in X[:, ~encoding.categorical].T:
            knots, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            if not len(knots):
                knots, counts = np.zeros(1), np.ones(1, int)
            below = (np.cumsum(counts) - counts / 2) / counts.sum()
            if len(knots) > _KNOTS:
                few = np.unique(np.searchsorted(below, np.linspace(0, below[-1], _KNOTS)))
                knots, below = knots[few], below[few]
            values.append(knots)
            scores.append(np.rint(ndtri(below) / GRAIN) * GRAIN)
        return cls(encoding, values, scores)

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Scores of the numeric columns; a missing number is the median."""
        numbers = X[:, ~self.encoding.categorical]
        encoded = np.empty(numbers.shape)
        for place, column in enumerate(numbers.T):
            found = np.interp(column, self.values[place], self.scores[place])
            encoded[:, place] = np.where(np.isnan(column), 0.0, found)
        return encoded

    def dense(self, X: np.ndarray) -> np.ndarray:
        """Rows as columns."""
        encoded = INDICATOR * self.encoding.dense(X)
        encoded[:, : len(self.values)] = self.numbers(X)
        return encoded

    def distances(self, X: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Sums of absolute differences from training rows, as `dense` gave these.

        Terms are added up one after the other, numbers first. Where levels are many, what differs
        is counted by the columns of categories, which are far fewer than their indicators.
        """
        encoding = self.encoding
        if not len(encoding.places):
            return cdist(self.numbers(X), others, "cityblock")
        if len(X) < _FEW_ROWS or encoding.n_codes < _MANY_LEVELS * len(encoding.places):
            return cdist(self.dense(X), others, "cityblock")
        n_numbers = len(self.values)
        found = cdist(self.numbers(X), others[:, :n_numbers], "cityblock")
        n_different = _n_different(encoding.places_of(X), others[:, n_numbers:])
        for n_added in range(int(n_different.max())):
            np.add(found, INDICATOR, out=found, where=n_different > n_added)
        return found


def _n_different(places: np.ndarray, indicators: np.ndarray) -> np.ndarray:
    """In how many indicators rows differ from training rows, by the places of their ones.

    A training row has one for each column of categories; others have none, and -1 as the place,
    for what was not seen.
    """
    of_others = np.nonzero(indicators)[1].reshape(len(indicators), places.shape[1])
    found = np.zeros((len(places), len(indicators)), np.int16)
    for own, other in zip(places.T, of_others.T, strict=True):
        found += np.where(own < 0, 1, 2).astype(np.int16)[:, None]
        found -= 2 * (own[:, None] == other).astype(np.int16)
    return found


class KernelRidge(BaseEstimator):
    """What the classifier and the regressor share; use one of them.

    The function that is fitted is a sum of bumps around landmarks, rows that are drawn: C.
    Williams and M. Seeger, NIPS 2000. Bumps are Gaussian on scaled numbers, or those of Laplace,
    exp(-distance / width) of the sum of absolute differences of normal scores. Leave-one-out
    errors of some rows decide the kernel and the penalty. Categories are as in `LinearClassifier`.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Which columns hold codes of categories, below 256.
    gamma : float or None, default=None
        A Gaussian kernel is ``exp(-gamma * d / n_features)``, where d is the squared distance.
    width : float or None, default=None
        Of a Laplace kernel, in medians of the distance between rows. Without this and `gamma`, the
        best kernel is taken.
    penalty : float or None, default=None
        Of the ridge; None for the best one.
    random_state : int, RandomState or None, default=None
        Of the rows that are drawn.

    Attributes
    ----------
    encoding_ : Encoding or NormalScores
        The former for a Gaussian kernel.
    rate_ : float
        The kernel is ``exp(-rate_ * distance)``.
    landmarks_ : ndarray of shape (n_landmarks, n_encoded)
    bumps_ : ndarray of shape (n_landmarks, n_outputs)
        Coefficients.
    intercept_ : ndarray of shape (n_outputs,)
    """

    encoding_: Encoding | NormalScores
    kernel_: dict[str, Any]
    _tried = 1000  # rows, at most, by which the penalty is chosen
    _calibrates = False  # whether leave-one-out predictions are wanted, too
    _kernels = _KERNELS

    def __init__(
        self,
        categorical: Any,
        gamma: float | None = None,
        width: float | None = None,
        penalty: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.categorical = categorical
        self.gamma = gamma
        self.width = width
        self.penalty = penalty
        self.random_state = random_state

    def _learn(self, X: np.ndarray, values: np.ndarray, sample_weight: np.ndarray | None) -> Any:
        """Fit; returns some rows, their leave-one-out predictions, and weights.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        values : ndarray of float64 of shape (n_samples, n_outputs)
        sample_weight : ndarray of shape (n_samples,) or None
        """
        self.n_features_in_ = X.shape[1]
        rows = check_random_state(self.random_state).permutation(len(X))[:MOST_ROWS]
        if sample_weight is not None:  # leave-one-out errors lose their digits by the others
            rows = rows[sample_weight[rows] > LEAST_WEIGHT * sample_weight[rows].max()]
        X, values = X[rows], values[rows]
        weight = None if sample_weight is None else sample_weight[rows]
        self._choose_kernel(X, values, weight)
        self.landmarks_ = self._encoded(X[:_LANDMARKS])
        features, root = self._features(X)
        few = slice(self._tried)
        some, held_out = None if weight is None else weight[few], values[few]
        self.penalty_ = self.penalty
        if self.penalty is None or self._calibrates:
            penalties = _PENALTIES if self.penalty is None else [self.penalty]
            found = _leave_one_out(features[few], values[few], some, penalties)
            self.penalty_, _, held_out = found
        model = Ridge(self.penalty_).fit(features, values, weight)
        coefficients = model.coef_.reshape(-1, len(root)).T
        self.bumps_ = solve_triangular(root, coefficients, trans=1, lower=True)
        self.intercept_ = np.atleast_1d(model.intercept_)
        return rows[few], held_out, some

    def chosen(self) -> dict[str, float | None]:
        """Parameters of the best kernel and ridge, for fits on other rows."""
        return {"gamma": None, "width": None, "penalty": self.penalty_} | self.kernel_

    def _features(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows in coordinates whose products are the kernel, and the root that makes them."""
        similar = np.vstack(list(self._similarities(X)))
        n = len(self.landmarks_)
        among = similar[:n] + _JITTER * np.eye(n)
        root = cholesky(among, lower=True, overwrite_a=True)
        return solve_triangular(root, similar.T, lower=True, overwrite_b=True).T, root

    def _choose_kernel(self, X: np.ndarray, values: np.ndarray, weight: np.ndarray | None) -> None:
        """Set the kernel of the least leave-one-out error of some rows, or that of parameters."""
        encoding, few = Encoding.of(X, np.asarray(self.categorical, bool)), slice(_TRIED_KERNELS)

        @cache
        def normal_scores() -> tuple[NormalScores, float]:
            scores = NormalScores.of(X, encoding)
            distances = scores.distances(X[few], scores.dense(X[few]))
            distances = distances[np.triu_indices(len(distances), 1)]
            return scores, (float(np.median(distances)) if len(distances) else 0.0) or 1.0

        def take(kernel: dict[str, Any]) -> None:
            self.kernel_ = kernel
            if "gamma" in kernel:
                self.encoding_, self.rate_ = encoding, kernel["gamma"] / X.shape[1]
                return
            self.encoding_, median = normal_scores()
            self.rate_ = 1 / (kernel["width"] * median)

        if self.gamma is not None:
            return take({"gamma": self.gamma})
        if self.width is not None:
            return take({"width": self.width})
        errors, some = [], None if weight is None else weight[few]
        for kernel in self._kernels:
            take(kernel)
            self.landmarks_ = self._encoded(X[few])
            features, _ = self._features(X[few])
            error = _leave_one_out(features, values[few], some, _PENALTIES)[1]
            errors.append(error * (_GAUSSIAN_GAIN if "gamma" in kernel else 1))
        return take(self._kernels[int(np.argmin(errors))])

    def _similarities(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """The kernel of rows and landmarks, some rows at a time."""
        for first in range(0, len(X), _BLOCK):
            rows = X[first : first + _BLOCK]
            if isinstance(self.encoding_, NormalScores):
                distances = self.encoding_.distances(rows, self.landmarks_)
            else:
                rows = self._encoded(rows)
                squares = np.square(self.landmarks_).sum(axis=1)
                distances = np.square(rows).sum(axis=1)[:, None] + squares
                distances -= 2 * rows @ self.landmarks_.T
            yield exp(distances * -self.rate_)

    def _encoded(self, X: np.ndarray) -> np.ndarray:
        """Rows as the kernel sees them.

        For a Gaussian kernel they have so few binary digits that distances are exact, in whatever
        order they add up. Sums of absolute differences are added up one after the other; normal
        scores halfway between two knots would be ties, which graphs round otherwise.
        """
        rows = self.encoding_.dense(X)
        if isinstance(self.encoding_, NormalScores):
            return rows
        return np.rint(np.clip(rows, -FARTHEST, FARTHEST) / GRAIN) * GRAIN

    def _values(self, X: np.ndarray) -> np.ndarray:
        """What the function is at some rows, shape (n_rows, n_outputs)."""
        values = [product(similar, self.bumps_) for similar in self._similarities(X)]
        return np.concatenate(values) + self.intercept_


def _leave_one_out(
    features: np.ndarray, values: np.ndarray, weight: np.ndarray | None, penalties: Any
) -> tuple[float, float, np.ndarray]:
    """The penalty of a ridge regression with the least leave-one-out error, in closed form.

    Returns
    -------
    penalty, error : float
    predictions : ndarray of the shape of `values`
    """
    n = len(features)
    if n < 2:
        return 1.0, 0.0, values
    weight = np.ones(n) if weight is None else weight
    root = np.sqrt(weight)[:, None]
    rows = root * (features - np.average(features, axis=0, weights=weight))
    targets = root * (values - np.average(values, axis=0, weights=weight))
    squares, vectors = eigh(rows @ rows.T)
    squares = np.maximum(squares, 0)
    along, squared = vectors.T @ targets, np.square(vectors)
    best = (1.0, np.inf, values)
    for penalty in penalties:
        shrunk = squares / (squares + penalty)
        rest = targets - vectors @ (shrunk[:, None] * along)
        leverage = squared @ shrunk + weight / weight.sum()
        errors = rest / np.maximum(1 - leverage, 1e-12)[:, None]
        error = float(np.square(errors).sum())
        if error < best[1]:
            best = float(penalty), error, values - errors / root
    return best


@register_serializable("kernel ridge classifier")
class KernelClassifier(ClassifierMixin, KernelRidge):
    """Classes as 1 and -1; what is fitted to them is scaled so that its softmax is calibrated.

    Parameters
    ----------
    categorical, gamma, width, penalty, random_state
        As `KernelRidge` has them.
    n_classes : list of int or None, default=None
        Of each of several outputs, whose classes are numbers from 0. All share a kernel, a penalty
        and a scale, and the columns of `predict_proba` are the classes of all side by side.
    """

    _tried = 300  # classes ask for less precision
    _calibrates = True

    def __init__(
        self,
        categorical: Any,
        gamma: float | None = None,
        width: float | None = None,
        penalty: float | None = None,
        random_state: Any = None,
        n_classes: list[int] | None = None,
    ) -> None:
        super().__init__(categorical, gamma, width, penalty, random_state)
        self.n_classes = n_classes

    @property
    def _learns_outputs(self) -> bool:
        """Which `fit_external` asks for."""
        return self.n_classes is not None

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        if self.n_classes is None:
            self.classes_, labels = np.unique(y, return_inverse=True)
            own = labels[:, None] == np.arange(len(self.classes_))
        else:
            self.classes_ = np.arange(sum(self.n_classes))
            labels = places_of(y, self.n_classes)
            own = np.zeros((len(y), len(self.classes_)), bool)
            np.put_along_axis(own, labels, True, axis=1)
        values = np.where(own, 1.0, -1.0)
        rows, held_out, weight = self._learn(X, values, sample_weight)
        self.scale_ = 1.0
        if len(rows) > 1:
            said, widths = self._softmax(held_out), self.n_classes
            self.scale_ = fit_exponent(said, labels[rows], weight, widths=widths)
        return self

    def _softmax(self, scores: np.ndarray) -> np.ndarray:
        """Of each output."""
        return map_outputs(softmax, scores, self.n_classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return self._softmax(self.scale_ * self._values(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("kernel ridge regressor")
class KernelRegressor(RegressorMixin, KernelRidge):
    """One function for each output."""

    # Narrow bumps, too: of classes, they fit a few rows better than they predict others.
    _kernels = (*_KERNELS, {"gamma": 1.0})

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        self._learn(X, np.reshape(y, (len(X), -1)), sample_weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        return self._values(X)
