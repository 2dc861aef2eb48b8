"""What the benchmarks share: data as numbers, CPU seconds, and memory."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.model_selection import train_test_split

BUNDLED = ("digits", "breast_cancer")


def load(name, data_home):
    """Training and test part of a set as numbers, or None if its files are not there."""
    if name == "synthetic":
        X, y = make_classification(
            200_000, 50, n_informative=15, n_classes=3, random_state=0, shuffle=True
        )
        return X[:180_000], y[:180_000], X[180_000:], y[180_000:]
    if name in BUNDLED:
        loader = {"digits": load_digits, "breast_cancer": load_breast_cancer}[name]
        X, y = loader(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        return X, y, X_test, y_test
    from mddf.datasets import DataFileNotFoundError, load

    try:
        data = load(name, data_home=data_home, download=False, as_frame=False)
    except (DataFileNotFoundError, ImportError) as error:
        print(f"{name}: left out: {str(error).splitlines()[0]}")
        return None
    X, X_test = (np.asarray(part, dtype=float) for part in (data.X_train, data.X_test))
    return X, np.asarray(data.y_train), X_test, np.asarray(data.y_test)


def cpu_seconds(function, *arguments, least=0.05):
    """CPU seconds of a call, repeated until it is measurable, and its result."""
    start, calls = time.process_time(), 0
    while True:
        result = function(*arguments)
        calls += 1
        used = time.process_time() - start
        if used >= least:
            return used / calls, result


def resident_bytes(field="VmRSS"):
    """Memory of this process now, or at its peak with "VmHWM"; None where it is not told."""
    if sys.platform != "linux":
        return None
    text = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\s+(\d+)", text)[1]) * 1024


def forget_peak():
    """Let the peak start anew from the memory in use."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
