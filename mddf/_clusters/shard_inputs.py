"""Inputs of forests and boosted trees from rows that are divided among several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.validation import check_lengths
from mddf._clusters.communication import Communicator
from mddf._clusters.shard_columns import with_common_kinds
from mddf._input.frame import is_frame
from mddf._input.reading import read_table
from mddf._input.table import Table
from mddf._targets.target_validation import MOST_CLASSES, all_weights, encode_labels, numeric_array


@dataclass(frozen=True)
class RowsOfUser:
    """Rows as the user passed them: features, targets and weights or None."""

    X: Any
    y: Any
    sample_weight: Any = None


@dataclass(frozen=True)
class ShardInputs:
    """The table of this shard, and the weights of the rows of all shards.

    `own` are the places of the rows among the rows of all shards.
    """

    table: Table
    own: slice
    n_all_rows: int
    sample_weight: np.ndarray | None

    def own_part(self, weights: np.ndarray | None) -> np.ndarray | None:
        """Weights of the rows of this shard."""
        return None if weights is None else weights[self.own]

    def target_ends(self, values: np.ndarray, communicator: Communicator) -> np.ndarray:
        """Least and largest target of each shard, of the rows with a weight above 0.

        They decide all that checks and scales of targets depend on.
        """
        if values.ndim == 2 and values.shape[1] > 1:
            raise ValueError(
                "y must have one target if the rows are divided among workers, got "
                f"{values.shape[1]} targets"
            )
        weights = self.own_part(self.sample_weight)
        counted = values if weights is None else values[weights > 0]
        ends = np.array([counted.min(), counted.max()]) if len(counted) else np.zeros(0)
        return communicator.gather_array(ends)


def read_shard(
    model: Any,
    rows: RowsOfUser,
    scaled: Callable[[np.ndarray], np.ndarray | None],
    communicator: Communicator,
) -> ShardInputs:
    """Read the table of this shard, and the weights of all shards."""
    X = rows.X
    columns = None
    if is_frame(X):
        X, columns = with_common_kinds(X, model.categorical_features, communicator)
    table = read_table(
        model,
        X,
        reset=True,
        categorical_features=model.categorical_features,
        join_dates=lambda names: set().union(*communicator.gather(names)),
    )
    if columns is not None:
        model.input_columns_ = columns
    check_lengths(rows.X, y=rows.y)
    sample_weight = gather_weights(rows.X, rows.sample_weight, communicator)
    if sample_weight is not None:
        sample_weight = scaled(all_weights(sample_weight, len(sample_weight)))
    return ShardInputs(table, *places_of_shard(table.shape[0], communicator), sample_weight)


def places_of_shard(n_rows: int, communicator: Communicator) -> tuple[slice, int]:
    """Places of the rows of this shard among all rows, and the number of all rows."""
    lengths = communicator.gather(n_rows)
    first = sum(lengths[: communicator.rank])
    return slice(first, first + n_rows), sum(lengths)


def refuse_parameters(model: object, reasons: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse parameters that need all rows in one process.

    `reasons` has for each parameter whether it is refused, and what is allowed.
    """
    for name, (is_refused, allowed) in reasons.items():
        if is_refused:
            raise ValueError(
                f"{name} must be {allowed} if the rows are divided among workers, got "
                f"{getattr(model, name)!r}"
            )


def encode_shard_labels(
    y: npt.ArrayLike, communicator: Communicator
) -> tuple[np.ndarray, np.ndarray]:
    """Do what `encode_labels` does, for the classes of all shards and the rows of this one."""
    own_classes, own_labels = encode_labels(y)
    shards = communicator.gather(own_classes)
    # NumPy would convert the numbers of one shard to the text of another one.
    are_text = {isinstance(classes[0], str) for classes in shards}
    try:
        if len(are_text) > 1:
            raise TypeError("numbers and text cannot be sorted")
        classes = np.unique(np.concatenate(shards))
    except TypeError as error:
        kinds = sorted({type(label).__name__ for classes in shards for label in classes.tolist()})
        raise TypeError(
            f"y must hold labels of one kind in all partitions, got {', '.join(kinds)}"
        ) from error
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y must have at most {MOST_CLASSES} classes, got {len(classes)}")
    return classes, np.searchsorted(classes, own_classes).astype(np.uint16)[own_labels]


def gather_weights(
    X: Any, sample_weight: npt.ArrayLike | None, communicator: Communicator
) -> np.ndarray | None:
    """Sample weights of all shards, which are not checked; None if there are none.

    `X` and `sample_weight` are the rows of this shard.
    """
    if sample_weight is None:
        return None
    own_weights = numeric_array(sample_weight, "sample_weight")
    check_lengths(X, sample_weight=own_weights)
    return communicator.gather_array(own_weights)
