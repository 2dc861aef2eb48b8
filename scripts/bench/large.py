"""Measure fits on large tables by one thread: CPU seconds, memory, and loss on new rows.

    python scripts/bench/large.py                     200 000 rows of classes and of numbers
    python scripts/bench/large.py --rows 1000000 --methods DeepForest CatBoost
    python scripts/bench/large.py --measures cascade --rows 100000 1000000 10000000
    python scripts/bench/large.py --measures codes --rows 30000000 --places file --limit 5
    python scripts/bench/large.py --quick             2000 rows

Every fit has its own process. Memory is the largest anonymous memory during the fit above that
before it, read 50 times a second; the operating system cannot free it.

defaults   The models of several libraries at their defaults on 20 standard normal columns x0, x1,
           ... The score is 1.2 x0 x1 + sin(2 x2) x3, plus x5 if x4 > 0.3 and otherwise -x6, plus
           0.8 |x7| x8 + 0.5 x9 + 0.7 x10 x11 x12 + 0.4 (x13^2 - 1). Log-odds of the second class
           are 1.5 times the score; numbers are the score and normal noise. Losses are log-losses
           and root mean squared errors on 50 000 new rows.
cascade    mdDF with two layers of four forests of ten trees, out-of-bag, on --columns columns in a
           memory-mapped file. A tenth of the labels is noise, so that trees grow deep.
codes      Gradient boosting on the same rows in a Parquet file, with its codes in memory or in a
           file (--places). "mapped" is the part of the file of codes that was in memory. With
           --limit, the system refuses to give the process more anonymous memory than so many GiB
           (RLIMIT_DATA), and the fit fails.
"""

import math
import resource
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, cli, libraries, tables
from _lab.study import Study

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    by_columns,
    cost,
)

_N_TEST_ROWS = 50_000
# Rows that are generated at once: their memory is small compared with that of the fit.
_CHUNK_ROWS = 100_000
TASKS = ("classification", "regression")


def made_table(seed, n_rows, task):
    """Return random rows, and their classes or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 20))
    x = X.T
    score = (
        1.2 * x[0] * x[1]
        + np.sin(2 * x[2]) * x[3]
        + np.where(x[4] > 0.3, x[5], -x[6])
        + 0.8 * np.abs(x[7]) * x[8]
        + 0.5 * x[9]
        + 0.7 * x[10] * x[11] * x[12]
        + 0.4 * (x[13] ** 2 - 1)
    )
    if task == "regression":
        return X, score + rng.standard_normal(n_rows)
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * score))).astype(int)


def chunks(n_rows, n_columns):
    """Yield columns of some rows, and their classes."""
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, _CHUNK_ROWS):
        n = min(_CHUNK_ROWS, n_rows - first)
        columns = rng.standard_normal((n_columns, n), np.float32)
        score = columns[0] + columns[1] * columns[2] + np.abs(columns[3]) - 0.8
        yield columns, ((score > 0) ^ (rng.random(n) < 0.1)).astype(np.int8)


def write_array(path, n_rows, n_columns):
    """Write rows to a file of floats, and return their classes."""
    X = np.memmap(path, np.float32, "w+", shape=(n_rows, n_columns))
    labels = []
    for columns, y in chunks(n_rows, n_columns):
        first = sum(map(len, labels))
        X[first : first + len(y)] = columns.T
        labels.append(y)
    X.flush()
    return np.concatenate(labels)


def write_parquet(path, n_rows, n_columns):
    """Write rows to a Parquet file in groups, and return their classes."""
    import pyarrow
    from pyarrow import parquet

    names = [f"x{c}" for c in range(n_columns)]
    schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
    labels = []
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for columns, y in chunks(n_rows, n_columns):
            writer.write_table(pyarrow.table(dict(zip(names, columns, strict=True)), schema))
            labels.append(y)
    return np.concatenate(labels)


def of_task(Classifier, Regressor, task):
    """Return the model of a task."""
    return (Regressor if task == "regression" else Classifier)(random_state=0, n_jobs=1)


# Models as they are: what prepares tables and labels elsewhere would count in their costs.
METHODS = {
    "DeepForest": partial(of_task, DeepForestClassifier, DeepForestRegressor),
    "GradientBoosting": partial(of_task, GradientBoostingClassifier, GradientBoostingRegressor),
    "CatBoost": partial(libraries.boosting, "catboost", random_state=0),
    "LightGBM": partial(libraries.boosting, "lightgbm", random_state=0),
    "HistGradientBoosting": partial(libraries.boosting, "sklearn", random_state=0),
}


def watched(function, *arguments):
    """Return the costs of a call, and its result."""
    with bench.memory_watch("RssAnon", "RssFile") as rises:
        cpu, wall, result = bench.cost(function, *arguments)
    memory = rises["RssAnon"]
    costs = {"cpu_s": cpu, "wall_s": wall, "bytes": memory, "gib": memory / 2**30}
    return {**costs, "mapped_gib": rises["RssFile"] / 2**30}, result


def fit_defaults(options, task, n_rows, method):
    """Measure the costs and the loss of one fit."""
    X, y = made_table(0, n_rows, task)
    costs, model = watched(METHODS[method](task).fit, X, y)
    X, y = made_table(1, _N_TEST_ROWS, task)
    if task == "regression":
        return {**costs, "loss": root_mean_squared_error(y, model.predict(X))}
    return {**costs, "loss": log_loss(y, model.predict_proba(X))}


def fit_cascade(options, _, n_rows, method):
    """Measure the costs of a cascade."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "table"
        y = write_array(path, n_rows, options.columns)
        X = np.memmap(path, np.float32, "r", shape=(n_rows, options.columns))
        model = MDDFClassifier(
            2, n_estimators=10, cv="oob", early_stopping=False, random_state=0, n_jobs=1
        )
        costs, model = watched(model.fit, X, y)
    n_bytes = cost(model).n_bytes
    return {
        **costs,
        "ns": 1e9 * costs["cpu_s"] / (n_rows * math.log2(n_rows)),
        "trees_gib": n_bytes / 2**30,
        "bytes_per_row": (costs["bytes"] - n_bytes) / n_rows,
        "accuracy": float(model.history_["accuracy"][-1]),
    }


