"""Going through cells: progress, failures, what is left out, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from dataclasses import dataclass, field

from mddf.datasets import DataFileNotFoundError
from tqdm import tqdm


@dataclass
class Outcome:
    """What became of the cells."""

    n_asked: int = 0
    n_found: int = 0
    failures: list[dict] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

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


def run(store, keys, compute, fresh=False) -> Outcome:
    """Compute the cells that are not there yet, or all; one failure does not cost the others.

    `compute` makes a result from a key's parts, of which "set" names the data. Cells do not depend
    on each other; this is where they may be spread over machines.
    """
    keys = list(keys)
    outcome = Outcome(len(keys))
    try:
        with Interrupt() as interrupt, tqdm(total=len(keys), dynamic_ncols=True) as bar:
            for key in keys:
                # Asked for anew: another process may have computed it by now.
                if not fresh and store.has(key):
                    outcome.n_found += 1
                elif key["set"] not in outcome.left_out:
                    title = ", ".join(map(str, key.values()))
                    bar.set_description(title)
                    if told := _one(store, key, compute, title, outcome, interrupt):
                        bar.write(told)
                bar.update()
            bar.set_description("done")
    except KeyboardInterrupt:
        outcome.stopped = True
    return outcome


def _one(store, key, compute, title, outcome, interrupt):
    """Compute a cell and keep it; or a line that says why not."""
    try:
        result = compute(**key)
        interrupt.check()  # a result that was cut short is none
        store.save(key, result)
    except (DataFileNotFoundError, ImportError) as error:
        interrupt.check()
        outcome.left_out[key["set"]] = str(error)
        return f"{key['set']}: left out: {str(error).splitlines()[0]}"
    except Exception as error:
        interrupt.check()
        trace = "".join(traceback.format_exception(error))
        outcome.failures.append({"cell": title, "error": f"{error!r}", "traceback": trace})
        return f"FAILED: {title}: {type(error).__name__}: {error!s}"
    return None
