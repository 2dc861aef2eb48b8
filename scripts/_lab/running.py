"""Going through cells: progress, failures, what is left out, Ctrl-C, and tables at the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import product

from mddf.datasets import DataFileNotFoundError
from tqdm import tqdm

from . import records, tables


@dataclass(frozen=True)
class Cell:
    """What is to be computed: a key, whose "set" names the data, and how.

    Cells do not depend on each other; this is where they may be spread over machines.
    """

    key: dict
    compute: Callable[[], dict]


@dataclass
class Outcome:
    """What became of the cells."""

    n_asked: int = 0
    n_found: int = 0
    failures: list[dict] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: bool = False
    seconds: float = 0.0

    def notes(self):
        """Lines for people."""
        if self.n_found:
            yield f"{self.n_found} of {self.n_asked} results were there from earlier runs"
        for name, why in self.left_out.items():
            yield f"{name} left out: {why.splitlines()[0]}"
        for failure in self.failures:
            yield f"FAILED: {failure['cell']}: {failure['error'].splitlines()[0]}"


class Interrupt:
    """Remembers the first Ctrl-C, for code that swallows it, and ends at once at the second.

    A thread counts the signals: Python's own handler waits while a library computes.
    """

    def __enter__(self):
        self.asked = False
        self._main = threading.current_thread() is threading.main_thread()
        if not self._main:
            return self  # signals come to the main thread
        reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._old = signal.signal(signal.SIGINT, self._handle)
        self._old_fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._count, args=(reader,), daemon=True).start()
        return self

    def __exit__(self, *_):
        if not self._main:
            return
        signal.set_wakeup_fd(self._old_fd)
        signal.signal(signal.SIGINT, self._old)
        self._writer.close()

    def _handle(self, *_):
        self.asked = True
        raise KeyboardInterrupt

    def _count(self, reader):
        n_signals = 0
        with reader:
            while received := reader.recv(64):
                n_signals += received.count(signal.SIGINT)
                if n_signals > 1:
                    os._exit(130)

    def check(self):
        """Raise what was swallowed."""
        if self.asked:
            raise KeyboardInterrupt


def run(store, cells) -> Outcome:
    """Compute the cells that are not there yet; one failure does not cost the others."""
    cells = list(cells)
    outcome, start = Outcome(len(cells)), time.perf_counter()
    try:
        with Interrupt() as interrupt, tqdm(total=len(cells), dynamic_ncols=True) as bar:
            for cell in cells:
                # Asked for anew: another process may have computed it by now.
                if store.has(cell.key):
                    outcome.n_found += 1
                elif cell.key["set"] not in outcome.left_out:
                    title = ", ".join(map(str, cell.key.values()))
                    bar.set_description(title)
                    _one(store, cell, title, outcome, interrupt, bar.write)
                bar.update()
            bar.set_description("done")
    except KeyboardInterrupt:
        outcome.stopped = True
    outcome.seconds = time.perf_counter() - start
    return outcome


def _one(store, cell, title, outcome, interrupt, say):
    try:
        result = cell.compute()
        interrupt.check()  # a result that was cut short is none
        store.save(cell.key, result)
    except (DataFileNotFoundError, ImportError) as error:
        interrupt.check()
        outcome.left_out[cell.key["set"]] = str(error)
        say(f"{cell.key['set']}: left out: {str(error).splitlines()[0]}")
    except Exception as error:
        interrupt.check()
        trace = "".join(traceback.format_exception(error))
        outcome.failures.append({"cell": title, "error": f"{error!r}", "traceback": trace})
        say(f"FAILED: {title}: {type(error).__name__}: {error!s}")


def conduct(options, keys, compute, report, *, settings=(), notes=()) -> int:
    """Compute all cells, write the tables, and say so; returns the exit code.

    Parameters
    ----------
    options : Namespace
        As `cli.Parser` reads them.
    keys : dict of str to values, or list of dict
        Of the cells; of a dict all combinations, those of the first name together.
    compute : function
        Makes the result of a cell from the options and, by name, its key.
    report : function
        Makes a list of `tables.Table` from a DataFrame of all results in the folder.
    settings : dict or sequence of str
        What the results must have in common, as in `records.Store`; or names of options.
    notes : sequence of str
        What a reader of the tables has to know.
    """
    if isinstance(keys, dict):
        keys = [dict(zip(keys, values, strict=True)) for values in product(*keys.values())]
    if not isinstance(settings, dict):
        settings = {name: getattr(options, name) for name in settings}
    store = records.Store(options.out, {"study": options.study, **settings})
    outcome = run(store, [Cell(key, partial(compute, options, **key)) for key in keys])
    shown = publish(store, report, notes)
    if shown is None:
        print("\nno results", *outcome.left_out.values(), sep="\n\n")
    else:
        print("\n".join(["", *(table.text() for table in shown)]))
    print(*notes, *outcome.notes(), sep="\n")
    about = {**records.provenance(), "settings": store.settings, **vars(outcome)}
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}"
    text = json.dumps(about, indent=1, default=str)
    records.write(store.folder / "runs" / f"{stamp}.json", text + "\n")
    print(f"written to {store.folder}", flush=True)
    if outcome.stopped:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 1 if outcome.failures or shown is None else 0


def publish(store, report, notes=()):
    """Write the tables of all results; again if others have added some meanwhile."""
    while True:
        paths = store.paths()
        if not paths:
            return None
        cells = [records.read_cell(path) for path in paths]
        frame = records.frame(cells)
        shown = report(frame)
        said = [*notes, *mixed_versions(cells)]
        records.write(store.folder / "cells.csv", tables.flat(frame).to_csv(index=False))
        tables.write(store.folder, shown, said)
        if store.paths() == paths:
            return shown


def mixed_versions(cells):
    """Lines about packages of which results have several versions."""
    found: dict[str, set[str]] = {}
    for cell in cells:
        for name, version in cell["provenance"]["versions"].items():
            found.setdefault(name, set()).add(version)
    return [
        f"results of {name} {' and '.join(sorted(several))}"
        for name, several in found.items()
        if len(several) > 1
    ]
