"""Measure CPU seconds and memory of a cascade's fit by the number of rows.

    python scripts/bench/scale.py                 100 000 and 1 000 000 rows of 50 columns
    python scripts/bench/scale.py --rows 10000000 --n-jobs 2
    python scripts/bench/scale.py --quick         10 000 rows

The rows are in a memory-mapped file. Every size has its own process. Memory is the largest
anonymous memory during the fit, read 20 times a second; it does not include the mapped file.
"""

import math
import tempfile
import threading
from pathlib import Path

import numpy as np
from _lab import bench, cli, tables
from _lab.study import Study

from mddf import MDDFClassifier

# Rows that are generated at once: their memory is small compared with that of the fit.
_CHUNK_ROWS = 2**18


def write_table(path, n_rows, n_columns):
    """Write rows to a file in chunks, and return their classes."""
    X = np.memmap(path, np.float32, "w+", shape=(n_rows, n_columns))
    y = np.empty(n_rows, np.int8)
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, _CHUNK_ROWS):
        part = rng.standard_normal((min(_CHUNK_ROWS, n_rows - first), n_columns), np.float32)
        X[first : first + len(part)] = part
        score = part[:, 0] + part[:, 1] * part[:, 2] + np.abs(part[:, 3]) - 0.8
        y[first : first + len(part)] = (score > 0) ^ (rng.random(len(part)) < 0.1)
    X.flush()
    return y


def watch(ended, anonymous_bytes):
    """Append the anonymous memory of the process every 0.05 s."""
    while not ended.wait(0.05):
        anonymous_bytes.append(bench.status("RssAnon"))


def fit(options, n_rows):
    """Measure the costs of one fit."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as work:
        path = Path(work) / "table"
        y = write_table(path, n_rows, options.columns)
        X = np.memmap(path, np.float32, "r", shape=(n_rows, options.columns))
        common = {"random_state": 0, "n_jobs": options.n_jobs}
        model = MDDFClassifier(2, n_estimators=10, cv="oob", early_stopping=False, **common)
        ended, anonymous_bytes = threading.Event(), [bench.status("RssAnon")]
        watcher = threading.Thread(target=watch, args=(ended, anonymous_bytes))
        watcher.start()
        seconds, wall, model = bench.cost(model.fit, X, y)
        ended.set()
        watcher.join()
    peak, layers = max(anonymous_bytes) - anonymous_bytes[0], model._cascade.layers
    folds = [fold for layer in layers for member in layer.members for fold in member]
    trees = sum(part.n_bytes for fold in folds for part in fold)
    return {
        "cpu_s": seconds,
        "wall_s": wall,
        "ns": 1e9 * seconds / (n_rows * math.log2(n_rows)),
        "peak_gib": peak / 2**30,
        "trees_gib": trees / 2**30,
        "bytes_per_row": (peak - trees) / n_rows,
        "accuracy": float(model.history_["accuracy"][-1]),
    }


def cell(options, set, rows):
    return bench.in_new_process(fit, options, rows)


def report(frame, options):
    title = f"mdDF, 2 layers of 4 x 10 trees, out-of-bag, {options.columns} columns of float32"
    layout = """rows CPU_s=cpu_s:.3g wall_s:.3g ns_per_n_log2_n=ns:.3g peak_GiB=peak_gib:.3g
    trees_GiB=trees_gib:.3g bytes_per_row,_without_trees=bytes_per_row:.3g accuracy:.3g"""
    return [tables.columns("scale", title, frame, layout)]


study = Study(
    globals(), "bench_scale", "set=made rows=rows", ("columns",), fresh=True,
    rows=[100_000, 1_000_000], columns=50, scratch=None,
    checks={"rows": cli.count, "scratch": str}, quick={"rows": [10_000]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
