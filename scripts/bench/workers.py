"""Compare two worker processes of one thread each with one thread: fit and prediction.

    python scripts/bench/workers.py            2000 trees on 30 000 x 15, a million rows predicted
    python scripts/bench/workers.py --quick    20 trees on 2000 rows, 20 000 predicted

Workers are started before the measurement. "sent" counts the bytes that processes of this machine
send each other with Dask, divided by the bytes that must be sent: the binned table once to each
worker, and all trees. The measurement needs two free cores.
"""

import math
from functools import partial

import numpy as np
from _lab import bench, tables
from _lab.running import connected
from _lab.study import Study
from joblib import parallel_config

from mddf import RandomForestClassifier


def made(n_rows, n_columns, seed):
    """Return random rows, and classes that depend on three columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def sent_bytes():
    """Return the bytes that processes of this machine have sent over the loopback device."""
    import psutil  # comes with Dask

    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def measure(options, engine, n_jobs, seed):
    """Measure seconds of a fit and of a prediction, and sent divided by needed bytes."""
    X, y = made(options.rows, 15, seed)
    forest = RandomForestClassifier(options.n_estimators, random_state=seed, n_jobs=n_jobs)
    before = sent_bytes() if engine == "dask" else math.nan
    _, fit_s, _ = bench.cost(forest.fit, X, y)
    sent = sent_bytes() - before if engine == "dask" else math.nan
    needed = 2 * X.size + sum(part.n_bytes for part in forest._trees)
    forest = RandomForestClassifier(100, random_state=seed, n_jobs=n_jobs).fit(X, y)
    X, _ = made(options.predicted, 15, seed + 1)
    _, predict_s, _ = bench.cost(forest.predict_proba, X)
    return {"fit_s": fit_s, "predict_s": predict_s, "sent": sent / needed}


def in_a_thread(options, seed):
    """Measure with one thread."""
    with parallel_config("threading"):
        return measure(options, None, 1, seed)


def cell(options, set, engine):
    """Measure an engine and one thread in turns."""
    two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with connected(engine, **two, direct_to_workers=True), parallel_config(engine, n_jobs=2):
        X, y = made(3000, 15, 0)
        RandomForestClassifier(8, n_jobs=2).fit(X, y)
        sides = [partial(measure, options, engine, 2), partial(in_a_thread, options)]
        return bench.in_turns(sides, options.repeats)


def report(frame, options):
    """Return a table of seconds and speed-ups."""
    title = (
        f"Two workers and one thread: fit of {options.n_estimators} trees on "
        f"{options.rows} x 15,\nprediction of {options.predicted} rows by 100 trees"
    )
    layout = """engine fit_s:.3g alone_fit_s=peer_fit_s:.3g fit_speed-up=fit_s_ratio:.2f
    predict_s:.3g alone_predict_s=peer_predict_s:.3g predict_speed-up=predict_s_ratio:.2f
    sent:.2f"""
    return [tables.columns("workers", title, frame, layout)]


study = Study(
    globals(), "bench_workers", "set=made engine=engines", ("n_estimators", "rows", "predicted"),
    fresh=True,
    engines=["dask", "loky"], n_estimators=2000, rows=30_000, predicted=1_000_000, repeats=3,
    checks={"engines": ("dask", "loky")},
    quick={"n_estimators": 20, "rows": 2000, "predicted": 20_000, "repeats": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
