"""Results of tasks that are bound to workers, and clear errors if a worker ends."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

from distributed import Client, Future, wait

from mddf._base.tcp import LostWorkerError

# Seconds between two looks at the workers. A task of a worker that has ended waits for ever, since
# it may run on no other worker.
_SECONDS_BETWEEN_LOOKS = 1.0
# Seconds that the other tasks have to end after the first one failed. They fail at once if they
# wait for it. The error to report may be of another task than the first that failed.
_SECONDS_TO_FAIL = 5.0


def results_of(
    client: Client, futures: Sequence[Future[Any]], workers: Sequence[str]
) -> list[Any]:
    """Results of tasks, each on one of the workers.

    If one fails, all are cancelled and its error is raised; a RuntimeError if a worker ends.
    """
    try:
        open_futures = set(futures)
        while open_futures:
            try:
                wait(open_futures, timeout=_SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                _refuse_lost(client, workers)
            done = {future for future in open_futures if future.done()}
            if any(future.status != "finished" for future in done):
                raise _cause(client, futures, workers)
            open_futures -= done
        return list(client.gather(list(futures)))
    except BaseException:
        client.cancel(list(futures), force=True)
        raise


def _lost(client: Client, workers: Sequence[str]) -> list[str]:
    alive = client.nthreads()
    return [worker for worker in workers if worker not in alive]


def _refuse_lost(client: Client, workers: Sequence[str]) -> None:
    lost = _lost(client, workers)
    if lost:
        raise RuntimeError(
            f"the distributed fit stopped because a worker ended: {', '.join(lost)}. The model is "
            "not fitted; call fit again"
        )


def _cause(
    client: Client, futures: Sequence[Future[Any]], workers: Sequence[str]
) -> BaseException:
    """Error to report: a task that failed by itself rather than one that lost another worker."""
    until = monotonic() + _SECONDS_TO_FAIL
    while monotonic() < until and not all(future.done() for future in futures):
        _refuse_lost(client, workers)
        try:
            wait(list(futures), timeout=0.2)
        except TimeoutError:
            continue
    _refuse_lost(client, workers)
    errors = [future.exception() for future in futures if future.status == "error"]
    errors.sort(key=lambda error: isinstance(error, LostWorkerError))
    if errors:
        return errors[0]
    return RuntimeError("the distributed fit stopped because its tasks were cancelled")
