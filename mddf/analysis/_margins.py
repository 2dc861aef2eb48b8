"""The distribution of margins of any classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from mddf._margin_loss import class_margins
from mddf._validation import known_labels


def classifier_margins(classifier, X, y) -> NDArray[np.float64]:
    """Margins of labelled rows under a fitted classifier.

    Parameters
    ----------
    classifier : fitted classifier
        With a method ``margins(X, y)``, as the boosting classifiers have; else the margin is
        what ``predict_proba`` (or, without it, ``decision_function``) gives the right class above
        the largest other class.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their labels, all among ``classifier.classes_``.

    Returns
    -------
    array of shape (n_samples,)
        Positive where the classifier is right; in [-1, 1] but for a ``decision_function``.

    Raises
    ------
    ValueError
        If y holds a label that the classifier does not know, or not one label per row.
    TypeError
        If the classifier has none of the three methods.
    """
    if hasattr(classifier, "margins"):
        return np.asarray(classifier.margins(X, y), dtype=np.float64)
    codes = known_labels(y, classifier.classes_, _num_samples(X))
    if hasattr(classifier, "predict_proba"):
        scores = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    elif hasattr(classifier, "decision_function"):
        scores = np.asarray(classifier.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return np.where(codes == 1, scores, -scores)
    else:
        raise TypeError(
            "classifier must have margins, predict_proba or decision_function; "
            f"got {type(classifier).__name__}"
        )
    return class_margins(scores, codes)


@dataclass(frozen=True)
class MarginReport:
    """A weighted distribution of margins.

    Parameters
    ----------
    margins : array of shape (n_samples,)
        Rising.
    weights : array of shape (n_samples,)
        Their weights, with sum 1.
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
        """Standard deviation over mean: the smaller, the more the margins keep together.

        Infinite where the mean is not positive.
        """
        return self.std / self.mean if self.mean > 0 else float("inf")

    @property
    def minimum(self) -> float:
        """Least margin."""
        return float(self.margins[0])

    @property
    def error(self) -> float:
        """Share of margins that are not positive."""
        return float(self.cumulative(0.0))

    def cumulative(self, thresholds: ArrayLike) -> NDArray[np.float64]:
        """Share of margins up to each threshold, of the shape of `thresholds`."""
        total = np.concatenate([[0.0], np.cumsum(self.weights)])
        return np.minimum(total[np.searchsorted(self.margins, thresholds, side="right")], 1.0)

    def quantiles(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Least margin up to which each share lies, of the shape of `shares`, all in [0, 1]."""
        shares = np.asarray(shares, dtype=np.float64)
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"shares must lie in [0, 1]; got {shares!r}")
        at = np.searchsorted(np.cumsum(self.weights), shares - 1e-12)
        return self.margins[np.minimum(at, len(self.margins) - 1)]

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
        Non-negative, not all 0; None means equal weights.

    Returns
    -------
    MarginReport
        Mean, standard deviation, their ratio, quantiles, cumulative shares.

    Raises
    ------
    ValueError
        If margins are empty or not finite, or the weights do not fit.

    Examples
    --------
    >>> report = margin_report([-0.5, 0.25, 0.5, 0.75])
    >>> report.mean, report.error
    (0.25, 0.25)
    """
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise ValueError(f"margins must be a 1-d array of finite numbers; got {margins!r}")
    weights = (
        np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    )
    if weights.shape != values.shape or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            "sample_weight must be non-negative, not all 0, and of the shape of margins, "
            f"{values.shape}; got {sample_weight!r}"
        )
    order = np.argsort(values, kind="stable")
    return MarginReport(values[order], weights[order] / weights.sum())
