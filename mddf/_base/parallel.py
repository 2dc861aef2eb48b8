"""Work in several threads: numbers of jobs, cancelling, deadlines, progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from threading import Thread, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib.parallel import get_active_backend

from mddf._base.progress import tell_trees
from mddf._core import Cancel

if TYPE_CHECKING:
    from tqdm import tqdm

# A function with its positional and keyword arguments, as returned by joblib's `delayed`.
Task = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class TimeIsUp(Exception):
    """Raised when a time limit ends work that is useless in part."""


# With fewer cells of a table, starting threads takes longer than they save.
_MIN_CELLS_FOR_THREADS = 2**22


def chunks(n: int, n_jobs: int, least: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into ranges: one per job, but none shorter than `least`."""
    n_chunks = min(n_jobs, n // least)
    if n_chunks <= 1:
        return [(0, n)]
    bounds = np.linspace(0, n, n_chunks + 1).astype(int)
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def job_count(n_jobs: int | None, n_pieces: int, *, require: str | None = "sharedmem") -> int:
    """Resolve `n_jobs` as joblib does, but to at most one job for each piece of work.

    Joblib itself would start as many threads as it is told to.
    """
    if n_pieces <= 1:
        return 1
    backend, default_n_jobs = get_active_backend(prefer="threads", require=require)
    # As int, since joblib computes in the type of `n_jobs`, which may be a small one of NumPy.
    n_jobs = backend.effective_n_jobs(default_n_jobs if n_jobs is None else int(n_jobs))
    return max(1, min(n_jobs, n_pieces))


def shares_memory() -> bool:
    """Whether joblib's backend in force runs tasks in threads of this process, as by default."""
    return getattr(get_active_backend(prefer="threads")[0], "supports_sharedmem", False)


def useful_jobs(n_cells: int, n_jobs: int | None) -> int:
    return job_count(n_jobs, 1 if n_cells < _MIN_CELLS_FOR_THREADS else n_cells)


class _SilentBar:
    """The part of tqdm's interface that is used here, without an output."""

    def __init__(self, total: int, description: str) -> None:
        self.n = 0
        self._total = total
        self._description = description

    def update(self, n: int = 1) -> None:
        self.n += n
        tell_trees(self._description, self.n, self._total)


@contextmanager
def progress_bar(
    total: int, description: str, unit: str, *, shown: bool | int
) -> Iterator[tqdm | _SilentBar]:
    """Show a progress bar, or return one that only tells listeners.

    Even hidden bars of tqdm wait for a lock that forked processes share, and that a killed process
    does not release: without a bar, tqdm is not used at all.
    """
    if not shown:
        yield _SilentBar(total, description)
        return
    from tqdm import tqdm  # most fits show no bar

    with tqdm(total=total, desc=description, unit=unit) as bar:
        yield bar


@contextmanager
def stopped_on_error() -> Iterator[Cancel]:
    """Provide a flag that stops the kernel's calls that have it, if an error ends the context.

    Threads must not work on arrays that are gone, nor outlive the interpreter.
    """
    cancel = Cancel()
    try:
        yield cancel
    except BaseException:
        cancel.stop()
        raise


@contextmanager
def stopped_at(until: float, cancel: Cancel) -> Iterator[None]:
    """Stop the kernel's calls that have the flag at a time by the clock `monotonic`."""
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
    """Yield the results of tasks in their order, computed by this thread and others.

    joblib's threads poll for results every ten milliseconds, which is longer than many tasks take.
    As with joblib, the threads do not keep Python from exiting. An error stops all calls of the
    kernel that have the flag.
    """
    waiting = list(tasks)
    n_tasks = len(waiting)
    # Threads take the next task from this iterator, which is safe: its steps hold the GIL.
    numbered_tasks = enumerate(waiting)
    ready: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    errors: list[BaseException] = []

    def work(max_tasks: int = n_tasks) -> None:
        for number, (function, arguments, options) in islice(numbered_tasks, max_tasks):
            try:
                ready.put((number, function(*arguments, **options)))
            except BaseException as error:
                # Later errors are consequences of the first one, or of an abandoned generator.
                if waiting and not errors:
                    errors.append(error)
                cancel.stop()
                ready.put((number, None))

    try:
        for _ in range(min(n_jobs, n_tasks) - 1):
            Thread(target=work, daemon=True).start()
        results: dict[int, Any] = {}
        for number in range(n_tasks):
            while number not in results and not errors:
                # This thread works as well, unless there are results to pass on.
                if ready.empty():
                    work(1)
                results.update([ready.get()])
            if errors:
                raise errors[0]
            yield results.pop(number)
    finally:
        waiting.clear()
        errors.clear()


def in_threads(
    function: Callable[..., object],
    ranges: Sequence[tuple[int, int]],
    n_jobs: int | None,
) -> list[Any]:
    """Call ``function(first=..., last=..., cancel=...)`` for every range, in parallel threads.

    Returns the results in the order of the ranges. These are always threads of this process, so
    that the function may write to arrays.
    """
    # A single range takes no thread.
    if len(ranges) == 1:
        ((first, last),) = ranges
        return [function(first=first, last=last, cancel=None)]
    with stopped_on_error() as cancel:
        tasks: Iterator[Task] = (
            (function, (), {"first": first, "last": last, "cancel": cancel})
            for first, last in ranges
        )
        return list(from_threads(tasks, job_count(n_jobs, len(ranges)), cancel))
