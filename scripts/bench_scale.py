"""How a cascade's fit grows with the rows: CPU seconds and memory, from a mapped file.

    python scripts/bench_scale.py                 100 000 and 1 000 000 rows of 50 columns
    python scripts/bench_scale.py --rows 10000000 --n-jobs 2
    python scripts/bench_scale.py --quick

A table of float32 is written to a file, which fit gets as a numpy.memmap; every size has a process
of its own. Four forests of ten trees, two layers, out-of-bag. Memory is what the fit adds beyond
the mapped file: the most of the process's anonymous memory, looked at 20 times a second. Some rows
hold only noise in their classes, so that trees grow deep.
"""

import math
import multiprocessing
import re
import tempfile
import threading
from pathlib import Path

import numpy as np
from _lab import cli, measure, tables

from mddf import MDDFClassifier

_PART = 2**18


def write_table(path, n_rows, n_columns):
    """Rows in a file, part by part, and their classes."""
    X = np.memmap(path, np.float32, "w+", shape=(n_rows, n_columns))
    y = np.empty(n_rows, np.int8)
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, _PART):
        part = rng.standard_normal((min(_PART, n_rows - first), n_columns), np.float32)
        X[first : first + len(part)] = part
        score = part[:, 0] + part[:, 1] * part[:, 2] + np.abs(part[:, 3]) - 0.8
        y[first : first + len(part)] = (score > 0) ^ (rng.random(len(part)) < 0.1)
    X.flush()
    return y


def anonymous_bytes():
    """Memory of this process that is no file's."""
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1]) * 1024


class Peak(threading.Thread):
    """The most anonymous memory since the start, beyond that of then."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.most = anonymous_bytes()
        self.ended = threading.Event()

    def run(self):
        """Look, again and again."""
        while not self.ended.wait(0.05):
            self.most = max(self.most, anonymous_bytes())

    def end(self):
        """Stop; what has been added at most."""
        self.ended.set()
        self.join()
        return self.most - self.before


def fit(n_rows, n_columns, n_jobs, folder):
    """One fit: what it took."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        path = Path(work) / "table"
        y = write_table(path, n_rows, n_columns)
        X = np.memmap(path, np.float32, "r", shape=(n_rows, n_columns))
        model = MDDFClassifier(
            2, n_estimators=10, cv="oob", early_stopping=False, random_state=0, n_jobs=n_jobs
        )
        peak = Peak()
        peak.start()
        model, taken = measure.timed(model.fit, X, y)
        most = peak.end()
    trees = sum(
        part.n_bytes
        for layer in model._cascade.layers
        for member in layer.members
        for of_fold in member
        for part in of_fold
    )
    seconds = taken["cpu_s"]
    return {
        "rows": n_rows,
        "CPU s": seconds,
        "wall s": taken["wall_s"],
        "ns per n log2 n": 1e9 * seconds / (n_rows * math.log2(n_rows)),
        "peak GiB": most / 2**30,
        "trees GiB": trees / 2**30,
        "bytes per row, without trees": (most - trees) / n_rows,
        "accuracy": model.history_["accuracy"][-1],
    }


def parse(argv=None):
    return cli.Parser(
        __doc__,
        "bench_scale",
        quick={"rows": [20_000]},
        checks={"scratch": str},
        rows=[100_000, 1_000_000],
        columns=50,
        n_jobs=None,
        scratch=None,
    ).read(argv)


def main(argv=None):
    options = parse(argv)
    rows = []
    for n_rows in options.rows:
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            given = n_rows, options.columns, options.n_jobs, options.scratch
            rows.append(alone.apply(fit, given))
        print(", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
    numbers = tables.pd.DataFrame(rows)
    title = f"mdDF, 2 layers of 4 x 10 trees, out-of-bag, {options.columns} columns of float32"
    shown = numbers.set_index("rows").map("{:.3g}".format)
    tables.show(options.out, [tables.Table("scale", title, shown, numbers)])


if __name__ == "__main__":
    main()
