"""Tasks that run on Dask's workers."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from distributed import get_worker
from sklearn.base import clone

from mddf._base.tcp import Address, TcpCommunicator, listen
from mddf._clusters.collections import joined
from mddf._clusters.shard_fits import ShardFit
from mddf._gradient.shards import RowsOfUser

# Sockets of fits that have not started, by fit and rank. Workers of one process share them.
_listeners: dict[tuple[str, int], socket.socket] = {}
# Fits that are at work, by fit and rank, and whether they are cancelled.
_cancelled: dict[tuple[str, int], Event] = {}


@dataclass(frozen=True)
class FitTask:
    """Facts that all workers of a fit share.

    Attributes
    ----------
    name : str
        Unique name of the fit.
    kind : ShardFit
    model : estimator
        The estimator, not fitted.
    entropy : list of int
    token : bytes
        Secret by which the workers know each other.
    timeout : float
    has_validation_set : bool
    """

    name: str
    kind: ShardFit
    model: Any
    entropy: list[int]
    token: bytes
    timeout: float
    has_validation_set: bool


@dataclass(frozen=True)
class FitResult:
    """Result of a worker; only rank 0 returns the model."""

    model: Any
    digest: str
    warnings: list[tuple[type[Warning], str]]
    n_bytes_sent: int
    n_messages_sent: int


def open_listener(name: str, rank: int) -> Address:
    """Listen for the other workers of a fit; return the address."""
    host = urlsplit(get_worker().address).hostname
    if host is None:  # workers of a cluster within one process have no host
        host = "127.0.0.1"
    listener = listen(host)
    _listeners[name, rank] = listener
    address = listener.getsockname()
    return address[0], address[1]


def cancel_fit(name: str) -> None:
    """End the waiting of a fit's tasks in this process, and close sockets that it has not used.

    Dask does not end tasks that run.
    """
    for key in [key for key in _listeners if key[0] == name]:
        _listeners.pop(key).close()
    for key in [key for key in _cancelled if key[0] == name]:
        _cancelled[key].set()


def fit_rank(
    task: FitTask,
    addresses: Sequence[Address],
    rank: int,
    training: Sequence[RowsOfUser],
    validation: Sequence[RowsOfUser],
) -> FitResult:
    """Fit the model together with the other workers, which listen on `addresses`."""
    key = (task.name, rank)
    listener = _listeners.pop(key)
    _cancelled[key] = Event()
    try:
        communicator = TcpCommunicator(
            rank,
            addresses,
            listener,
            token=task.token,
            timeout=task.timeout,
            cancelled=_cancelled[key],
        )
        return _fit_with(communicator, task, training, validation)
    finally:
        del _cancelled[key]


def _fit_with(
    communicator: TcpCommunicator,
    task: FitTask,
    training: Sequence[RowsOfUser],
    validation: Sequence[RowsOfUser],
) -> FitResult:
    rank = communicator.rank
    # Workers of one process share the model of the task, so that each fits a copy.
    model = clone(task.model)
    n_jobs = model.n_jobs
    if n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    # Only rank 0 records warnings: filters belong to the process, which workers may share.
    recording = warnings.catch_warnings(record=True) if rank == 0 else nullcontext()
    try:
        with recording as caught:
            if rank == 0:
                warnings.simplefilter("always")
            task.kind.fit(
                model,
                joined(training),
                joined(validation) if validation else None,
                has_validation_set=task.has_validation_set,
                communicator=communicator,
                entropy=task.entropy,
            )
    finally:
        communicator.close()
    model.n_jobs = n_jobs
    model._binner.n_jobs = n_jobs
    return FitResult(
        model if rank == 0 else None,
        task.kind.digest(model),
        [(warning.category, str(warning.message)) for warning in caught or []],
        communicator.n_bytes_sent,
        communicator.n_messages_sent,
    )
