"""Columns of X that equal the target, which every fit looks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from mddf._base.elementary import log
from mddf._base.messages import warn

# As for the other warnings about rows: in fewer, examples often predict a column by itself.
_MIN_ROWS = 40
# Rows that refuse nearly all columns: for numbers, and for each class. The classes are those of a
# larger number of rows. Not tuned; the whole test takes less than 1 % of the time of a forest.
_N_FIRST_ROWS = 64
_N_ROWS_OF_CLASS = 8
_N_ROWS_FOR_CLASSES = 1024
# Chance, if the rows had random order, from which equality means nothing.
LOG_CHANCE = float(log(1e-5))


def log_chance(counts: np.ndarray) -> float:
    """Logarithm of the chance that rows in random order are divided into parts of these sizes."""
    return float(gammaln(counts + 1.0).sum() - gammaln(counts.sum() + 1.0))


class TargetCopies:
    """Search for columns that equal an output of the target wherever they are present.

    A column equals classes if it has one value for each of them.
    """

    def __init__(self, y: Any, *, are_classes: bool) -> None:
        labels = np.asarray(y)
        self._outputs = list(labels.reshape(len(labels), -1).T)
        self._are_classes = are_classes
        if not are_classes:
            self._outputs = [output.astype(np.float64) for output in self._outputs]

    def find(self, block: np.ndarray | sparse.csc_matrix) -> list[tuple[int, int]]:
        """Columns of a block that equal the target, and their numbers of present cells."""
        n_present_of = {}
        for labels in self._outputs:
            if len(labels) < _MIN_ROWS:
                continue
            for i in self._candidates(block, labels):
                column = _dense(block[:, [i]])[:, 0]
                present = ~np.isnan(column)
                n_present = int(np.count_nonzero(present))
                if n_present >= _MIN_ROWS and self._is_equal(column[present], labels[present]):
                    n_present_of[i] = n_present
        return sorted(n_present_of.items())

    def _candidates(self, block: np.ndarray | sparse.csc_matrix, labels: np.ndarray) -> list[int]:
        """Columns that equal the target in a few rows."""
        n_rows = len(labels)
        if not self._are_classes:
            rows = np.linspace(0, n_rows - 1, _N_FIRST_ROWS).astype(np.int64)
            cells = _dense(block[rows])
            right = _equal_in_single_precision(cells, labels[rows, np.newaxis]) | np.isnan(cells)
            return np.flatnonzero(right.all(axis=0)).tolist()
        step = -(-n_rows // _N_ROWS_FOR_CLASSES)
        codes = _label_codes(labels[::step])
        if codes.max() == 0:
            step = 1
            codes = _label_codes(labels)
        places = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[places], np.arange(codes.max() + 1))
        rank = np.arange(len(places)) - starts[codes[places]]
        chosen = places[rank < _N_ROWS_OF_CLASS]
        cells = _dense(block[step * chosen])
        starts = np.searchsorted(codes[chosen], np.arange(codes.max() + 1))
        # These ignore NaN.
        least = np.fmin.reduceat(cells, starts, axis=0)
        largest = np.fmax.reduceat(cells, starts, axis=0)
        wrong = (least != largest) & ~np.isnan(least)
        return np.flatnonzero(~wrong.any(axis=0)).tolist()

    def _is_equal(self, cells: np.ndarray, labels: np.ndarray) -> bool:
        if not self._are_classes:
            return bool(
                _equal_in_single_precision(cells, labels).all() and labels.min() < labels.max()
            )
        codes = _label_codes(labels)
        value = np.empty(codes.max() + 1, cells.dtype)
        value[codes] = cells
        return (
            bool(np.all(cells == value[codes]))
            and len(np.unique(value)) == len(value) > 1
            and log_chance(np.bincount(codes)) < LOG_CHANCE
        )


def _dense(cells: Any) -> np.ndarray:
    return np.asarray(cells.toarray() if sparse.issparse(cells) else cells)


def _equal_in_single_precision(cells: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Whether cells equal numbers, perhaps in single precision."""
    with np.errstate(over="ignore"):
        return np.asarray((cells == numbers) | (cells == numbers.astype(np.float32)))


def _label_codes(labels: np.ndarray) -> np.ndarray:
    # Labels of several types cannot be sorted.
    texts = labels.astype(str) if labels.dtype.kind == "O" else labels
    return np.unique(texts, return_inverse=True)[1]


def warn_of_copy(place: str, n_present: int) -> None:
    warn(
        f"column {place} equals the target in all {n_present} rows in which it is present: the "
        "model only copies it. Leave the column out of X, unless it is known when you predict",
        kind=f"target in column {place}",
    )
