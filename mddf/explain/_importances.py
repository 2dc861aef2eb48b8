"""Importances of features: how much a model uses them, and how much they help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import column_or_1d

from mddf._base.messages import short
from mddf._base.validation import check_choice, check_lengths, check_whole, naming
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import Stage
from mddf._fitted.vector_layout import combine
from mddf._gradient.losses import RegressionTarget
from mddf._input.reading import whole_frame
from mddf._inspection.stages import (
    coded_stages,
    feature_names,
    fitted_stages,
    is_sum_of_trees,
    refuse_untraceable,
)
from mddf._targets.kernel_targets import finite_values
from mddf._targets.target_validation import all_weights, known_labels

from ._column_groups import ColumnGroups, names_of_features
from ._paths import own_class_contributions, path_contributions
from ._permutation import Scoring, make_scorer, permutation_importances

KINDS = ("auto", "held-out", "permutation", "impurity")


def importances(
    model: BaseEstimator,
    X: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    kind: str = "auto",
    column_groups: ColumnGroups | None = None,
    scoring: Scoring = None,
    n_repeats: int = 5,
    max_samples: int | float = 1000,
    sample_weight: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> Bunch | dict[str, Bunch]:
    """Importances of the features.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted. For "permutation", any classifier or regressor. For "impurity", any model with
        `feature_importances_`.
    X : array, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Rows that the model was not fitted on, preferably many. On its training rows, features
        without information seem to help, as the model has memorised their labels.
    y : array of shape (n_samples,), default=None
        Classes or numbers to predict. "impurity" needs neither X nor y.
    kind : {"auto", "held-out", "permutation", "impurity"}, default="auto"
        - "auto": "held-out" for models that are sums over trees, and "permutation" for others,
          such as a deep forest with several kinds of members, or a classifier of several outputs.
        - "held-out": mean increase of the probability of the right class by the splits of a
          feature. The sum over features is the gain over a prediction without features. A feature
          without information gets 0 up to chance, and may get less. In a cascade, the share of a
          class vector is passed on to the features that it comes from. For regression forests:
          increase of the covariance of targets and predictions, in units of the targets' variance.
          Gradient boosting has the same with raw predictions, averaged over classes.
        - "permutation": decrease of the score if the feature's values are shuffled (scikit-learn's
          ``permutation_importance``). Features with the same information all get low values. A
          sparse X is made dense. The rows are predicted n_features * `n_repeats` times.
        - "impurity": the mean decrease of impurity in training, `feature_importances_`. Biased:
          features with many different values gain even if they are noise.
    column_groups : dict of str to list of str or int, default=None
        For "permutation", which "auto" then means: names of groups, each with the names or
        positions of its columns. The columns of a group are shuffled together, and the result has
        an entry for each group instead of each feature. Groups may share columns.
    scoring : str, callable, list, tuple, dict or None, default=None
        For "permutation", which "auto" then means: one scorer, or several scorers as
        scikit-learn's `check_scoring` takes them. None means minus the log-loss (the mean over the
        outputs if there are several), R2 of a regressor, and accuracy of a classifier without
        probabilities.
    n_repeats : int, default=5
        How often "permutation" shuffles each feature.
    max_samples : int or float, default=1000
        Number of rows on which "permutation" scores the model, or their share of all rows in
        (0, 1]. If there are more rows, it draws this number once and takes every score on them.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows in the scores of "permutation", the only kind that takes weights.
    n_jobs : int, default=None
        Threads in which "permutation" shuffles features: None is one (unless
        `joblib.parallel_config` says more), -1 is all cores.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles and of the drawn rows of "permutation".
    verbose : int, default=0
        1 shows a bar of the features that "permutation" has shuffled.

    Returns
    -------
    sklearn.utils.Bunch
        ``importances_mean`` of shape (n_features,); ``importances_std`` of the same shape, which
        is the standard error over rows for "held-out", the standard deviation over repeats for
        "permutation", and None for "impurity"; ``feature_names``, or the names of the groups;
        ``kind``; and ``measure``, which says what the numbers are. If `scoring` has several
        scorers, a dict of such results by the scorers' names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import importances
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> result = importances(forest, X[1::2], y[1::2])
    >>> result.importances_mean.shape
    (4,)
    >>> groups = {"sepal": [0, 1], "petal": [2, 3]}
    >>> result = importances(forest, X[1::2], y[1::2], column_groups=groups, random_state=0)
    >>> result.feature_names.tolist()
    ['sepal', 'petal']
    """
    kind = resolve_kind(model, kind, column_groups, scoring)
    if kind != "impurity" and (X is None or y is None):
        raise ValueError(
            f"kind={kind!r} needs X and y, of rows that the model was not fitted on; "
            "'impurity' needs none"
        )
    if sample_weight is not None and kind != "permutation":
        raise ValueError(
            f"sample_weight needs kind='permutation', the only kind with weights, got {kind!r}"
        )
    if kind == "impurity":
        return _impurity_result(model)
    if kind == "held-out":
        return _held_out_result(model, X, y)
    return _permutation_result(
        model, X, y, scoring, column_groups=column_groups, n_repeats=n_repeats,
        max_samples=max_samples, sample_weight=sample_weight, n_jobs=n_jobs,
        random_state=random_state, verbose=verbose,
    )  # fmt: skip


def resolve_kind(
    model: BaseEstimator, kind: str, column_groups: ColumnGroups | None, scoring: Scoring
) -> str:
    """Check the kind of importances, and decide "auto" for a model."""
    check_choice("kind", kind, KINDS)
    if column_groups is not None:
        if kind not in ("auto", "permutation"):
            raise ValueError(
                f"column_groups needs kind='permutation', which shuffles columns, got {kind!r}"
            )
        return "permutation"
    if scoring is not None:
        if kind not in ("auto", "permutation"):
            raise ValueError(
                f"scoring needs kind='permutation', the only kind with scores, got {kind!r}"
            )
        return "permutation"
    if kind == "auto":
        several_outputs = isinstance(getattr(model, "classes_", None), list)
        traceable = not several_outputs and is_sum_of_trees(model)
        return "held-out" if traceable else "permutation"
    return kind


def _result(
    names: Sequence[str],
    kind: str,
    measure: str,
    *,
    mean: np.ndarray,
    spread: np.ndarray | None,
) -> Bunch:
    return Bunch(
        importances_mean=mean,
        importances_std=spread,
        feature_names=np.array(names, object),
        kind=kind,
        measure=measure,
    )


def _impurity_result(model: BaseEstimator) -> Bunch:
    try:
        mean = np.array(model.feature_importances_)
    except NotFittedError:
        raise
    except AttributeError as error:
        raise TypeError(
            "model must have feature_importances_ for kind='impurity', got " + short(model)
        ) from error
    measure = "mean decrease of impurity in training (biased)"
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(len(mean))])
    return _result(list(names), "impurity", measure, mean=mean, spread=None)


def _held_out_result(model: BaseEstimator, X: Any, y: Any) -> Bunch:
    gains = _gains_of_rows(model, X, y)
    if is_regressor(model):
        measure = "share of the targets' variance"
    elif fitted_stages(model).link is not None:
        measure = "gain of the scores' covariance with the classes"
    else:
        measure = "mean gain of the right class's probability"
    spread = gains.std(axis=0) / np.sqrt(len(gains))
    names = feature_names(model)
    return _result(names, "held-out", measure, mean=gains.mean(axis=0), spread=spread)


def _permutation_result(
    model: BaseEstimator,
    X: Any,
    y: Any,
    scoring: Scoring,
    *,
    column_groups: ColumnGroups | None,
    n_repeats: int,
    sample_weight: npt.ArrayLike | None,
    random_state: int | np.random.RandomState | None,
    **options: Any,
) -> Bunch | dict[str, Bunch]:
    check_whole("n_repeats", n_repeats, 1)
    with naming("random_state"):
        check_random_state(random_state)
    if not hasattr(model, "predict"):
        raise TypeError(f"model must be a fitted classifier or regressor, got {short(model)}")
    n_rows = len(_read_targets(model, X, y))
    if sample_weight is not None:
        sample_weight = all_weights(sample_weight, n_rows)
    scorer, measure = make_scorer(model, scoring, weighted=sample_weight is not None)
    shuffled = permutation_importances(
        model, X, y, scorer, column_groups=column_groups, n_repeats=n_repeats,
        sample_weight=sample_weight, random_state=random_state, **options,
    )  # fmt: skip
    # The columns of X, which are not the features if some are dates.
    names = names_of_features(model, X) if column_groups is None else list(map(str, column_groups))

    def result(measure: str, scores: Bunch) -> Bunch:
        mean = scores.importances_mean
        spread = scores.importances_std
        return _result(names, "permutation", measure, mean=mean, spread=spread)

    if isinstance(shuffled, Bunch):
        return result(measure, shuffled)
    return {name: result(f"fall of {name} if shuffled", s) for name, s in shuffled.items()}


def _read_targets(model: BaseEstimator, X: Any, y: Any) -> np.ndarray:
    """Class codes, or targets of shape (n_rows, n_outputs); y if the model has neither."""
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


def _gains_of_rows(model: BaseEstimator, X: Any, y: Any) -> np.ndarray:
    """Gain of the probability of each row's own class by each feature.

    A split without information about the classes of these rows, which did not choose it, has gains
    of mean 0. This is the impurity decrease measured with both the leaves' distributions, which
    come from training, and the classes of the rows (X. Li et al., "A debiased MDI feature
    importance measure for random forests", NeurIPS 2019).
    """
    refuse_untraceable(model, "kind='permutation'")
    fitted = fitted_stages(model)
    coded = coded_stages(model, X)
    labels = _as_raw(fitted.link, _read_targets(model, X, y))
    if is_regressor(model) or fitted.link is not None:
        return _covariances(fitted.stages[0], next(coded), labels, fitted.n_raw, model.n_jobs)
    n_raw = fitted.n_raw
    is_class = np.eye(len(model.classes_))[labels] / len(labels)
    layer_gains: list[np.ndarray] = []  # of the rows
    column_gains: list[np.ndarray] = []  # of the added columns, each by the rows of its class
    share = np.empty((0, n_raw))
    for stage, rows in zip(fitted.stages, coded, strict=True):
        gains = []
        for number in range(len(stage.members)):
            contributions = own_class_contributions(
                stage.blocks(number), rows.codes, labels, n_jobs=model.n_jobs
            )
            added = contributions[:, n_raw:]
            gains.append(contributions[:, :n_raw] + (added @ share if len(share) else 0))
        layer_gains.append(np.mean(gains, axis=0))
        class_gains = np.stack([member_gains.T @ is_class for member_gains in gains])
        column_gains.append(stage.own_columns(class_gains).T)
        share = _shares_of_gains(combine(column_gains, stage.alphas))
    return combine(layer_gains, stage.alphas)


def _as_raw(link: Any, y: np.ndarray) -> np.ndarray:
    """Targets in the form of raw predictions, shape (n_rows, n_scores), if the model has these."""
    if link is None:
        return y
    if isinstance(link, RegressionTarget) and link.has_custom_link:
        return y
    if isinstance(link, RegressionTarget):  # logarithms change by shares
        if link.n_scores > 1:
            return y / y.mean(axis=0)  # check_targets has refused outputs with only zeros
        return y / np.mean(y) if np.mean(y) > 0 else y
    return np.eye(link.n_classes)[y][:, -link.n_scores :]


def _covariances(
    stage: Stage, rows: EncodedRows, y: Any, n_features: int, n_jobs: int | None
) -> np.ndarray:
    """Each feature's share of a row's term in the covariance of targets and predictions."""
    (member,) = stage.members
    codes = member.tree_codes(rows)
    y = y / member.unit
    contributions, _ = path_contributions(stage.blocks(None), codes, codes, n_jobs=n_jobs)
    contributions = member.feature_amounts(contributions, n_features)
    contributions = contributions * (member.per_mean / member.unit)
    deviation = y - y.mean(axis=0)
    variance = np.square(deviation).mean(axis=0)
    scaled = deviation / np.where(variance > 0, variance, 1)
    return np.mean(contributions * scaled[:, None], axis=2)


def _shares_of_gains(gains: np.ndarray) -> np.ndarray:
    """Gains of features scaled to sum 1; where they nearly cancel, by their absolute values."""
    size = np.abs(gains).sum(axis=1, keepdims=True)
    total = gains.sum(axis=1, keepdims=True)
    sound = total > 0.1 * size
    equal = np.full_like(gains, 1 / gains.shape[1])
    by_size = np.divide(np.abs(gains), size, out=equal, where=size > 0)
    return np.divide(gains, total, out=by_size, where=sound)
