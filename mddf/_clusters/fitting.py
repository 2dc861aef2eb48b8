"""Fit a model on the workers of a Dask cluster, each of which holds a share of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from uuid import uuid4

from distributed import Client, Future, MultiLock, default_client
from sklearn.base import clone

from mddf._base.messages import short
from mddf._base.validation import monotonic_signs
from mddf._clusters.collections import (
    assigned,
    example_rows,
    n_rows_of,
    parts_of,
    row_chunks,
    with_whole_rows,
)
from mddf._clusters.waiting import refuse_lost_scheduler, results_of
from mddf._clusters.worker import FitResult, FitTask, cancel_fit, fit_rank, prepare_rank
from mddf._gradient.base import GradientBoosting
from mddf._gradient.options import interaction_groups
from mddf._input.category_mask import category_mask
from mddf._input.reading import read_table

# Seconds in which a worker that is alive is told that a fit is cancelled. Not tuned.
_SECONDS_TO_CANCEL = 1.0
# Training and validation parts of a worker.
_Shard = tuple["list[Future[Any]]", "list[Future[Any]]"]


@dataclass
class _PlacedRows:
    """Parts with rows that a worker holds, and the number of its first row in the whole table."""

    futures: list[Future[Any]] = field(default_factory=list)
    first_row: int = 0


def client_for(client: Client | None) -> Client:
    """Client of the user, or the default one."""
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(f"client must be a distributed.Client or None, got {short(client)}")
        return _usable(client)
    try:
        return _usable(default_client())
    except ValueError as error:
        raise ValueError(
            "fit needs a cluster of Dask: create a distributed.Client first, or pass client"
        ) from error


def _usable(client: Client) -> Client:
    if client.asynchronous:
        raise TypeError("client must not be asynchronous: fit waits for its result")
    if client.status != "running":
        raise RuntimeError(
            f"client must be connected to a scheduler, got a client that is {client.status}"
        )
    return client


def fit_on_workers(
    client: Client,
    model: Any,
    training: dict[str, Any],
    validation: dict[str, Any] | None,
    *,
    entropy: list[int],
    timeout: float,
) -> tuple[Any, list[int]]:
    """Fit a model to Dask collections; also return the bytes that each worker has sent.

    `training` and `validation` map the names of the parameters of fit to features, targets and
    weights. Partitions that follow each other are placed on the same worker, so that the order
    of the workers is the order of the rows.
    """
    _check_columns(model, training["X"])
    workers = sorted(client.nthreads())
    if not workers:
        raise RuntimeError("the cluster must have at least one worker, got none")
    with client.as_current(), _cancelled_at_the_end(client) as futures:
        # 1. Compute the partitions on the workers that keep them.
        placed = _place(client, training, workers, timeout, futures)
        ranks = [worker for worker in workers if placed[worker].futures]
        if not ranks:
            raise ValueError("X must not be empty, got 0 rows in all partitions")
        shards: list[_Shard] = [(placed[rank].futures, []) for rank in ranks]
        first_rows = [placed[rank].first_row for rank in ranks]
        first_validation_rows = first_rows
        if validation is not None:
            placed_validation = _place(client, validation, ranks, timeout, futures)
            if not any(part.futures for part in placed_validation.values()):
                raise ValueError("X_val must not be empty, got 0 rows in all partitions")
            shards = [(placed[rank].futures, placed_validation[rank].futures) for rank in ranks]
            first_validation_rows = [placed_validation[rank].first_row for rank in ranks]
        # 2. Fit with one task on each worker that has rows.
        task = FitTask(
            name=f"mddf-{uuid4().hex}",
            model=model,
            entropy=entropy,
            addresses=ranks,
            timeout=timeout,
            has_validation_set=validation is not None,
            first_rows=first_rows,
            first_validation_rows=first_validation_rows,
        )
        results = _fit_on_each(client, ranks, shards, task)
    # 3. All workers have made the same decisions, or something is broken.
    if len({result.digest for result in results}) > 1:
        raise RuntimeError("workers have grown different trees: they must run the same mddf")
    for category, message in results[0].warnings:
        warnings.warn(message, category, stacklevel=3)  # the line that calls `fit`
    return results[0].model, [result.n_bytes_sent for result in results]


def _check_columns(model: Any, X: Any) -> None:
    """Refuse unusable columns, and parameters that do not fit to them, before any work."""
    rows = example_rows(with_whole_rows("X", X))
    if rows is None:
        return
    example = clone(model)
    features = example.categorical_features
    table = read_table(example, rows, reset=True, categorical_features=features)
    # Constraints that are refused for several classes are refused by the fit.
    monotonic_signs(example, category_mask(table, features), 1)
    if isinstance(example, GradientBoosting):
        interaction_groups(example.interaction_cst, example.n_features_in_)


@contextmanager
def _cancelled_at_the_end(client: Client) -> Iterator[list[Future[Any]]]:
    """List of futures whose tasks are dropped at the end, however it comes.

    Otherwise an exception would keep the futures, and tasks that are bound to a worker that has
    ended would block the next fit to the same collections.
    """
    futures: list[Future[Any]] = []
    try:
        yield futures
    except Exception:
        # Without a scheduler, other errors are only consequences.
        refuse_lost_scheduler(client)
        raise
    finally:
        if client.status == "running":
            client.cancel(futures, force=True)


def _fit_on_each(
    client: Client, workers: Sequence[str], shards: Sequence[_Shard], task: FitTask
) -> list[FitResult]:
    """Run the tasks of a fit, which wait for each other.

    Two fits at once would each wait for workers that the other one holds, so that a fit locks its
    workers.
    """
    with _locked(client, workers):
        try:
            names = [(task.name, rank) for rank in range(len(workers))]
            _on_each(client, workers, prepare_rank, names, task.timeout)
            arguments = [(task, rank, *shard) for rank, shard in enumerate(shards)]
            return _on_each(client, workers, fit_rank, arguments, task.timeout)
        except BaseException:
            _cancel(client, task.name, workers)
            raise


def _place(
    client: Client,
    collections: dict[str, Any],
    workers: Sequence[str],
    timeout: float,
    all_futures: list[Future[Any]],
) -> dict[str, _PlacedRows]:
    """Compute the parts of collections, each on the worker that is to hold it.

    Return the parts of each worker that have rows. All futures are appended to `all_futures`.
    """
    parts = parts_of(collections)
    X = next(iter(collections.values()))
    places = [workers[number] for number in assigned(row_chunks(X), len(workers))]
    futures = [
        client.compute(part, workers=[place], allow_other_workers=False, retries=0)
        for part, place in zip(parts, places, strict=True)
    ]
    all_futures += futures
    counts = [
        client.submit(n_rows_of, future, workers=[place], pure=False)
        for future, place in zip(futures, places, strict=True)
    ]
    placed = {worker: _PlacedRows() for worker in workers}
    n_rows = results_of(client, counts, workers, timeout)
    first_row = 0
    for future, place, n in zip(futures, places, n_rows, strict=True):
        if n > 0:
            if not placed[place].futures:
                placed[place].first_row = first_row
            placed[place].futures.append(future)
        first_row += n
    return placed


def _on_each(
    client: Client,
    workers: Sequence[str],
    function: Any,
    arguments: Sequence[tuple[Any, ...]],
    timeout: float,
) -> list[Any]:
    """Call a function once on each worker."""
    futures = [
        client.submit(
            function, *args, workers=[worker], allow_other_workers=False, retries=0, pure=False
        )
        for worker, args in zip(workers, arguments, strict=True)
    ]
    return results_of(client, futures, workers, timeout)


def _cancel(client: Client, name: str, workers: Sequence[str]) -> None:
    """End the tasks of a fit that wait on workers that are still there.

    A worker that is stopped does not answer, so that each is told in a thread of its own.
    """
    alive = client.nthreads()
    threads = [
        Thread(
            target=client.run,
            args=(cancel_fit, name),
            kwargs={"workers": [worker], "on_error": "ignore"},
            daemon=True,
        )
        for worker in workers
        if worker in alive
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS_TO_CANCEL)


@contextmanager
def _locked(client: Client, workers: Sequence[str]) -> Iterator[None]:
    lock = MultiLock(names=[f"mddf {worker}" for worker in workers], client=client)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
