"""Costs of calls, and measurements of two sides that take turns."""

import math
import pickle
import re
import resource
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

# Predictions are repeated for at least 0.05 s of CPU time: the clock of the processor advances in
# steps of up to 0.01 s on some systems.
MIN_PREDICT_SECONDS = 0.05


def cost(function, *arguments, min_seconds=0.0):
    """Return CPU seconds and wall seconds of one call, and its result.

    The call is repeated until it took at least `min_seconds` of CPU time.
    """
    wall_start = time.perf_counter()
    cpu_start = time.process_time()
    n_calls = 0
    while not n_calls or time.process_time() - cpu_start < min_seconds:
        result = function(*arguments)
        n_calls += 1
    cpu_seconds = (time.process_time() - cpu_start) / n_calls
    wall_seconds = (time.perf_counter() - wall_start) / n_calls
    return cpu_seconds, wall_seconds, result


def fit_cost(model, split):
    """Measure seconds, memory, accuracy and pickle size of a fit, in the units of the tables."""
    forget_peak()
    before = status("VmRSS")
    fit, wall, _ = cost(model.fit, split.X, split.y)
    peak = None if before is None else (peak_bytes() - before) / 2**20
    classifies = hasattr(model, "predict_proba")
    function = model.predict_proba if classifies else model.predict
    predict, _, predictions = cost(function, split.X_test, min_seconds=MIN_PREDICT_SECONDS)
    if classifies:
        score = np.mean(model.classes_[predictions.argmax(axis=1)] == split.y_test)
    else:
        score = r2_score(split.y_test, predictions)
    return {
        "fit_s": fit,
        "predict_s": predict,
        "MiB": peak,
        "accuracy": 100 * float(score),
        "wall_s": wall,
        "pickle_bytes": len(pickle.dumps(model, protocol=5)),
    }


def in_turns(sides, repeats):
    """Call our function and, if there is one, the peer's in turns, with one seed for each round.

    Both take a seed and return a dict of numbers. The result holds the medians of our numbers,
    the medians of the peer as "peer_…", and "…_ratio": the median over rounds of the peer's
    number divided by ours.
    """
    ours, *peers = side_by_side(dict(enumerate(sides)), repeats, "").values()
    row = {n: value for n, value in ours.items() if not n.endswith("_ratio")}
    for peer in peers:
        row |= {n if n.endswith("_ratio") else f"peer_{n}": value for n, value in peer.items()}
    return row


def side_by_side(sides, repeats, compared="_s"):
    """Call several functions of a seed in turns, and return the medians of each by name.

    Numbers whose names end in `compared` also get "…_ratio", the median over rounds of their
    ratio to the number of the first function.
    """
    rounds = [{name: side(seed) for name, side in sides.items()} for seed in range(repeats)]
    first = next(iter(sides))
    rows = {}
    for name in sides:
        row = {}
        for key in (key for key, value in rounds[0][name].items() if value is not None):
            row[key] = median(results[name][key] for results in rounds)
            if key.endswith(compared):
                pairs = ((results[name][key], results[first][key]) for results in rounds)
                row[f"{key}_ratio"] = median(a / b if b else math.inf for a, b in pairs)
        rows[name] = row
    return rows


def in_new_process(function, *arguments):
    """Call a function in a new process, so that peak memory counts this call only."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(one_thread(function), *arguments).result()


def one_thread(function):
    """Wrap a function so that linear algebra and OpenMP use one thread."""
    return partial(_limited, function)


def _limited(function, *arguments, **keywords):
    with threadpool_limits(1):
        return function(*arguments, **keywords)


def status(field):
    """Return a memory figure of this process in bytes; None where the system has none."""
    if sys.platform != "linux":
        return None
    text = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\s+(\d+)", text)[1]) * 1024


@contextmanager
def memory_watch(*kinds):
    """Yield a dict with the largest rises of kinds of memory, which are read 50 times a second."""
    before = {kind: status(kind) or 0 for kind in kinds}
    rises = dict.fromkeys(kinds, 0)
    ended = threading.Event()

    def watch():
        while not ended.wait(0.02):
            for kind in kinds:
                rises[kind] = max(rises[kind], (status(kind) or 0) - before[kind])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield rises
    finally:
        ended.set()
        thread.join()


def peak_bytes():
    """Return the peak memory of this process, on Linux since the last `forget_peak`."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return status("VmHWM") or peak * (1 if sys.platform == "darwin" else 1024)


def forget_peak():
    """Reset the peak to the memory in use (on Linux only)."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
