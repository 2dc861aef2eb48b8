"""What the kernel boosts by, from the parameters of gradient boosting."""

from __future__ import annotations

from collections.abc import Set
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.messages import short
from mddf._base.validation import MOST, is_list, monotonic_signs, resolve_max_features
from mddf._binning.binned_table import BinnedTable
from mddf._gradient.target_encoding import Encoding

# What `grow_policy` may be.
SYMMETRIC, LEAF_WISE = "symmetric", "leaf-wise"
# Groups of features times features.
_MOST_GROUPED = 2**28
# Of symmetric trees, by default.
_DEPTH, _DEEPEST = 6, 16
MOST_LEAVES = 65535
# What "auto" stands for where nothing is chosen.
AUTO, PLAIN = "auto", {"max_features": 0.5, "l2_regularization": 3.0, "subsample": 0.8}


def is_auto(model: Any, parameter: str) -> bool:
    """Whether a parameter of `PLAIN` is left to gradient boosting."""
    value = getattr(model, parameter)
    return isinstance(value, str) and value == AUTO


def value_of(model: Any, parameter: str) -> Any:
    """A parameter of `PLAIN`, or what "auto" stands for."""
    return PLAIN[parameter] if is_auto(model, parameter) else getattr(model, parameter)


def kernel_options(
    model: Any,
    table: BinnedTable,
    target: Any,
    categorical: np.ndarray,
    encoding: Encoding | None = None,
    most_features: int = MOST,
) -> _core.BoostOptions:
    """What the kernel boosts by: all parameters, checked against a table and a target."""
    n_features = table.bins.n_columns + (0 if encoding is None else encoding.n_columns)
    symmetric = model.grow_policy == SYMMETRIC
    depth = model.max_depth or (_DEPTH if symmetric else 0)
    if symmetric and depth > _DEEPEST:
        raise ValueError(
            f"max_depth must be at most {_DEEPEST} with grow_policy='symmetric', whose trees "
            f"have 2**max_depth leaves, got {model.max_depth!r}"
        )
    monotonic = monotonic_signs(model, categorical, target.n_scores)
    interactions = interaction_groups(model.interaction_cst, model.n_features_in_)
    if encoding is not None:
        monotonic, interactions = encoding.extended(monotonic, interactions)
    return _core.BoostOptions(
        target.kernel_loss,
        n_classes=max(2, target.n_classes),
        symmetric=symmetric,
        learning_rate=float(model.learning_rate),
        max_depth=min(int(depth), MOST),
        max_leaf_nodes=int(model.max_leaf_nodes or MOST_LEAVES),
        min_samples_leaf=min(int(model.min_samples_leaf), MOST),
        l2=float(value_of(model, "l2_regularization")),
        max_features=min(
            resolve_max_features(value_of(model, "max_features"), n_features), most_features
        ),
        subsample=float(value_of(model, "subsample")),
        quantile=model._quantile(),
        monotonic=monotonic,
        n_copies=1 if encoding is None else encoding.n_copies,
        interactions=interactions,
    )


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
