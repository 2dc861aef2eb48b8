"""What gradient boosting is given: rows and constraints, checked."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_monotonic_cst

from mddf._base.messages import short
from mddf._data.binned_table import BinnedTable, coded_table
from mddf._data.levels import Levels
from mddf._data.sampling import row_hashes
from mddf._data.validation import is_list, naming

# What `grow_policy` may be.
SYMMETRIC, LEAF_WISE = "symmetric", "leaf-wise"
# Groups of features times features.
_MOST_GROUPED = 2**28
# Weights beyond these powers of two are scaled.
_MOST_EXPONENT = 40


@dataclass(frozen=True)
class Rows:
    """A coded table, what is boosted, and on which rows.

    Attributes
    ----------
    table : BinnedTable
    y : ndarray of float64 of shape (n_rows,)
    weights : ndarray of float64 of shape (n_rows,) or None
    train, held_out : ndarray of int32
        Of weight above 0.
    levels : Levels or None
        Of the columns of many categories.
    """

    table: BinnedTable
    y: np.ndarray
    weights: np.ndarray | None
    train: np.ndarray
    held_out: np.ndarray
    levels: Levels | None = None

    @classmethod
    def of(
        cls,
        table: BinnedTable,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: Levels | None = None,
    ) -> Rows:
        """All rows that have weight are trained on."""
        train = np.arange(table.n_rows) if weights is None else np.flatnonzero(weights > 0)
        return cls(table, y, weights, train.astype(np.int32), np.zeros(0, np.int32), levels)

    @cached_property
    def keys(self) -> np.ndarray:
        """Of what rows hold, by which they are drawn: uint64 of shape (n_rows,)."""
        ranks = np.searchsorted(np.unique(self.y[self.train]), self.y)  # whatever its unit is
        return row_hashes(self.table.codes, ranks.astype(np.int64)[:, None])

    def folds(self, n_folds: int, labels: bool) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Parts of the training rows to train on, and those held out, by what rows hold.

        Equal rows are in one fold; if `y` has labels, each fold has its share of each. One of
        which there are no two different rows is never held out. None if a fold would be empty.
        """
        keys, y = self.keys[self.train], self.y[self.train]
        order = np.lexsort((keys, y)) if labels else np.argsort(keys, kind="stable")
        is_new = np.append(True, np.diff(keys[order].view(np.int64)) != 0)
        number = np.cumsum(is_new) - 1
        fold = np.empty(len(keys), np.int64)
        fold[order] = number % n_folds
        if labels:
            n_different = np.bincount(y[order].astype(int), is_new)
            fold[n_different[y.astype(int)] < 2] = n_folds
        if np.any(np.bincount(fold, minlength=n_folds)[:n_folds] == 0):
            return None
        return [(self.train[fold != k], self.train[fold == k]) for k in range(n_folds)]

    def with_others(
        self,
        codes: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: Levels | None = None,
    ) -> Rows:
        """With the rows of another table, which are held out."""
        both = np.vstack([self.table.codes, codes])
        n = self.table.n_rows
        held_out = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        joined = None
        if self.weights is not None or weights is not None:
            parts = zip((self.weights, weights), (n, len(y)), strict=True)
            joined = np.concatenate([np.ones(k) if w is None else w for w, k in parts])
        return Rows(
            coded_table(self.table.bins, both),
            np.concatenate([self.y, y]),
            joined,
            self.train,
            (n + held_out).astype(np.int32),
            None if self.levels is None or levels is None else self.levels.and_others(levels),
        )


def drawn_entropy(random_state: Any) -> list[int]:
    """What all seeds of a fit come from."""
    return check_random_state(random_state).randint(0, 2**32, 4, dtype=np.uint64).tolist()


def within_range(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights as they are, or times a power of two if they are very large or very small."""
    if weights is None:
        return None
    exponent = np.frexp(weights.max())[1]
    return weights if abs(exponent) <= _MOST_EXPONENT else np.ldexp(weights, -exponent)


def monotonic_signs(estimator: Any, target: Any, categorical: np.ndarray) -> np.ndarray | None:
    """Signs of the features from `monotonic_cst`, None if all are 0."""
    given = estimator.monotonic_cst
    if not (given is None or isinstance(given, dict) or is_list(given)):
        raise ValueError(f"monotonic_cst must have a sign for each feature, got {short(given)}")
    with naming("monotonic_cst"):
        signs = _check_monotonic_cst(estimator, estimator.monotonic_cst).astype(np.int8)
    if not signs.any():
        return None
    if np.any(signs[categorical]):
        raise ValueError("monotonic_cst must be 0 for categories, got a constraint on one")
    if target.n_scores > 1:
        raise ValueError(
            "monotonic_cst is for one score, that of the second class of two, got constraints and "
            f"{target.n_scores} classes"
        )
    return signs


def interaction_groups(interaction_cst: Any, n_features: int) -> np.ndarray | None:
    """Which features each group holds, from `interaction_cst`: uint8 (n_groups, n_features)."""
    if interaction_cst is None:
        return None
    groups: Any = interaction_cst
    n_groups = len(groups)
    if isinstance(groups, str):
        size = 1 if groups == "no_interactions" else 2
        n_groups = comb(n_features, size)
        groups = combinations(range(n_features), size)
    if n_groups * n_features > _MOST_GROUPED:
        raise ValueError(
            f"interaction_cst must have at most {_MOST_GROUPED // n_features} groups of "
            f"{n_features} features, got {n_groups}"
        )
    found = np.zeros((n_groups + 1, n_features), np.uint8)
    for row, group in zip(found, groups, strict=False):
        if not is_list(group) and not isinstance(group, Set):
            raise ValueError(
                "interaction_cst must be a list of lists of feature numbers, "
                f"got {short(group)} in it"
            )
        for feature in group:
            if not (isinstance(feature, Integral) and 0 <= int(feature) < n_features):
                raise ValueError(
                    f"interaction_cst must have feature numbers from 0 to {n_features - 1}, "
                    f"got {short(feature)}"
                )
            row[feature] = 1
    rest = ~found.any(axis=0)
    found[-1] = rest
    return found if rest.any() else found[:-1]
