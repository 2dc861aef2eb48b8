"""Estimates of the memory that a fit takes, from the size of a table and the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.rounds import MOST_TIMES, N_ROUNDS
from mddf._layers.presets import preset_named

# The constants bound measured peaks from above. On 20000 rows of 20 columns a deep forest took
# 237 MB (two classes; estimate 292) and 247 MB (regression; estimate 274), on 8000 rows of ten
# classes 175 MB (estimate 289). Boosting of ten classes took 22 MB (estimate 96).
_MEGABYTE = 2**20
_BYTES_PER_CELL = 30
_BYTES_PER_TREE_AND_ROW = 24
_BYTES_PER_PREDICTION = 800
_BYTES_PER_LEAF = 16
_BYTES_PER_SCORE = 128
# Depth of symmetric trees if max_depth is None, and their largest depth.
_SYMMETRIC_DEPTH = 6
_DEEPEST_SYMMETRIC = 16


def deep_forest_bytes(
    n_rows: int, n_columns: int, n_classes: int | None, parameters: Mapping[str, Any]
) -> int:
    """Estimate the memory in bytes that a fit of a deep forest adds to its process.

    `n_classes` is None for regression. Absent `parameters` of the estimator have their defaults.
    """
    preset = preset_named(parameters.get("preset", "default"))
    n_trees = _whole_number(parameters.get("n_estimators")) or preset.n_estimators
    n_outputs = max(n_classes or 1, 1)
    table = n_rows * n_columns * _BYTES_PER_CELL
    forests = n_rows * n_trees * (_BYTES_PER_TREE_AND_ROW + n_outputs)
    predictions = n_rows * n_outputs * _BYTES_PER_PREDICTION
    return int(200 * _MEGABYTE + table + forests + predictions)


def gradient_boosting_bytes(
    n_rows: int, n_columns: int, n_classes: int | None, parameters: Mapping[str, Any]
) -> int:
    """Estimate the memory in bytes that a fit of gradient boosting adds to its process.

    The parameters have the same meaning as in `deep_forest_bytes`.
    """
    defaults = GradientBoostingClassifier().get_params()
    stops_early = bool(parameters.get("early_stopping", True))
    most = MOST_TIMES * N_ROUNDS if stops_early else N_ROUNDS
    n_rounds = _whole_number(parameters.get("max_iter")) or most
    n_outputs = max(n_classes or 1, 1)
    n_leaves = _leaves_per_tree(defaults | dict(parameters), n_rows)
    table = n_rows * (n_columns * _BYTES_PER_CELL + n_outputs * _BYTES_PER_SCORE)
    trees = n_rounds * n_outputs * n_leaves * _BYTES_PER_LEAF
    return int(50 * _MEGABYTE + table + trees)


def _leaves_per_tree(parameters: Mapping[str, Any], n_rows: int) -> int:
    """Upper bound of the number of leaves of a boosted tree."""
    max_depth = _whole_number(parameters["max_depth"])
    if parameters["grow_policy"] == "symmetric":
        return int(2 ** min(max_depth or _SYMMETRIC_DEPTH, _DEEPEST_SYMMETRIC))
    n_leaves = _whole_number(parameters["max_leaf_nodes"]) or n_rows
    if max_depth is not None and max_depth < _DEEPEST_SYMMETRIC:
        n_leaves = min(n_leaves, 2**max_depth)
    return min(n_leaves, n_rows)


def _whole_number(value: object) -> int | None:
    """The value; None if it is None, "auto", or a space that a search draws from."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if is_whole else None  # type: ignore[call-overload]
