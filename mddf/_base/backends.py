"""Running tasks on joblib's backends, with shared arguments sent to every machine once.

joblib's own backend for Dask would send shared arguments again with each call or task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from time import sleep
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import Parallel
from joblib.parallel import get_active_backend

from mddf._base.parallel import Task

# A task whose workers die is sent to Dask at most this often. Pauses between the attempts double
# from a quarter of a second on, which leaves a cluster 8 seconds to replace lost workers.
_ATTEMPTS = 6
# Seconds that Dask may take to start the first worker: clusters with a queue take minutes.
_SECONDS_TO_FIRST_WORKER = 300
# Larger arrays (in bytes) are sent to Dask's workers directly, and not as a part of a task, which
# goes through the scheduler. Not tuned.
_MAX_BYTES_IN_TASK = 2**20


def _active_backend() -> Any:
    backend, _ = get_active_backend(prefer="threads")
    return backend


def _is_dask(backend: Any) -> bool:
    return type(backend).__name__ == "DaskDistributedBackend"


def cluster_in_use() -> Any:
    """Identify the cluster in which stand-ins are valid: Dask's client, or None."""
    backend = _active_backend()
    return backend.client if _is_dask(backend) else None


def shared(values: Sequence[Any]) -> list[Any]:
    """Return stand-ins for values that are arguments of many tasks; tasks receive the values.

    On Dask, all present workers receive the values now, and new workers do if these are lost.
    With other backends, which send arguments themselves, the values are their own stand-ins.
    """
    backend = _active_backend()
    if _is_dask(backend):
        return _ScatteredValue.scatter(backend.client, list(values))
    return list(values)


def in_order(tasks: Iterable[Task], n_jobs: int) -> Iterable[Any]:
    """Return the results of tasks in their order, from threads or the joblib backend in force."""
    backend = _active_backend()
    if _is_dask(backend):
        return _run_on_dask(tasks, n_jobs, backend)
    return_as = "generator" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)(tasks)


class _ScatteredValue:
    """A value that Dask's workers have, with a copy in this process in case they are lost."""

    def __init__(self, client: Any, value: Any, future: Any) -> None:
        self.client = client
        self.value = value
        self._future = future

    @classmethod
    def scatter(cls, client: Any, values: list[Any]) -> list[_ScatteredValue]:
        futures = _scatter(client, values)
        return [cls(client, value, future) for value, future in zip(values, futures, strict=True)]

    def available_future(self, check_scheduler: bool = False) -> Any:
        """Return Dask's future of the value, after sending it again if all workers lost it.

        The client may learn late of a loss; `check_scheduler` makes sure.
        """
        if self._future.status != "finished" or (check_scheduler and self._is_lost()):
            (self._future,) = _scatter(self.client, [self.value])
        return self._future

    def _is_lost(self) -> bool:
        try:
            return not any(self.client.who_has([self._future]).values())
        except CancelledError:  # the client has learned of the loss in the meantime
            return True


def _scatter(client: Any, values: list[Any], *, broadcast: bool = True) -> list[Any]:
    """Send values to all workers, or to some, and return their futures; repeat if one dies."""
    for attempt in range(_ATTEMPTS):
        try:
            return client.scatter(
                values, broadcast=broadcast, hash=False, timeout=_SECONDS_TO_FIRST_WORKER
            )
        # Errors of the connection to a worker, such as CommClosedError.
        except OSError as error:
            if isinstance(error, TimeoutError) or attempt == _ATTEMPTS - 1:
                raise
            sleep(2**attempt / 4)
    raise AssertionError


@dataclass
class _RunningTask:
    """A task that has been submitted to Dask, and the future of its result."""

    task: Task
    future: Any


def _run_on_dask(tasks: Iterable[Task], n_jobs: int, backend: Any) -> Iterator[Any]:
    """Run tasks as Dask's own.

    joblib's backend runs tasks in this process if there is one job, waits for ever after a task
    that has killed several workers, and loses values along with the workers that had them.
    """
    tasks = iter(tasks)
    running: deque[_RunningTask] = deque()
    try:
        while True:
            for task in islice(tasks, 2 * n_jobs - len(running)):
                running.append(_RunningTask(task, _submit(backend, task)))
            if not running:
                return
            result = _wait_for_result(backend, running[0])
            running.popleft()
            yield result
    finally:
        # To cancel nothing would also enter Dask's event loop. The garbage collector may run this
        # in that very loop, which would then wait for itself.
        if running:
            backend.client.cancel([task.future for task in running])


@contextmanager
def _slot_released(future: Any) -> Iterator[None]:
    """Leave the worker's pool of threads while a task of Dask waits for another task.

    joblib's own context does not return to the pool after an error, and a thread outside of the
    pool cannot leave it. No generator may be suspended inside this context: it may be closed
    late, by another thread, or inside another such context.
    """
    from distributed import secede
    from distributed.threadpoolexecutor import rejoin, thread_state

    in_pool = getattr(thread_state, "proceed", False)
    if future.done() or not in_pool:
        yield
        return
    secede()
    try:
        yield
    finally:
        rejoin()


def _submit(backend: Any, task: Task, check_scheduler: bool = False) -> Any:
    function, arguments, options = task
    client = backend.client

    def argument_to_send(value: Any) -> Any:
        if isinstance(value, _ScatteredValue):
            return value.available_future(check_scheduler)
        if isinstance(value, np.ndarray) and value.nbytes > _MAX_BYTES_IN_TASK:
            return _scatter(client, [value], broadcast=False)[0]
        return value

    return client.submit(
        _run_task,
        function,
        *map(argument_to_send, arguments),
        **options,
        key=f"{function.__name__}-{uuid4().hex}",
        **backend.submit_kwargs,
    )


def _wait_for_result(backend: Any, running: _RunningTask) -> Any:
    """Return a task's result; submit it again if workers died with values that it needs."""
    for attempt in range(_ATTEMPTS):
        try:
            with _slot_released(running.future):
                return running.future.result()
        except CancelledError:
            if backend.client.status != "running" or attempt == _ATTEMPTS - 1:
                raise
        # Until the scheduler has noticed which workers are gone.
        sleep(2**attempt / 4)
        running.future = _submit(backend, running.task, check_scheduler=True)
    raise AssertionError


def _run_task(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return function(*arguments, **options)
