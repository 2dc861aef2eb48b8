"""Going through cells: progress, failures, what is left out, and Ctrl-C."""

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
            yield f"FAILED: {failure['cell']}: {failure['error']}"


@contextmanager
def interrupts():
    """Whether Ctrl-C came, as a list of one, for code that swallows it; the second ends at once.

    A thread counts the signals: Python's own handler waits while a library computes.
    """
    asked = []
    if threading.current_thread() is not threading.main_thread():
        yield asked  # signals come to the main thread
        return

    def handle(*_):
        asked.append(True)
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
        yield asked
    finally:
        signal.set_wakeup_fd(old_fd)
        signal.signal(signal.SIGINT, old)
        writer.close()


def run(store, keys, compute, fresh=False, engine=None) -> Outcome:
    """Compute the cells that are not there yet, or all; one failure does not cost the others.

    `compute` makes a result from a key's parts, of which "set" names the data. Cells do not depend
    on each other: `engine`, from `spread`, may compute them elsewhere. They are kept here.
    """
    keys = list(keys)
    outcome = Outcome(len(keys))

    def due():
        for key in keys:
            # Asked for anew: another process may have computed it by now.
            if not fresh and store.has(key):
                outcome.n_found += 1
            elif key["set"] not in outcome.left_out:
                bar.set_description(title(key))
                yield key
                continue
            bar.update()

    try:
        with interrupts() as asked, tqdm(total=len(keys), dynamic_ncols=True) as bar:
            for key, found in (engine or _here)(compute, due()):
                if asked:  # a result that was cut short is none
                    raise KeyboardInterrupt
                if message := _keep(store, key, found, outcome):
                    bar.write(message)
                bar.update()
            bar.set_description("done")
    except KeyboardInterrupt:
        outcome.stopped = True
    return outcome


def title(key):
    """A key for people."""
    return ", ".join(map(str, key.values()))


def _here(compute, keys):
    for key in keys:
        yield key, _attempt(compute, key)


def _attempt(compute, key):
    """A cell's result, or what its outcome says of it, by name."""
    try:
        return {"result": compute(**key)}
    except DataFileNotFoundError as error:
        return {"left_out": str(error)}
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        return {"failure": {"cell": title(key), "error": in_a_line(error), "traceback": trace}}


def _keep(store, key, found, outcome):
    """Keep a result; or a line that says why there is none."""
    if "result" in found:
        store.save(key, found["result"])
        return None
    if "left_out" in found:
        outcome.left_out[key["set"]] = found["left_out"]
        return f"{key['set']}: left out: {found['left_out'].splitlines()[0]}"
    outcome.failures.append(found["failure"])
    return f"FAILED: {title(key)}: {found['failure']['error']}"


def spread(backend, scheduler=None):
    """An engine for `run` that computes cells on a backend of joblib's: dask, ray or loky.

    The scheduler is the address of Dask's, or of Ray's head; None for a cluster of this machine.
    """

    def engine(compute, keys):
        task = _sendable(compute)
        with connected(backend, scheduler):
            tasks = (delayed(task)(key) for key in keys)
            if backend == "ray":  # whose backend for joblib knows no generators
                yield from in_order(tasks, effective_n_jobs(-1))
            else:
                yield from Parallel(n_jobs=-1, return_as="generator_unordered")(tasks)

    return engine


@contextmanager
def connected(backend, scheduler=None, **cluster):
    """Joblib's backend for a scheduler, or for a cluster of this machine (options of Dask's)."""
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
    """A function for workers that need not know the scripts' folder and the user's.

    Pickle writes a function in a function as it is, and not as the name of a module.
    """
    import cloudpickle  # comes with joblib, Dask and Ray

    folders, packed = [str(Path(__file__).parents[1]), os.getcwd()], cloudpickle.dumps(compute)

    def task(key):
        import pickle
        import sys

        from joblib import parallel_config

        sys.path += [folder for folder in folders if folder not in sys.path]
        from _lab.running import _attempt

        with parallel_config("threading"):  # or fits would be cut and sent on
            return key, _attempt(pickle.loads(packed), key)

    return task
