"""Folds: training and held-out rows of cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_consistent_length

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._targets.target_validation import encode_groups, plain_array

Folds = list[tuple[np.ndarray, np.ndarray]]
# Number of folds of cv=None, as in scikit-learn.
_DEFAULT_N_FOLDS = 5


def make_folds(
    cv: Any,
    X: object,
    y: object,
    labels: np.ndarray,
    seed: int,
    *,
    groups: npt.ArrayLike | None = None,
    allow_time_order: bool = False,
) -> Folds:
    """Make training and held-out rows of each fold.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        A number means shuffled folds, stratified by `labels` as far as their counts allow; None
        means 5 folds.
    X, y : array or data frame of n_samples rows
        Arguments of a splitter.
    labels : ndarray of int of shape (n_samples,)
    seed : int
        Seed of the shuffling, if `cv` is a number or None.
    groups : array of shape (n_samples,), default=None
        Samples of a group are held out together, if `cv` is a number, None, or a splitter that
        uses groups. Numbers, strings or other objects with a hash, none missing.
    allow_time_order : bool, default=False
        Whether the caller can use folds in time order, which hold out only some samples.

    Returns
    -------
    list of (ndarray of int32, ndarray of int32)
        Each sample is held out at least once, unless the folds are in time order; see
        :func:`are_in_time_order`. The fold with the most training samples then comes first. A
        ValueError refuses other folds.
    """
    folds = make_splits(cv, X, y, labels, seed, groups=groups)
    n_samples = len(labels)
    missing = rows_never_held_out(folds, n_samples)
    if allow_time_order and are_in_time_order(folds, n_samples):
        # Trials use the first fold, which should be the one that is most like the final model.
        return sorted(folds, key=lambda fold: len(fold[0]), reverse=True)
    if len(missing):
        raise ValueError(
            "cv must hold every sample out at least once, got splits that never hold out "
            f"{len(missing)} of {n_samples}, the first of them in row {missing[0]}"
        )
    return folds


def make_splits(
    cv: Any,
    X: object,
    y: object,
    labels: np.ndarray,
    seed: int,
    *,
    groups: npt.ArrayLike | None = None,
) -> Folds:
    """Make the folds of :func:`make_folds`, in their order; samples may never be held out."""
    n_samples = len(labels)
    if n_samples < 2:
        raise ValueError(
            f"cv needs at least 2 samples to hold some out, got n_samples={n_samples}"
        )
    groups_to_sort = None
    if groups is not None:
        groups_to_sort, numbers = _groups_for_cv(groups, labels, cv)
    if cv is None or isinstance(cv, Integral):
        n_folds = int(cv or _DEFAULT_N_FOLDS)
        if groups is not None:
            return _group_folds(n_folds, labels, seed, numbers)
        return _k_folds(n_folds, labels, seed)
    with naming("cv"):
        splits = cv.split(X, y, groups_to_sort) if is_splitter(cv) else cv
        return [_check_fold(fold, number, n_samples) for number, fold in enumerate(splits)]


def are_in_time_order(folds: Folds, n_samples: int) -> bool:
    """Whether no fold trains on samples that it or a later fold holds out.

    There must be two folds or more, in order of time, and samples that no fold holds out. This
    is forward chaining: the first samples are never held out, since nothing precedes them.
    """
    is_held_out_later = np.zeros(n_samples, bool)
    for train, held_out in reversed(folds):
        if is_held_out_later[held_out].any():
            return False
        is_held_out_later[held_out] = True
        if is_held_out_later[train].any():
            return False
    return len(folds) > 1 and not is_held_out_later.all()


def rows_never_held_out(folds: Folds, n_samples: int) -> np.ndarray:
    """Rows that no fold holds out, as there are some in time order."""
    is_held_out = np.zeros(n_samples, bool)
    for _, held_out in folds:
        is_held_out[held_out] = True
    return np.flatnonzero(~is_held_out)


def gives_folds(cv: object) -> bool:
    """Whether `cv` defines its folds itself: a splitter, or an iterable of splits."""
    return not (cv is None or isinstance(cv, Integral | str))


def is_splitter(cv: object) -> bool:
    """Whether `cv` makes splits by a method `split`; strings, which also have one, do not."""
    return hasattr(cv, "split") and not isinstance(cv, str)


def group_numbers(groups: npt.ArrayLike, labels: np.ndarray, cv: object) -> np.ndarray:
    """Convert groups to numbers from 0 on; ValueError if they are invalid or `cv` ignores them."""
    _, numbers = _groups_for_cv(groups, labels, cv)
    return numbers


def _groups_for_cv(
    groups: npt.ArrayLike, labels: np.ndarray, cv: object
) -> tuple[np.ndarray, np.ndarray]:
    if not (cv is None or isinstance(cv, Integral) or is_splitter(cv)):
        raise ValueError(
            "groups are for a number of folds or a splitter, which hold them out together, got "
            f"groups and cv={short(cv)}"
        )
    return check_groups(groups, labels)


def check_groups(groups: npt.ArrayLike, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Check that there is a valid group for every label.

    Returns the groups in a form that splitters can sort, and as numbers from 0 on.
    """
    with naming("groups"):
        values = plain_array(groups, "groups")
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"groups must be 1d, one for every sample, got shape {values.shape}")
        check_consistent_length(labels, values)
        if values.dtype.kind == "f" and np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise ValueError(f"groups must be finite, got {values[row]} in row {row}")
        numbers, in_order = encode_groups(values)
        # Splitters find equal groups by sorting: groups that cannot be sorted become numbers.
        return (values if in_order else numbers), numbers


