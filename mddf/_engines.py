"""Tasks of joblib's backends, and what they have in common, sent to every machine once.

joblib's backends for Dask and Ray would send it again and again: with each call or with each task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from joblib import Parallel
from joblib.parallel import get_active_backend

from mddf._binning import BinnedTable, Bins, is_large, join_bins


def _engine(backend) -> str | None:
    """What engine a backend hands its tasks to, if that keeps values for them."""
    return {"DaskDistributedBackend": "dask", "RayBackend": "ray"}.get(type(backend).__name__)


def shared(values: Sequence) -> list:
    """Stand-ins for values that are arguments of many tasks, in whose place tasks get the values.

    On Dask, every worker there is gets them now, so that they outlive the loss of some (until no
    task waits for them: then Dask's active memory manager leaves one); on Ray, the object store
    has them; otherwise joblib sends them itself, and they are the stand-ins.
    """
    backend, _ = get_active_backend(prefer="threads")
    engine = _engine(backend)
    if engine == "dask":
        return backend.client.scatter(list(values), broadcast=True, hash=False)
    if engine == "ray":
        import ray

        return [ray.put(value) for value in values]
    return list(values)


def in_order(tasks: Iterable, n_jobs: int) -> Iterable:
    """The results of delayed calls in their order, from threads or as a joblib backend has it."""
    backend, _ = get_active_backend(prefer="threads")
    if _engine(backend) == "ray":
        return _on_ray(tasks, n_jobs, backend.ray_remote_args or {})
    kind = "generator" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as=kind)(tasks)


def _on_ray(tasks: Iterable, n_jobs: int, options: dict) -> Iterator:
    """As Ray's own tasks.

    joblib's backend starts new processes for each call, hides object references from Ray, and
    does not outlive the loss of a process.
    """
    import ray

    tasks = iter(tasks)
    call = ray.remote(_call).options(**options)
    running: deque = deque()
    try:
        while True:
            for function, given, named in islice(tasks, 2 * n_jobs - len(running)):
                running.append(call.remote(function, *given, **named))
            if not running:
                return
            result = ray.get(running[0])
            # Before it is handed on: Ray crashes when a task is cancelled that is ready.
            running.popleft()
            yield result
    finally:
        for reference in running:
            ray.cancel(reference)


def _call(function, *arguments, **named):
    return function(*arguments, **named)


@dataclass(frozen=True)
class _NewColumns:
    """Columns that have been replaced since a table was sent: the last ones."""

    version: int
    bins: Bins
    codes: np.ndarray

    def __sizeof__(self) -> int:
        return self.codes.nbytes


class _SentTable:
    """A table as it travels: without the codes by columns, which each process makes for itself."""

    def __init__(self, bins: Bins, codes: np.ndarray):
        self.bins, self.codes = bins, codes
        self._lock = Lock()
        self._made: tuple[int | None, BinnedTable] | None = None

    def __reduce__(self):
        return _SentTable, (self.bins, self.codes)

    def __sizeof__(self) -> int:
        return self.codes.nbytes

    def table(self, new: _NewColumns | None) -> BinnedTable:
        """For growing trees on; the same for all tasks of a layer."""
        version = None if new is None else new.version
        with self._lock:
            if self._made is None or self._made[0] != version:
                self._made = None  # before there is another one
                self._made = version, self._make(new)
            return self._made[1]

    def _make(self, new: _NewColumns | None) -> BinnedTable:
        bins, codes = self.bins, self.codes
        if new is not None:
            n_kept = bins.n_columns - new.bins.n_columns
            bins, codes = join_bins(bins.columns(0, n_kept), new.bins), codes.copy()
            codes[:, n_kept:] = new.codes
        by_column = np.ascontiguousarray(codes.T) if is_large(codes.shape) else None
        return BinnedTable(bins, codes, by_column)


@dataclass
class _Sent:
    """Where a table has been sent to, and in which version."""

    place: Any
    version: int
    table: Any
    new_version: int
    new: Any = None


_sent: WeakKeyDictionary[BinnedTable, _Sent] = WeakKeyDictionary()


def _place(backend):
    """What a stand-in is good for: a client of Dask, a session of Ray."""
    if _engine(backend) == "dask":
        return backend.client
    import ray

    return ray.get_runtime_context().get_job_id()


def _is_lost(stand_in) -> bool:
    """Whether all of Dask's workers that held a value are gone."""
    return getattr(stand_in, "status", "finished") != "finished"


def shared_table(table: BinnedTable) -> tuple[Any, Any]:
    """Stand-ins for a table, and for what has changed in it since it was sent first.

    Of a table whose last columns are replaced for every layer, only these travel again.
    """
    backend, _ = get_active_backend(prefer="threads")
    if _engine(backend) is None:
        return table, None
    place = _place(backend)
    sent = _sent.get(table)
    if sent is None or sent.place != place or _is_lost(sent.table):
        (stand_in,) = shared([_SentTable(table.bins, table.codes)])
        sent = _sent[table] = _Sent(place, table.version, stand_in, table.version)
    if sent.new_version != table.version or _is_lost(sent.new):
        bins = table.bins.columns(table.n_fixed, table.bins.n_columns)
        codes = np.ascontiguousarray(table.codes[:, table.n_fixed :])
        (sent.new,) = shared([_NewColumns(table.version, bins, codes)])
        sent.new_version = table.version
    return sent.table, sent.new


def received_table(table, new) -> BinnedTable:
    """The table that the two of `shared_table` stand for."""
    return table if isinstance(table, BinnedTable) else table.table(new)
