"""Parameters of forests: what is allowed, and what they mean for a tree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import RealNotInt, StrOptions

from mddf._base.validation import (
    COUNT,
    JOBS,
    Within,
    finite,
    max_features_among,
    resolve_max_features,
)
from mddf._core import Loss, TreeOptions
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Values
from mddf._trees import grower

CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [COUNT],
    "max_depth": [Within(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Within(Integral, 2, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="right"),
    ],
    "min_samples_leaf": [
        Within(Integral, 1, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Within(Real, 0, 0.5, closed="both")],
    "max_leaf_nodes": [Within(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [finite()],
    "ccp_alpha": [finite()],
    "monotonic_cst": ["array-like", dict, None],
    "max_features": max_features_among("sqrt", "log2"),
    "bootstrap": ["boolean"],
    "max_samples": [
        None,
        Within(RealNotInt, 0, None, closed="neither"),
        Within(Integral, 1, None, closed="left"),
    ],
    "oob_score": ["boolean", callable],
    "n_jobs": JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "max_bins": [Within(Integral, 2, 255, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
}


def _as_count(value: Any, n_samples: int, least: int) -> int:
    """A number of samples given as such or as a share; more than there are is one more."""
    if isinstance(value, Integral):
        return min(int(value), n_samples + 1)
    return max(least, int(np.ceil(value * n_samples)))


_LOSSES = {
    "squared_error": Loss.SQUARED_ERROR,
    "friedman_mse": Loss.SQUARED_ERROR,  # which always had the same splits
    "absolute_error": Loss.ABSOLUTE_ERROR,
    "poisson": Loss.POISSON,
    # Of several outputs, whose classes are numbers, too.
    "gini": Loss.SQUARED_ERROR,
    "entropy": Loss.ENTROPY,
    "log_loss": Loss.ENTROPY,
}
ENTROPIES = frozenset({"entropy", "log_loss"})
CLASS_CRITERIA = ENTROPIES | {"gini"}
REGRESSION_CRITERIA = frozenset(_LOSSES) - CLASS_CRITERIA
_BIT = 0.6931471805599453  # the natural logarithm of 2


def in_unit_of_trees(
    impurity: float, criterion: str, values: Values | ClassOutputs | None
) -> float:
    """An impurity of a user's as the kernel has it.

    Parameters
    ----------
    impurity : float
        Of several outputs the mean. Entropies are in bits; by numbers, it is in units of y.
    criterion : str
    values : Values, ClassOutputs or None
        Numbers that are learnt; None for the classes of one output.
    """
    if not isinstance(values, Values):
        n_outputs = 1 if values is None else len(values.classes)
        every_class = values is None or values.every_class
        gini = 1.0 if every_class else 0.5  # of two classes, twice the variance
        return impurity * n_outputs * (_BIT if criterion in ENTROPIES else gini)
    power = 2 if _LOSSES[criterion] == Loss.SQUARED_ERROR else 1
    with np.errstate(over="ignore", under="ignore"):
        unit = -power * int(values.exponents.max())
        return float(np.ldexp(impurity * len(values.exponents), unit))


def tree_options(
    forest: Any,
    n_samples: int,
    n_features: int,
    values: Values | ClassOutputs | None = None,
    monotonic: np.ndarray | None = None,
) -> TreeOptions:
    """How trees are grown.

    Parameters
    ----------
    forest : Forest
        Whose parameters say so.
    n_samples, n_features : int
        The shape of the table.
    values : Values or ClassOutputs, default=None
        Numbers that are learnt; None for the classes of one output.
    monotonic : ndarray of int8 of shape (n_columns,), default=None
        Signs of constraints.
    """
    least, prune = (
        in_unit_of_trees(float(impurity), forest.criterion, values)
        for impurity in (forest.min_impurity_decrease, forest.ccp_alpha)
    )
    return TreeOptions(
        entropy=forest.criterion in ENTROPIES,
        random_thresholds=forest._random_thresholds,
        max_features=resolve_max_features(forest.max_features, n_features),
        max_depth=min(int(forest.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
        min_samples_split=_as_count(forest.min_samples_split, n_samples, 2),
        min_samples_leaf=_as_count(forest.min_samples_leaf, n_samples, 1),
        min_weight_leaf=float(forest.min_weight_fraction_leaf),
        max_leaf_nodes=min(int(forest.max_leaf_nodes or 0), grower.NO_DEPTH_LIMIT),
        min_decrease=least,
        prune=prune,
        loss=_LOSSES[forest.criterion],
        monotonic=monotonic,
    )
