"""Labels and weights of rows that are divided among several processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.communication import Communicator
from mddf._base.validation import check_lengths
from mddf._targets.target_validation import MOST_CLASSES, encode_labels, numeric_array


@dataclass(frozen=True)
class RowsOfUser:
    """Rows as the user passed them: features, targets and weights or None."""

    X: Any
    y: Any
    sample_weight: Any = None


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
