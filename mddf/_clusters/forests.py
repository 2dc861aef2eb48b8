"""Forests on rows that are divided among several processes.

Every process calls `fit_forest_shard` with its shard of the rows. The forest of rank 0 has the
trees that `fit` grows from all rows in one process, with the same bits. The order of the rows is
the order of the shards.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mddf._base.parallel import job_count
from mddf._base.validation import monotonic_signs
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._clusters.communication import Communicator
from mddf._clusters.forest_growth import GrownBlock, grow_divided
from mddf._clusters.forest_rows import Draws, Shard, places_in_order
from mddf._clusters.shard_bins import bin_shard
from mddf._clusters.shard_inputs import (
    RowsOfUser,
    ShardInputs,
    encode_shard_labels,
    read_shard,
    refuse_parameters,
)
from mddf._forest.base import Forest
from mddf._forest.classifiers import BaseForestClassifier
from mddf._forest.growth import ForestState
from mddf._forest.parameters import ENTROPIES
from mddf._forest.regressors import BaseForestRegressor, check_poisson_targets
from mddf._resampling.sampling import cumulative_weights, n_draws, row_hashes
from mddf._targets.class_outputs import several_outputs
from mddf._targets.kernel_targets import Classes, Values, read_values
from mddf._targets.target_validation import class_factors
from mddf._targets.weights import RowWeights, row_weights, scale_weights
from mddf._trees import grower

AnyForest = TypeVar("AnyForest", bound=Forest[Any])

# The kernel keeps the counts of rows with classes in 16 bits.
_MOST_COUNTED = 2**16 - 1
# The kernel adds up the counts of a class in 32 bits.
_MOST_WEIGHT = 2**32 - 1
# The kernel numbers the rows of a tree and its draws in 32 bits, as on one machine.
_MOST_ROWS = 2**31 - 2
# Targets of one shard.
_Target = Classes | Values


def check_forest(model: Forest[Any]) -> None:
    """Refuse parameters that need all rows in one process."""
    model._check_bootstrap()
    class_weight = getattr(model, "class_weight", None)
    is_subsample = isinstance(class_weight, str) and class_weight == "balanced_subsample"
    reasons = {
        "criterion": (
            model.criterion in ENTROPIES | {"absolute_error"},
            "'gini'"
            if isinstance(model, BaseForestClassifier)
            else "'squared_error', 'friedman_mse' or 'poisson'",
        ),
        "max_leaf_nodes": (model.max_leaf_nodes is not None, "None"),
        "oob_score": (bool(model.oob_score), "False"),
        "warm_start": (bool(model.warm_start), "False"),
        "bootstrap": (model.bootstrap == "balanced", "True or False"),
        "class_weight": (
            is_subsample or isinstance(class_weight, list),
            "a dict, 'balanced' or None",
        ),
        "keep_targets": (getattr(model, "keep_targets", None) is not None, "None"),
    }
    refuse_parameters(model, reasons)


def fit_forest_shard(
    model: AnyForest,
    rows: RowsOfUser,
    *,
    communicator: Communicator,
    entropy: list[int],
) -> AnyForest:
    """Fit a forest to the rows of all shards.

    Parameters
    ----------
    model : forest
        An estimator that is not fitted; it is returned. Only the estimator of rank 0 gets trees.
    rows : RowsOfUser
        Rows of this shard; at least one.
    communicator : Communicator
    entropy : list of int
        Entropy of the random draws.
    """
    check_forest(model)
    # 1. Read the table, the weights and the target.
    shard = read_shard(model, rows, scale_weights, communicator)
    if shard.n_all_rows > _MOST_ROWS:
        raise ValueError(f"X must have at most {_MOST_ROWS} rows, got {shard.n_all_rows}")
    target, weights = _read_forest_target(model, rows.y, shard, communicator)
    if weights.row is not None and not model.bootstrap:
        _refuse_other_than_counts(weights.row)
        if isinstance(target, Classes):
            _refuse_large_sum(weights.row)
    # 2. Bin the table.
    binner = Binner(model.categorical_features, model.max_bins, model.n_jobs)
    binned = bin_shard(binner, shard, shard.sample_weight, communicator)
    # 3. Grow the trees.
    seeds = grower.draw_seeds(entropy, model.n_estimators)
    draws = _plan_draws(
        model, binned, target, weights,
        own_weight=shard.own_part(weights.row), seeds=seeds, communicator=communicator,
    )  # fmt: skip
    signs = monotonic_signs(
        model, np.asarray(binned.bins.categorical, bool), model._n_scores(target)
    )
    is_classifier = isinstance(target, Classes)
    blocks = grow_divided(
        Shard(
            binned,
            target.key if is_classifier else np.ascontiguousarray(target.key[:, 0]),
            len(target.classes) if isinstance(target, Classes) else 0,
            draws,
        ),
        model._tree_options(shard.n_all_rows, binned.bins.n_columns, target, signs),
        communicator,
        n_jobs=job_count(model.n_jobs, model.n_estimators, require=None),
        n_all_rows=shard.n_all_rows,
        verbose=model.verbose,
    )
    # 4. Store the attributes.
    gathered_blocks = communicator.distribute(
        [blocks if rank == 0 else [] for rank in range(communicator.size)]
    )
    state = _state_of(
        [block for part in gathered_blocks for block in part],
        grower.most_trees_of_block(shard.n_all_rows),
        binned.bins.n_columns,
        entropy,
    )
    attributes = model._attributes(state, binner, target) | model._target_attributes(target)
    model.__dict__.update(attributes)
    return model


def _refuse_other_than_counts(weights: np.ndarray) -> None:
    """Refuse weights that do not count rows, whose sums in nodes would depend on the order."""
    is_count = (weights == np.rint(weights)) & (weights <= _MOST_COUNTED)
    if not is_count.all():
        raise ValueError(
            "sample_weight, times class_weight if there is one, must be whole numbers up to "
            f"{_MOST_COUNTED} with bootstrap=False if the rows are divided among workers, got "
            f"{weights[~is_count][0]:g}"
        )


def _refuse_large_sum(weights: np.ndarray) -> None:
    """Refuse weights whose sums in classes the kernel could not hold."""
    total = weights.sum()
    if total > _MOST_WEIGHT:
        raise ValueError(
            "sample_weight, times class_weight if there is one, must have a sum of at most "
            f"{_MOST_WEIGHT} with bootstrap=False if the rows are divided among workers, got "
            f"{total:.0f}"
        )


def _state_of(
    parts: list[GrownBlock], n_trees_of_block: int, n_columns: int, entropy: list[int]
) -> ForestState:
    """Join the parts of each block to the block that one process would have grown."""
    parts = sorted(parts, key=lambda part: part.first_tree)
    grown = grower.GrowthResult()
    for _, of_block in groupby(parts, lambda part: part.first_tree // n_trees_of_block):
        n_parts = 0
        for part in of_block:
            grown.merge_trees(part.trees, part.importances)
            n_parts += 1
        grown.join_trees(n_parts)
    importances = grown.importances
    if importances is None:
        importances = np.zeros(n_columns)
    return ForestState(entropy, grown.trees, np.zeros(n_columns) + importances)


def _read_forest_target(
    model: Forest[Any],
    y: npt.ArrayLike,
    shard: ShardInputs,
    communicator: Communicator,
) -> tuple[_Target, RowWeights]:
    """Targets of this shard, and the weights of the rows of all shards."""
    if isinstance(model, BaseForestClassifier):
        return _read_forest_classes(model, y, shard.sample_weight, communicator)
    assert isinstance(model, BaseForestRegressor)
    values = read_values(y)
    ends = shard.target_ends(values, communicator)
    if model.criterion == "poisson":
        check_poisson_targets(ends[:, None], None)
    bound = np.abs(ends[:, None]).max(axis=0)
    return Values.from_bound(values, bound), row_weights(shard.sample_weight, None, np.zeros(0))


def _read_forest_classes(
    model: BaseForestClassifier,
    y: npt.ArrayLike,
    sample_weights: np.ndarray | None,
    communicator: Communicator,
) -> tuple[Classes, RowWeights]:
    outputs = several_outputs(y)
    if outputs is not None:
        raise ValueError(
            "y must have one output if the rows are divided among workers, got shape "
            f"{outputs.shape}"
        )
    classes, labels = encode_shard_labels(y, communicator)
    if sample_weights is None and model.class_weight is None:
        return Classes(classes, labels), RowWeights()
    all_labels = communicator.gather_array(labels)
    factors = class_factors(model.class_weight, classes, all_labels, sample_weights)
    return Classes(classes, labels), row_weights(sample_weights, factors, all_labels)


def _plan_draws(
    model: Forest[Any],
    table: BinnedTable,
    target: _Target,
    weights: RowWeights,
    *,
    own_weight: np.ndarray | None,
    seeds: np.ndarray,
    communicator: Communicator,
) -> Draws:
    """Do what `plan_sampling` does, for the rows of this shard.

    `weights` are the weights of the rows of all shards.
    """
    rows = np.arange(table.n_rows, dtype=np.uint32)
    if own_weight is not None:
        rows = rows[own_weight > 0]
        own_weight = own_weight[own_weight > 0]
    if not model.bootstrap:
        return Draws(seeds, table.n_rows, rows, weights=own_weight)
    hashes = row_hashes(table.codes, target.key)[rows]
    places, in_order = places_in_order(hashes, own_weight, communicator)
    n_counted = sum(communicator.gather(len(rows)))
    sample_weight = weights.sample
    if sample_weight is not None:
        assert weights.row is not None
        sample_weight = sample_weight[weights.row > 0]
    drawn = n_draws(model.max_samples, n_counted, sample_weight)
    by_place = np.argsort(places)
    rows = rows[by_place]
    places = places[by_place]
    if in_order is None or np.all(in_order == in_order[0]):
        return Draws(seeds, table.n_rows, rows, drawn, n_counted, places.astype(np.uint64))
    cumulative = cumulative_weights(in_order)
    starts = np.concatenate([np.zeros(1, np.uint64), cumulative])[places]
    total = int(cumulative[-1])
    return Draws(seeds, table.n_rows, rows, drawn, total, starts, cumulative[places])
