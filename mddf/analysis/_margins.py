"""Margins of classifiers and their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from mddf._base.messages import short
from mddf._layers.margin_loss import class_margins
from mddf._targets.target_validation import known_labels
from mddf.analysis._checks import some_margins, weight_shares

# Errors of cumulative weights are far below this.
_ROUNDING = 1e-12


def classifier_margins(classifier: Any, X: np.ndarray, y: np.ndarray) -> NDArray[np.float64]:
    """Compute the margins of labelled rows under a fitted classifier.

    Parameters
    ----------
    classifier : fitted classifier
        If it has a method ``margins(X, y)``, as boosting classifiers have, the margins come from
        it. If not, the margin is the score of the right class minus the largest score of another
        class, by ``predict_proba`` or, without it, by ``decision_function``. Classifiers that do
        not have a score for each class are refused, for example with a score for each pair of
        classes (``decision_function_shape="ovo"``).
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their labels, all among ``classifier.classes_``.

    Returns
    -------
    array of shape (n_samples,)
        Positive where the classifier is right. Margins by ``predict_proba`` lie in [-1, 1].

    Raises
    ------
    ValueError
        If y has a label that the classifier does not know, or another length than X; if the
        classifier has several outputs, or does not have a score for each class.
    NotFittedError
        If the classifier has no ``classes_``.
    TypeError
        If the classifier has none of the three methods.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> margins = classifier_margins(forest, X[1::2], y[1::2])
    >>> margins.shape, int((margins < 0).sum())  # errors have negative margins
    ((75,), 3)
    """
    if hasattr(classifier, "margins"):
        return np.asarray(classifier.margins(X, y), dtype=np.float64)
    methods = ("predict_proba", "decision_function")
    method = next((name for name in methods if hasattr(classifier, name)), None)
    kind = type(classifier).__name__
    if method is None:
        raise TypeError(
            f"classifier must have margins, predict_proba or decision_function; got {kind}"
        )
    if not hasattr(classifier, "classes_"):
        raise NotFittedError(f"classifier must be fitted, with classes_; got a {kind} without")
    classes = classifier.classes_
    if any(np.ndim(label) for label in classes):
        raise ValueError(f"classifier must have one output; got a {kind} with {len(classes)}")
    codes = known_labels(y, classes, _num_samples(X))
    scores = np.asarray(getattr(classifier, method)(X), dtype=np.float64)
    if method == "decision_function":
        if scores.ndim == 1 and len(classes) == 2:
            return np.where(codes == 1, scores, -scores)
        # Three classes have as many pairs as classes: the shape of the scores does not tell.
        last_step = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
        if getattr(last_step, "decision_function_shape", None) == "ovo":
            raise ValueError(
                "classifier must have a score for each class; got one for each pair of classes, "
                "decision_function_shape='ovo'"
            )
    if scores.shape != (len(codes), len(classes)):
        raise ValueError(
            f"classifier must have a score for each of its {len(classes)} classes; got scores of "
            f"shape {scores.shape} for {len(codes)} rows"
        )
    return class_margins(scores, codes)


@dataclass(frozen=True)
class MarginReport:
    """A weighted distribution of margins.

    Parameters
    ----------
    margins : array of shape (n_samples,)
        Margins of the samples with a weight other than 0, in ascending order.
    weights : array of shape (n_samples,)
        Weights of these samples, with sum 1.

    Examples
    --------
    >>> from mddf.analysis import margin_report
    >>> report = margin_report([-0.5, 0.25, 0.5, 0.75])
    >>> report.margins.tolist()
    [-0.5, 0.25, 0.5, 0.75]
    >>> round(report.std, 3), round(report.ratio, 3)
    (0.468, 1.871)
    """

    margins: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(self.weights @ self.margins)

    @property
    def std(self) -> float:
        """Weighted standard deviation."""
        return float(np.sqrt(self.weights @ (self.margins - self.mean) ** 2))

    @property
    def ratio(self) -> float:
        """Standard deviation divided by the mean; infinite if the mean is not positive.

        A small ratio means that the margins are concentrated.
        """
        return self.std / self.mean if self.mean > 0 else float("inf")

    @property
    def minimum(self) -> float:
        """Smallest margin."""
        return float(self.margins[0])

    @property
    def error(self) -> float:
        """Share of margins that are not positive."""
        return float(self.cumulative(0.0))

    def cumulative(self, thresholds: ArrayLike) -> NDArray[np.float64]:
        """Compute the share of margins up to each threshold, in the shape of `thresholds`."""
        total = np.concatenate([[0.0], np.cumsum(self.weights)])
        return np.minimum(total[np.searchsorted(self.margins, thresholds, side="right")], 1.0)

    def quantiles(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Compute quantiles of the margins, in the shape of `shares`.

        The quantile of a share, in [0, 1], is the smallest margin up to which this share lies.
        """
        shares = np.asarray(shares, dtype=np.float64)
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"shares must lie in [0, 1]; got {short(shares)}")
        # Cumulative weights are rounded: shares are met up to this error.
        index = np.searchsorted(np.cumsum(self.weights), shares - _ROUNDING)
        return self.margins[np.minimum(index, len(self.margins) - 1)]

    def summary(self) -> dict[str, float]:
        """Collect the mean, std, ratio, minimum, quartiles and error in a dict."""
        low, median, high = self.quantiles([0.25, 0.5, 0.75])
        return {
            "mean": self.mean,
            "std": self.std,
            "ratio": self.ratio,
            "minimum": self.minimum,
            "lower_quartile": float(low),
            "median": float(median),
            "upper_quartile": float(high),
            "error": self.error,
        }


def margin_report(margins: ArrayLike, sample_weight: ArrayLike | None = None) -> MarginReport:
    """Sort margins into a report of their distribution.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Finite margins; see :func:`classifier_margins`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative, not all 0, with a finite sum; None means equal weights. Samples of weight 0
        are left out.

    Returns
    -------
    MarginReport
        Mean, standard deviation, their ratio, quantiles, cumulative shares.

    Examples
    --------
    >>> report = margin_report([-0.5, 0.25, 0.5, 0.75])
    >>> report.mean, report.error
    (0.25, 0.25)
    """
    values = some_margins(margins)
    weights = weight_shares(sample_weight, len(values), "margins")
    has_weight = weights > 0
    values = values[has_weight]
    weights = weights[has_weight]
    order = np.argsort(values, kind="stable")
    return MarginReport(values[order], weights[order])
