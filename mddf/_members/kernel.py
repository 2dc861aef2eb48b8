"""Kernel ridge regression, which fits smooth functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state

from mddf._base.elementary import exp, softmax
from mddf._base.serialization import register_serializable
from mddf._fitted.calibration import fit_exponent, map_outputs
from mddf._members.linear import FeatureEncoding, product
from mddf._members.scores import FARTHEST, GRAIN, NormalScores
from mddf._targets.class_outputs import joint_labels

# Largest numbers of landmarks and of training rows. They bound the time and memory of a fit, which
# grow with n_rows * n_landmarks**2. Set by hand.
MOST_LANDMARKS = 1000
MOST_ROWS = 10_000
# Candidates for the penalty of the ridge regression, two for each power of ten. Not tuned.
_PENALTIES = np.logspace(-4, 2, 13)
# Rows with at most this share of the largest weight are left out. They would make the
# leave-one-out errors of the other rows inaccurate.
LEAST_WEIGHT = 1e-12
# Added to the diagonal of the landmarks' kernel matrix, so that it is positive definite in
# floating point.
JITTER = 1e-6
# Rows of a block of predictions, which bounds its memory. Not tuned.
BLOCK_ROWS = 1024
# Candidates for the kernel: Laplace kernels, whose width is a multiple of the median distance, and
# a Gaussian kernel.
_KERNELS: tuple[dict[str, float], ...] = (
    {"width": 0.5},
    {"width": 1.0},
    {"width": 2.0},
    {"width": 4.0},
    {"gamma": 0.25},
)
# Number of rows on which the candidates are compared. The time grows with its cube. Not tuned.
_COMPARED_ROWS = 400
# A Gaussian kernel is chosen only if its error is smaller by this factor, because more training
# rows improve Laplace kernels more. Set by hand.
_GAUSSIAN_GAIN = 1.01


class KernelRidge(BaseEstimator):
    """Base class of the kernel ridge classifier and regressor.

    The fitted function is a sum of bumps around landmarks, which are rows drawn at random: C.
    Williams and M. Seeger, NIPS 2000. The kernel is Gaussian on scaled numbers, or a Laplace
    kernel, exp(-distance / width), of the sum of absolute differences of normal scores.
    Leave-one-out errors of some rows choose the kernel and the penalty. Categories are encoded as
    in `LinearClassifier`.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Columns that hold codes of categories, below 256.
    gamma : float or None, default=None
        A Gaussian kernel is ``exp(-gamma * d / n_features)``, where d is the squared distance.
    width : float or None, default=None
        Width of a Laplace kernel, in medians of the distance between rows. Without `width` and
        `gamma`, the best kernel is chosen.
    penalty : float or None, default=None
        Penalty of the ridge regression; None chooses the best one.
    random_state : int, RandomState or None, default=None
        Draws the rows.

    Attributes
    ----------
    encoding_ : FeatureEncoding or NormalScores
        The former for a Gaussian kernel.
    rate_ : float
        The kernel is ``exp(-rate_ * distance)``.
    landmarks_ : ndarray of shape (n_landmarks, n_encoded)
    bumps_ : ndarray of shape (n_landmarks, n_outputs)
        Coefficients.
    intercept_ : ndarray of shape (n_outputs,)
    """

    encoding_: FeatureEncoding | NormalScores
    kernel_: dict[str, float]
    # Largest number of rows on which the penalty is chosen. The time grows with its cube. Not
    # tuned.
    _n_penalty_rows = 1000
    _calibrates = False  # whether `_learn` always computes leave-one-out predictions
    _kernels = _KERNELS

    def __init__(
        self,
        categorical: npt.ArrayLike,
        gamma: float | None = None,
        width: float | None = None,
        penalty: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.categorical = categorical
        self.gamma = gamma
        self.width = width
        self.penalty = penalty
        self.random_state = random_state

    def _learn(
        self, X: np.ndarray, values: np.ndarray, sample_weight: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit values (n_samples, n_outputs), and predict some of the rows by leave-one-out.

        Returns these rows and their predictions, which are the values themselves if neither the
        penalty nor calibration needs them.
        """
        # 1. Draw rows.
        self.n_features_in_ = X.shape[1]
        rows = drawn_rows(len(X), MOST_ROWS, sample_weight, self.random_state)
        weight = None if sample_weight is None else sample_weight[rows]
        X = X[rows]
        values = values[rows]
        # 2. Choose the kernel, and compute features for the landmarks.
        compared = self._choose_kernel(X, values, weight)
        if compared is not None and len(compared.encoded) == len(X) <= MOST_LANDMARKS:
            self.landmarks_ = compared.encoded
            features, root = self._features([self._kernel(compared.distances)])
        else:
            self.landmarks_ = self._encoded(X[:MOST_LANDMARKS])
            features, root = self._features(self._similarities(X))
        # 3. Choose the penalty on some rows.
        few = slice(self._n_penalty_rows)
        predictions = values[few]
        self.penalty_ = self.penalty
        if self.penalty is None or self._calibrates:
            penalties = _PENALTIES if self.penalty is None else [self.penalty]
            weight_of_few = None if weight is None else weight[few]
            self.penalty_, _, predictions = _leave_one_out(
                features[few], values[few], weight_of_few, penalties
            )
        # 4. Fit the coefficients on all rows.
        model = Ridge(self.penalty_).fit(features, values, weight)
        coefficients = model.coef_.reshape(-1, len(root)).T
        self.bumps_ = solve_triangular(root, coefficients, trans=1, lower=True)
        self.intercept_ = np.atleast_1d(model.intercept_)
        return rows[few], predictions

    def chosen(self) -> dict[str, float | None]:
        """Parameters of the chosen kernel and penalty, for fits on other rows."""
        return {"gamma": None, "width": None, "penalty": self.penalty_} | self.kernel_

    def _features(self, similarities: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Features whose inner products are the kernel, and the Cholesky factor behind them."""
        kernel_matrix = np.vstack(list(similarities))
        n = len(self.landmarks_)
        among_landmarks = kernel_matrix[:n] + JITTER * np.eye(n)
        root = cholesky(among_landmarks, lower=True, overwrite_a=True)
        return solve_triangular(root, kernel_matrix.T, lower=True, overwrite_b=True).T, root

    def _choose_kernel(
        self, X: np.ndarray, values: np.ndarray, weight: np.ndarray | None
    ) -> ComparedRows | None:
        """Set the kernel of the parameters, or the one with the least leave-one-out error.

        Returns the rows on which the width of a Laplace kernel or the kernel was chosen, if any.
        """
        encoding = FeatureEncoding.from_rows(X, np.asarray(self.categorical, bool))
        compared_rows = X[:_COMPARED_ROWS]

        @cache
        def laplace() -> ComparedRows:
            scores = NormalScores.from_rows(X, encoding)
            encoded = scores.dense(compared_rows)
            return ComparedRows(scores, encoded, scores.distances(compared_rows, encoded, encoded))

        @cache
        def gaussian() -> ComparedRows:
            encoded = round_to_grain(encoding.dense(compared_rows))
            return ComparedRows(encoding, encoded, squared_distances(encoded, encoded))

        def set_kernel(kernel: dict[str, float]) -> ComparedRows:
            self.kernel_ = kernel
            compared = gaussian() if "gamma" in kernel else laplace()
            self.encoding_ = compared.encoding
            if "gamma" in kernel:
                self.rate_ = kernel["gamma"] / X.shape[1]
            else:
                self.rate_ = 1 / (kernel["width"] * compared.median_distance)
            return compared

        if self.gamma is not None:
            self.kernel_ = {"gamma": self.gamma}
            self.encoding_ = encoding
            self.rate_ = self.gamma / X.shape[1]
            return None
        if self.width is not None:
            return set_kernel({"width": self.width})
        errors = []
        values = values[:_COMPARED_ROWS]
        weight = None if weight is None else weight[:_COMPARED_ROWS]
        for kernel in self._kernels:
            compared = set_kernel(kernel)
            self.landmarks_ = compared.encoded
            features, _ = self._features([self._kernel(compared.distances)])
            _, error, _ = _leave_one_out(features, values, weight, _PENALTIES)
            errors.append(error * (_GAUSSIAN_GAIN if "gamma" in kernel else 1))
        return set_kernel(self._kernels[_first_least(errors)])

    def _similarities(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Kernel of rows and landmarks, by blocks of rows."""
        for first in range(0, len(X), BLOCK_ROWS):
            rows = X[first : first + BLOCK_ROWS]
            if isinstance(self.encoding_, NormalScores):
                distances = self.encoding_.distances(rows, self.landmarks_)
            else:
                distances = squared_distances(self._encoded(rows), self.landmarks_)
            yield self._kernel(distances)

    def _kernel(self, distances: np.ndarray) -> np.ndarray:
        return exp(distances * -self.rate_)

    def _encoded(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows.

        Numbers for a Gaussian kernel are rounded, so that distances are exact in whatever order
        they are added. Normal scores are not: terms of Laplace kernels are added one after the
        other, and exported graphs would round scores halfway between two knots differently.
        """
        encoded = self.encoding_.dense(X)
        return encoded if isinstance(self.encoding_, NormalScores) else round_to_grain(encoded)

    def _values(self, X: np.ndarray) -> np.ndarray:
        """Fitted function at rows, shape (n_rows, n_outputs)."""
        values = [product(similar, self.bumps_) for similar in self._similarities(X)]
        return np.concatenate(values) + self.intercept_


@dataclass(frozen=True)
class ComparedRows:
    """Rows on which kernels are compared, and their distances (n_rows, n_rows)."""

    encoding: FeatureEncoding | NormalScores
    encoded: np.ndarray
    distances: np.ndarray

    @cached_property
    def median_distance(self) -> float:
        """Median distance of two rows; 1 if there is one row, or if the median is 0."""
        pairs = self.distances[np.triu_indices(len(self.distances), 1)]
        return (float(np.median(pairs)) if len(pairs) else 0.0) or 1.0


def drawn_rows(
    n_samples: int,
    most: int,
    sample_weight: np.ndarray | None,
    random_state: int | np.random.RandomState | None,
) -> np.ndarray:
    """Draw rows at random, and leave out rows of negligible weight."""
    rows = check_random_state(random_state).permutation(n_samples)[:most]
    if sample_weight is None:
        return rows
    return rows[sample_weight[rows] > LEAST_WEIGHT * sample_weight[rows].max()]


def round_to_grain(encoded: np.ndarray) -> np.ndarray:
    """Round encoded rows so that squared distances are exact."""
    return np.rint(np.clip(encoded, -FARTHEST, FARTHEST) / GRAIN) * GRAIN


def squared_distances(rows: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    distances = np.square(rows).sum(axis=1)[:, None] + np.square(landmarks).sum(axis=1)
    distances -= 2 * rows @ landmarks.T
    return distances


def _leave_one_out(
    features: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
    penalties: Iterable[float],
) -> tuple[float, float, np.ndarray]:
    """Find the penalty with the least leave-one-out error, in closed form.

    Returns it with its error, and the leave-one-out predictions.
    """
    n = len(features)
    if n < 2:
        return 1.0, 0.0, values
    weight = np.ones(n) if weight is None else weight
    root = np.sqrt(weight)[:, None]
    rows = root * (features - np.average(features, axis=0, weights=weight))
    targets = root * (values - np.average(values, axis=0, weights=weight))
    eigenvalues, vectors = eigh(rows @ rows.T)
    eigenvalues = np.maximum(eigenvalues, 0)
    projected_targets = vectors.T @ targets
    squared_vectors = np.square(vectors)
    # Smaller errors are rounding, as of a constant target.
    least_error = (np.finfo(float).eps ** 1.5) * float(np.square(root * values).sum())
    candidates = []
    for penalty in penalties:
        shrinkage = eigenvalues / (eigenvalues + penalty)
        residuals = targets - vectors @ (shrinkage[:, None] * projected_targets)
        leverage = squared_vectors @ shrinkage + weight / weight.sum()
        errors = residuals / np.maximum(1 - leverage, 1e-12)[:, None]
        error = max(float(np.square(errors).sum()), least_error)
        candidates.append((float(penalty), error, values - errors / root))
    return candidates[_first_least([error for _, error, _ in candidates])]


def _first_least(errors: Sequence[float]) -> int:
    """Place of the least error; the first one if errors are equal but for rounding."""
    # LAPACK's rounding moves errors by about 1e-13 of their size.
    return int(np.argmax(np.asarray(errors) <= min(errors) * (1 + 1e-9)))


@register_serializable("kernel ridge classifier")
class KernelClassifier(ClassifierMixin, KernelRidge):
    """Kernel ridge classifier: classes are 1 and -1, and the softmax of the values is calibrated.

    `n_classes` are the numbers of classes of several outputs, whose labels are numbers from 0. All
    outputs share a kernel, a penalty and a scale. The columns of `predict_proba` are the classes
    of all outputs side by side.
    """

    _n_penalty_rows = 300  # classes need less precision; not tuned
    _calibrates = True

    def __init__(
        self,
        categorical: npt.ArrayLike,
        gamma: float | None = None,
        width: float | None = None,
        penalty: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        *,
        n_classes: list[int] | None = None,
    ) -> None:
        super().__init__(categorical, gamma, width, penalty, random_state)
        self.n_classes = n_classes

    @property
    def _learns_outputs(self) -> bool:
        """Whether one model learns all outputs, which `fit_external` asks for."""
        return self.n_classes is not None

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit labels, of shape (n_samples,) or (n_samples, n_outputs)."""
        if self.n_classes is None:
            self.classes_, labels = np.unique(y, return_inverse=True)
            is_class = labels[:, None] == np.arange(len(self.classes_))
        else:
            self.classes_ = np.arange(sum(self.n_classes))
            labels = joint_labels(y, self.n_classes)
            is_class = np.zeros((len(y), len(self.classes_)), bool)
            np.put_along_axis(is_class, labels, True, axis=1)
        rows, predictions = self._learn(X, np.where(is_class, 1.0, -1.0), sample_weight)
        self.scale_ = 1.0
        if len(rows) > 1:
            weight = None if sample_weight is None else sample_weight[rows]
            self.scale_ = fit_exponent(
                self._softmax(predictions), labels[rows], weight, widths=self.n_classes
            )
        return self

    def _softmax(self, scores: np.ndarray) -> np.ndarray:
        """Softmax over the classes of each output."""
        return map_outputs(softmax, scores, self.n_classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return self._softmax(self.scale_ * self._values(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("kernel ridge regressor")
class KernelRegressor(RegressorMixin, KernelRidge):
    """Kernel ridge regressor, which fits one function for each output."""

    # A narrow Gaussian kernel is a candidate for regression only. For classification, its
    # leave-one-out errors on a few rows are too optimistic.
    _kernels = (*_KERNELS, {"gamma": 1.0})

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        self._learn(X, np.reshape(y, (len(X), -1)), sample_weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        return self._values(X)
