"""The forests of multi-grained scanning: one random and one completely-random per fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from mddf._base.validation import resolve_max_features
from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import Bins, join_bins
from mddf._core import ClassTarget, TreeOptions
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import RowWeights, canonical_order, plan_sampling, whole_weights
from mddf._trees import grower

from ._windows import WindowSpec

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
    weights : RowWeights
    folds : list of (train, test)
    """

    codes: np.ndarray
    bins: Bins
    labels: np.ndarray
    n_classes: int
    weights: RowWeights
    folds: Folds


def grow_forests(
    samples: Samples,
    spec: WindowSpec,
    options: ForestOptions,
    entropy: list[int],
    *,
    held_out: bool,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> tuple[list[grower.GrowthResult], list[grower.GrowthResult]]:
    """Grow both forests for each fold.

    Parameters
    ----------
    samples : Samples
    spec : WindowSpec
    options : ForestOptions
    entropy : list of int
        What all trees' seeds are drawn from.
    held_out : bool
        Whether the class vectors of the held-out samples' windows are wanted.
    n_jobs, verbose
        As :func:`mddf._trees.grower.grow` has them.

    Returns
    -------
    tuple of list of GrowthResult
        In the order of ``FORESTS``, one entry per fold.
    """
    rows = spec.rows(samples.codes)
    table = BinnedTable(
        join_bins(*[samples.bins] * prod(spec.size)), rows, spec.columns(samples.codes)
    )
    labels = np.repeat(samples.labels, spec.n_windows)
    blocks = _blocks(samples, spec, options, entropy, held_out, table, labels)
    grown = grower.grow(
        table,
        ClassTarget(labels, samples.n_classes),
        list(blocks),
        n_jobs=n_jobs,
        verbose=verbose,
        description=f"windows of {'x'.join(map(str, spec.size))}",
    )
    return grown[0::2], grown[1::2]


def _blocks(
    samples: Any,
    spec: Any,
    options: Any,
    entropy: Any,
    held_out: Any,
    table: Any,
    labels: np.ndarray,
) -> Iterator[grower.TreeJob]:
    n_windows = spec.n_windows
    weights = RowWeights(
        *(
            None if of_samples is None else np.repeat(of_samples, n_windows)
            for of_samples in (samples.weights.sample, samples.weights.row)
        )
    )
    order = canonical_order(table.codes, labels)
    share = options.max_windows
    if isinstance(share, Integral):
        share = None if share >= n_windows else int(share) / n_windows
    for fold, (train, test) in enumerate(samples.folds):
        rows = _windows_of(train, n_windows)
        if weights.row is not None and not weights.row[rows].any():
            raise ValueError(
                "sample_weight and class_weight must leave some sample that each fold trains on a "
                f"weight above zero, got only zeros in fold {fold}"
            )
        for number in range(len(FORESTS)):
            yield _block(
                completely_random=number == 1,
                order=order,
                rows=rows,
                weights=weights,
                share=share,
                held_out=_windows_of(test, n_windows) if held_out else None,
                seeds=grower.draw_seeds([*entropy, fold, number], options.n_estimators),
                options=options,
                n_columns=table.bins.n_columns,
            )


def _windows_of(samples: np.ndarray, n_windows: int) -> np.ndarray:
    """Rows of these samples' windows."""
    return np.add.outer(samples * n_windows, np.arange(n_windows)).ravel().astype(np.int32)


def _block(
    *,
    completely_random: Any,
    order: Any,
    rows: Any,
    weights: Any,
    share: Any,
    held_out: Any,
    seeds: np.ndarray,
    options: Any,
    n_columns: Any,
) -> grower.TreeJob:
    try:
        sampling = plan_sampling(
            order,
            weights,
            train=rows,
            bootstrap=not completely_random or share is not None,
            max_samples=share,
        )
    except ValueError as error:
        raise ValueError(
            f"max_windows must lead to less than 2^31 draws of windows for each tree, got "
            f"max_windows={options.max_windows!r} with {len(rows)} windows: {error}"
        ) from error
    # By weight rather than by windows, so that a weight of k is the same as k copies. Sums of
    # weights may be off by rounding.
    least = 0.0
    if options.min_samples_leaf > 1:
        total = sampling.n_draws or _total(weights, sampling.rows)
        least = min(options.min_samples_leaf, 2 * total) * (1 - 1e-9) / total
    tree_options = TreeOptions(
        random_thresholds=completely_random,
        max_features=1 if completely_random else resolve_max_features("sqrt", n_columns),
        max_depth=min(int(options.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
        min_weight_leaf=least,
    )
    return grower.TreeJob(seeds, tree_options, sampling, held_out=held_out)


def _total(weights: RowWeights, rows: np.ndarray) -> float:
    """Windows that the trees see, a weight of k counting as k if all weights are whole."""
    given = weights.row
    return float(given[rows].sum()) if given is not None and whole_weights(given) else len(rows)


def column_bounds(specs: list[WindowSpec], n_classes: int) -> np.ndarray:
    """First and last column (not included) of every grain's forests: (n_windows, 2, 2)."""
    sizes = np.repeat([prod(spec.pooled) * n_classes for spec in specs], len(FORESTS))
    last = np.cumsum(sizes)
    return np.stack([last - sizes, last], axis=1).reshape(len(specs), len(FORESTS), 2)
