"""Rows that the trees of a forest draw."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from numbers import Integral
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.messages import short
from mddf._core import Sampling
from mddf._targets.weights import (
    RowWeights,
    n_counted,
    rows_with_weight,
    scale_weights,
    whole_weights,
)

# The kernel counts draws in 32 bits.
_MAX_DRAWS = 2**31 - 2
# Weights that are not whole numbers are rounded to whole numbers of this total. 2^52 keeps sums of
# doubles exact, and is fine enough for any bootstrap.
_TOTAL_WEIGHT = 2**52
# Odd multiplier of a hash, from the generator SplitMix64, which spreads each bit over the word.
_HASH_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)


def canonical_order(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Order all rows by their contents, independent of their order in the table: int32.

    A bootstrap that draws positions in this order grows the same trees however the table is
    sorted. Rows with equal contents are ordered by `weights`, which count as rows: a row of weight
    k is drawn as k equal rows would be. `target` holds classes as uint16 of shape (n_rows,), or
    whole numbers as int64 of shape (n_rows, n_outputs).
    """
    hashes = row_hashes(codes, target)
    if weights is None:
        return np.argsort(hashes, kind="stable").astype(np.int32)
    return np.lexsort((weights, hashes)).astype(np.int32)


def row_hashes(codes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Hash the contents of each row to uint64; see `canonical_order`."""
    labels = target if target.dtype == np.uint16 else np.zeros(len(target), np.uint16)
    hashes = _core.hash_rows(codes, codes.shape[1], labels)
    return hashes if labels is target else hashes_with(hashes, target)


def hashes_with(hashes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Combine hashes of rows with whole numbers of shape (n_rows, n_outputs)."""
    for column in target.T.astype(np.uint64):
        hashes = (hashes ^ column) * _HASH_MULTIPLIER
        hashes ^= hashes >> np.uint64(31)
    return hashes


def n_draws(max_samples: float | None, n_rows: int, sample_weight: np.ndarray | None) -> int:
    """Convert `max_samples` to the number of rows drawn for each tree, from `n_rows` with weight.

    A float is a share of the rows or, if all weights are whole numbers, of their sum: with 1.0, a
    weight of k counts as k rows. None means `n_rows`.
    """
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, Integral):
        draws = int(max_samples)
    else:
        share = max_samples * n_counted(n_rows, sample_weight)
        draws = max(1, round(share)) if isfinite(share) else _MAX_DRAWS + 1
    if draws > _MAX_DRAWS:
        raise ValueError(
            f"max_samples must lead to at most {_MAX_DRAWS} draws for each tree, got "
            f"max_samples={short(max_samples)} of {n_rows} rows"
            + ("" if sample_weight is None else f" with weights of sum {sample_weight.sum():g}")
        )
    return draws


def cumulative_weights(weights: np.ndarray) -> np.ndarray:
    """Cumulative sums of weights as whole numbers, for draws in proportion to them."""
    if not whole_weights(weights):
        weights = scale_weights(weights)
        weights = np.rint(weights * (_TOTAL_WEIGHT / weights.sum()))
    return np.cumsum(weights.astype(np.uint64), dtype=np.uint64)


