"""What benchmarks measure: CPU seconds, wall time, memory; and their data as numbers."""

from __future__ import annotations

import re
import resource
import sys
import time
import timeit
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from . import data


def load(name, data_home):
    """Training and test part of a set as numbers, or None if its files are not there."""
    if name == "synthetic":
        X, y = make_classification(
            200_000, 50, n_informative=15, n_classes=3, random_state=0, shuffle=True
        )
        return X[:180_000], y[:180_000], X[180_000:], y[180_000:]
    if name in ("curves", "many curves"):
        return _curves(*((20_000, 16) if name == "curves" else (200_000, 50)))
    source = data.Source(name, data_home)
    try:
        data.load(source, download=False)
    except (OSError, ImportError) as error:
        print(f"{name}: left out: {str(error).splitlines()[0]}")
        return None
    split = data.split(source, 0)
    codes = data.to_codes().fit(split.X)
    X, X_test = (
        np.asarray(codes.transform(part), dtype=float) for part in (split.X, split.X_test)
    )
    return X, split.y, X_test, split.y_test


def _curves(n_rows, n_columns, n_test=20_000):
    """Numbers to be predicted from floats: a product, a wave, a slope, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + n_test, n_columns))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.3 * rng.normal(size=len(X))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def cpu_seconds(function, *arguments, least=0.05):
    """CPU seconds of a call, repeated until it is measurable, and its result."""
    result = []
    timer = timeit.Timer(lambda: result.append(function(*arguments)), timer=time.process_time)
    calls, used = 0, 0.0
    while not calls or used < least:
        result.clear()
        used += timer.timeit(1)
        calls += 1
    return used / calls, result[0]


def least_seconds(function, repeats=1):
    """The least CPU time of some calls."""
    return min(timeit.repeat(function, timer=time.process_time, number=1, repeat=repeats))


def timed(function, *arguments):
    """Result of a call, and the wall and CPU seconds it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def resident_bytes():
    """Memory of this process now; None where it is not told."""
    return _status("VmRSS")


def peak_bytes():
    """The most memory of this process, since `forget_peak` where the system allows that."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status("VmHWM") or peak * (1 if sys.platform == "darwin" else 1024)


def forget_peak():
    """Let the peak start anew from the memory in use."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _status(field):
    if sys.platform != "linux":
        return None
    text = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\s+(\d+)", text)[1]) * 1024
