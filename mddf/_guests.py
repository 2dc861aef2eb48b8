"""Classifiers and regressors that are not forests of this package, as members of layers."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble._base import _set_random_states
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from mddf._engines import in_order, shared
from mddf._parallel import job_count, shares_memory
from mddf._sampling import rows_with_weight
from mddf._state import is_part

# Below so many cells times classes, threads hold up each other's fits in many steps of Python.
_FEW_CELLS = 2**19


def weight_parameter(classifier) -> str | None:
    """The name by which a classifier's fit takes sample weights; None if it takes none."""
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def guest_vectors(guest, X: np.ndarray, n_columns: int) -> np.ndarray:
    """What a guest predicts, shape (n_rows, n_columns).

    Of a classifier, which may have seen only some classes, probabilities of all of them.
    """
    if not hasattr(guest, "classes_"):
        return _checked(guest, guest.predict(X), (len(X), n_columns), -np.inf)
    vectors = np.zeros((len(X), n_columns))
    shape = len(X), len(guest.classes_)
    vectors[:, guest.classes_] = _checked(guest, guest.predict_proba(X), shape, 0)
    return vectors


def _checked(guest, said, shape: tuple[int, int], least: float) -> np.ndarray:
    """What a guest said, of that shape; ValueError if these are no such numbers."""
    said = np.asarray(said, float)
    if said.size != shape[0] * shape[1]:
        wrong = f"an array of shape {said.shape}"
    elif not np.isfinite(said).all():
        wrong = "NaN or infinity"
    elif said.min(initial=least) < least:
        wrong = f"{said.min():g}"
    else:
        return said.reshape(shape)
    what = "numbers" if least < 0 else "probabilities"
    raise ValueError(f"the member {guest!r} must give {what} of shape {shape}, got {wrong}")


def _draw(rows, target, weights, random) -> np.ndarray:
    """As many rows, drawn in proportion to their weights, and one of each class left out."""
    drawn = random.choice(rows, len(rows), p=weights[rows] / weights[rows].sum())
    left_out = rows[~np.isin(target[rows], target[drawn])]
    _, first = np.unique(target[left_out], return_index=True)
    return np.concatenate([drawn, left_out[first]])


def _is_real(target: np.ndarray) -> bool:
    return target.dtype.kind == "f"


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """What starts threads, as long as no more modules are imported; slow to find."""
    return ThreadpoolController()


def _one_thread():
    """A context in which libraries start no threads."""
    return _libraries(len(sys.modules)).limit(limits=1)


def _fit_guest(guest, X, target, weights, n_columns, train, held_out, seed: int):
    fitted = clone(guest)
    random = np.random.RandomState(seed)
    _set_random_states(fitted, random)
    options = {}
    if weights is not None:
        name = weight_parameter(fitted)
        if name is None:
            train = _draw(train, target, weights, random)
        else:
            options[name] = weights[train]
    if _is_real(target):
        y = target[train, 0] if n_columns == 1 else target[train]
    else:
        y = target[train].astype(np.int64)
    real = _is_real(target)
    # Few classifiers of others take one class alone; members of this package do.
    if np.all(y == y[:1]) and (isinstance(fitted, Pipeline) or not (real or is_part(fitted))):
        fitted, options = DummyRegressor() if real else DummyClassifier(), {}
    # Folds are spread over the cores: what a classifier starts by itself would fight over them.
    with _one_thread():
        try:
            fitted.fit(X[train], y, **options)
        except (TypeError, ValueError) as error:
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(f"the member {guest!r} cannot be fitted: {error}") from error
        vectors = None if held_out is None else guest_vectors(fitted, X[held_out], n_columns)
    return fitted, vectors


def fit_guests(
    guest, X: np.ndarray, target: np.ndarray, n_columns: int, weights, parts, entropy, n_jobs
) -> list:
    """Fit clones of a classifier or regressor on parts of the rows.

    Parameters
    ----------
    guest : estimator
        If its fit takes no weights, it gets rows that are drawn in proportion to them.
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of uint16 of shape (n_samples,), or float64 of (n_samples, n_columns)
        Classes, or numbers.
    n_columns : int
        Classes, or outputs.
    weights : ndarray of shape (n_samples,) or None
    parts : sequence of (train, held out)
        Rows; nothing is predicted where those held out are None.
    entropy : sequence of int
        Of the random states.
    n_jobs : int or None

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
    tasks = (
        delayed(_fit_guest)(guest, *everywhere, n_columns, *part, int(seed))
        for part, seed in zip(parts, seeds, strict=True)
    )
    small = X.size * n_columns < _FEW_CELLS
    if small and getattr(guest, "_fits_step_by_step", False) and shares_memory():
        n_jobs = 1
    # Limits that threads set one by one are undone by the first that is ready.
    with _one_thread(), warnings.catch_warnings():
        # Of a fold, whose classes may be many: y as a whole has been looked at.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return list(in_order(tasks, job_count(n_jobs, len(parts), require=None)))