def _cumulative_or_none(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Cumulative weights of rows; None if all rows are equally likely."""
    if weights is None or np.all(weights[rows] == weights[rows[0]]):
        return None
    return cumulative_weights(weights[rows])


# Arguments of a `Sampling` that describe how rows are drawn.
_Draws = dict[str, Any]


def _draw_balanced(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, max_draws: int | None
) -> _Draws:
    """Draw the same number of rows of each class, by default as many as the smallest has."""
    rows = rows[np.argsort(labels[rows], kind="stable")]
    counts = np.bincount(labels[rows])
    class_counts = counts[counts > 0]
    parts = np.concatenate([[0], class_counts.cumsum()])
    if max_draws is None:
        n_per_class = int(class_counts.min())
    else:
        n_per_class = max(1, round(max_draws / len(class_counts)))
    cumulative = None
    if weights is not None:
        class_rows = [rows[first:last] for first, last in pairwise(parts)]
        if any(_cumulative_or_none(weights, part) is not None for part in class_rows):
            cumulative = np.concatenate([cumulative_weights(weights[part]) for part in class_rows])
    return {"rows": rows, "n_draws": n_per_class, "cumulative": cumulative, "parts": parts}


def _draw_groups(
    rows: np.ndarray, groups: np.ndarray, hashes: np.ndarray, max_samples: float | None
) -> _Draws:
    """Draw groups with all of their rows."""
    _, numbers = np.unique(groups[rows], return_inverse=True)
    # Groups are ordered by their contents, as `canonical_order` orders rows.
    contents = np.zeros(numbers.max() + 1, np.uint64)
    np.add.at(contents, numbers, hashes[rows])
    place = np.empty(len(contents), np.int64)
    place[np.argsort(contents, kind="stable")] = np.arange(len(contents))
    rows = rows[np.argsort(place[numbers], kind="stable")]
    parts = np.concatenate([[0], np.bincount(place[numbers]).cumsum()])
    draws = n_draws(max_samples, len(contents), None)
    return {"rows": rows, "n_draws": draws, "parts": parts, "whole_parts": True}


def plan_sampling(
    order: np.ndarray,
    weights: RowWeights,
    *,
    train: np.ndarray | None = None,
    bootstrap: bool,
    max_samples: float | None = None,
    reweighting: np.ndarray | None = None,
    redraw: bool = False,
    balance_trees: bool = False,
    labels: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    hashes: np.ndarray | None = None,
) -> Sampling:
    """Plan how each tree of a forest samples its rows.

    Parameters
    ----------
    order : ndarray of int32 of shape (n_rows,)
        All rows in the order of :func:`canonical_order`.
    weights : RowWeights
    train : ndarray of int, default=None
        Rows to train on; None for all.
    bootstrap : bool
        Whether to draw rows with replacement, in proportion to their weights; drawn rows then
        count alike in a tree. If not, every tree is grown on all rows with their weights.
    max_samples : int, float or None, default=None
        Number of draws of a bootstrap; see :func:`n_draws`.
    reweighting : ndarray of shape (n_rows,), default=None
        Factors of the rows' weights, which a cascade's layer derives from the layer before.
    redraw : bool, default=False
        Whether to draw rows in proportion to weights and reweighting, even without `bootstrap`.
    balance_trees : bool, default=False
        Whether to balance the classes in each tree's own sample.
    labels : ndarray of uint16 of shape (n_rows,), default=None
        Classes of the rows, of each of which a bootstrap draws the same number. `max_samples` is
        the total; by default, each class has as many draws as the smallest class has rows.
    groups : ndarray of int of shape (n_rows,), default=None
        Groups that a bootstrap draws as a whole. Weights then apply to rows within trees.
    hashes : ndarray of uint64 of shape (n_rows,), default=None
        Hashes of the rows' contents, which determine the order of groups; see :func:`row_hashes`.
    """
    n_rows = len(order)
    # 1. Weights of the rows, by which those without weight are left out.
    row_weight = weights.row
    if reweighting is not None:
        row_weight = scale_weights(reweighting * (1 if row_weight is None else row_weight))
    rows = np.arange(n_rows, dtype=np.int32) if train is None else train
    if row_weight is not None:
        rows = rows_with_weight(rows, row_weight)
    is_chosen = np.zeros(n_rows, bool)
    is_chosen[rows] = True
    rows = order if is_chosen.all() else order[is_chosen[order]]
    # 2. Without draws, every tree is grown on all rows.
    redraw = redraw and reweighting is not None
    if not (bootstrap or redraw):
        if row_weight is None and balance_trees:
            row_weight = np.ones(n_rows)
        return Sampling(rows, weights=row_weight, balance=balance_trees)
    # 3. Weights act either on the draws or in the trees.
    if groups is not None:
        draw_weight = None
        tree_weight = row_weight
    elif redraw:
        draw_weight = row_weight
        tree_weight = None
    else:
        draw_weight = weights.row
        tree_weight = None if reweighting is None else scale_weights(reweighting)
    if tree_weight is None and balance_trees:
        tree_weight = np.ones(n_rows)
    # 4. Draws of groups, of as many rows of each class, or of single rows.
    if not bootstrap:
        max_samples = None
    sample_weight = None if weights.sample is None else weights.sample[rows]
    if groups is not None:
        assert hashes is not None
        draws = _draw_groups(rows, groups, hashes, max_samples)
    elif labels is not None:
        max_draws = None
        if max_samples is not None:
            max_draws = n_draws(max_samples, len(rows), sample_weight)
        draws = _draw_balanced(rows, labels, draw_weight, max_draws)
    else:
        n_row_draws = n_draws(max_samples, len(rows), sample_weight)
        cumulative = _cumulative_or_none(draw_weight, rows)
        draws = {"rows": rows, "n_draws": n_row_draws, "cumulative": cumulative}
    return Sampling(**draws, weights=tree_weight, balance=balance_trees)
