"""What the kernel boosts by, from the parameters of gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf import _core
from mddf._data.binned_table import BinnedTable
from mddf._data.validation import MOST, resolve_max_features
from mddf._gradient.inputs import SYMMETRIC, interaction_groups, monotonic_signs
from mddf._gradient.statistics import Encoding

# Of symmetric trees, by default.
_DEPTH, _DEEPEST = 6, 16
MOST_LEAVES = 65535


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
    monotonic = monotonic_signs(model, target, categorical)
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
        l2=float(model.l2_regularization),
        max_features=min(resolve_max_features(model.max_features, n_features), most_features),
        subsample=float(model.subsample),
        quantile=model._quantile(),
        monotonic=monotonic,
        n_copies=1 if encoding is None else encoding.n_copies,
        interactions=interactions,
    )
