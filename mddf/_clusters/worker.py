"""Tasks that run on Dask's workers."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from distributed import get_worker
from sklearn.base import clone

from mddf._clusters.boosting import fit_boosting_shard
from mddf._clusters.collections import joined
from mddf._clusters.forests import fit_forest_shard
from mddf._clusters.messages import DaskCommunicator, cancel_swaps, close_inbox, open_inbox
from mddf._clusters.shard_inputs import RowsOfUser
from mddf._forest.base import Forest


@dataclass(frozen=True)
class FitTask:
    """Facts that all workers of a fit share.

    Attributes
    ----------
    name : str
        Unique name of the fit.
    model : estimator
        A forest or gradient boosting, not fitted.
    entropy : list of int
    addresses : list of str
        Addresses of the workers, by rank.
    timeout : float
    has_validation_set : bool
    first_rows : list of int
        First row of each rank in the whole table.
    first_validation_rows : list of int
    """

    name: str
    model: Any
    entropy: list[int]
    addresses: list[str]
    timeout: float
    has_validation_set: bool
    first_rows: list[int]
    first_validation_rows: list[int]


@dataclass(frozen=True)
class FitResult:
    """Result of a worker; only rank 0 returns the model."""

    model: Any
    digest: str
    warnings: list[tuple[type[Warning], str]]
    n_bytes_sent: int


def prepare_rank(fit: str, rank: int) -> None:
    """Take messages for a rank of a fit, before any rank begins."""
    open_inbox(get_worker(), fit, rank)


def cancel_fit(fit: str, dask_worker: Any) -> None:
    """End the tasks of a fit in this process; Dask does not end tasks that run."""
    cancel_swaps(dask_worker, fit)


def fit_rank(
    task: FitTask, rank: int, training: Sequence[RowsOfUser], validation: Sequence[RowsOfUser]
) -> FitResult:
    """Fit the model together with the other workers."""
    communicator = DaskCommunicator(get_worker(), task.name, rank, task.addresses, task.timeout)
    try:
        return _fit_with(communicator, task, training, validation)
    except (TypeError, ValueError) as error:
        error.args = (_with_rows_of_all(str(error), task, rank),)
        raise
    finally:
        communicator.close()
        close_inbox(task.name, rank)


def _with_rows_of_all(message: str, task: FitTask, rank: int) -> str:
    """Number the rows in a message as in the whole table, instead of this worker's share of it."""
    if "sample_weight" in message:
        return message  # weights are those of all rows
    first = (task.first_validation_rows if "_val " in message else task.first_rows)[rank]
    return re.sub(r"\brow (\d+)\b", lambda match: f"row {int(match[1]) + first}", message)


def _fit_with(
    communicator: DaskCommunicator,
    task: FitTask,
    training: Sequence[RowsOfUser],
    validation: Sequence[RowsOfUser],
) -> FitResult:
    is_first = communicator.rank == 0
    # Workers of one process share the model of the task, so that each fits a copy.
    model = clone(task.model)
    n_jobs = model.n_jobs
    if n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    # Only rank 0 records warnings: filters belong to the process, which workers may share.
    with warnings.catch_warnings(record=True) if is_first else nullcontext() as caught:
        if is_first:
            warnings.simplefilter("always")
        rows = joined(training)
        if isinstance(model, Forest):
            fit_forest_shard(model, rows, communicator=communicator, entropy=task.entropy)
        else:
            fit_boosting_shard(
                model,
                rows,
                joined(validation) if validation else None,
                has_validation_set=task.has_validation_set,
                communicator=communicator,
                entropy=task.entropy,
            )
    model.n_jobs = n_jobs
    return FitResult(
        model if is_first else None,
        _digest(model),
        [(warning.category, str(warning.message)) for warning in caught or []],
        communicator.n_bytes_sent,
    )


def _digest(model: Any) -> str:
    """Hash what all workers have computed: the bins and, of boosting, the trees."""
    bins = model._binner.bins_
    arrays = [bins.edges, bins.values]
    if not isinstance(model, Forest):  # different workers grow the trees of a forest
        trees: dict[str, Any] = model._trees.arrays
        arrays += [*(trees[name] for name in sorted(trees)), model._trees.start]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()
