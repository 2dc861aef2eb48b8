"""Time the compiled kernel alone: CPU seconds of growing trees on coded tables, on one thread.

    python scripts/bench/kernel.py
    python scripts/bench/kernel.py --kernel build/_core.so     another build of the kernel

The codes are drawn at random; the target depends on four columns. Each figure is the least of
--repeats runs.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import numpy as np

# Rows, columns and bins of the tables. Small nodes decide the time of the first ones.
TABLES = {"500 x 6": (500, 6, 255), "5000 x 8": (5000, 8, 255), "20 000 x 16": (20_000, 16, 64)}
N_TREES = 20


def table_of(core, n_rows, n_columns, n_bins):
    """Return a coded table of the kernel, and a target between -1 and 1."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_bins, (n_rows, n_columns), dtype=np.uint8)
    starts = np.arange(n_columns + 1, dtype=np.int64) * n_bins
    values = np.tile(np.arange(n_bins, dtype=np.float64), n_columns)
    numeric = np.zeros(n_columns, dtype=np.uint8)
    table = core.BinnedTable(codes, None, values, starts, numeric)
    x = codes[:, :4] / n_bins
    y = x[:, 0] * x[:, 1] - x[:, 2] ** 2 + 0.5 * (x[:, 3] - rng.random(n_rows))
    return table, y / np.abs(y).max()


def forest(core, table, target, **options):
    """Grow a forest on bootstrap samples."""
    n_rows, n_columns = table.codes.shape
    sampling = core.Sampling(np.arange(n_rows, dtype=np.int32), n_rows)
    chosen = core.TreeOptions(**{"max_features": n_columns, **options})
    core.grow(table, target, sampling, chosen, np.arange(N_TREES, dtype=np.uint64))


def classes(core, table, y, **options):
    """Grow a classification forest with two classes."""
    forest(core, table, core.ClassTarget((y > 0).astype(np.uint16), 2), **options)


def numbers(core, table, y, **options):
    """Grow a regression forest."""
    fixed = np.round(y * 2**61).astype(np.int64)[:, None]
    forest(core, table, core.ValueTarget(fixed, np.ones(1)), **options)


def boosting(core, table, y, **options):
    """Grow boosted trees."""
    rows = np.arange(len(y), dtype=np.int32)
    options = core.BoostOptions("squared_error", **options)
    booster = core.GradientBooster(table, y, None, rows, rows[:0], options)
    booster.grow(np.arange(5 * N_TREES, dtype=np.uint64))


TASKS = {
    "random forest, classes": (classes, {}),
    "random forest, numbers": (numbers, {}),
    "completely random, numbers": (numbers, {"random_thresholds": True, "max_features": 1}),
    "boosting, symmetric": (boosting, {"symmetric": True}),
    "boosting, leaf-wise": (boosting, {"symmetric": False, "max_depth": 0}),
}


def loaded(path):
    """Import the kernel of the package, or another build. A process can have only one."""
    if path is None:
        return importlib.import_module("mddf._core")
    spec = importlib.util.spec_from_file_location("_core", path)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    return core


def main(argv=None):
    """Print a table of seconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernel", type=Path, help="path of another build of the kernel")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(argv)
    core = loaded(options.kernel)
    for name, shape in TABLES.items():
        table, y = table_of(core, *shape)
        for task, (work, settings) in TASKS.items():
            seconds = np.inf
            for _ in range(options.repeats):
                start = time.process_time()
                work(core, table, y, **settings)
                seconds = min(seconds, time.process_time() - start)
            print(f"{name:12} {task:28} {seconds:9.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