def fit_codes(options, _, n_rows, place):
    """Measure the costs of boosted trees."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "rows.parquet"
        y = bench.in_new_process(write_parquet, path, n_rows, options.columns)
        if options.limit is not None:
            limit = int(options.limit * 2**30)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        model = GradientBoostingClassifier(
            max_iter=options.rounds, max_depth=6, early_stopping=False, random_state=0
        )
        folder = work if place == "file" else None
        costs, model = watched(lambda: model.fit(by_columns(path, codes_folder=folder), y))
    return {**costs, "bytes_per_row": costs["bytes"] / n_rows}


# Function, title and columns of each measure.
MEASURES = {
    "defaults": (
        fit_defaults,
        "Defaults on large tables of 20 columns, one thread",
        "task=set rows method fit_CPU_s=cpu_s:.3g wall_s:.3g loss:.4f GiB=gib:.3g",
    ),
    "cascade": (
        fit_cascade,
        "mdDF, 2 layers of 4 x 10 trees, out-of-bag",
        "rows CPU_s=cpu_s:.3g wall_s:.3g ns_per_n_log2_n=ns:.3g peak_GiB=gib:.3g "
        "trees_GiB=trees_gib:.3g bytes_per_row,_without_trees=bytes_per_row:.3g accuracy:.3g",
    ),
    "codes": (
        fit_codes,
        "Boosted trees with codes in memory or in a file",
        "rows codes_in=method CPU_s=cpu_s:.3g wall_s:.3g anonymous_GiB=gib:.3g "
        "anonymous_bytes_per_row=bytes_per_row:.3g mapped_GiB=mapped_gib:.3g",
    ),
}


def keys(options):
    """Return the keys of all measures."""
    cases = {
        "defaults": [(task, method) for task in options.tasks for method in options.methods],
        "cascade": [("made", "mdDF")],
        "codes": [("made", place) for place in options.places],
    }
    return [
        {"measure": measure, "set": name, "rows": n_rows, "method": method}
        for measure in options.measures
        for n_rows in options.rows
        for name, method in cases[measure]
    ]


def cell(options, measure, set, rows, method):
    """Fit one model in a new process."""
    return bench.in_new_process(MEASURES[measure][0], options, set, rows, method)


def report(frame, options):
    return tables.by_measure(frame, MEASURES)


study = Study(
    globals(), "bench_large", keys, ("columns", "rounds", "limit"), fresh=True,
    measures=["defaults"], tasks=TASKS, rows=[200_000], methods=list(METHODS), columns=50,
    rounds=20, places=("memory", "file"), limit=None,
    checks={"measures": tuple(MEASURES), "rows": cli.count, "methods": tuple(METHODS),
            "tasks": TASKS, "limit": float},
    quick={"rows": [2000], "methods": ["GradientBoosting", "HistGradientBoosting"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
