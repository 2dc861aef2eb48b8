"""Tasks of joblib's backends, and what they have in common, sent to every machine once.

joblib's backends for Dask and Ray would send it again and again: with each call or with each task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from time import sleep
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import Parallel
from joblib.parallel import get_active_backend

# So often a task is sent to Dask whose workers die.
_ATTEMPTS = 6
# Seconds that Dask may take to start the first worker.
_PATIENCE = 300
# Arrays of more bytes are too large to be a part of a task that Dask's scheduler gets.
_LARGE = 2**20


def _engine(backend: Any) -> str | None:
    """What engine a backend gives its tasks to, if that keeps values for them."""
    return {"DaskDistributedBackend": "dask", "RayBackend": "ray"}.get(type(backend).__name__)


def place() -> Any:
    """Where stand-ins are good: a client of Dask, a session of Ray, None without either."""
    backend, _ = get_active_backend(prefer="threads")
    engine = _engine(backend)
    if engine == "dask":
        return backend.client
    if engine == "ray":
        import ray

        return ray.get_runtime_context().get_job_id()
    return None


def shared(values: Sequence[Any]) -> list[Any]:
    """Stand-ins for values that are arguments of many tasks, in whose place tasks get the values.

    On Dask, every worker there is gets them now, and again when all that had them are gone; on
    Ray, the object store has them; otherwise joblib sends them itself: they are the stand-ins.
    """
    backend, _ = get_active_backend(prefer="threads")
    engine = _engine(backend)
    if engine == "dask":
        return _Scattered.all(backend.client, list(values))
    if engine == "ray":
        import ray

        return [ray.put(value) for value in values]
    return list(values)


def in_order(tasks: Iterable[Any], n_jobs: int) -> Iterable[Any]:
    """The results of delayed calls in their order, from threads or as a joblib backend has it."""
    backend, _ = get_active_backend(prefer="threads")
    if _engine(backend) == "ray":
        return _on_ray(tasks, n_jobs, backend.ray_remote_args or {})
    if _engine(backend) == "dask":
        return _on_dask(tasks, n_jobs, backend)
    kind = "generator" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as=kind)(tasks)


def _on_ray(tasks: Iterable[Any], n_jobs: int, options: dict[str, Any]) -> Iterator[Any]:
    """As Ray's own tasks.

    joblib's backend starts new processes for each call, hides object references from Ray, and
    does not outlive the loss of a process.
    """
    import ray

    tasks = iter(tasks)
    call = ray.remote(_call).options(**options)
    running: deque[Any] = deque()
    try:
        while True:
            for function, given, named in islice(tasks, 2 * n_jobs - len(running)):
                running.append(call.remote(function, *given, **named))
            if not running:
                return
            result = ray.get(running[0])
            # Before it is yielded: Ray crashes when a task is cancelled that is ready.
            running.popleft()
            yield result
    finally:
        for reference in running:
            ray.cancel(reference)


class _Scattered:
    """A value on Dask's workers, and here, should they be gone."""

    def __init__(self, client: Any, value: Any, future: Any) -> None:
        self.client, self.value, self._future = client, value, future

    @classmethod
    def all(cls, client: Any, values: list[Any]) -> list[_Scattered]:
        """Send values to all workers."""
        futures = _scatter(client, values)
        return [cls(client, *pair) for pair in zip(values, futures, strict=True)]

    def there(self, again: bool = False) -> Any:
        """Dask's future of it, which some worker has.

        The client may not know of a loss yet: `again` asks the scheduler.
        """
        if self._future.status != "finished" or (again and self._lost()):
            (self._future,) = _scatter(self.client, [self.value])
        return self._future

    def _lost(self) -> bool:
        try:
            return not any(self.client.who_has([self._future]).values())
        except CancelledError:  # the client knows by now
            return True


def _scatter(client: Any, values: list[Any], *, broadcast: bool = True) -> list[Any]:
    """Futures of values on all workers, or on some; one may die meanwhile."""
    for attempt in range(_ATTEMPTS):
        try:
            return client.scatter(values, broadcast=broadcast, hash=False, timeout=_PATIENCE)
        except OSError as error:  # of the connection to a worker, such as CommClosedError
            if isinstance(error, TimeoutError) or attempt == _ATTEMPTS - 1:
                raise
            sleep(2**attempt / 4)
    raise AssertionError


def _on_dask(tasks: Iterable[Any], n_jobs: int, backend: Any) -> Iterator[Any]:
    """As Dask's own tasks.

    joblib's backend computes here where there is one job, waits for ever when a task has cost
    several workers their life, and does not know what workers had that died.
    """
    tasks = iter(tasks)
    running: deque[Any] = deque()
    try:
        while True:
            for task in islice(tasks, 2 * n_jobs - len(running)):
                running.append([task, _submit(backend, task)])
            if not running:
                return
            result = _result(backend, running[0])
            running.popleft()
            yield result
    finally:
        if running:  # for none Dask would go to its loop, too, which may be what collects this
            backend.client.cancel([future for _, future in running])


@contextmanager
def _slot_released(future: Any) -> Iterator[None]:
    """Where a task of Dask's waits for another one: leave the worker's pool of threads to that.

    joblib's own context does not come back after an error, and a thread that is not in the pool
    cannot leave it. A generator must not be suspended in here: it may be closed late, by another
    thread, or inside another such context.
    """
    from distributed import secede
    from distributed.threadpoolexecutor import rejoin, thread_state

    in_pool = getattr(thread_state, "proceed", False)
    if future.done() or not in_pool:
        yield
        return
    secede()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        rejoin()  # type: ignore[no-untyped-call]


def _submit(backend: Any, task: Any, again: bool = False) -> Any:
    function, given, named = task
    client = backend.client

    def sent(value: Any) -> Any:
        if isinstance(value, _Scattered):
            return value.there(again)
        large = isinstance(value, np.ndarray) and value.nbytes > _LARGE
        return _scatter(client, [value], broadcast=False)[0] if large else value

    given, key = map(sent, given), f"{function.__name__}-{uuid4().hex}"
    return client.submit(_call, function, *given, **named, key=key, **backend.submit_kwargs)


def _result(backend: Any, sent: list[Any]) -> Any:
    """What comes of a task and its future; another one, if workers died with what it needs."""
    for attempt in range(_ATTEMPTS):
        try:
            with _slot_released(sent[1]):
                return sent[1].result()
        except CancelledError:
            if backend.client.status != "running" or attempt == _ATTEMPTS - 1:
                raise
        sleep(2**attempt / 4)  # until the scheduler has seen which workers are gone
        sent[1] = _submit(backend, sent[0], again=True)
    raise AssertionError


def _call(function: Any, *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)
