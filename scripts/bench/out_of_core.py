"""Measure boosted trees whose codes are in memory or in a temporary file.

    python scripts/bench/out_of_core.py            1 000 000 and 3 000 000 rows of 50 columns
    python scripts/bench/out_of_core.py --rows 30000000 --places file --limit 5
    python scripts/bench/out_of_core.py --quick    20 000 rows

The rows are in a Parquet file, uncompressed float32 in groups of 100 000 rows. Every fit has its
own process of one thread. "anonymous" is the largest anonymous memory during the fit above that
before it; the operating system cannot free it. "mapped" is the part of the file of codes that was
in memory, which it can. Both are read 50 times a second. With --limit, the system refuses to give
the process more anonymous memory than so many GiB (RLIMIT_DATA), and the fit fails.
"""

import hashlib
import resource
import tempfile
import threading
from pathlib import Path

import numpy as np
from _lab import bench, cli, tables
from _lab.study import Study

from mddf import GradientBoostingClassifier, by_columns

_GROUP_ROWS = 100_000


def write_table(path, n_rows, n_columns):
    """Write rows to a Parquet file in groups, and return their classes."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    y = np.empty(n_rows, np.int8)
    names = [f"x{c}" for c in range(n_columns)]
    schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, n_rows, _GROUP_ROWS):
            n = min(_GROUP_ROWS, n_rows - first)
            X = rng.standard_normal((n_columns, n), np.float32)
            score = X[0] + X[1] * X[2] + np.abs(X[3]) - 0.8
            y[first : first + n] = (score > 0) ^ (rng.random(n) < 0.1)
            writer.write_table(pyarrow.table(dict(zip(names, X, strict=True)), schema))
    return y


class MemoryWatch:
    """Reads kinds of memory of this process 50 times a second, and keeps the largest figures."""

    def __init__(self, *kinds):
        self.before = {kind: bench.status(kind) for kind in kinds}
        self.most = dict(self.before)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._ended.wait(0.02):
            for kind in self.most:
                self.most[kind] = max(self.most[kind], bench.status(kind))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def above_start(self, kind):
        """Return by how many bytes the memory rose."""
        return self.most[kind] - self.before[kind]


def fit(options, path, y, place):
    """Measure the costs of one fit."""
    if options.limit is not None:
        limit = int(options.limit * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    codes_folder = str(path.parent) if place == "file" else None
    model = GradientBoostingClassifier(
        max_iter=options.rounds, max_depth=6, early_stopping=False, random_state=0
    )
    with MemoryWatch("RssAnon", "RssFile") as watch:
        X = by_columns(path, codes_folder=codes_folder)
        seconds, wall, model = bench.cost(model.fit, X, y)
    arrays = model._trees.arrays
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
    anonymous = watch.above_start("RssAnon")
    return {
        "cpu_s": seconds,
        "wall_s": wall,
        "anonymous_gib": anonymous / 2**30,
        "bytes_per_row": anonymous / len(y),
        "mapped_gib": watch.above_start("RssFile") / 2**30,
        "trees": digest.hexdigest()[:12],
    }


def cell(options, set, rows, place):
    with tempfile.TemporaryDirectory(dir=options.scratch) as work:
        path = Path(work) / "rows.parquet"
        y = bench.in_new_process(write_table, path, rows, options.columns)
        return bench.in_new_process(fit, options, path, y, place)


def report(frame, options):
    title = f"Codes of {options.columns} columns in memory or in a file, {options.rounds} rounds"
    layout = """rows codes_in=place CPU_s=cpu_s:.3g wall_s:.3g anonymous_GiB=anonymous_gib:.3g
    anonymous_bytes_per_row=bytes_per_row:.3g mapped_GiB=mapped_gib:.3g trees"""
    return [tables.columns("out-of-core", title, frame, layout)]


study = Study(
    globals(), "bench_out_of_core", "set=made rows=rows place=places",
    ("columns", "rounds", "limit"), fresh=True, rows=[1_000_000, 3_000_000], columns=50, rounds=20,
    places=("memory", "file"), limit=None, scratch=None,
    checks={"rows": cli.count, "scratch": str, "limit": float}, quick={"rows": [20_000]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
