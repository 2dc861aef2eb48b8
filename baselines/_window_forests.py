"""Forests of multi-grained scanning: a random and a completely-random forest for each fold."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from numbers import Integral

import numpy as np

from mddf._base.validation import resolve_max_features
from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import Bins, join_bins
from mddf._core import ClassTarget, Sampling, TreeOptions
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import canonical_order, plan_sampling
from mddf._targets.weights import RowWeights, whole_weights
from mddf._trees import grower

from ._windows import WindowSpec

FORESTS = ("random", "completely_random")
# Relative tolerance of minimum weights of leaves: sums of weights may be off by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ForestOptions:
    """Parameters of the scanner that concern its forests, by the same names."""

    n_estimators: int
    min_samples_leaf: int
    max_depth: int | None
    max_windows: int | float | None


@dataclass(frozen=True)
class Samples:
    """Training samples of a scanner.

    Attributes
    ----------
    codes : ndarray of uint8 of shape (n_samples, *grid, n_channels)
    bins : Bins
        Bins of the channels.
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
    """Grow both forests of a window size for each fold.

    With `held_out`, the class vectors of the held-out samples' windows are also computed. The
    results are in the order of ``FORESTS``, with an entry for each fold.
    """
    table = BinnedTable(
        join_bins(*[samples.bins] * prod(spec.size)),
        spec.rows(samples.codes),
        spec.columns(samples.codes),
    )
    labels = np.repeat(samples.labels, spec.n_windows)
    weights = RowWeights(
        sample=_repeat(samples.weights.sample, spec.n_windows),
        row=_repeat(samples.weights.row, spec.n_windows),
    )
    order = canonical_order(table.codes, labels)
    jobs = []
    for fold, (train, test) in enumerate(samples.folds):
        train_windows = _window_rows(train, spec.n_windows)
        _check_weights(weights, train_windows, fold)
        for number, forest in enumerate(FORESTS):
            completely_random = forest == "completely_random"
            sampling = _plan_sampling(
                order,
                weights,
                train_windows,
                max_windows=options.max_windows,
                n_windows=spec.n_windows,
                draw=not completely_random,
            )
            job = grower.TreeJob(
                seeds=grower.draw_seeds([*entropy, fold, number], options.n_estimators),
                options=_tree_options(
                    options,
                    sampling,
                    weights,
                    completely_random=completely_random,
                    n_columns=table.bins.n_columns,
                ),
                sampling=sampling,
                held_out=_window_rows(test, spec.n_windows) if held_out else None,
            )
            jobs.append(job)
    results = grower.grow(
        table,
        ClassTarget(labels, samples.n_classes),
        jobs,
        n_jobs=n_jobs,
        verbose=verbose,
        description=f"windows of {'x'.join(map(str, spec.size))}",
    )
    return results[0::2], results[1::2]


def _check_weights(weights: RowWeights, rows: np.ndarray, fold: int) -> None:
    if weights.row is not None and not weights.row[rows].any():
        raise ValueError(
            "sample_weight and class_weight must leave some sample that each fold trains on a "
            f"weight above zero, got only zeros in fold {fold}"
        )


def _repeat(sample_values: np.ndarray | None, n_windows: int) -> np.ndarray | None:
    """Give all windows of a sample its value."""
    return None if sample_values is None else np.repeat(sample_values, n_windows)


def _window_rows(samples: np.ndarray, n_windows: int) -> np.ndarray:
    """Rows of the windows of some samples."""
    return np.add.outer(samples * n_windows, np.arange(n_windows)).ravel().astype(np.int32)


def _plan_sampling(
    order: np.ndarray,
    weights: RowWeights,
    train: np.ndarray,
    *,
    max_windows: int | float | None,
    n_windows: int,
    draw: bool,
) -> Sampling:
    """Plan the draws of a forest's trees; with `max_windows`, all trees draw."""
    share = max_windows
    if isinstance(share, Integral):
        share = None if share >= n_windows else int(share) / n_windows
    try:
        return plan_sampling(
            order,
            weights,
            train=train,
            bootstrap=draw or share is not None,
            max_samples=share,
        )
    except ValueError as error:
        raise ValueError(
            f"max_windows must lead to less than 2^31 draws of windows for each tree, got "
            f"max_windows={max_windows!r} with {len(train)} windows: {error}"
        ) from error


def _tree_options(
    options: ForestOptions,
    sampling: Sampling,
    weights: RowWeights,
    *,
    completely_random: bool,
    n_columns: int,
) -> TreeOptions:
    # The minimum is a weight and not a number of windows, so that a weight of k is the same as k
    # copies.
    min_weight_leaf = 0.0
    if options.min_samples_leaf > 1:
        total = sampling.n_draws or _total_weight(weights, sampling.rows)
        least = min(options.min_samples_leaf, 2 * total) * (1 - _ROUNDING)
        min_weight_leaf = least / total
    return TreeOptions(
        random_thresholds=completely_random,
        max_features=1 if completely_random else resolve_max_features("sqrt", n_columns),
        max_depth=min(int(options.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
        min_weight_leaf=min_weight_leaf,
    )


def _total_weight(weights: RowWeights, rows: np.ndarray) -> float:
    """Number of windows, in which whole weights count as copies."""
    if weights.row is not None and whole_weights(weights.row):
        return float(weights.row[rows].sum())
    return len(rows)


def column_bounds(specs: list[WindowSpec], n_classes: int) -> np.ndarray:
    """First column and end of every window size and forest, of shape (n_windows, 2, 2)."""
    sizes = np.repeat([prod(spec.pooled) * n_classes for spec in specs], len(FORESTS))
    last = np.cumsum(sizes)
    return np.stack([last - sizes, last], axis=1).reshape(len(specs), len(FORESTS), 2)
