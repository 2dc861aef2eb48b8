"""Gradient boosting on rows that are divided among several processes.

Every process calls `fit_boosting_shard` with its shard of the rows, and gets the model that `fit`
makes from all rows in one process, with the same bits. Shards exchange the numbers that depend on
all rows. The order of the rows is the order of the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mddf._base.validation import check_lengths, naming, refuse_booleans
from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._binning.encoded_rows import CategoryLevels
from mddf._clusters.communication import Communicator
from mddf._clusters.shard_bins import bin_shard
from mddf._clusters.shard_inputs import (
    RowsOfUser,
    ShardInputs,
    encode_shard_labels,
    places_of_shard,
    read_shard,
    refuse_parameters,
)
from mddf._gradient.base import GradientBoosting
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.fit_warnings import warn_of_no_gain
from mddf._gradient.losses import (
    QUANTILE_LOSSES,
    BoostingTarget,
    RegressionTarget,
    TargetKind,
    check_targets,
)
from mddf._gradient.options import NEWTON, scores_by_loss
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._gradient.target_statistics import (
    FEWEST_LEVELS,
    AllRows,
    GroupEncoder,
    GroupStatistics,
)
from mddf._gradient.weights import boosting_weights, within_range
from mddf._resampling.sampling import hashes_with
from mddf._targets.target_validation import (
    all_weights,
    class_factors,
    numeric_array,
)
from mddf._targets.weights import row_weights, whole_weights

Model = TypeVar("Model", bound=GradientBoosting)

# Targets are ranked in parts of about so many values, so that a process holds that many at a time
# instead of the targets of all rows. 2**22 doubles are 32 MiB. Not tuned.
_RANKED_TOGETHER = 2**22


@dataclass(frozen=True)
class ShardsOfRows(AllRows):
    """Training rows of which each process has a shard.

    Each group of columns is sent to one process, which finds its statistics from all rows, so that
    a process has the keys of one group at a time.
    """

    communicator: Communicator

    def gathered(self, values: np.ndarray) -> np.ndarray:
        return self.communicator.gather_array(values)

    def encoded_groups(
        self, n_groups: int, keys_of: Callable[[int], np.ndarray], encode: GroupEncoder
    ) -> Iterator[tuple[np.ndarray, GroupStatistics]]:
        size = self.communicator.size
        for first in range(0, n_groups, size):
            groups = range(first, min(first + size, n_groups))
            keys = [keys_of(group) for group in groups]
            keys += [np.zeros(0, np.int64)] * (size - len(keys))
            shards = self.communicator.distribute(keys)
            encoded: list[Any] = [None] * size  # codes for each process, and the statistics
            if self.communicator.rank < len(groups):
                codes, statistics = encode(groups[self.communicator.rank], np.concatenate(shards))
                ends = np.cumsum([len(shard) for shard in shards])
                encoded = [(part, statistics) for part in np.split(codes, ends[:-1], axis=1)]
            yield from self.communicator.distribute(encoded)[: len(groups)]


@dataclass(frozen=True)
class ShardRows(BoostingRows):
    """Rows of one shard.

    Attributes
    ----------
    communicator : Communicator
    """

    communicator: Communicator = field(kw_only=True)

    @classmethod
    def from_shard(
        cls,
        table: BinnedTable,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: CategoryLevels | None,
        communicator: Communicator,
    ) -> ShardRows:
        """Take all rows with a weight above 0 as training rows."""
        rows = BoostingRows.from_table(table, y, weights)
        return cls(table, y, weights, rows.train, rows.held_out, levels, communicator=communicator)

    @property
    def division(self) -> AllRows:
        return ShardsOfRows(self.communicator)

    @property
    def exchange(self) -> Communicator | None:
        """Communicator that the kernel uses."""
        return self.communicator

    @property
    def keys(self) -> np.ndarray:
        ranks = global_ranks(self.y, self.train, self.communicator)
        return hashes_with(self.row_keys, ranks[:, None])

    # Not cached: in Python 3.11, a thread that waits for others in a cached property would keep
    # them from computing theirs.
    @property
    def draw_keys(self) -> np.ndarray:
        return self.keys

    def least_loss(self, target: TargetKind) -> float:
        """Mean least loss over all shards, not to the last bit: it is used in warnings only."""
        weights = self.train_weights
        total = float(len(self.train) if weights is None else weights.sum())
        mean = super().least_loss(target) if len(self.train) else 0.0
        sums = np.sum(self.communicator.gather(np.array([mean * total, total])), axis=0)
        return float(sums[0] / sums[1])


def global_ranks(values: np.ndarray, train: np.ndarray, communicator: Communicator) -> np.ndarray:
    """Rank of each value among the distinct values of the training rows of all shards: int64."""
    distinct = np.unique(values[train])
    # Bounds of parts with about equally many values, from quantiles of all shards.
    n_parts = -(-sum(communicator.gather(len(distinct))) // _RANKED_TOGETHER)
    shares = np.linspace(0, 1, 10 * n_parts + 1)[1:-1]
    samples = np.quantile(distinct, shares, method="lower") if len(distinct) else distinct
    bounds = np.quantile(
        communicator.gather_array(samples), np.linspace(0, 1, n_parts + 1)[1:-1], method="lower"
    )
    place = np.searchsorted(bounds, distinct, side="right")
    part_of_value = np.searchsorted(bounds, values, side="right")
    ranks = np.empty(len(values), np.int64)
    n_before = 0
    for part in range(n_parts):
        in_part = np.unique(communicator.gather_array(distinct[place == part]))
        rows = part_of_value == part
        ranks[rows] = n_before + np.searchsorted(in_part, values[rows])
        n_before += len(in_part)
    return ranks


def check_boosting(model: GradientBoosting, *, has_validation_set: bool) -> None:
    """Refuse parameters that need all rows in one process."""
    refuse_booleans("interaction_cst", model.interaction_cst)
    reasons = {
        "warm_start": (bool(model.warm_start), "False"),
        "cv": (model.cv is not None, "None"),
        "scoring": (not scores_by_loss(model), "'loss'"),
        "linear_leaves": (model.linear_leaves is not False, "False"),
        "split_score": (model.split_score != NEWTON, "'newton'"),
        "loss": (not isinstance(model.loss, str), "the name of a loss"),
        "monotonic_cst": (
            model.loss in QUANTILE_LOSSES and model.monotonic_cst is not None,
            f"None with the loss {model.loss!r}",
        ),
        "early_stopping": (
            model.early_stopping is True and not has_validation_set,
            "'auto' or False, unless X_val and y_val are passed to fit: no rows are held out",
        ),
    }
    refuse_parameters(model, reasons)


def fit_boosting_shard(
    model: Model,
    training: RowsOfUser,
    validation: RowsOfUser | None,
    *,
    has_validation_set: bool,
    communicator: Communicator,
    entropy: list[int],
) -> Model:
    """Fit a model to the rows of all shards.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        An estimator that is not fitted; it is fitted and returned.
    training : RowsOfUser
        At least one row.
    validation : RowsOfUser or None
        Validation rows of this shard, if it has any.
    has_validation_set : bool
        Whether any shard has validation rows.
    communicator : Communicator
    entropy : list of int
        Entropy of the random draws.
    """
    check_boosting(model, has_validation_set=has_validation_set)
    # 1. Read the table, the target and the weights.
    shard = read_shard(model, training, within_range, communicator)
    target = _read_boosting_target(model, training.y, shard, communicator)
    every_weight = boosting_weights(target.weights, shard.sample_weight)
    if every_weight is not None and model.loss in QUANTILE_LOSSES:
        _refuse_fractions(every_weight, model.loss)
    # 2. Bin the table.
    binner = Binner(model.categorical_features, model.max_bins, model.n_jobs, FEWEST_LEVELS)
    binned = bin_shard(binner, shard, every_weight, communicator)
    own_weight = shard.own_part(every_weight)
    levels = binner.all_levels(shard.table)
    rows = ShardRows.from_shard(binned, target.values, own_weight, levels, communicator)
    # 3. Append the validation set as held-out rows.
    if has_validation_set:
        rows = rows.with_held_out(
            *_read_validation(model, validation, binner, target, communicator)
        )
    # 4. Grow the trees.
    model._entropy = entropy
    fitted = model._boost(rows, target.kind, binner)
    if has_validation_set and len(rows.held_out) and len(rows.train):
        warn_of_no_gain(rows, fitted["validation_score_"], fitted["train_score_"], shard.table)
    attributes = model._target_attributes(target.kind)
    model.__dict__.update(fitted, **attributes)
    return model


def _refuse_fractions(weights: np.ndarray, loss: str) -> None:
    """Refuse weights whose sums are rounded, so that quantiles would depend on their order."""
    counted = weights[weights > 0]
    if not (whole_weights(weights) or np.all(counted == counted[0])):
        raise ValueError(
            f"sample_weight must be whole numbers with loss={loss!r} if the rows are divided "
            f"among workers, got {weights[weights != np.rint(weights)][0]:g}"
        )


def _read_boosting_target(
    model: GradientBoosting,
    y: npt.ArrayLike,
    shard: ShardInputs,
    communicator: Communicator,
) -> BoostingTarget:
    """Do what `_read_target` of the model does, for the rows of all shards.

    The result has the values of this shard and the weights of all shards.
    """
    if isinstance(model, GradientBoostingClassifier):
        return _read_boosting_classes(model, y, shard.sample_weight, communicator)
    assert isinstance(model, GradientBoostingRegressor)
    values = model._read_numbers(y)
    ends = shard.target_ends(values, communicator)
    assert isinstance(model.loss, str)  # `check_boosting` has refused the others
    check_targets(model.loss, ends)
    kind = RegressionTarget.from_targets(
        model.loss, ends, tweedie_power=float(model.tweedie_power)
    )
    own_weight = shard.own_part(shard.sample_weight)
    if own_weight is not None:
        values = np.where(own_weight > 0, values, ends[0])
    return BoostingTarget(kind, kind.scaled(values), shard.sample_weight)


def _read_boosting_classes(
    model: GradientBoostingClassifier,
    y: npt.ArrayLike,
    sample_weight: np.ndarray | None,
    communicator: Communicator,
) -> BoostingTarget:
    classes, labels = encode_shard_labels(y, communicator)
    kind = model._target_of(classes)
    weights = sample_weight
    factors = None
    if model.class_weight is not None:
        all_labels = communicator.gather_array(labels)
        factors = class_factors(model.class_weight, classes, all_labels, sample_weight)
        if factors is not None:
            weights = row_weights(sample_weight, factors, all_labels).row
    return BoostingTarget(kind, labels.astype(float), weights, factors)


def _read_validation(
    model: GradientBoosting,
    validation: RowsOfUser | None,
    binner: Binner,
    target: BoostingTarget,
    communicator: Communicator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, CategoryLevels | None]:
    """Codes, targets, weights and levels of the validation rows of this shard, if it has any."""
    n_rows = 0
    levels = None
    codes = np.zeros((0, binner.bins_.n_columns), np.uint8)
    if validation is not None:
        with naming("X_val"):
            table = model._read_table(validation.X, reset=False)
        check_lengths(validation.X, y_val=validation.y)
        n_rows = table.shape[0]
        levels = binner.all_levels(table)
        codes = binner.encode(table, levels=levels, n_jobs=model.n_jobs).codes
    own_rows, n_all_rows = places_of_shard(n_rows, communicator)
    has_weights = validation is not None and validation.sample_weight is not None
    every_weight = None
    if any(communicator.gather(has_weights)):
        own = np.zeros(0)
        if validation is not None:
            with naming("sample_weight_val"):
                own = numeric_array(validation.sample_weight, "sample_weight")
        with naming("sample_weight_val"):
            every_weight = all_weights(communicator.gather_array(own), n_all_rows)
    values = np.zeros(0)
    if validation is not None:
        with naming("y_val"):
            own_weights = None if every_weight is None else every_weight[own_rows]
            values = model._read_validation_target(validation.y, target.kind, own_weights)
    all_values = communicator.gather_array(values) if target.class_factors is not None else values
    with naming("sample_weight_val"):
        every_weight = target.validation_weights(every_weight, all_values)
    own_weight = None if every_weight is None else every_weight[own_rows]
    return codes, values, own_weight, levels
