"""Which features a model uses, and which of them help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import joblib
import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring, get_scorer_names, log_loss
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import column_or_1d
from tqdm import tqdm

from mddf._base.messages import nearest, short
from mddf._base.validation import check_lengths, naming
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import Stage
from mddf._fitted.vector_layout import combine
from mddf._gradient.losses import Numbers
from mddf._input.frame import is_frame
from mddf._input.reading import whole_frame
from mddf._input.table import Table
from mddf._inspection.stages import (
    coded_stages,
    feature_names,
    fitted_stages,
    is_sum_of_trees,
    refuse_untraceable,
)
from mddf._targets.kernel_targets import finite_values
from mddf._targets.target_validation import known_labels

from ._checks import check_choice, check_whole
from ._paths import own_class_contributions, path_contributions

KINDS = ("auto", "held-out", "permutation", "impurity")
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
    kind: str = "auto",
    scoring: Any = None,
    n_repeats: int = 5,
    max_samples: int | float = 1000,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
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
    kind : {"auto", "held-out", "permutation", "impurity"}, default="auto"
        - "auto": "held-out" of models that are sums over trees, and "permutation" of others, such
          as a deep forest of members of several kinds.
        - "held-out": by how much the splits of a feature raise the probability of the right class
          for these rows, on average; the sum over features is what the model gains on not asking
          anything. A feature that says nothing gets 0 but for chance, and may get less. In a
          cascade, what falls to a class vector is passed on to the features that it comes from.
          Of a forest of numbers: by how much the splits of a feature raise the covariance of
          targets and predictions, in units of the targets' variance. Of gradient boosting, too,
          with raw predictions: of classes their scores, the mean over classes.
        - "permutation": by how much the score falls if the feature's values are shuffled
          (scikit-learn's ``permutation_importance``). Of features that say the same, the model
          misses none. A sparse X is made dense. Takes as many predictions of the rows as there
          are features times `n_repeats`.
        - "impurity": the mean decrease of impurity in training, `feature_importances_`. Biased:
          features with many different values gain even if they are noise.
    scoring : str, callable or None, default=None
        For "permutation"; None means minus the log-loss, R2 of a regressor, and accuracy of a
        classifier without probabilities.
    n_repeats : int, default=5
        How often "permutation" shuffles each feature.
    max_samples : int or float, default=1000
        Rows that "permutation" draws for each shuffling, if there are more: their number, or their
        share of all in (0, 1].
    n_jobs : int, default=None
        Threads in which "permutation" shuffles features: None is one (unless
        `joblib.parallel_config` says more), -1 is all cores.
    random_state : int, RandomState or None, default=None
        Of "permutation".
    verbose : int, default=0
        1 shows a bar of the features that "permutation" has shuffled.

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
    if kind == "auto":
        kind = "held-out" if is_sum_of_trees(model) else "permutation"
    spread, measure = None, _MEASURES[kind]
    if kind == "impurity":
        mean = np.array(_of_training(model))
    elif kind == "permutation":
        check_whole("n_repeats", n_repeats, 1)
        with naming("random_state"):
            check_random_state(random_state)
        if not hasattr(model, "predict"):
            raise TypeError(f"model must be a fitted classifier or regressor, got {short(model)}")
        known = _read_targets(model, X, y)
        score, measure = _scorer(model, scoring, known)
        found = _permuted(
            model, X, y, score, max_samples=_n_drawn(max_samples, len(known)), n_jobs=n_jobs,
            n_repeats=n_repeats, random_state=random_state, verbose=verbose,
        )  # fmt: skip
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


def _n_drawn(max_samples: Any, n_rows: int) -> int:
    """The number of rows that a number or a share says."""
    if isinstance(max_samples, float):
        if not 0 < max_samples <= 1:
            raise ValueError(f"max_samples as a share must lie in (0, 1], got {max_samples}")
        return max(1, round(max_samples * n_rows))
    check_whole("max_samples", max_samples, 1)
    return min(max_samples, n_rows)


def _scorer(model: Any, scoring: Any, known: np.ndarray) -> tuple[Callable[..., float], str]:
    """A function of (model, X, y), greater is better, and what its fall is called."""
    if scoring is None and is_classifier(model) and hasattr(model, "predict_proba"):
        return _minus_log_loss, "rise of the log-loss if shuffled"
    try:
        score = check_scoring(model, scoring=scoring)
    except InvalidParameterError as error:
        raise ValueError(
            "scoring must be None, a function or one of sklearn.metrics.get_scorer_names(), got "
            f"{short(scoring)}{nearest(str(scoring), get_scorer_names())}"
        ) from error
    shown = scoring if isinstance(scoring, str) else "R2" if is_regressor(model) else "score"
    return score, f"fall of {shown} if shuffled"


def _minus_log_loss(model: Any, X: Any, y: Any) -> float:
    return -log_loss(y, model.predict_proba(X), labels=model.classes_)


def _permuted(
    model: Any, X: Any, y: Any, score: Callable[..., float], *, verbose: int, **options: Any
) -> Bunch:
    """What scikit-learn says if the columns of X are shuffled, of whatever type X is."""
    from sklearn.inspection import permutation_importance  # takes a second to import

    X = whole_frame(X)
    if isinstance(X, Table):
        raise TypeError("kind='permutation' needs X in memory, got a table of by_columns")
    if sparse.issparse(X):
        X = X.toarray()
    if is_frame(X) and not hasattr(X, "iloc"):
        X, score = _by_numbers_of_rows(nw.from_native(X, eager_only=True), score)
    n_calls = 1 + options["n_repeats"] * np.shape(X)[1]
    with tqdm(total=n_calls, desc="shuffling features", disable=not verbose, leave=False) as bar:

        def counted(model: Any, X: Any, y: Any) -> float:
            found = score(model, X, y)
            bar.update()
            return found

        with joblib.parallel_config(backend="threading"):
            return permutation_importance(model, X, y, scoring=counted, **options)


def _by_numbers_of_rows(
    frame: Any, score: Callable[..., float]
) -> tuple[np.ndarray, Callable[..., float]]:
    """Numbers of rows to be shuffled for cells, of which scikit-learn would make an array."""

    def score_of(model: Any, rows: np.ndarray, y: Any) -> float:
        cells = [frame[:, c][rows[:, c]] for c in range(frame.shape[1])]
        return score(model, frame[rows[:, 0]].with_columns(*cells).to_native(), y)

    return np.repeat(np.arange(len(frame))[:, None], frame.shape[1], axis=1), score_of


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
    for stage, rows in zip(fitted.stages, coded, strict=True):
        gains = []
        for number in range(len(stage.members)):
            found = own_class_contributions(
                stage.blocks(number), rows.codes, labels, n_jobs=model.n_jobs
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


def _covariances(stage: Stage, rows: EncodedRows, y: Any, n_jobs: int | None) -> np.ndarray:
    """What each feature adds to a row's part of the covariance of its target and prediction."""
    (member,) = stage.members
    codes = member.seen_codes(rows)
    y = y / member.unit  # of no size in these units
    found, _ = path_contributions(stage.blocks(None), codes, codes, n_jobs=n_jobs)
    found = member.of_features(found, stage.raw.n_columns) * (member.per_mean / member.unit)
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
