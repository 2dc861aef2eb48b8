"""Keeping libraries such as BLAS and OpenMP from starting threads of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from threadpoolctl import LibController

_lock = Lock()
# Number of contexts of `one_thread` that are open.
_n_inside = 0
# Libraries that are limited to one thread, by file, with their former limits.
_limited: dict[str, tuple[LibController, int]] = {}


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> tuple[ThreadpoolController, ThreadpoolController]:
    """Find the libraries of OpenMP and of BLAS, again only if more modules have been imported."""
    libraries = ThreadpoolController()
    return libraries.select(user_api=["openmp"]), libraries.select(user_api=["blas"])


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep libraries from starting threads; several threads may enter this context at once.

    OpenMP has a limit for each calling thread. BLAS has one limit for the whole process: the first
    thread that enters sets it to 1, and the last one that leaves restores it.
    """
    openmp, blas = _libraries(len(sys.modules))
    # OpenMP first: a BLAS that uses threads of OpenMP has the same limit.
    with openmp.limit(limits=1):
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


def _set(library: LibController, n_threads: int) -> None:
    """Set a limit such that other threads can also set it, which threadpoolctl would prevent."""
    library.set_num_threads(n_threads)
    # threadpoolctl 3.8 and later.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()
