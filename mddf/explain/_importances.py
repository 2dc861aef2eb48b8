"""Which features a model uses, and which of them help."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import column_or_1d

from mddf._base.messages import short
from mddf._data.frame import is_frame
from mddf._data.reading import whole_frame
from mddf._data.table import Table
from mddf._data.targets import finite_values
from mddf._data.validation import check_lengths, known_labels, naming
from mddf._ensemble.columns import combine
from mddf._ensemble.stages import Stage
from mddf._gradient.losses import Numbers
from mddf._inspection.stages import (
    coded_stages,
    feature_names,
    fitted_stages,
    refuse_untraceable,
)

from ._checks import check_choice, check_whole
from ._paths import own_class_contributions, path_contributions

KINDS = ("held-out", "permutation", "impurity")
_MEASURES = {
    "held-out": "mean gain of the right class's probability",
    "permutation": "fall of the score if shuffled",
    "impurity": "mean decrease of impurity in training (biased)",
}


def importances(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    kind: str = "held-out",
    scoring: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> Any:
    """Importances of the features.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted. For "permutation" and "impurity", any classifier that has what they need.
    X : array, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Rows that the model was not fitted on, and at best many of them. Of those that it was
        fitted on it knows the labels, so that features which say nothing seem to help.
    y : array of shape (n_samples,), default=None
        Their classes, or numbers. "impurity" needs neither.
    kind : {"held-out", "permutation", "impurity"}, default="held-out"
        - "held-out": by how much the splits of a feature raise the probability of the right class
          for these rows, on average; the sum over features is what the model gains on not asking
          anything. A feature that says nothing gets 0 but for chance, and may get less. In a
          cascade, what falls to a class vector is passed on to the features that it comes from.
          Of a forest of numbers: by how much the splits of a feature raise the covariance of
          targets and predictions, in units of the targets' variance. Of gradient boosting, too,
          with raw predictions: of classes their scores, the mean over classes.
        - "permutation": by how much the score falls if the feature's values are shuffled
          (scikit-learn's ``permutation_importance``). Of features that say the same, the model
          misses none. A sparse X is made dense.
        - "impurity": the mean decrease of impurity in training, `feature_importances_`. Biased:
          features with many different values gain even if they are noise.
    scoring : str, callable or None, default=None
        For "permutation"; None means accuracy, or R2.
    n_repeats : int, default=5
        How often "permutation" shuffles each feature.
    random_state : int, RandomState or None, default=None
        Of "permutation".

    Returns
    -------
    sklearn.utils.Bunch
        ``importances_mean`` of shape (n_features,); ``importances_std`` of the same shape, which
        is the standard error over rows for "held-out", the standard deviation over repeats for
        "permutation", and None for "impurity"; ``feature_names``; ``kind``; and ``measure``, which
        says what the numbers are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import importances
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> found = importances(forest, X[1::2], y[1::2])
    >>> found.importances_mean.shape
    (4,)
    """
    check_choice("kind", kind, KINDS)
    if kind != "impurity" and (X is None or y is None):
        raise ValueError(
            f"kind={kind!r} needs X and y, of rows that the model was not fitted on; "
            "'impurity' needs none"
        )
    spread, measure = None, _MEASURES[kind]
    if kind == "impurity":
        mean = np.array(_of_training(model))
    elif kind == "permutation":
        check_whole("n_repeats", n_repeats, 1)
        with naming("random_state"):
            check_random_state(random_state)
        if not hasattr(model, "predict"):
            raise TypeError(f"model must be a fitted classifier or regressor, got {short(model)}")
        _read_targets(model, X, y)
        found = _permuted(model, X, y, scoring, n_repeats=n_repeats, random_state=random_state)
        mean, spread = found.importances_mean, found.importances_std
    else:
        rows = _gains(model, X, y)
        if is_regressor(model):
            measure = "share of the targets' variance"
        elif fitted_stages(model).link is not None:
            measure = "gain of the scores' covariance with the classes"
        mean, spread = rows.mean(axis=0), rows.std(axis=0) / np.sqrt(len(rows))
    return Bunch(
        importances_mean=mean,
        importances_std=spread,
        feature_names=np.array(feature_names(model), object),
        kind=kind,
        measure=measure,
    )


def _of_training(model: Any) -> np.ndarray:
    try:
        return model.feature_importances_
    except NotFittedError:
        raise
    except AttributeError as error:
        raise TypeError(
            "model must have feature_importances_ for kind='impurity', got " + short(model)
        ) from error


def _read_targets(model: Any, X: Any, y: Any) -> np.ndarray:
    """Codes of classes, or numbers of shape (n_rows, n_outputs); y if the model has neither."""
    check_lengths(whole_frame(X), y=y)
    if is_regressor(model):
        values = finite_values(y)
        values = values.reshape(len(values), -1)
        n_outputs = getattr(model, "n_outputs_", values.shape[1])
        if values.shape[1] != n_outputs:
            raise ValueError(
                f"y must have as many outputs as in fit, {n_outputs}, got {values.shape[1]}"
            )
        return values
    classes = getattr(model, "classes_", None)
    if is_classifier(model) and isinstance(classes, np.ndarray) and classes.ndim == 1:
        return known_labels(column_or_1d(y), classes, len(y))
    return np.asarray(y)


def _permuted(model: Any, X: Any, y: Any, scoring: Any, **options: Any) -> Bunch:
    """What scikit-learn says if the columns of X are shuffled, of whatever type X is."""
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import check_scoring

    try:
        score = check_scoring(model, scoring=scoring)
    except InvalidParameterError as error:
        raise ValueError(
            "scoring must be None, a function or one of sklearn.metrics.get_scorer_names(), got "
            + short(scoring)
        ) from error
    X = whole_frame(X)
    if isinstance(X, Table):
        raise TypeError("kind='permutation' needs X in memory, got a table of by_columns")
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "iloc") or not is_frame(X):
        return permutation_importance(model, X, y, scoring=scoring, **options)
    # Numbers of rows are shuffled for the cells, which scikit-learn would make an array of.
    frame = nw.from_native(X, eager_only=True)
    everywhere = np.arange(len(frame))

    def score_of(model: Any, rows: np.ndarray, y: Any) -> Any:
        moved = np.flatnonzero((rows != everywhere[:, None]).any(axis=0))
        shuffled = [frame[:, c][rows[:, c]] for c in moved.tolist()]
        return score(model, frame.with_columns(*shuffled).to_native(), y)

    rows = np.repeat(everywhere[:, None], frame.shape[1], axis=1)
    return permutation_importance(model, rows, y, scoring=score_of, **options)


def _gains(model: Any, X: Any, y: Any) -> np.ndarray:
    """What each feature adds to the probability of each row's own class.

    The path of a row is known from the trees, and the mean of a node from the rows that reach it.
    If a split says nothing of the classes of these rows, which it was not chosen for, its gains
    have mean 0: this is the impurity decrease measured on both the leaves' distributions, which
    come from training, and the rows' classes [1]_.

    References
    ----------
    .. [1] X. Li et al., "A debiased MDI feature importance measure
       for random forests", NeurIPS 2019.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
    """
    refuse_untraceable(model, "kind='permutation'")
    fitted, coded = fitted_stages(model), coded_stages(model, X)
    labels = _as_raw(fitted.link, _read_targets(model, X, y))
    if is_regressor(model) or fitted.link is not None:
        return _covariances(fitted.stages[0], next(coded), labels, model.n_jobs)
    n_raw = fitted.n_raw
    is_class = np.eye(len(model.classes_))[labels] / len(labels)
    of_layers: list[np.ndarray] = []  # gains of the rows
    of_columns: list[np.ndarray] = []  # of the columns added, each by the rows of its class
    share = np.empty((0, n_raw))
    for stage, codes in zip(fitted.stages, coded, strict=True):
        gains = []
        for number in range(len(stage.members)):
            found = own_class_contributions(
                stage.blocks(number), codes, labels, n_jobs=model.n_jobs
            )
            added = found[:, n_raw:]
            gains.append(found[:, :n_raw] + (added @ share if len(share) else 0))
        of_layers.append(np.mean(gains, axis=0))
        of_columns.append(stage.own_columns(np.stack([of_one.T @ is_class for of_one in gains])).T)
        share = _shares(combine(of_columns, stage.alphas))
    return combine(of_layers, stage.alphas)


def _as_raw(link: Any, y: np.ndarray) -> np.ndarray:
    """Targets; what is compared with raw predictions, shape (n_rows, n_scores), if there are."""
    if link is None:
        return y
    if isinstance(link, Numbers):  # logarithms change by shares
        return y / np.mean(y) if np.mean(y) > 0 else y
    return np.eye(link.n_classes)[y][:, -link.n_scores :]


def _covariances(stage: Stage, codes: np.ndarray, y: Any, n_jobs: int | None) -> np.ndarray:
    """What each feature adds to a row's part of the covariance of its target and prediction."""
    (member,) = stage.members
    y = y / member.unit  # of no size in these units
    found, _ = path_contributions(stage.blocks(None), codes, codes, n_jobs=n_jobs)
    found *= member.per_mean / member.unit
    away = y - y.mean(axis=0)
    variance = np.square(away).mean(axis=0)
    return np.mean(found * (away / np.where(variance > 0, variance, 1))[:, None], axis=2)


def _shares(gains: np.ndarray) -> np.ndarray:
    """Gains of features scaled to sum 1; where they nearly cancel, by their absolute values."""
    size = np.abs(gains).sum(axis=1, keepdims=True)
    total = gains.sum(axis=1, keepdims=True)
    sound = total > 0.1 * size
    equal = np.full_like(gains, 1 / gains.shape[1])
    by_size = np.divide(np.abs(gains), size, out=equal, where=size > 0)
    return np.divide(gains, total, out=by_size, where=sound)
