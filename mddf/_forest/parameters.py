"""Parameters of forests: what is allowed, and what they mean for a tree."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import RealNotInt, StrOptions

from mddf._core import TreeOptions
from mddf._data.validation import COUNT, JOBS, MAX_FEATURES, Within, resolve_max_features
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
    "max_features": MAX_FEATURES,
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


def tree_options(forest: Any, n_samples: int, n_features: int) -> TreeOptions:
    """How trees are grown, from a forest's parameters and the shape of the table."""
    return TreeOptions(
        entropy=forest.criterion in ("entropy", "log_loss"),
        random_thresholds=forest._random_thresholds,
        max_features=resolve_max_features(forest.max_features, n_features),
        max_depth=min(int(forest.max_depth or grower.NO_DEPTH_LIMIT), grower.NO_DEPTH_LIMIT),
        min_samples_split=_as_count(forest.min_samples_split, n_samples, 2),
        min_samples_leaf=_as_count(forest.min_samples_leaf, n_samples, 1),
        min_weight_leaf=float(forest.min_weight_fraction_leaf),
    )
