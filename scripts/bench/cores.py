"""What many cores would gain: the pieces of a fit, timed and replayed on more workers.

    python scripts/bench/cores.py            a layer of adult, of letter and of mnist
    python scripts/bench/cores.py --quick    20 trees for each forest of letter

A fit of mdDF gets as many threads as there are to be workers, so that its work is cut as for them.
Each piece is timed by the CPU clock of its thread, on however few cores there are. What waits for
nothing in between is a phase, such as the trees of a layer; its pieces go in their order to the
worker that is free first, and what they found is collected in that order, while others work. All
else that the main thread does is serial. What is lost is the share of the workers' time in which
they wait, for what is serial or for the end of a phase with all that is to be collected. The
memory's speed and Python's lock, which cores share, are not in it.
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
    """CPU seconds of pieces and of collecting what each found, and of pieces in this thread."""

    pieces: list = field(default_factory=list)
    collecting: list = field(default_factory=list)
    own: float = 0.0

    def timed(self, function):
        """The same function, whose call is the next piece."""
        number = len(self.pieces)
        self.pieces.append(0.0)

        @wraps(function)
        def call(*arguments, **named):
            start = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.pieces[number] = time.thread_time() - start
                if threading.current_thread() is threading.main_thread():
                    self.own += self.pieces[number]

        return call


@contextmanager
def phases_of_fits():
    """A list that gets each phase from now on."""
    phases, from_threads, in_threads = [], grower.from_threads, predictor.in_threads

    def of_trees(tasks, *rest):
        phases.append(phase := Phase())
        for result in from_threads(((phase.timed(f), *given) for f, *given in tasks), *rest):
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
    """Seconds until the last of the pieces is done, and collected."""
    free, end = [0.0] * n_workers, 0.0
    for seconds, more in zip_longest(pieces, collecting, fillvalue=0.0):
        done = free[0] + seconds
        heapq.heapreplace(free, done)
        end = max(end, done) + more
    return end


def cell(options, set, workers):
    """One fit, replayed."""
    split = data.codes(set, options.data_home)
    model = MDDFClassifier(1, n_estimators=options.n_estimators, random_state=0, n_jobs=workers)
    with phases_of_fits() as phases:
        alone = time.thread_time()
        seconds, _, _ = bench.cost(model.fit, split.X, split.y)
        alone = time.thread_time() - alone
    all_pieces = [piece for phase in phases for piece in phase.pieces]
    serial = alone - sum(sum(phase.collecting) + phase.own for phase in phases)
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
    """A row for each set and number of workers."""
    title = f"mdDF, a layer of 4 x {options.n_estimators} trees in 5 folds, replayed"
    shown = """set workers phases pieces longest_piece_ms=longest_ms:.3g CPU_s=cpu_s:.3g
    serial_s:.3g replayed_s:.3g times_as_fast=speed_up:.3g lost_to_serial_%=serial_loss:.0f
    lost_to_waiting_%=waiting_loss:.0f"""
    return [tables.columns("cores", title, frame, shown, 2)]


study = Study(
    globals(), "bench_cores", "set=datasets workers=workers", ("n_estimators",), fresh=True,
    datasets=["adult", "letter", "mnist"], workers=[8, 32, 128], n_estimators=100,
    quick={"datasets": ["letter"], "n_estimators": 20},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
