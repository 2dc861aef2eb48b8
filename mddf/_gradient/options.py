"""Parameters of gradient boosting, and their conversion to the options of the kernel."""

from __future__ import annotations

from collections.abc import Set
from itertools import combinations
from math import comb
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from mddf import _core
from mddf._base.messages import short, warn
from mddf._base.validation import MOST, is_list, monotonic_signs, resolve_max_features
from mddf._binning.binned_table import BinnedTable
from mddf._binning.column_table import ColumnTable
from mddf._gradient.losses import QUANTILE_LEAVES, TargetKind
from mddf._gradient.target_statistics import Encoding
from mddf._input.date_columns import column_sources

if TYPE_CHECKING:
    from mddf._gradient.base import GradientBoosting

# Values of `grow_policy`.
SYMMETRIC = "symmetric"
LEAF_WISE = "leaf-wise"
# Values of `split_score`.
NEWTON = "newton"
GRADIENT = "gradient"
# Largest number of groups times features in `interaction_cst`. Each takes a byte, so that the
# groups take at most 256 MiB.
_MAX_GROUP_CELLS = 2**28
# Depth of symmetric trees if no race chooses it; CatBoost has the same default.
_DEFAULT_DEPTH = 6
# Largest depth of symmetric trees: the kernel numbers their 2**16 leaves by 16 bits.
_MAX_DEPTH = 16
# Default and largest number of leaves of leaf-wise trees. LightGBM and scikit-learn have the same
# default; the kernel numbers leaves by 16 bits.
LEAVES = 31
MOST_LEAVES = 65535
AUTO = "auto"
# Values of "auto" if no race chooses others. The race starts from them, and on most tables keeps
# them: weaker regularisation lowers the loss only if classes follow from the features.
PLAIN = {"max_features": 0.5, "l2_regularization": 3.0, "subsample": 0.8}
_LEARNING_RATE = 0.05
# Values of "auto" for tables with more rows. At the lower rate, 1000 trees are too few for 200 000
# rows with interactions: the log-loss was 0.4005 instead of 0.3741, and 0.3714 with all features.
_MAX_ROWS_OF_SMALL_TABLES = 100_000
_LEARNING_RATE_OF_LARGE_TABLES = 0.15
_MAX_FEATURES_OF_LARGE_TABLES = 1.0
# Symmetric trees of large tables are deeper and have a lower rate than 0.15. On 200 000 rows, the
# root mean squared error was 1.0345 instead of 1.0516 with depth 6 and the rate 0.15. Log-losses
# of two tables were 0.3694 instead of 0.3706, and 0.3822 instead of 0.3911. The losses of four
# real tables with 14 000 to 33 000 training rows were also lower.
_DEPTH_OF_LARGE_TABLES = 8
_SYMMETRIC_LEARNING_RATE_OF_LARGE_TABLES = 0.1
# Penalty on the squared slopes of linear leaves, where positions reach from -1 to 1. Errors on
# five regression sets, relative to constant leaves: 0.954 with 0.3, 0.951 with 1, 0.956 with 3,
# and 0.963 with 10.
_SLOPE_L2 = 1.0


def warn_of_ignored(model: GradientBoosting) -> None:
    """Warn of a parameter without effect; an error would break a search over both policies."""
    if model.grow_policy == SYMMETRIC and model.max_leaf_nodes not in (None, LEAVES):
        warn(
            f"max_leaf_nodes={model.max_leaf_nodes!r} has no effect with "
            "grow_policy='symmetric': max_depth limits these trees. Pass max_depth, or "
            "grow_policy='leaf-wise'",
            kind="max_leaf_nodes without effect",
        )


def is_auto(model: GradientBoosting, parameter: str) -> bool:
    value = getattr(model, parameter)
    return isinstance(value, str) and value == AUTO


def scores_by_loss(model: GradientBoosting) -> bool:
    """Whether held-out rows are scored by the loss, not by a scorer."""
    return isinstance(model.scoring, str) and model.scoring == "loss"


def value_of(model: GradientBoosting, parameter: str, n_rows: int) -> Any:
    """Value of a parameter of `PLAIN` for a table of `n_rows` rows, with "auto" replaced."""
    if not is_auto(model, parameter):
        return getattr(model, parameter)
    if parameter == "max_features" and n_rows > _MAX_ROWS_OF_SMALL_TABLES:
        return _MAX_FEATURES_OF_LARGE_TABLES
    return PLAIN[parameter]


def has_linear_leaves(model: GradientBoosting) -> bool:
    """Whether leaves are linear functions; "auto" means constants until held-out rows decide."""
    return not is_auto(model, "linear_leaves") and bool(model.linear_leaves)


def may_have_linear_leaves(model: GradientBoosting) -> bool:
    """Whether the other parameters allow linear leaves."""
    return _obstacle_to_linear_leaves(model) is None


def _obstacle_to_linear_leaves(model: GradientBoosting) -> str | None:
    """Name of a parameter that linear leaves do not go with."""
    if isinstance(model.loss, str) and model.loss in QUANTILE_LEAVES:
        return "loss"
    return None if model.monotonic_cst is None else "monotonic_cst"


def may_have_gradient_scores(model: GradientBoosting) -> bool:
    """Whether the other parameters allow splits to be scored without second derivatives."""
    return model.monotonic_cst is None


