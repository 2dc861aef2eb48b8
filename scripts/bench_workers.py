"""Two worker processes of one thread each against one thread: fit and prediction.

    python scripts/bench_workers.py            2000 trees on 30 000 x 15, a million rows predicted
    python scripts/bench_workers.py --quick    20 trees on 2000 rows, 20 000 predicted

Each side is told to grow and to predict, in turns with one thread, after a small fit that starts
its workers: starting is no part of the seconds. Dask's bytes are those that client, scheduler and
workers write, in units of what has to go: the binned table once to each worker, and all trees. Two
cores must be free.
"""

import math
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
from _lab import tables
from _lab.bench import in_turns
from _lab.study import Study
from joblib import parallel_config

from mddf import RandomForestClassifier


def made(n_rows, n_columns, seed):
    """Rows of noise and classes that some columns say something of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def count_written():
    """Count what this process writes to Dask's connections from now on."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "written"):
        TCP.written, write = 0, TCP.write

        async def counting(self, *arguments, **named):
            n_bytes = await write(self, *arguments, **named)
            TCP.written += n_bytes
            return n_bytes

        TCP.write = counting
    TCP.written = 0


def written():
    """Bytes since `count_written`."""
    from distributed.comm.tcp import TCP

    return TCP.written


@contextmanager
def two_workers(engine):
    """Workers, and a function that says how many bytes have been written since it was called."""
    if engine == "loky":
        with parallel_config("loky", n_jobs=2):
            yield lambda: math.nan
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        parallel_config("dask", n_jobs=-1),
    ):

        def since():
            total = written() + sum(client.run(written).values())
            count_written()
            client.run(count_written)
            return total

        count_written()
        client.run(count_written)
        yield since


def measure(options, since, n_jobs, seed):
    """Seconds of a fit and of a prediction, and what was sent in units of what was needed."""
    X, y = made(options.rows, 15, seed)
    forest = RandomForestClassifier(options.n_estimators, random_state=seed, n_jobs=n_jobs)
    since()
    start = time.perf_counter()
    forest.fit(X, y)
    fit_s, sent = time.perf_counter() - start, since()
    needed = 2 * X.size + sum(part.n_bytes for part in forest._trees)
    forest = RandomForestClassifier(100, random_state=seed, n_jobs=n_jobs).fit(X, y)
    X, _ = made(options.predicted, 15, seed + 1)
    start = time.perf_counter()
    forest.predict_proba(X)
    return {"fit_s": fit_s, "predict_s": time.perf_counter() - start, "sent": sent / needed}


def in_a_thread(options, seed):
    """The same on one thread."""
    with parallel_config("threading"):
        return measure(options, lambda: math.nan, 1, seed)


def cell(options, set, engine):
    """Medians of an engine and of one thread, in turns."""
    with two_workers(engine) as since:
        X, y = made(3000, 15, 0)
        RandomForestClassifier(8, n_jobs=2).fit(X, y)
        sides = [partial(measure, options, since, 2), partial(in_a_thread, options)]
        return in_turns(sides, options.repeats)


def report(frame, options):
    """How many times as fast, beside what is aimed at."""
    title = (
        f"Two workers and one thread: fit of {options.n_estimators} trees on "
        f"{options.rows} x 15,\nprediction of {options.predicted} rows by 100 trees"
    )
    shown = """engine fit_s:.3g alone_fit_s=peer_fit_s:.3g fit_speed-up=fit_s_ratio:.2f
    predict_s:.3g alone_predict_s=peer_predict_s:.3g predict_speed-up=predict_s_ratio:.2f
    sent:.2f"""
    return [tables.columns("workers", title, frame, shown)]


def keys(options):
    """Engines on the made set."""
    return [{"set": "made", "engine": engine} for engine in options.engines]


study = Study(
    globals(), "bench_workers", keys, fresh=True, engines=["dask", "loky"], n_estimators=2000,
    rows=30_000, predicted=1_000_000, repeats=3, checks={"engines": ("dask", "loky")},
    quick={"n_estimators": 20, "rows": 2000, "predicted": 20_000, "repeats": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