def _k_folds(n_folds: int, labels: np.ndarray, seed: int) -> Folds:
    n_folds = min(n_folds, len(labels))
    counts = np.bincount(labels)
    splitter: KFold | StratifiedKFold
    if counts.max() < n_folds:
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
        strata = labels
    else:
        # Classes with fewer samples than folds form a common stratum, so that they are also spread
        # evenly. If even this stratum is too small, it joins the largest class.
        is_rare = counts[labels] < n_folds
        strata = np.where(is_rare, len(counts), labels)
        if 0 < is_rare.sum() < n_folds:
            strata = np.where(is_rare, counts.argmax(), labels)
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return _as_folds(splitter.split(np.zeros((len(labels), 1)), strata))


def _group_folds(n_folds: int, labels: np.ndarray, seed: int, groups: np.ndarray) -> Folds:
    n_groups = groups.max() + 1
    if n_groups < 2:
        raise ValueError("groups must hold at least 2 different ones, got 1")
    n_folds = min(n_folds, n_groups)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    # The splitter refuses strata that all have fewer samples than there are folds.
    strata = np.zeros_like(labels) if np.bincount(labels).max() < n_folds else labels
    with warnings.catch_warnings():
        # About classes with fewer samples than folds.
        warnings.simplefilter("ignore")
        splits = list(splitter.split(np.zeros((len(labels), 1)), strata, groups))
    # Stratification of few groups may leave folds empty.
    if any(len(train) == 0 or len(test) == 0 for train, test in splits):
        splits = list(GroupKFold(n_folds).split(groups, groups=groups))
    return _as_folds(splits)


def _as_folds(splits: Iterable[tuple[np.ndarray, np.ndarray]]) -> Folds:
    return [(train.astype(np.int32), test.astype(np.int32)) for train, test in splits]


def _as_rows(rows: npt.ArrayLike, n_samples: int, number: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if rows.size and (rows.ndim != 1 or rows.dtype.kind not in "iu"):
        raise ValueError(
            "cv must give pairs of arrays of row numbers, got an array of shape "
            f"{rows.shape} and type {rows.dtype} in split {number}"
        )
    if rows.size == 0 or rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(
            f"cv must give row numbers from 0 to {n_samples - 1}, at least one for each part, "
            f"got {rows.tolist()[:5]} in split {number}"
        )
    return rows.astype(np.int32)


def _check_fold(fold: Any, number: int, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Check the user's split with this number, and return its rows in order."""
    try:
        train, test = fold
    except (TypeError, ValueError) as error:
        raise ValueError(
            "cv must be a number of folds, a splitter, or an iterable of pairs of row numbers, "
            f"got {short(fold)} as split {number}"
        ) from error
    train_rows = _as_rows(train, n_samples, number)
    test_rows = _as_rows(test, n_samples, number)
    both = np.intersect1d(train_rows, test_rows)
    if len(both):
        raise ValueError(
            "cv must not train on what it holds out, got splits that do both with "
            f"{len(both)} rows in split {number}, the first of them row {both[0]}"
        )
    return np.unique(train_rows), np.unique(test_rows)


def ask_for_groups(request: MetadataRequest, cv: Any) -> MetadataRequest:
    """Add the request of a splitter `cv` for groups to an estimator's metadata request.

    A request for groups that the user has set takes precedence.
    """
    if hasattr(cv, "get_metadata_routing") and request.fit.requests["groups"] is None:
        splitter_request = cv.get_metadata_routing().split.requests.get("groups")
        request.fit.add_request(param="groups", alias=splitter_request)
    return request
