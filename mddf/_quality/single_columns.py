"""Skill of a single column as a predictor of the target, out-of-fold on halves of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._quality.columns import DataColumn
from mddf._quality.target import Target

# Numbers with more different values are binned. 64 bins explain at least 99.9 % of a monotone
# relation.
_MAX_VALUES = 256
_N_BINS = 64
# Limits of bins are also quantiles of each class, so that a few rows of a rare class at the end of
# a column have bins of their own. More quantiles would split such rows into bins of too few rows.
_N_CLASS_QUANTILES = 4
# More classes are merged into one, which bounds the time. The most frequent classes are kept.
_MAX_CLASSES = 20
# A bin's mean is drawn to the mean of all rows as if the bin had this many rows more.
_PRIOR_ROWS = 0.5
# With fewer rows, a column may predict both halves by chance.
MIN_ROWS = 20


@dataclass(frozen=True)
class HalvedTarget:
    """Sums of the target that do not depend on the column, and the half of each row.

    A classification target is one output of 0 and 1 for each class; a regression target is one
    output. `outputs` are the codes of classes or None, `numbers` the numbers or None.
    """

    half: np.ndarray
    outputs: np.ndarray | None
    n_outputs: int
    numbers: np.ndarray | None

    @classmethod
    def from_target(cls, target: Target, rows: np.ndarray) -> HalvedTarget:
        """Halve some rows of a target at random; the same rows give the same halves."""
        half = np.random.default_rng(0).permutation(len(rows)) % 2
        if target.class_codes is None:
            assert target.ranks is not None
            return cls(half, None, 1, target.ranks[rows])
        codes = target.class_codes[rows]
        counts = np.bincount(codes)
        if len(counts) > _MAX_CLASSES:
            order = np.argsort(-counts, kind="stable")
            merged = np.empty(len(counts), dtype=np.int64)
            merged[order] = np.minimum(np.arange(len(counts)), _MAX_CLASSES - 1)
            codes = merged[codes]
        return cls(half, codes, int(codes.max()) + 1, None)


def skill(bins: np.ndarray, n_bins: int, target: HalvedTarget) -> float:
    """Share of the target's variance that the means of bins explain on the other half.

    For classes, it is the share of the Brier score of a model without features. It is negative
    if the bins are worse than no feature.
    """
    cells = target.half * n_bins + bins
    counts = np.bincount(cells, minlength=2 * n_bins).reshape(2, n_bins, 1).astype(float)
    shape = (2, n_bins, target.n_outputs)
    if target.outputs is None:
        sums = np.bincount(cells, target.numbers, minlength=2 * n_bins).reshape(shape)
        assert target.numbers is not None
        squares = np.bincount(target.half, np.square(target.numbers), minlength=2)
    else:
        places = cells * target.n_outputs + target.outputs
        sums = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape).astype(float)
        squares = counts.sum(axis=(1, 2))
    error = 0.0
    error_without = 0.0
    for train, test in ((0, 1), (1, 0)):
        mean = sums[train].sum(axis=0) / counts[train].sum()
        means = (sums[train] + _PRIOR_ROWS * mean) / (counts[train] + _PRIOR_ROWS)
        error += squares[test] + float(
            (counts[test] * means**2).sum() - 2 * (sums[test] * means).sum()
        )
        error_without += squares[test] + float(
            counts[test].sum() * (mean**2).sum() - 2 * (sums[test] * mean).sum()
        )
    return 1 - error / error_without if error_without > 0 else 0.0


def column_skill(column: DataColumn, rows: np.ndarray, target: HalvedTarget) -> float:
    """Skill of a column on the rows of the target; missing cells have a bin of their own."""
    bins, n_bins = _bins(column, rows, target)
    return skill(bins, n_bins, target)


def _bins(column: DataColumn, rows: np.ndarray, target: HalvedTarget) -> tuple[np.ndarray, int]:
    if column.codes is not None:
        n_levels = len(column.levels)
        codes = column.codes[rows]
        return np.where(codes < 0, n_levels, codes), n_levels + 1
    assert column.numbers is not None
    values = column.numbers[rows]
    present = values[~np.isnan(values)]
    if not len(present):
        return np.zeros(len(rows), np.int64), 1
    limits = np.sort(present)
    is_first = np.append(True, limits[1:] != limits[:-1])
    if np.count_nonzero(is_first) <= _MAX_VALUES:
        limits = limits[is_first]
    else:
        limits = limits[np.linspace(0, len(limits) - 1, _N_BINS).astype(np.int64)]
        if target.outputs is not None:
            limits = np.append(limits, _class_quantiles(values, target))
        limits = np.unique(limits)
    bins = np.searchsorted(limits, values, side="right")
    # NaN is sorted to the end: it shares no bin with the largest number.
    bins[np.isnan(values)] = len(limits) + 1
    return bins, len(limits) + 2


def _class_quantiles(values: np.ndarray, target: HalvedTarget) -> np.ndarray:
    """Quantiles of the column within each class."""
    assert target.outputs is not None
    quantiles = []
    for output in range(target.n_outputs):
        of_class = values[target.outputs == output]
        of_class = of_class[~np.isnan(of_class)]
        if len(of_class):
            places = np.linspace(0, len(of_class) - 1, _N_CLASS_QUANTILES).astype(np.int64)
            quantiles.append(np.partition(of_class, np.unique(places))[places])
    return np.concatenate(quantiles)
