"""Which rows the trees of a forest see."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from mddf import _core
from mddf._growing import Sampling

_MOST_DRAWS = 2**31 - 2
# Real weights become whole numbers of this total, fine enough for any bootstrap.
_RESOLUTION = 2**52


def canonical_order(codes: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows in an order that depends on what they hold, not on where they stand.

    A bootstrap that draws positions in this order gives the same trees however the table is
    sorted, and a row of weight k is drawn as k equal rows would be.

    Parameters
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
    labels : ndarray of uint16 of shape (n_rows,)
    rows : ndarray of int
        Those to order.

    Returns
    -------
    ndarray of int32
    """
    hashes = _core.hash_rows(codes, codes.shape[1], labels)[rows]
    return np.asarray(rows)[np.argsort(hashes, kind="stable")].astype(np.int32)


def whole_weights(weights: np.ndarray) -> bool:
    """Whether all weights are whole numbers whose sum is one too."""
    with np.errstate(over="ignore"):
        return bool(np.all(weights == np.rint(weights)) and weights.sum() <= 2**53)


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Weights times a power of two, which changes no tree, unless they are whole numbers.

    The largest is then between 1/2 and 1, so that squares and sums neither vanish nor overflow.
    """
    if whole_weights(weights):
        return weights
    return np.ldexp(weights, -np.frexp(weights.max())[1])


def n_draws(max_samples, n_rows: int, sample_weight: np.ndarray | None) -> int:
    """Rows drawn for each tree.

    The share that `max_samples` may be is one of the rows with weight or, if all weights are whole
    numbers, of their sum: then weight k counts as k rows.
    """
    n = n_rows
    if sample_weight is not None and whole_weights(sample_weight):
        n = int(sample_weight.sum())
    if max_samples is None:
        draws = n
    elif isinstance(max_samples, Integral):
        draws = int(max_samples)
    else:
        draws = max(1, round(max_samples * n))
    if draws > _MOST_DRAWS:
        raise ValueError(
            f"max_samples must lead to at most {_MOST_DRAWS} draws for each tree, got {draws}; "
            "with large weights, give max_samples as a number of rows"
        )
    return draws


def cumulative_weights(weights: np.ndarray) -> np.ndarray:
    """Cumulative sums of weights as whole numbers, to draw in proportion to them."""
    if not whole_weights(weights):
        weights = np.rint(weights * (_RESOLUTION / weights.sum()))
    return np.cumsum(weights.astype(np.uint64), dtype=np.uint64)


def plan_sampling(
    codes, labels, *, sample_weight, class_weight, bootstrap, max_samples, balance_trees
) -> Sampling:
    """How a forest samples its rows.

    Parameters
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
    labels : ndarray of uint16 of shape (n_rows,)
    sample_weight : ndarray of shape (n_rows,) or None
    class_weight : ndarray of shape (n_classes,) or None
        What a row's class makes of its weight.
    bootstrap : bool
        Draw rows with replacement, in proportion to their weights, which then have done their
        work; otherwise every tree sees all rows with their weights.
    max_samples : int, float or None
    balance_trees : bool
        Balance the classes anew in each tree's sample.
    """
    weights = sample_weight
    if class_weight is not None:
        weights = class_weight[labels] * (1 if weights is None else weights)
    rows = np.arange(len(labels), dtype=np.int32)
    if weights is not None:
        weights = scale_weights(weights)
        rows = rows[weights > 0]
        if len(rows) == 0:
            raise ValueError(
                "sample_weight and class_weight must leave some sample a weight above zero, "
                "got none"
            )
    if not bootstrap:
        if weights is None and balance_trees:
            weights = np.ones(len(labels))
        return Sampling(rows, weights=weights, balance=balance_trees)
    rows = canonical_order(codes, labels, rows)
    return Sampling(
        rows,
        n_draws=n_draws(max_samples, len(rows), sample_weight),
        cumulative=None if weights is None else cumulative_weights(weights[rows]),
        weights=np.ones(len(labels)) if balance_trees else None,
        balance=balance_trees,
    )
