"""Computation of cells: progress, failures, sets that are left out, and Ctrl-C."""

import os
import signal
import socket
import threading
import traceback
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from mddf.datasets import DataFileNotFoundError
from tqdm import tqdm

from mddf._base.backends import in_order

from . import in_a_line, need


@dataclass
class Outcome:
    """Counts, failures and omissions of a run."""

    n_asked: int = 0
    n_found: int = 0
    failures: list[dict] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

    def notes(self):
        """Yield lines for the screen."""
        if self.n_found:
            yield f"{self.n_found} of {self.n_asked} results were there from earlier runs"
        for name, why in self.left_out.items():
            yield f"{name} left out: {why.splitlines()[0]}"
        for failure in self.failures:
            yield f"FAILED: {failure['cell']}: {failure['error']}"


@contextmanager
def interrupts():
    """Yield a list that is no longer empty after Ctrl-C; the second Ctrl-C ends the process.

    The list helps where a library swallows KeyboardInterrupt. A thread counts the signals,
    because Python's handler waits until the library returns.
    """
    received_interrupts = []
    if threading.current_thread() is not threading.main_thread():
        yield received_interrupts  # only the main thread receives signals
        return

    def handle(*_):
        received_interrupts.append(True)
        raise KeyboardInterrupt

    def count():
        n_signals = 0
        with reader:
            while received := reader.recv(64):
                n_signals += received.count(signal.SIGINT)
                if n_signals > 1:
                    os._exit(130)

    reader, writer = socket.socketpair()
    writer.setblocking(False)
    old = signal.signal(signal.SIGINT, handle)
    old_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=count, daemon=True).start()
    try:
        yield received_interrupts
    finally:
        signal.set_wakeup_fd(old_fd)
        signal.signal(signal.SIGINT, old)
        writer.close()


def run(store, keys, compute, fresh=False, engine=None) -> Outcome:
    """Compute the missing cells (with `fresh` all cells), and store them.

    `compute` makes a result from the parts of a key; the part "set" names the data. A failure
    does not stop the run. Cells do not depend on each other, so an `engine` of `spread` may
    compute them on other machines.
    """
    keys = list(keys)
    outcome = Outcome(len(keys))

    def due():
        for key in keys:
            # Checked for every cell: another process may have computed it in the meantime.
            if not fresh and store.has(key):
                outcome.n_found += 1
            elif key["set"] not in outcome.left_out:
                bar.set_description(title(key))
                yield key
                continue
            bar.update()

    try:
        with interrupts() as received_interrupts, tqdm(total=len(keys), dynamic_ncols=True) as bar:
            for key, outcome_part in (engine or _here)(compute, due()):
                if received_interrupts:  # the library may have returned an unfinished result
                    raise KeyboardInterrupt
                if message := _keep(store, key, outcome_part, outcome):
                    bar.write(message)
                bar.update()
            bar.set_description("done")
    except KeyboardInterrupt:
        outcome.stopped = True
    return outcome


def title(key):
    """Return a key as text."""
    return ", ".join(map(str, key.values()))


def _here(compute, keys):
    for key in keys:
        yield key, _attempt(compute, key)


def _attempt(compute, key):
    """Return a cell's result, the reason to leave its set out, or its failure, by name."""
    try:
        return {"result": compute(**key)}
    except DataFileNotFoundError as error:
        return {"left_out": str(error)}
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        return {"failure": {"cell": title(key), "error": in_a_line(error), "traceback": trace}}


def _keep(store, key, outcome_part, outcome):
    """Store a result, or return a line with the reason why there is none."""
    if "result" in outcome_part:
        store.save(key, outcome_part["result"])
        return None
    if "left_out" in outcome_part:
        outcome.left_out[key["set"]] = outcome_part["left_out"]
        return f"{key['set']}: left out: {outcome_part['left_out'].splitlines()[0]}"
    outcome.failures.append(outcome_part["failure"])
    return f"FAILED: {title(key)}: {outcome_part['failure']['error']}"


def spread(backend, scheduler=None):
    """Return an engine for `run` that computes cells with joblib's backend dask, ray or loky.

    `scheduler` is the address of Dask's scheduler or of Ray's head; None uses this machine.
    """

    def engine(compute, keys):
        task = _sendable(compute)
        with connected(backend, scheduler):
            tasks = (delayed(task)(key) for key in keys)
            if backend == "ray":  # Ray's joblib backend does not support generators
                yield from in_order(tasks, effective_n_jobs(-1))
            else:
                yield from Parallel(n_jobs=-1, return_as="generator_unordered")(tasks)

    return engine


@contextmanager
def connected(backend, scheduler=None, **cluster):
    """Select joblib's backend for a scheduler, or for a cluster on this machine.

    `cluster` are options of Dask's local cluster.
    """
    with ExitStack() as stack:
        try:
            if backend == "dask":
                client = need("distributed", "dask").Client
                stack.enter_context(client(scheduler, **cluster))
            elif backend == "ray":
                ray = need("ray", "ray")
                from ray.util.joblib import register_ray

                ray.init(address=scheduler)
                stack.callback(ray.shutdown)
                register_ray()
        except (OSError, ValueError) as error:
            if scheduler is None:
                raise
            raise SystemExit(f"--scheduler {scheduler} cannot be reached: {error}") from error
        stack.enter_context(parallel_config(backend, n_jobs=-1))
        yield


def _sendable(compute):
    """Pack a function for workers that do not have the folders of the scripts and the user.

    A nested function is pickled by value, and not as the name of a module.
    """
    import cloudpickle  # installed with joblib, Dask and Ray

    folders = [str(Path(__file__).parents[1]), os.getcwd()]
    packed = cloudpickle.dumps(compute)

    def task(key):
        import pickle
        import sys

        from joblib import parallel_config

        sys.path += [folder for folder in folders if folder not in sys.path]
        from _lab.running import _attempt

        with parallel_config("threading"):  # otherwise a fit would send its parts to workers
            return key, _attempt(pickle.loads(packed), key)

    return task