def _refuse_gradient_scores(model: GradientBoosting) -> None:
    if model.split_score == GRADIENT and not may_have_gradient_scores(model):
        raise ValueError(
            f"split_score must be 'newton' or 'auto' with monotonic_cst, got {model.split_score!r}"
        )


def _refuse_linear_leaves(model: GradientBoosting) -> None:
    obstacle = _obstacle_to_linear_leaves(model)
    if has_linear_leaves(model) and obstacle is not None:
        raise ValueError(
            "linear_leaves must be False or 'auto' with monotonic_cst, and with the losses "
            f"'absolute_error' and 'quantile', got {model.linear_leaves!r} with "
            f"{obstacle}={short(getattr(model, obstacle))}"
        )


def learning_rate_of(model: GradientBoosting, n_rows: int) -> float:
    """Learning rate for a table with this number of rows."""
    if not is_auto(model, "learning_rate"):
        return float(model.learning_rate)
    if n_rows <= _MAX_ROWS_OF_SMALL_TABLES:
        return _LEARNING_RATE
    if model.grow_policy == SYMMETRIC:
        return _SYMMETRIC_LEARNING_RATE_OF_LARGE_TABLES
    return _LEARNING_RATE_OF_LARGE_TABLES


def _depth_of(model: GradientBoosting, n_rows: int) -> int:
    """Largest depth for a table with this number of rows; 0 is no limit."""
    if model.max_depth is not None:
        return int(model.max_depth)
    if model.grow_policy != SYMMETRIC:
        return 0
    return _DEPTH_OF_LARGE_TABLES if n_rows > _MAX_ROWS_OF_SMALL_TABLES else _DEFAULT_DEPTH


def kernel_options(
    model: GradientBoosting,
    table: BinnedTable | ColumnTable,
    target: TargetKind,
    categorical: np.ndarray,
    encoding: Encoding | None = None,
    *,
    most_features: int = MOST,
    n_rows: int | None = None,
) -> _core.BoostOptions:
    """Check the parameters against a table and a target, and convert them for the kernel.

    If the table is a shard, `n_rows` is the number of rows of all shards.
    """
    _refuse_linear_leaves(model)
    _refuse_gradient_scores(model)
    n_features = table.bins.n_columns + (0 if encoding is None else encoding.n_columns)
    n_rows = table.n_rows if n_rows is None else n_rows
    max_features = value_of(model, "max_features", n_rows)
    symmetric = model.grow_policy == SYMMETRIC
    depth = _depth_of(model, n_rows)
    if symmetric and depth > _MAX_DEPTH:
        raise ValueError(
            f"max_depth must be at most {_MAX_DEPTH} with grow_policy='symmetric', whose trees "
            f"have 2**max_depth leaves, got {model.max_depth!r}"
        )
    monotonic = monotonic_signs(model, categorical, target.n_scores)
    interactions = interaction_groups(model.interaction_cst, model.n_features_in_)
    if interactions is not None:  # parts of a date belong to the groups of its column
        interactions = np.ascontiguousarray(interactions[:, column_sources(model)])
    if encoding is not None:
        monotonic, interactions = encoding.extended(monotonic, interactions)
    return _core.BoostOptions(
        target.kernel_loss,
        n_classes=max(2, target.n_classes),
        symmetric=symmetric,
        learning_rate=learning_rate_of(model, n_rows),
        max_depth=min(depth, MOST),
        max_leaf_nodes=int(model.max_leaf_nodes or MOST_LEAVES),
        min_samples_leaf=min(int(model.min_samples_leaf), MOST),
        l2=float(value_of(model, "l2_regularization", n_rows)),
        max_features=min(resolve_max_features(max_features, n_features), most_features),
        subsample=float(value_of(model, "subsample", n_rows)),
        quantile=model._loss_quantile(),
        tweedie_power=target.tweedie_power,
        n_outputs=1 if target.kernel_loss == "softmax" else target.n_scores,
        monotonic=monotonic,
        n_copies=1 if encoding is None else encoding.n_copies,
        interactions=interactions,
        slope_l2=_SLOPE_L2 if has_linear_leaves(model) else None,
        newton_splits=model.split_score != GRADIENT,
    )


def interaction_groups(interaction_cst: Any, n_features: int) -> np.ndarray | None:
    """Mark the features of each group of `interaction_cst`: uint8 (n_groups, n_features)."""
    if interaction_cst is None:
        return None
    groups = interaction_cst
    n_groups = len(groups)
    if isinstance(groups, str):
        size = 1 if groups == "no_interactions" else 2
        n_groups = comb(n_features, size)
        groups = combinations(range(n_features), size)
    if n_groups * n_features > _MAX_GROUP_CELLS:
        raise ValueError(
            f"interaction_cst must have at most {_MAX_GROUP_CELLS // n_features} groups of "
            f"{n_features} features, got {n_groups}"
        )
    is_member = np.zeros((n_groups + 1, n_features), np.uint8)
    for row, group in zip(is_member, groups, strict=False):
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
    # Features in no group form a last group. If there are none, its row is dropped.
    ungrouped = ~is_member.any(axis=0)
    is_member[-1] = ungrouped
    return is_member if ungrouped.any() else is_member[:-1]
