"""Parameters of forests: allowed values, and the kernel's options for trees."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

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


def _count_samples(value: float, n_samples: int, least: int) -> int:
    """Convert a number or share of samples to a number of at most `n_samples` + 1."""
    if isinstance(value, Integral):
        # One more than there are means the same as any larger number, and fits into 32 bits.
        return min(int(value), n_samples + 1)
    return max(least, int(np.ceil(value * n_samples)))


_LOSSES = {
    "squared_error": Loss.SQUARED_ERROR,
    # Friedman's criterion differs from the squared error by a factor that a node's splits share.
    "friedman_mse": Loss.SQUARED_ERROR,
    "absolute_error": Loss.ABSOLUTE_ERROR,
    "poisson": Loss.POISSON,
    # Several outputs are learned as indicators of their classes, by the same losses.
    "gini": Loss.SQUARED_ERROR,
    "entropy": Loss.ENTROPY,
    "log_loss": Loss.ENTROPY,
}
ENTROPIES = frozenset({"entropy", "log_loss"})
CLASS_CRITERIA = ENTROPIES | {"gini"}
REGRESSION_CRITERIA = frozenset(_LOSSES) - CLASS_CRITERIA
# The natural logarithm of 2: the kernel has entropies in nats, users have them in bits.
_NATS_PER_BIT = 0.6931471805599453


def _impurity_in_kernel_unit(
    impurity: float, criterion: str, values: Values | ClassOutputs | None
) -> float:
    """Convert an impurity of the user, the mean over the outputs, to the kernel's unit.

    The user's entropies are in bits, errors in the unit of y or its square. `values` is None for
    the classes of one output.
    """
    if not isinstance(values, Values):
        n_outputs = 1 if values is None else len(values.classes)
        every_class = values is None or values.every_class
        # An output of two classes may be learned as one indicator, whose variance is half of the
        # Gini impurity.
        gini_unit = 1.0 if every_class else 0.5
        return impurity * n_outputs * (_NATS_PER_BIT if criterion in ENTROPIES else gini_unit)
    power = 2 if _LOSSES[criterion] == Loss.SQUARED_ERROR else 1
    with np.errstate(over="ignore", under="ignore"):
        unit = -power * int(values.exponents.max())
        return float(np.ldexp(impurity * len(values.exponents), unit))


class ForestParameters(Protocol):
    """Parameters of a forest that describe its trees."""

    _random_thresholds: ClassVar[bool]
    criterion: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    max_features: str | float | None


def tree_options(
    forest: ForestParameters,
    n_samples: int,
    n_features: int,
    values: Values | ClassOutputs | None = None,
    monotonic: np.ndarray | None = None,
) -> TreeOptions:
    """Convert a forest's parameters to the kernel's options.

    `values` is None for the classes of one output; `monotonic` has a sign for each column.
    """
    min_decrease = _impurity_in_kernel_unit(
        float(forest.min_impurity_decrease), forest.criterion, values
    )
    prune = _impurity_in_kernel_unit(float(forest.ccp_alpha), forest.criterion, values)
    return TreeOptions(
        entropy=forest.criterion in ENTROPIES,
        random_thresholds=forest._random_thresholds,
        max_features=resolve_max_features(forest.max_features, n_features),
        max_depth=min(int(forest.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
        min_samples_split=_count_samples(forest.min_samples_split, n_samples, 2),
        min_samples_leaf=_count_samples(forest.min_samples_leaf, n_samples, 1),
        min_weight_leaf=float(forest.min_weight_fraction_leaf),
        max_leaf_nodes=min(int(forest.max_leaf_nodes or 0), grower.NO_DEPTH_LIMIT),
        min_decrease=min_decrease,
        prune=prune,
        loss=_LOSSES[forest.criterion],
        monotonic=monotonic,
    )
