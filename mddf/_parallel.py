"""Work that several threads or processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from tqdm import tqdm

from mddf._core import Cancel

# Below this number of cells, starting threads takes longer than they save.
_FEW_CELLS = 2**22


def chunks(n: int, n_jobs: int, least: int) -> list[tuple[int, int]]:
    """Ranges that cover ``range(n)``: one per job, but none shorter than `least`."""
    n_chunks = min(n_jobs, n // least)
    if n_chunks <= 1:
        return [(0, n)]
    bounds = np.linspace(0, n, n_chunks + 1).astype(int)
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def job_count(n_jobs, n_pieces: int, *, require: str | None = "sharedmem") -> int:
    """Number of jobs that joblib makes of `n_jobs`, but not more than there are pieces of work.

    joblib starts as many threads as it is told to, and computes in the type of `n_jobs`.
    """
    if n_pieces <= 1:
        return 1
    backend, jobs = get_active_backend(prefer="threads", require=require)
    jobs = backend.effective_n_jobs(jobs if n_jobs is None else int(n_jobs))
    return max(1, min(jobs, n_pieces))


def useful_jobs(n_cells: int, n_jobs) -> int:
    """Number of threads that work on so many cells."""
    return job_count(n_jobs, 1 if n_cells < _FEW_CELLS else n_cells)


@contextmanager
def progress_bar(total: int, description: str, unit: str, *, shown) -> Iterator[Any]:
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


def in_threads(
    function: Callable[[int, int, Cancel], object], ranges: Sequence[tuple[int, int]], n_jobs
) -> list:
    """The results of ``function(first, last, cancel)`` for every range, from parallel threads.

    Whatever joblib's backend is, these are threads of this process, so that the function may
    write into arrays.
    """
    with stopped_on_error() as cancel:
        if len(ranges) == 1:
            return [function(*ranges[0], cancel)]
        parallel = Parallel(n_jobs=job_count(n_jobs, len(ranges)), require="sharedmem")
        return parallel(delayed(function)(first, last, cancel) for first, last in ranges)
