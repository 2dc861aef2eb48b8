"""Which rows the trees of a forest see, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from numbers import Integral
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.messages import short
from mddf._core import Sampling

_MOST_DRAWS = 2**31 - 2
# Real weights become whole numbers of this total, fine enough for any bootstrap.
_RESOLUTION = 2**52


@dataclass(frozen=True)
class RowWeights:
    """How much the rows of a table count; None where all count alike.

    Attributes
    ----------
    sample : ndarray of float64 of shape (n_rows,) or None
        The user's `sample_weight`.
    row : ndarray of float64 of shape (n_rows,) or None
        The same times the factor of the row's class.
    """

    sample: np.ndarray | None = None
    row: np.ndarray | None = None


def row_weights(sample_weight: Any, class_factors: Any, labels: np.ndarray) -> RowWeights:
    """Weights of the rows from those of samples and classes, either of which may be None."""
    row = sample_weight
    if class_factors is not None:
        with np.errstate(over="ignore", under="ignore"):
            row = class_factors[labels] * (1 if sample_weight is None else sample_weight)
        if not np.isfinite(row).all():
            raise ValueError(
                "class_weight times sample_weight must be finite, got factors up to "
                f"{class_factors.max():g}"
            )
        if not row.any():
            raise ValueError(
                "sample_weight and class_weight must leave some sample a weight above zero, "
                "got none"
            )
    return RowWeights(sample_weight, None if row is None else scale_weights(row))


def canonical_order(codes: np.ndarray, target: np.ndarray, weights: Any = None) -> np.ndarray:
    """All rows in an order that depends on what they hold, not on where they stand.

    A bootstrap that draws positions in this order gives the same trees however the table is
    sorted, and where weights count as rows, one of weight k is drawn as k equal rows would be.

    Parameters
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
    target : ndarray of uint16 of shape (n_rows,), or of int64 of shape (n_rows, n_outputs)
        Classes or numbers.
    weights : ndarray of shape (n_rows,), default=None
        By which rows that hold the same are ordered.

    Returns
    -------
    ndarray of int32
    """
    hashes = row_hashes(codes, target)
    if weights is None:
        return np.argsort(hashes, kind="stable").astype(np.int32)
    return np.lexsort((weights, hashes)).astype(np.int32)


def row_hashes(codes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A fingerprint of what each row holds, as uint64; see `canonical_order`."""
    labels = target if target.dtype == np.uint16 else np.zeros(len(target), np.uint16)
    hashes = _core.hash_rows(codes, codes.shape[1], labels)
    return hashes if labels is target else hashes_with(hashes, target)


