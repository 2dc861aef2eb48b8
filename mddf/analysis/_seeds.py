"""Dependence of predictions and ranks of rows on the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_classifier

from mddf._base.messages import short
from mddf._base.types import TableLike


@dataclass(frozen=True)
class SeedSensitivity:
    """Predictions of fits that differ in the seed alone.

    Attributes
    ----------
    predictions : ndarray of shape (n_seeds, n_samples)
        Predicted numbers; of a classifier, probabilities of the chosen class.
    deviation : ndarray of shape (n_samples,)
        Standard deviation of each sample's predictions over the seeds.
    rank_correlation : float
        Mean of Spearman's correlation over all pairs of seeds: 1 if all fits order the samples
        alike.
    top_overlap : float
        Mean share of the tenth of samples with the largest predictions that two seeds have in
        common.
    label_changes : float
        Share of the samples whose predicted class is not the same for all seeds; NaN for a
        regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf.analysis import SeedSensitivity
    >>> SeedSensitivity(np.zeros((2, 3)), np.zeros(3), 1.0, 1.0, np.nan).rank_correlation
    1.0
    """

    predictions: np.ndarray
    deviation: np.ndarray
    rank_correlation: float
    top_overlap: float
    label_changes: float


def seed_sensitivity(
    estimator: BaseEstimator,
    X: TableLike,
    y: npt.ArrayLike,
    X_new: TableLike,
    *,
    n_seeds: int = 10,
    label: object = None,
    **fit_params: Any,
) -> SeedSensitivity:
    """Fit clones of an estimator with other seeds, and compare their predictions.

    The spread is the effect of another seed alone. It is not the uncertainty of the
    predictions: that also comes from the sample, and is as a rule much larger.

    Parameters
    ----------
    estimator : classifier or regressor
        With a parameter `random_state`, its own or of a step or part; all of them are set.
    X, y : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
        Training data.
    X_new : array or data frame
        Samples whose predictions are compared.
    n_seeds : int, default=10
        At least 2.
    label : object, default=None
        Class whose probabilities are compared; None means the last class.
    **fit_params
        Further arguments of ``fit``, such as `sample_weight` or `groups`.

    Returns
    -------
    SeedSensitivity

    Raises
    ------
    ValueError
        If nothing of the estimator depends on a seed, `n_seeds` is below 2, or there is no such
        class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf import RandomForestClassifier
    >>> from mddf.analysis import seed_sensitivity
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20)
    >>> few = seed_sensitivity(forest, X[::2], y[::2], X[1::2], n_seeds=4)
    >>> forest = RandomForestClassifier(400)
    >>> many = seed_sensitivity(forest, X[::2], y[::2], X[1::2], n_seeds=4)
    >>> bool(many.deviation.mean() < 0.5 * few.deviation.mean())
    True
    """
    if isinstance(n_seeds, bool) or not isinstance(n_seeds, int | np.integer) or n_seeds < 2:
        raise ValueError(f"n_seeds must be an int of at least 2, got {short(n_seeds)}")
    names = [
        name
        for name in estimator.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]
    if not names:
        raise ValueError(f"estimator must have a random_state, got {short(estimator)}")
    predictions, labels = [], []
    for seed in range(n_seeds):
        model = clone(estimator).set_params(**dict.fromkeys(names, seed)).fit(X, y, **fit_params)
        if is_classifier(model):
            labels.append(model.predict(X_new))
            predictions.append(model.predict_proba(X_new)[:, _column_of(label, model.classes_)])
        else:
            predictions.append(model.predict(X_new))
    values = np.array(predictions, float)
    if values.ndim != 2:
        raise ValueError(
            f"estimator must predict one number a sample, got the shape {values.shape[1:]}"
        )
    n_top = max(1, round(values.shape[1] / 10))
    top = np.argsort(-values, axis=1, kind="stable")[:, :n_top]
    pairs = [(i, j) for i in range(n_seeds) for j in range(i)]
    return SeedSensitivity(
        values,
        values.std(axis=0, ddof=1),
        float(np.mean([_spearman(values[i], values[j]) for i, j in pairs])),
        float(np.mean([len(np.intersect1d(top[i], top[j])) / n_top for i, j in pairs])),
        float(np.mean(np.any(np.array(labels) != labels[0], axis=0))) if labels else np.nan,
    )


def _column_of(label: object, classes: np.ndarray) -> int:
    if label is None:
        return len(classes) - 1
    places = np.flatnonzero(classes == label)
    if len(places) != 1:
        raise ValueError(f"label must be one of {classes.tolist()}, got {short(label)}")
    return int(places[0])


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of ranks; 1 for equal constants, whose correlation is not defined."""
    if np.array_equal(a, b):
        return 1.0
    with np.errstate(invalid="ignore"):
        return float(np.nan_to_num(np.corrcoef(rankdata(a), rankdata(b))[0, 1]))
