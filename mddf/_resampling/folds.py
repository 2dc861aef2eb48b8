"""Which samples each fold of a layer trains on, and which it holds out."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._targets.target_validation import numbered, plain_array

Folds = list[tuple[np.ndarray, np.ndarray]]


def make_folds(
    cv: Any, X: Any, y: Any, labels: np.ndarray, seed: int, groups: Any = None
) -> Folds:
    """Training and held-out rows of each fold.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        A number means shuffled folds, stratified as far as the sizes of the classes allow; None
        means 5 of them.
    X, y : array or data frame of n_samples rows
        What a splitter is shown: the user's, `y` as a plain array.
    labels : ndarray of int of shape (n_samples,)
        What a number of folds is stratified by.
    seed : int
        What a number of folds is shuffled by.
    groups : array of shape (n_samples,), default=None
        Samples of one group are held out together: by a number of folds, and by splitters that
        look at groups. Numbers, strings or other objects with a hash, none missing.

    Returns
    -------
    list of (ndarray of int32, ndarray of int32)
        Each sample is held out at least once.

    Raises
    ------
    ValueError
        If there are too few samples, or one is never held out, or a fold trains on none or on
        what it holds out; or if there are groups that nobody would look at.
    """
    n_samples = len(labels)
    if n_samples < 2:
        raise ValueError(
            f"cv needs at least 2 samples to hold some out, got n_samples={n_samples}"
        )
    numbers = None
    if groups is not None:
        groups, numbers = _groups_for(groups, labels, cv)
    if cv is None or isinstance(cv, Integral):
        return _k_folds(int(cv or 5), labels, seed, numbers)
    with naming("cv"):
        splits = cv.split(X, y, groups) if is_splitter(cv) else cv
        folds = [_check_fold(fold, number, n_samples) for number, fold in enumerate(splits)]
    held_out = np.zeros(n_samples, bool)
    for _, test in folds:
        held_out[test] = True
    if not held_out.all():
        missing = np.flatnonzero(~held_out)
        raise ValueError(
            "cv must hold every sample out at least once, got splits that never hold out "
            f"{len(missing)} of {n_samples}, the first of them in row {missing[0]}"
        )
    return folds


def gives_folds(cv: Any) -> bool:
    """Whether `cv` says by itself what is held out together: a splitter or splits."""
    return not (cv is None or isinstance(cv, Integral | str))


def is_splitter(cv: Any) -> bool:
    """Whether `cv` is asked for splits, for which it may look at X; words can be split, too."""
    return hasattr(cv, "split") and not isinstance(cv, str)


def group_numbers(groups: Any, labels: np.ndarray, cv: Any) -> np.ndarray:
    """Groups as numbers from 0; ValueError where they are none, or `cv` has no use for them."""
    return _groups_for(groups, labels, cv)[1]


def _groups_for(groups: Any, labels: np.ndarray, cv: Any) -> tuple[np.ndarray, np.ndarray]:
    if not (cv is None or isinstance(cv, Integral) or is_splitter(cv)):
        raise ValueError(
            "groups are for a number of folds or a splitter, which hold them out together, got "
            f"groups and cv={short(cv)}"
        )
    return checked_groups(groups, labels)


def checked_groups(groups: Any, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Groups as an array, and as numbers from 0."""
    with naming("groups"):
        groups = plain_array(groups, "groups")
        if groups.ndim == 2 and groups.shape[1] == 1:
            groups = groups[:, 0]
        if groups.ndim != 1:
            raise ValueError(f"groups must be 1d, one for every sample, got shape {groups.shape}")
        check_consistent_length(labels, groups)
        if groups.dtype.kind == "f":
            with np.errstate(invalid="ignore"):  # of sums of infinities
                assert_all_finite(groups, input_name="groups")
        numbers, in_order = numbered(groups)
        # Splitters may find out what is equal by sorting.
        return (groups if in_order else numbers), numbers


def _k_folds(n_folds: int, labels: np.ndarray, seed: int, groups: Any) -> Folds:
    if groups is not None:
        return _group_folds(n_folds, labels, seed, groups)
    n_folds = min(n_folds, len(labels))
    counts = np.bincount(labels)
    splitter: KFold | StratifiedKFold
    if counts.max() < n_folds:
        splitter, strata = KFold(n_folds, shuffle=True, random_state=seed), labels
    else:
        # Classes with fewer samples than folds make one stratum: they are spread evenly too.
        rare = counts[labels] < n_folds
        strata = np.where(rare, len(counts), labels)
        if 0 < rare.sum() < n_folds:
            strata = np.where(rare, counts.argmax(), labels)
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return [
        (train.astype(np.int32), test.astype(np.int32))
        for train, test in splitter.split(np.zeros((len(labels), 1)), strata)
    ]


def _group_folds(n_folds: int, labels: np.ndarray, seed: int, groups: Any) -> Folds:
    n_groups = groups.max() + 1
    if n_groups < 2:
        raise ValueError("groups must hold at least 2 different ones, got 1")
    n_folds = min(n_folds, n_groups)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    # It refuses classes that all have fewer samples than there are folds.
    strata = np.zeros_like(labels) if np.bincount(labels).max() < n_folds else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer samples than folds
        splits = list(splitter.split(np.zeros((len(labels), 1)), strata, groups))
    if any(len(train) == 0 or len(test) == 0 for train, test in splits):
        splits = list(GroupKFold(n_folds).split(groups, groups=groups))
    return [(train.astype(np.int32), test.astype(np.int32)) for train, test in splits]


def _as_rows(rows: Any, n_samples: int, number: int) -> np.ndarray:
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


def _check_fold(fold: Any, number: int, n_samples: int) -> Any:
    try:
        train, test = fold
    except (TypeError, ValueError) as error:
        raise ValueError(
            "cv must be a number of folds, a splitter, or an iterable of pairs of row numbers, "
            f"got {short(fold)} as split {number}"
        ) from error
    train, test = (_as_rows(rows, n_samples, number) for rows in (train, test))
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(
            "cv must not train on what it holds out, got splits that do both with "
            f"{len(both)} rows in split {number}, the first of them row {both[0]}"
        )
    return np.unique(train), np.unique(test)


def ask_for_groups(request: Any, cv: Any) -> Any:
    """The metadata request of an estimator with such a `cv`, whose splitter may ask for groups.

    Parameters
    ----------
    request : MetadataRequest
        A request that users set goes before.
    cv : int, splitter, iterable of (train, test), str or None
    """
    if hasattr(cv, "get_metadata_routing") and request.fit.requests["groups"] is None:
        asked = cv.get_metadata_routing().split.requests.get("groups")
        request.fit.add_request(param="groups", alias=asked)
    return request