def hashes_with(hashes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Fingerprints of rows and of numbers of shape (n_rows, n_outputs)."""
    for column in target.T.astype(np.uint64):
        hashes = (hashes ^ column) * np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(31)
    return hashes


def whole_weights(weights: np.ndarray) -> bool:
    """Whether all weights are whole numbers whose sum is one too."""
    with np.errstate(over="ignore"):
        return bool(np.all(weights == np.rint(weights)) and weights.sum() <= 2**53)


def n_counted(n_rows: int, weights: np.ndarray | None) -> int:
    """Samples that rows stand for: the sum of whole weights, else the rows that have some."""
    if weights is None:
        return n_rows
    return int(weights.sum() if whole_weights(weights) else np.count_nonzero(weights))


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Weights times a power of two, which changes no tree, unless they are whole numbers.

    The largest is then between 1/2 and 1, so that squares and sums neither vanish nor overflow.
    """
    if whole_weights(weights):
        return weights
    return np.ldexp(weights, -np.frexp(weights.max())[1])


def summed_weights(numbers: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """The weight of each number below `n`, rounded alike whatever the order of the rows."""
    order = np.argsort(weights)
    return np.bincount(numbers[order], weights[order], minlength=n)


def mean_error(
    values: np.ndarray, weights: np.ndarray | None, n: int, units: np.ndarray | None = None
) -> float:
    """Standard error of a mean.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
    n : int
        Samples that rows stand for, as `n_counted` has them.
    units : ndarray of int of shape (n_rows,), default=None
        Rows of the same number, those of a group, are not independent; None: each tells its own.
    """
    away = values - np.average(values, weights=weights)
    if units is None:
        return float(np.sqrt(np.average(away**2, weights=weights) / n))
    weights = np.ones(len(away)) if weights is None else weights
    of_units = summed_weights(units, weights * away, units.max() + 1)
    return float(np.sqrt(np.square(of_units).sum()) / weights.sum())


def n_draws(max_samples: Any, n_rows: int, sample_weight: np.ndarray | None) -> int:
    """Rows drawn for each tree.

    Parameters
    ----------
    max_samples : int, float or None
        A number; a share of the rows or, if all weights are whole numbers, of their sum, so that
        with 1.0 a weight of k counts as k rows; None for as many as there are rows with weight.
    n_rows : int
        Rows with weight.
    sample_weight : ndarray or None
        Theirs.
    """
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, Integral):
        draws = int(max_samples)
    else:
        share = max_samples * n_counted(n_rows, sample_weight)
        draws = max(1, round(share)) if isfinite(share) else _MOST_DRAWS + 1
    if draws > _MOST_DRAWS:
        raise ValueError(
            f"max_samples must lead to at most {_MOST_DRAWS} draws for each tree, got "
            f"max_samples={short(max_samples)} of {n_rows} rows"
            + ("" if sample_weight is None else f" with weights of sum {sample_weight.sum():g}")
        )
    return draws


def cumulative_weights(weights: np.ndarray) -> np.ndarray:
    """Cumulative sums of weights as whole numbers, to draw in proportion to them."""
    if not whole_weights(weights):
        weights = scale_weights(weights)
        weights = np.rint(weights * (_RESOLUTION / weights.sum()))
    return np.cumsum(weights.astype(np.uint64), dtype=np.uint64)


def _proportions(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    if weights is None or np.all(weights[rows] == weights[rows[0]]):
        return None
    return cumulative_weights(weights[rows])


def rows_with_weight(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Those of a fold's rows that have a weight; ValueError if there are none."""
    rows = rows[weights[rows] > 0]
    if len(rows) == 0:
        raise ValueError(
            "sample_weight, and class_weight if there is one, must leave every fold a sample with "
            "a weight above zero to train on, got a fold without one"
        )
    return rows


def _balanced(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, most: int | None
) -> dict[str, Any]:
    """Arguments of a `Sampling` that draws as many rows of each class, `most` of all together."""
    rows = rows[np.argsort(labels[rows], kind="stable")]
    counts = np.bincount(labels[rows])
    parts = np.concatenate([[0], counts[counts > 0].cumsum()])
    n_draws = counts[counts > 0].min() if most is None else max(1, round(most / (len(parts) - 1)))
    proportions = None
    if weights is not None:
        of_parts = [rows[first:last] for first, last in pairwise(parts)]
        if any(_proportions(weights, part) is not None for part in of_parts):
            proportions = np.concatenate([cumulative_weights(weights[part]) for part in of_parts])
    return {"rows": rows, "parts": parts, "n_draws": int(n_draws), "cumulative": proportions}


def _by_group(
    rows: np.ndarray, groups: np.ndarray, hashes: np.ndarray, max_samples: Any
) -> dict[str, Any]:
    """Arguments of a `Sampling` that draws groups with all of their rows.

    Groups are in an order that depends on what their rows hold.
    """
    _, numbers = np.unique(groups[rows], return_inverse=True)
    content = np.zeros(numbers.max() + 1, np.uint64)
    np.add.at(content, numbers, hashes[rows])
    place = np.empty(len(content), np.int64)
    place[np.argsort(content, kind="stable")] = np.arange(len(content))
    rows = rows[np.argsort(place[numbers], kind="stable")]
    parts = np.concatenate([[0], np.bincount(place[numbers]).cumsum()])
    draws = n_draws(max_samples, len(content), None)
    return {"rows": rows, "parts": parts, "n_draws": draws, "whole_parts": True}


def plan_sampling(
    order: np.ndarray,
    weights: RowWeights,
    *,
    train: np.ndarray | None = None,
    bootstrap: bool,
    max_samples: Any = None,
    reweighting: np.ndarray | None = None,
    redraw: bool = False,
    balance_trees: bool = False,
    labels: np.ndarray | None = None,
    groups: tuple[np.ndarray, np.ndarray] | None = None,
) -> Sampling:
    """How a forest samples its rows.

    Parameters
    ----------
    order : ndarray of int32 of shape (n_rows,)
        See :func:`canonical_order`.
    weights : RowWeights
    train : ndarray of int, default=None
        The rows to choose from; None for all.
    bootstrap : bool
        Draw rows with replacement, in proportion to their weights, which then have done their
        work; otherwise every tree sees all rows with their weights.
    max_samples : int, float or None, default=None
        Of a bootstrap; see :func:`n_draws`.
    reweighting : ndarray of shape (n_rows,), default=None
        Factors that the layer before makes of the rows' weights.
    redraw : bool, default=False
        Draw rows in proportion to the reweighting too, whether `bootstrap` or not.
    balance_trees : bool, default=False
        Balance the classes anew in each tree's sample.
    labels : ndarray of uint16 of shape (n_rows,), default=None
        Classes of each of which a bootstrap draws as many rows: all together `max_samples`, by
        default as many as the smallest class has.
    groups : (ndarray of int, ndarray of uint64), each of shape (n_rows,), default=None
        The rows' groups, which a bootstrap draws whole, and hashes of what rows hold. Weights are
        then those of rows in the trees.
    """
    n_rows = len(order)
    rows = np.arange(n_rows, dtype=np.int32) if train is None else train
    weight = weights.row
    if reweighting is not None:
        weight = scale_weights(reweighting * (1 if weight is None else weight))
    if weight is not None:
        rows = rows_with_weight(rows, weight)
    chosen = np.zeros(n_rows, bool)
    chosen[rows] = True
    rows = order if chosen.all() else order[chosen[order]]
    redraw = redraw and reweighting is not None
    if not (bootstrap or redraw):
        if weight is None and balance_trees:
            weight = np.ones(n_rows)
        return Sampling(rows, weights=weight, balance=balance_trees)
    drawn_by = weight if redraw else weights.row
    in_trees = None
    if reweighting is not None and not redraw:
        in_trees = scale_weights(reweighting)
    if groups is not None:
        in_trees, drawn_by = weight, None
    if in_trees is None and balance_trees:
        in_trees = np.ones(n_rows)
    most = max_samples if bootstrap else None
    given = None if weights.sample is None else weights.sample[rows]
    if groups is not None:
        drawn = _by_group(rows, *groups, most)
    elif labels is not None:
        of_all = None if most is None else n_draws(most, len(rows), given)
        drawn = _balanced(rows, labels, drawn_by, of_all)
    else:
        drawn = {
            "rows": rows,
            "n_draws": n_draws(most, len(rows), given),
            "cumulative": _proportions(drawn_by, rows),
        }
    return Sampling(**drawn, weights=in_trees, balance=balance_trees)
