"""Simulate a fit on many cores: its tasks are timed and replayed on more workers.

    python scripts/bench/cores.py            a layer of adult, of letter and of mnist
    python scripts/bench/cores.py --quick    20 trees for each forest of letter

A fit of mdDF gets as many threads as workers are simulated, so that its work is divided in the
same way. Each piece of work is timed by the CPU clock of its thread, so a machine with few cores
is enough. A phase is a set of pieces without dependencies, such as the trees of a layer. The
pieces of a phase go in order to the first free worker; the main thread collects the results in the
same order while the workers go on. All other work of the main thread is serial. The losses are the
shares of the time that workers spend waiting: for serial work, or for the end of a phase. Memory
bandwidth and the lock of Python, which cores share, are not simulated.
"""

import heapq
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import zip_longest
from unittest.mock import patch

from _lab import bench, data, tables
from _lab.study import Study

from mddf import MDDFClassifier
from mddf._binning import bins as binning
from mddf._trees import grower, predictor


@dataclass
class Phase:
    """CPU seconds of the pieces, of collecting their results, and of pieces in the main thread."""

    pieces: list = field(default_factory=list)
    collecting: list = field(default_factory=list)
    own: float = 0.0

    def timed(self, function):
        """Wrap a function so that its call is timed as the next piece."""
        number = len(self.pieces)
        self.pieces.append(0.0)

        @wraps(function)
        def call(*arguments, **keywords):
            start = time.thread_time()
            try:
                return function(*arguments, **keywords)
            finally:
                self.pieces[number] = time.thread_time() - start
                if threading.current_thread() is threading.main_thread():
                    self.own += self.pieces[number]

        return call


@contextmanager
def phases_of_fits():
    """Yield a list to which each phase of the fits in the context is added."""
    phases = []
    from_threads = grower.from_threads
    in_threads = predictor.in_threads

    def of_trees(tasks, *rest):
        phases.append(phase := Phase())
        for result in from_threads(
            ((phase.timed(f), *arguments) for f, *arguments in tasks), *rest
        ):
            start = time.thread_time()
            yield result
            phase.collecting.append(time.thread_time() - start)

    def of_rows(function, ranges, n_jobs):
        if len(ranges) == 1:
            return in_threads(function, ranges, n_jobs)
        phases.append(phase := Phase())
        timed = {part: phase.timed(function) for part in ranges}
        return in_threads(
            lambda first, last, cancel: timed[first, last](first=first, last=last, cancel=cancel),
            ranges,
            n_jobs,
        )

    with (
        patch.object(grower, "from_threads", of_trees),
        patch.object(predictor, "in_threads", of_rows),
        patch.object(binning, "in_threads", of_rows),
    ):
        yield phases


def replayed(pieces, collecting, n_workers):
    """Return the seconds until the result of the last piece is collected."""
    free = [0.0] * n_workers  # times at which the workers are free: a heap
    end = 0.0
    for seconds, more in zip_longest(pieces, collecting, fillvalue=0.0):
        done = free[0] + seconds
        heapq.heapreplace(free, done)
        end = max(end, done) + more
    return end


def cell(options, set, workers):
    """Time the pieces of a fit, and replay them."""
    split = data.codes(set, options.data_home)
    model = MDDFClassifier(1, n_estimators=options.n_estimators, random_state=0, n_jobs=workers)
    with phases_of_fits() as phases:
        start = time.thread_time()
        seconds, _, _ = bench.cost(model.fit, split.X, split.y)
        main_thread_seconds = time.thread_time() - start
    all_pieces = [piece for phase in phases for piece in phase.pieces]
    serial = main_thread_seconds - sum(sum(phase.collecting) + phase.own for phase in phases)
    inside = sum(replayed(phase.pieces, phase.collecting, workers) for phase in phases)
    return {
        "phases": len(phases),
        "pieces": len(all_pieces),
        "longest_ms": 1e3 * max(all_pieces),
        "cpu_s": seconds,
        "serial_s": serial,
        "replayed_s": serial + inside,
        "speed_up": seconds / (serial + inside),
        "serial_loss": 100 * serial / (serial + inside),
        "waiting_loss": 100 * (inside - sum(all_pieces) / workers) / (serial + inside),
    }


def report(frame, options):
    """Return a table with a row for each set and number of workers."""
    title = f"mdDF, a layer of 4 x {options.n_estimators} trees in 5 folds, replayed"
    layout = """set workers phases pieces longest_piece_ms=longest_ms:.3g CPU_s=cpu_s:.3g
    serial_s:.3g replayed_s:.3g times_as_fast=speed_up:.3g lost_to_serial_%=serial_loss:.0f
    lost_to_waiting_%=waiting_loss:.0f"""
    return [tables.columns("cores", title, frame, layout, n_index=2)]


study = Study(
    globals(), "bench_cores", "set=datasets workers=workers", ("n_estimators",), fresh=True,
    datasets=["adult", "letter", "mnist"], workers=[8, 32, 128], n_estimators=100,
    quick={"datasets": ["letter"], "n_estimators": 20},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
