"""Results of tasks that are bound to workers, and clear errors if a worker ends."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, time
from typing import Any

from distributed import Client, Future, wait

from mddf._clusters.communication import LostWorkerError

# Seconds between two looks at the workers. A task of a worker that has ended waits for ever, since
# it may run on no other worker.
_SECONDS_BETWEEN_LOOKS = 1.0
# Seconds that the other tasks have to fail after one that has lost another worker. The error to
# report may be theirs.
_SECONDS_TO_FAIL = 5.0


def results_of(
    client: Client, futures: Sequence[Future[Any]], workers: Sequence[str], timeout: float
) -> list[Any]:
    """Results of tasks, each on one of the workers.

    If one fails, all are cancelled and its error is raised; a RuntimeError if a worker ends, and
    a LostWorkerError if one is silent for `timeout` seconds.
    """
    try:
        open_futures = set(futures)
        while open_futures:
            refuse_lost_scheduler(client)
            try:
                wait(open_futures, timeout=_SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                _refuse_lost(client, workers, timeout)
            done = {future for future in open_futures if future.done()}
            if any(future.status != "finished" for future in done):
                raise _cause(client, futures, workers, timeout)
            open_futures -= done
        return list(client.gather(list(futures)))
    except BaseException:
        client.cancel(list(futures), force=True)
        raise


def refuse_lost_scheduler(client: Client) -> None:
    """Raise an error if the client has no connection to the scheduler."""
    if client.status != "running":
        raise LostWorkerError(
            "the distributed fit stopped because the connection to the scheduler has ended. The "
            "model is not fitted; create another client and call fit again"
        )


def _refuse_lost(client: Client, workers: Sequence[str], timeout: float) -> None:
    """Raise an error if a worker has ended, or has been silent for too long."""
    # A function without a name is sent itself: the scheduler may be without mddf.
    silent_seconds = client.run_on_scheduler(
        lambda dask_scheduler: {
            address: time() - state.last_seen for address, state in dask_scheduler.workers.items()
        }
    )
    lost = [worker for worker in workers if worker not in silent_seconds]
    if lost:
        raise RuntimeError(
            f"the distributed fit stopped because a worker ended: {', '.join(lost)}. The model is "
            "not fitted; call fit again"
        )
    for worker in workers:
        if silent_seconds[worker] > timeout:
            raise LostWorkerError(
                f"the distributed fit stopped because the worker {worker} has not answered for "
                f"{timeout:g} s"
            )


def _cause(
    client: Client, futures: Sequence[Future[Any]], workers: Sequence[str], timeout: float
) -> BaseException:
    """Error to report: a task that failed by itself rather than one that lost another worker."""
    until = monotonic() + _SECONDS_TO_FAIL
    while monotonic() < until and not all(future.done() for future in futures):
        _refuse_lost(client, workers, timeout)
        if errors := _own_errors(futures):
            return errors[0]
        try:
            wait(list(futures), timeout=0.2)
        except TimeoutError:
            continue
    _refuse_lost(client, workers, timeout)
    errors = [future.exception() for future in futures if future.status == "error"]
    if errors:
        return [*_own_errors(futures), *errors][0]
    return RuntimeError("the distributed fit stopped because its tasks were cancelled")


def _own_errors(futures: Sequence[Future[Any]]) -> list[BaseException]:
    """Errors of tasks that have not lost another worker."""
    errors = (future.exception() for future in futures if future.status == "error")
    return [error for error in errors if not isinstance(error, LostWorkerError)]
