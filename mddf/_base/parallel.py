"""Work that several threads or processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from threading import Thread, Timer
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from tqdm import tqdm

from mddf._core import Cancel

# A function, its arguments and its named ones, as joblib's `delayed` gives them.
Task = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class TimeIsUp(Exception):
    """A limit of time ended work that is of no use in part."""


# Below this number of cells, starting threads takes longer than they save.
_FEW_CELLS = 2**22


def chunks(n: int, n_jobs: int, least: int) -> list[tuple[int, int]]:
    """Ranges that cover ``range(n)``: one per job, but none shorter than `least`."""
    n_chunks = min(n_jobs, n // least)
    if n_chunks <= 1:
        return [(0, n)]
    bounds = np.linspace(0, n, n_chunks + 1).astype(int)
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def job_count(n_jobs: int | None, n_pieces: int, *, require: str | None = "sharedmem") -> int:
    """Number of jobs that joblib makes of `n_jobs`, but not more than there are pieces of work.

    joblib starts as many threads as it is set to, and computes in the type of `n_jobs`.
    """
    if n_pieces <= 1:
        return 1
    backend, jobs = get_active_backend(prefer="threads", require=require)
    jobs = backend.effective_n_jobs(jobs if n_jobs is None else int(n_jobs))
    return max(1, min(jobs, n_pieces))


def shares_memory() -> bool:
    """Whether joblib's backend in force has threads of this process, as without one."""
    return getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)


def useful_jobs(n_cells: int, n_jobs: int | None) -> int:
    """Number of threads that work on so many cells."""
    return job_count(n_jobs, 1 if n_cells < _FEW_CELLS else n_cells)


@contextmanager
def progress_bar(total: int, description: str, unit: str, *, shown: bool | int) -> Iterator[Any]:
    """A bar of tqdm's, if it is to be shown.

    If not, nothing of tqdm's: its bars wait for a lock that forked processes share, shown or not,
    and a process that is killed does not give it back.
    """
    if not shown:
        yield SimpleNamespace(n=0, update=lambda n=1: None)
        return
    with tqdm(total=total, desc=description, unit=unit) as bar:
        yield bar


@contextmanager
def stopped_on_error() -> Iterator[Cancel]:
    """Stop what still runs in the kernel's calls that got the flag, when an error ends the block.

    They are awaited: threads must not work on arrays that are gone, nor outlive the interpreter.
    """
    cancel = Cancel()
    try:
        yield cancel
    except BaseException:
        cancel.stop()
        raise


@contextmanager
def stopped_at(until: float, cancel: Cancel) -> Iterator[None]:
    """Stop the kernel's calls that got the flag at a time, as `monotonic` has it."""
    if until == np.inf:
        yield
        return
    timer = Timer(max(0.0, until - monotonic()), cancel.stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def from_threads(tasks: Iterable[Task], n_jobs: int, cancel: Cancel) -> Iterator[Any]:
    """The results of tasks in their order, from this thread and others.

    joblib's threads look for results every ten milliseconds, which is longer than many tasks take.
    As there, threads do not keep Python from ending. An error stops all calls that got the flag.
    """
    waiting = list(tasks)
    n_tasks, numbered = len(waiting), enumerate(waiting)
    ready: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    failed: list[BaseException] = []

    def work(most: int = n_tasks) -> None:
        for number, (function, given, named) in islice(numbered, most):
            try:
                ready.put((number, function(*given, **named)))
            except BaseException as error:
                if waiting and not failed:
                    failed.append(error)
                cancel.stop()
                ready.put((number, None))

    try:
        for _ in range(min(n_jobs, n_tasks) - 1):
            Thread(target=work, daemon=True).start()
        found: dict[int, Any] = {}
        for number in range(n_tasks):
            while number not in found and not failed:
                if ready.empty():
                    work(1)
                found.update([ready.get()])
            if failed:
                raise failed[0]
            yield found.pop(number)
    finally:
        waiting.clear()
        failed.clear()


def in_threads(
    function: Callable[[int, int, Cancel], object],
    ranges: Sequence[tuple[int, int]],
    n_jobs: int | None,
) -> list[Any]:
    """The results of ``function(first, last, cancel)`` for every range, from parallel threads.

    Whatever joblib's backend is, these are threads of this process, so that the function may
    write into arrays.
    """
    if len(ranges) == 1:  # here, without the machinery
        return [function(*ranges[0], Cancel())]
    with stopped_on_error() as cancel:
        tasks: Iterator[Task] = ((function, (first, last, cancel), {}) for first, last in ranges)
        return list(from_threads(tasks, job_count(n_jobs, len(ranges)), cancel))
