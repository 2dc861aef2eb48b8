"""Permutation importances: the fall of a score when the values of a feature are shuffled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, signature
from typing import Any, TypeAlias

import joblib
import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names, log_loss
from sklearn.utils import Bunch, check_array, check_random_state
from tqdm import tqdm

from mddf._base.messages import nearest, short
from mddf._base.validation import check_whole
from mddf._input.frame import is_frame
from mddf._input.reading import whole_frame
from mddf._input.table import Table

from ._column_groups import ColumnGroups, by_row_numbers, column_numbers, names_of_features

# As scikit-learn's `check_scoring` takes it.
Scoring: TypeAlias = "str | Scorer | Collection[str] | Mapping[str, str | Scorer] | None"
# Called as scorer(model, X, y) or scorer(model, X, y, sample_weight=...). Greater is better.
# A scorer of several scores returns them in a dict.
Scorer = Callable[..., Any]


def rows_to_score(
    max_samples: int | float,
    n_rows: int,
    *,
    sample_weight: np.ndarray | None,
    random: np.random.RandomState,
) -> np.ndarray | None:
    """Draw the rows on which the model is scored, without replacement and in order.

    `max_samples` is their number, or their share of all rows in (0, 1]. Rows of weight 0 are not
    drawn. The result is None if all rows are scored.
    """
    if isinstance(max_samples, float):
        if not 0 < max_samples <= 1:
            raise ValueError(f"max_samples as a share must lie in (0, 1], got {max_samples}")
        n_drawn = max(1, round(max_samples * n_rows))
    else:
        check_whole("max_samples", max_samples, 1)
        n_drawn = max_samples
    candidates = np.arange(n_rows)
    if sample_weight is not None:
        candidates = np.flatnonzero(sample_weight > 0)
    if n_drawn >= len(candidates):
        return None
    return np.sort(random.choice(candidates, n_drawn, replace=False))


def make_scorer(model: BaseEstimator, scoring: Scoring, *, weighted: bool) -> tuple[Scorer, str]:
    """Make the scorer of a model, and the text that describes a fall of its score."""
    if scoring is None and is_classifier(model) and hasattr(model, "predict_proba"):
        return _negative_log_loss, "rise of the log-loss if shuffled"
    try:
        scorer = check_scoring(model, scoring=scoring)
    except ValueError as error:
        raise ValueError(
            "scoring must be None, a function, one of sklearn.metrics.get_scorer_names(), or a "
            f"list or dict of these, got {short(scoring)}"
            f"{nearest(str(scoring), get_scorer_names())}"
        ) from error
    if weighted and not _takes_weights(scorer):
        raise ValueError(
            "scoring must take sample_weight, as samples have weights, got " + short(scoring)
        )
    if isinstance(scoring, str):
        name = scoring
    elif scoring is None and is_regressor(model):
        name = "R2"
    else:
        name = "score"
    return scorer, f"fall of {name} if shuffled"


def _takes_weights(scorer: Scorer) -> bool:
    parameters = signature(scorer).parameters
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    return takes_any or "sample_weight" in parameters


def _negative_log_loss(
    model: BaseEstimator, X: Any, y: Any, sample_weight: np.ndarray | None = None
) -> float:
    """Minus the log-loss; of several outputs, minus the mean of their log-losses."""
    probabilities = model.predict_proba(X)
    if not isinstance(probabilities, list):
        return -_log_loss(y, probabilities, model.classes_, sample_weight)
    outputs = zip(np.asarray(y).T, probabilities, model.classes_, strict=True)
    losses = [
        _log_loss(labels.tolist(), of_output, classes, sample_weight)
        for labels, of_output, classes in outputs
    ]
    return -float(np.mean(losses))


def _log_loss(
    labels: Any, probabilities: np.ndarray, classes: Any, sample_weight: np.ndarray | None
) -> float:
    if len(classes) == 1:  # scikit-learn refuses a single class
        return 0.0
    return log_loss(labels, probabilities, labels=classes, sample_weight=sample_weight)


def permutation_importances(
    model: BaseEstimator,
    X: Any,
    y: Any,
    scorer: Scorer,
    *,
    column_groups: ColumnGroups | None,
    max_samples: int | float,
    n_repeats: int,
    sample_weight: np.ndarray | None,
    n_jobs: int | None,
    random_state: int | np.random.RandomState | None,
    verbose: int,
) -> Bunch | dict[str, Bunch]:
    """Permutation importances of the columns of X, or of groups of them, whatever type X has.

    The rows are drawn here, and scikit-learn's `permutation_importance` gets only these: with its
    own `max_samples` it takes the baseline score on all rows and the other scores on the drawn
    ones, so that the importances of all features are shifted by the same amount.

    Returns scikit-learn's result, or a dict of results if the scorer has several scores.
    """
    from sklearn.inspection import permutation_importance  # takes a second to import

    X = whole_frame(X)
    if isinstance(X, Table):
        raise TypeError("kind='permutation' needs X in memory, got a table of by_columns")
    random = check_random_state(random_state)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = rows_to_score(max_samples, n_rows, sample_weight=sample_weight, random=random)
    if rows is not None:
        X = take_rows(X, rows)
        y = y.iloc[rows] if hasattr(y, "iloc") else np.asarray(y)[rows]
        sample_weight = None if sample_weight is None else sample_weight[rows]
    if sparse.issparse(X):
        X = X.toarray()
    if not is_frame(X):
        X = check_array(X, dtype=None, ensure_all_finite="allow-nan", input_name="X")
    if column_groups is not None:
        groups = column_numbers(column_groups, names_of_features(model, X))
        X, scorer = by_row_numbers(X, groups, scorer)
    elif is_frame(X) and not hasattr(X, "iloc"):
        # scikit-learn would turn a frame that is not of pandas into an array, without its types.
        X, scorer = by_row_numbers(X, list(np.arange(X.shape[1])[:, None]), scorer)
    n_scores = 1 + n_repeats * np.shape(X)[1]
    with tqdm(total=n_scores, desc="shuffling features", disable=not verbose, leave=False) as bar:

        def counted(model: BaseEstimator, X: Any, y: Any, **weights: Any) -> Any:
            score = scorer(model, X, y, **weights)
            bar.update()
            return score

        with joblib.parallel_config(backend="threading"):
            return permutation_importance(
                model,
                X,
                y,
                scoring=counted,
                n_repeats=n_repeats,
                n_jobs=n_jobs,
                random_state=random,
                sample_weight=sample_weight,
            )


def take_rows(X: Any, rows: np.ndarray) -> Any:
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        return frame[rows.tolist()].to_native()
    if sparse.issparse(X):
        return X.tocsr()[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[rows]
