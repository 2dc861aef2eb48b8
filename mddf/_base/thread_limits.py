"""Libraries that start threads of their own, and how they are kept from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_n_inside = 0
# The libraries whose limit is one, by file, and the limits they had.
_limited: dict[str, tuple[Any, int]] = {}


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> tuple[ThreadpoolController, ThreadpoolController]:
    """Those of OpenMP and of BLAS, as long as no more modules are imported; slow to find."""
    found = ThreadpoolController()
    return found.select(user_api=["openmp"]), found.select(user_api=["blas"])


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which libraries start no threads, which several threads may be in at once.

    OpenMP has a limit for each thread that calls it. BLAS has one for the whole process: the
    first thread sets it to one, and only the last one to leave restores it.
    """
    openmp, blas = _libraries(len(sys.modules))
    with openmp.limit(limits=1):  # first: for BLAS with OpenMP's threads, both limits are one
        _enter(blas)
        try:
            yield
        finally:
            _leave()


def _enter(blas: ThreadpoolController) -> None:
    global _n_inside
    with _lock:
        _n_inside += 1
        for library in blas.lib_controllers:
            if library.filepath not in _limited:
                _limited[library.filepath] = library, library.num_threads
                _set(library, 1)


def _leave() -> None:
    global _n_inside
    with _lock:
        _n_inside -= 1
        if _n_inside == 0:
            for library, n_threads in _limited.values():
                _set(library, n_threads)
            _limited.clear()


def _set(library: Any, n_threads: int) -> None:
    """Set a limit that other threads may set, too, which threadpoolctl keeps them from."""
    library.set_num_threads(n_threads)
    if hasattr(library, "clear_controlling_thread"):  # from 3.8 on
        library.clear_controlling_thread()
