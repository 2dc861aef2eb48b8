"""Classifiers and regressors that are not forests of this package, as members of layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import delayed
from sklearn import config_context, get_config
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble._base import _set_random_states
from sklearn.pipeline import Pipeline

from mddf._base.backends import in_order, shared
from mddf._base.parallel import job_count, shares_memory
from mddf._base.serialization import is_serializable
from mddf._base.thread_limits import one_thread
from mddf._members.external import blaming, kind_of, unfitted, weight_parameter
from mddf._members.one_per_output import ByOutput
from mddf._resampling.sampling import rows_with_weight

# Makes data frames of rows of numbers.
Frames = Callable[[np.ndarray], Any]
# Below so many cells times classes, threads hold up each other's fits in many steps of Python.
_FEW_CELLS = 2**19


def external_vectors(estimator: Any, X: Any, n_columns: int, name: str = "") -> np.ndarray:
    """What an external estimator predicts of an array or a data frame: (n_rows, n_columns).

    Of a classifier, which may have seen only some classes, probabilities of all of them.
    `name` is how errors call it.
    """
    if isinstance(estimator, ByOutput):
        each = zip(estimator.models, estimator.widths, strict=True)
        return np.hstack([external_vectors(model, X, n, name) for model, n in each])
    name = name or type(estimator).__name__
    if kind_of(estimator) != "classifier":
        with blaming(name, "predict"):
            predicted = estimator.predict(X)
        return _checked(name, predicted, (len(X), n_columns), -np.inf)
    with blaming(name, "predict"):
        predicted = estimator.predict_proba(X)
    vectors = np.zeros((len(X), n_columns))
    vectors[:, estimator.classes_] = _checked(
        name, predicted, (len(X), len(estimator.classes_)), 0
    )
    return vectors


def _checked(name: str, predicted: Any, shape: tuple[int, int], least: float) -> np.ndarray:
    """What a member predicted, of that shape; ValueError if these are no such numbers."""
    predicted = np.asarray(predicted, float)
    if predicted.size != shape[0] * shape[1]:
        wrong = f"an array of shape {predicted.shape}"
    elif not np.isfinite(predicted).all():
        wrong = "NaN or infinity"
    elif predicted.min(initial=least) < least:
        wrong = f"{predicted.min():g}"
    else:
        return predicted.reshape(shape)
    what = "numbers" if least < 0 else "probabilities"
    raise ValueError(f"the member {name!r} must give {what} of shape {shape}, got {wrong}")


def _draw(
    rows: np.ndarray, target: np.ndarray, weights: np.ndarray, random: np.random.RandomState
) -> np.ndarray:
    """As many rows, drawn in proportion to their weights, and one of each class left out."""
    drawn = random.choice(rows, len(rows), p=weights[rows] / weights[rows].sum())
    left_out = rows[~np.isin(target[rows], target[drawn])]
    _, first = np.unique(target[left_out], return_index=True)
    return np.concatenate([drawn, left_out[first]])


def _learns_outputs(estimator: Any) -> bool:
    return getattr(estimator, "_learns_outputs", False)


def n_fits(estimator: Any, widths: Sequence[int] | None) -> int:
    """How often an estimator is fitted on a part, to classes of several outputs or of one."""
    return 1 if widths is None or _learns_outputs(estimator) else len(widths)


def _is_real(target: np.ndarray) -> bool:
    return target.dtype.kind == "f"


def _fit_external(
    estimator: Any,
    X: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    n_columns: int,
    train: np.ndarray,
    held_out: np.ndarray | None,
    seed: int,
    name: str,
    config: dict[str, Any],
    frames: Frames | None,
    widths: Sequence[int] | None,
) -> tuple[Any, np.ndarray | None]:
    if widths is not None and not _learns_outputs(estimator):
        seeds = np.random.SeedSequence(seed).generate_state(len(widths))
        models = [
            _fit_external(
                estimator, X, y, weights, n, train, None, int(own), name, config, frames, None
            )[0]
            for y, n, own in zip(target.T, widths, seeds, strict=True)
        ]
        by_output = ByOutput(models, list(widths))
        if held_out is None:
            return by_output, None
        with one_thread(), config_context(**config):
            seen_rows = (frames or np.asarray)(X[held_out])
            return by_output, external_vectors(by_output, seen_rows, n_columns, name)
    fitted = unfitted(estimator)
    random = np.random.RandomState(seed)
    _set_random_states(fitted, random)
    options = {}
    if weights is not None:
        parameter = weight_parameter(fitted)
        if parameter is None:
            train = _draw(train, target, weights, random)
        else:
            options[parameter] = weights[train]
    if _is_real(target):
        y = target[train, 0] if n_columns == 1 else target[train]
    else:
        y = target[train].astype(np.int64)
    real = _is_real(target)
    seen = frames or np.asarray
    # Few classifiers of others take one class alone; members of this package do.
    takes_one = real or is_serializable(fitted)
    if np.all(y == y[:1]) and (isinstance(fitted, Pipeline) or not takes_one):
        fitted, options = DummyRegressor() if real else DummyClassifier(), {}
    # Folds are spread over the cores: what a classifier starts by itself would fight over them.
    with one_thread(), config_context(**config):
        with blaming(name, "be fitted"):
            fitted.fit(seen(X[train]), y, **options)
        vectors = None
        if held_out is not None:
            vectors = external_vectors(fitted, seen(X[held_out]), n_columns, name)
    return fitted, vectors


def fit_external(
    estimator: Any,
    X: np.ndarray,
    target: np.ndarray,
    n_columns: int,
    weights: np.ndarray | None,
    parts: Any,
    entropy: Any,
    n_jobs: Any,
    name: str = "",
    frames: Frames | None = None,
    widths: Sequence[int] | None = None,
) -> list[Any]:
    """Fit clones of a classifier or regressor on parts of the rows.

    Parameters
    ----------
    estimator : estimator
        If its fit takes no weights, it gets rows that are drawn in proportion to them.
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of uint16 of shape (n_samples,) or (n_samples, n_outputs), or float64
        Classes, or numbers, which have shape (n_samples, n_columns).
    n_columns : int
        Classes, or outputs.
    weights : ndarray of shape (n_samples,) or None
    parts : sequence of (train, held out)
        Rows; nothing is predicted where those held out are None.
    entropy : sequence of int
        Of the random states.
    n_jobs : int or None
    name : str, default=""
        How errors call the estimator; by default what its class is called.
    frames : callable or None, default=None
        Makes what the estimator sees of rows of X.
    widths : sequence of int, default=None
        Classes of each of several outputs; most estimators are then fitted to one at a time.

    Returns
    -------
    list of (estimator, ndarray of shape (n_held_out, n_columns) or None)

    Raises
    ------
    ValueError
        If a part has no row with a weight to train on.
    """
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
    seeds = np.random.SeedSequence(entropy).generate_state(len(parts))
    everywhere = shared([X, target, weights])
    # Weights are passed by name: no estimator inside has to request them.
    config = get_config() | {"enable_metadata_routing": False}
    name = name or type(estimator).__name__
    tasks = (
        delayed(_fit_external)(
            estimator, *everywhere, n_columns, *part, int(seed), name, config, frames, widths
        )
        for part, seed in zip(parts, seeds, strict=True)
    )
    small = X.size * n_columns < _FEW_CELLS
    if small and getattr(estimator, "_fits_step_by_step", False) and shares_memory():
        n_jobs = 1
    # Here, too: limits that threads set one by one would come and go between their fits.
    with one_thread(), warnings.catch_warnings():
        # Of a fold, whose classes may be many: y as a whole has been looked at.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return list(in_order(tasks, job_count(n_jobs, len(parts), require=None)))
