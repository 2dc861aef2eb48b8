"""Ridge regression on features of a kernel, which fits smooth functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
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
        numbers = X[:, ~encoding.categorical]
        ordered = np.sort(numbers, axis=0)
        # All columns without equal or missing numbers have the same scores. In a wide table that
        # saves most of the time.
        all_differ = np.all(ordered[:-1] < ordered[1:], axis=0) & ~np.isnan(ordered[-1])
        few, shared_scores = _knots(np.ones(len(X), int))
        for place, column in enumerate(numbers.T):
            if all_differ[place]:
                values.append(ordered[few, place])
                scores.append(shared_scores)
                continue
            knots, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            if not len(knots):
                knots, counts = np.zeros(1), np.ones(1, int)
            kept, of_column = _knots(counts)
            values.append(knots[kept])
            scores.append(of_column)
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

    def distances(
        self, X: np.ndarray, others: np.ndarray, dense: np.ndarray | None = None
    ) -> np.ndarray:
        """Sums of absolute differences from training rows, as `dense` gave these.

        `dense` is what it gives for X, if that is known. Terms are added up one after the other,
        numbers first. Where levels are many, what differs is counted by the columns of
        categories, which are far fewer than their indicators.
        """
        encoding = self.encoding
        n_numbers = len(self.values)
        has_categories = len(encoding.places) > 0
        few_levels = encoding.n_codes < _MANY_LEVELS * len(encoding.places)
        if has_categories and (len(X) < _FEW_ROWS or few_levels):
            return cdist(self.dense(X) if dense is None else dense, others, "cityblock")
        numbers = self.numbers(X) if dense is None else dense[:, :n_numbers]
        found = cdist(numbers, others[:, :n_numbers], "cityblock")
        if not has_categories:
            return found
        n_different = _n_different(encoding.places_of(X), others[:, n_numbers:])
        for n_added in range(int(n_different.max())):
            np.add(found, INDICATOR, out=found, where=n_different > n_added)
        return found


def _knots(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which values of a column are kept as knots, and their normal scores.

    Parameters
    ----------
    counts : ndarray of int
        Of each value, in ascending order.
    """
    below = (np.cumsum(counts) - counts / 2) / counts.sum()
    kept = np.arange(len(counts))
    if len(counts) > _KNOTS:
        kept = np.unique(np.searchsorted(below, np.linspace(0, below[-1], _KNOTS)))
    return kept, np.rint(ndtri(below[kept]) / GRAIN) * GRAIN


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
        compared = self._choose_kernel(X, values, weight)
        if compared is not None and len(compared.encoded) == len(X) <= _LANDMARKS:
            self.landmarks_ = compared.encoded
            features, root = self._features([self._bumps(compared.distances)])
        else:
            self.landmarks_ = self._encoded(X[:_LANDMARKS])
            features, root = self._features(self._similarities(X))
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

    def _features(self, similarities: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Rows in coordinates whose products are the kernel, and the root that makes them."""
        similar = np.vstack(list(similarities))
        n = len(self.landmarks_)
        among = similar[:n] + _JITTER * np.eye(n)
        root = cholesky(among, lower=True, overwrite_a=True)
        return solve_triangular(root, similar.T, lower=True, overwrite_b=True).T, root

    def _choose_kernel(
        self, X: np.ndarray, values: np.ndarray, weight: np.ndarray | None
    ) -> Compared | None:
        """Set the kernel of the least leave-one-out error of some rows, or that of parameters.

        Returns
        -------
        Compared or None
            The rows by which it was chosen, if there are any.
        """
        encoding = Encoding.of(X, np.asarray(self.categorical, bool))
        tried = X[:_TRIED_KERNELS]

        @cache
        def laplace() -> Compared:
            scores = NormalScores.of(X, encoding)
            encoded = scores.dense(tried)
            return Compared(scores, encoded, scores.distances(tried, encoded, encoded))

        @cache
        def gaussian() -> Compared:
            encoded = _rounded(encoding.dense(tried))
            return Compared(encoding, encoded, _squared_distances(encoded, encoded))

        def take(kernel: dict[str, Any]) -> Compared:
            self.kernel_ = kernel
            compared = gaussian() if "gamma" in kernel else laplace()
            self.encoding_ = compared.encoding
            if "gamma" in kernel:
                self.rate_ = kernel["gamma"] / X.shape[1]
            else:
                self.rate_ = 1 / (kernel["width"] * compared.median)
            return compared

        if self.gamma is not None:
            self.kernel_ = {"gamma": self.gamma}
            self.encoding_ = encoding
            self.rate_ = self.gamma / X.shape[1]
            return None
        if self.width is not None:
            return take({"width": self.width})
        errors = []
        some = None if weight is None else weight[:_TRIED_KERNELS]
        for kernel in self._kernels:
            compared = take(kernel)
            self.landmarks_ = compared.encoded
            features, _ = self._features([self._bumps(compared.distances)])
            error = _leave_one_out(features, values[:_TRIED_KERNELS], some, _PENALTIES)[1]
            errors.append(error * (_GAUSSIAN_GAIN if "gamma" in kernel else 1))
        return take(self._kernels[int(np.argmin(errors))])

    def _similarities(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """The kernel of rows and landmarks, some rows at a time."""
        for first in range(0, len(X), _BLOCK):
            rows = X[first : first + _BLOCK]
            if isinstance(self.encoding_, NormalScores):
                distances = self.encoding_.distances(rows, self.landmarks_)
            else:
                distances = _squared_distances(self._encoded(rows), self.landmarks_)
            yield self._bumps(distances)

    def _bumps(self, distances: np.ndarray) -> np.ndarray:
        """The kernel of distances."""
        return exp(distances * -self.rate_)

    def _encoded(self, X: np.ndarray) -> np.ndarray:
        """Rows as the kernel sees them.

        For a Gaussian kernel they have so few binary digits that distances are exact, in whatever
        order they add up. Sums of absolute differences are added up one after the other; normal
        scores halfway between two knots would be ties, which graphs round otherwise.
        """
        rows = self.encoding_.dense(X)
        if isinstance(self.encoding_, NormalScores):
            return rows
        return _rounded(rows)

    def _values(self, X: np.ndarray) -> np.ndarray:
        """What the function is at some rows, shape (n_rows, n_outputs)."""
        values = [product(similar, self.bumps_) for similar in self._similarities(X)]
        return np.concatenate(values) + self.intercept_


@dataclass(frozen=True)
class Compared:
    """Rows by which kernels are compared, and how far they are from each other.

    Attributes
    ----------
    encoding : Encoding or NormalScores
    encoded : ndarray of shape (n_rows, n_encoded)
    distances : ndarray of shape (n_rows, n_rows)
    """

    encoding: Encoding | NormalScores
    encoded: np.ndarray
    distances: np.ndarray

    @cached_property
    def median(self) -> float:
        """The median distance of two rows; 1 if there are none, or if it is 0."""
        of_pairs = self.distances[np.triu_indices(len(self.distances), 1)]
        return (float(np.median(of_pairs)) if len(of_pairs) else 0.0) or 1.0


def _rounded(encoded: np.ndarray) -> np.ndarray:
    """Encoded rows with so few binary digits that squared distances are exact."""
    return np.rint(np.clip(encoded, -FARTHEST, FARTHEST) / GRAIN) * GRAIN


def _squared_distances(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    distances = np.square(rows).sum(axis=1)[:, None] + np.square(others).sum(axis=1)
    distances -= 2 * rows @ others.T
    return distances


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
