"""The forests of multi-grained scanning: one random and one completely-random per fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from numbers import Integral

import numpy as np

from mddf import _growing
from mddf._binning import BinnedTable, Bins, join_bins
from mddf._folds import Folds
from mddf._forest import resolve_max_features
from mddf._sampling import canonical_order, cumulative_weights, n_draws

from ._windows import Grain

FORESTS = ("random", "completely_random")


@dataclass(frozen=True)
class ForestOptions:
    """How all forests are grown: the scanner's parameters of these names."""

    n_estimators: int
    min_samples_leaf: int
    max_depth: int | None
    max_windows: int | float | None


@dataclass(frozen=True)
class Samples:
    """What a scanner is trained on.

    Attributes
    ----------
    codes : ndarray of uint8 of shape (n_samples, *grid, n_channels)
    bins : Bins
        Those of the channels.
    labels : ndarray of uint16 of shape (n_samples,)
    n_classes : int
    weights : ndarray of float64 of shape (n_samples,) or None
    folds : list of (train, test)
    """

    codes: np.ndarray
    bins: Bins
    labels: np.ndarray
    n_classes: int
    weights: np.ndarray | None
    folds: Folds


def grow_forests(
    samples: Samples,
    grain: Grain,
    options: ForestOptions,
    entropy: list[int],
    *,
    held_out: bool,
    n_jobs=None,
    verbose: bool | int = False,
) -> tuple[list[_growing.Grown], list[_growing.Grown]]:
    """Grow both forests for each fold.

    Parameters
    ----------
    samples : Samples
    grain : Grain
    options : ForestOptions
    entropy : list of int
        What all trees' seeds are drawn from.
    held_out : bool
        Whether the class vectors of the held-out samples' windows are wanted.
    n_jobs, verbose
        As :func:`mddf._growing.grow` has them.

    Returns
    -------
    tuple of list of Grown
        In the order of ``FORESTS``, one entry per fold.
    """
    rows = grain.rows(samples.codes)
    table = BinnedTable(
        join_bins(*[samples.bins] * prod(grain.size)), rows, grain.columns(samples.codes)
    )
    labels = np.repeat(samples.labels, grain.n_windows)
    blocks = _blocks(samples, grain, options, entropy, held_out, table, labels)
    grown = _growing.grow(
        table,
        labels,
        samples.n_classes,
        list(blocks),
        n_jobs=n_jobs,
        verbose=verbose,
        description=f"windows of {'x'.join(map(str, grain.size))}",
    )
    return grown[0::2], grown[1::2]


def _blocks(samples, grain, options, entropy, held_out, table, labels) -> Iterator[_growing.Block]:
    n_windows = grain.n_windows
    weights = samples.weights
    if weights is not None:
        weights = np.repeat(weights, n_windows)
    order = canonical_order(table.codes, labels, np.arange(table.n_rows, dtype=np.int32))
    sample_of = order // n_windows
    share = options.max_windows
    if isinstance(share, Integral):
        share = None if share >= n_windows else int(share) / n_windows
    for fold, (train, test) in enumerate(samples.folds):
        trained_on = np.zeros(len(samples.labels), bool)
        trained_on[train] = True if samples.weights is None else samples.weights[train] > 0
        if not trained_on.any():
            raise ValueError(
                "sample_weight and class_weight must leave some sample that each fold trains on a "
                f"weight above zero, got only zeros in fold {fold}"
            )
        rows = order[trained_on[sample_of]]
        test_rows = None
        if held_out:
            test_rows = np.add.outer(test * n_windows, np.arange(n_windows)).ravel()
            test_rows = test_rows.astype(np.int32)
        for number in range(len(FORESTS)):
            yield _block(
                completely_random=number == 1,
                rows=rows,
                weights=weights,
                share=share,
                held_out=test_rows,
                seeds=_growing.draw_seeds([*entropy, fold, number], options.n_estimators),
                options=options,
                n_columns=table.bins.n_columns,
            )


def _block(
    *, completely_random, rows, weights, share, held_out, seeds, options, n_columns
) -> _growing.Block:
    own = None if weights is None else weights[rows]
    try:
        count = n_draws(share, len(rows), own)
    except ValueError as error:
        total = len(rows) if own is None else own.sum()
        raise ValueError(
            "max_windows and sample_weight must lead to less than 2^31 draws of windows for each "
            f"tree: one per window, or as many as its weight if all weights are whole numbers; "
            f"got a total weight of {total:.6g} and max_windows={options.max_windows!r}"
        ) from error
    if completely_random and share is None:
        sampling = _growing.Sampling(rows, weights=weights)
    else:
        cumulative = None if own is None else cumulative_weights(own)
        sampling = _growing.Sampling(rows, n_draws=count, cumulative=cumulative)
    # By weight rather than by windows, so that a weight of k is the same as k copies. Sums of
    # weights may be off by rounding.
    least = options.min_samples_leaf * (1 - 1e-9) / count if options.min_samples_leaf > 1 else 0.0
    tree_options = _growing.TreeOptions(
        random_thresholds=completely_random,
        max_features=1 if completely_random else resolve_max_features("sqrt", n_columns),
        max_depth=min(int(options.max_depth or _growing.NO_DEPTH_LIMIT), _growing.NO_DEPTH_LIMIT),
        min_weight_leaf=least,
    )
    return _growing.Block(seeds, tree_options, sampling, held_out=held_out)


def class_vectors(trees, windows: np.ndarray, n_classes: int, *, n_jobs=None) -> np.ndarray:
    """Mean class vectors of coded windows over trees.

    Parameters
    ----------
    trees : list of Trees
    windows : ndarray of uint8 of shape (n_windows, cells)
    n_classes : int
    n_jobs : int, default=None

    Returns
    -------
    ndarray of shape (n_windows, n_classes)
    """
    sums = np.zeros((len(windows), n_classes))
    _growing.add_probabilities(trees, windows, sums, n_jobs=n_jobs)
    return _growing.shares(sums)
