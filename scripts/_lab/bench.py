"""What benchmarks share: what calls cost, and two sides measured in turns."""

import math
import pickle
import re
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits


def cost(function, *arguments, least=0.0):
    """CPU seconds of a call, repeated until it is measurable; wall seconds; its result."""
    wall, cpu, calls = time.perf_counter(), time.process_time(), 0
    while not calls or time.process_time() - cpu < least:
        result, calls = function(*arguments), calls + 1
    return (time.process_time() - cpu) / calls, (time.perf_counter() - wall) / calls, result


def fit_cost(model, split):
    """What a fit costs and gives, in the units that tables show."""
    forget_peak()
    before = status("VmRSS")
    fit, wall, _ = cost(model.fit, split.X, split.y)
    peak = None if before is None else (peak_bytes() - before) / 2**20
    if hasattr(model, "predict_proba"):
        predict, _, found = cost(model.predict_proba, split.X_test, least=0.05)
        if isinstance(found, list):  # of several labels
            found = np.stack([part[:, -1] > 0.5 for part in found], axis=1)
            score = np.mean(found == split.y_test)
        else:
            score = np.mean(model.classes_[found.argmax(axis=1)] == split.y_test)
    else:
        predict, _, found = cost(model.predict, split.X_test, least=0.05)
        score = r2_score(split.y_test, found)
    return {
        "fit_s": fit,
        "predict_s": predict,
        "MiB": peak,
        "accuracy": 100 * float(score),
        "wall_s": wall,
        "pickle_bytes": len(pickle.dumps(model, protocol=5)),
    }


def in_turns(sides, repeats):
    """What functions of a seed measure, ours and perhaps the peer's, in turns.

    They return dicts of numbers, of which there are medians of ours; with a peer its own as
    "peer_...", and as "..._ratio" the median of the ratios of its numbers to ours, pair by pair.
    """
    ours, *peers = side_by_side(dict(enumerate(sides)), repeats, "").values()
    row = {n: value for n, value in ours.items() if not n.endswith("_ratio")}
    for peer in peers:
        row |= {n if n.endswith("_ratio") else f"peer_{n}": value for n, value in peer.items()}
    return row


def side_by_side(sides, repeats, compared="_s"):
    """What several functions of a seed measure, by name, in turns: medians of each.

    Of numbers whose names end so, there are also the medians of their ratios to the first one's.
    """
    rounds = [{name: side(seed) for name, side in sides.items()} for seed in range(repeats)]
    first, rows = next(iter(sides)), {}
    for name in sides:
        row = {}
        for key in (key for key, value in rounds[0][name].items() if value is not None):
            row[key] = median(found[name][key] for found in rounds)
            if key.endswith(compared):
                pairs = ((found[name][key], found[first][key]) for found in rounds)
                row[f"{key}_ratio"] = median(a / b if b else math.inf for a, b in pairs)
        rows[name] = row
    return rows


def in_new_process(function, *arguments):
    """What a function returns in a process of its own, whose memory is that of the call."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(one_thread(function), *arguments).result()


def one_thread(function):
    """The same with one thread of linear algebra and OpenMP."""
    return partial(_limited, function)


def _limited(function, *arguments, **named):
    with threadpool_limits(1):
        return function(*arguments, **named)


def with_aims(rows, index, aims):
    """Rows with columns ..._ratio as text; a ratio's aim, if it has one, stands in brackets.

    `aims` holds by the row's `index` the ratios aimed at by column.
    """
    rows = rows.copy()
    for column in [c for c in rows if c.endswith("_ratio")]:
        found = [aims.get(tuple(key), {}).get(column) for key in rows[index].to_numpy()]
        rows[column] = [
            "" if ratio != ratio else f"{ratio:.3g}" + (f" ({aim:g})" if aim else "")
            for ratio, aim in zip(rows[column], found, strict=True)
        ]
    return rows


def status(field):
    """Bytes of memory of this process; None where the system does not say."""
    if sys.platform != "linux":
        return None
    text = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\s+(\d+)", text)[1]) * 1024


def peak_bytes():
    """The most memory of this process, since `forget_peak` where the system allows that."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return status("VmHWM") or peak * (1 if sys.platform == "darwin" else 1024)


def forget_peak():
    """Let the peak start anew from the memory in use."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
