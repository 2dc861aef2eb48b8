"""Compare two worker processes of one thread each with one: fits and predictions.

    python scripts/bench/workers.py            a forest of 2000 trees on 30 000 x 15
    python scripts/bench/workers.py --measures divided        rows on the workers, 1 000 000 x 50
    python scripts/bench/workers.py --measures divided --methods RandomForest --rounds 20
    python scripts/bench/workers.py --quick    small versions

Workers are started before the measurement, which needs two free cores.

trees     A random forest whose trees are sent to two workers of joblib's backend, compared with
          one thread, and a prediction of --predicted rows by 100 trees. "sent" counts the bytes
          that processes of this machine send each other with Dask, divided by the bytes that must
          be sent: the binned table once to each worker, and all trees.
divided   Dask collections: mddf, LightGBM and XGBoost on one worker and on two, which hold the
          rows before the measurement, and have fitted a small table, so that the packages are
          imported. "times as fast" divides the seconds of one worker by the
          seconds of two. CPU seconds and memory are those of the busiest worker; memory is the
          peak above the rows. "difference" is the largest difference of a predicted probability
          between both fits. A random forest has as many trees as there are rounds.
"""

import math
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from joblib import parallel_config

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, need, tables
from _lab.study import Study

from mddf import GradientBoostingClassifier, RandomForestClassifier

# Rows of the table whose predictions are compared.
_COMPARED_ROWS = 20_000
_PARTITIONS = 4
# Rows of the first fit, after which the workers have imported the packages.
_SMALL_ROWS = 4000
# Dask's cluster of two workers, or of one.
_ONE_THREAD = {"threads_per_worker": 1, "dashboard_address": None}
TREE_ROWS, TREE_COLUMNS = 30_000, 15


def made(n_rows, seed):
    """Return random rows, and classes that depend on three columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, TREE_COLUMNS)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def sent_bytes():
    """Return the bytes that processes of this machine have sent over the loopback device."""
    import psutil  # comes with Dask

    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def measure_trees(options, engine, n_jobs, seed):
    """Measure seconds of a fit and of a prediction, and sent divided by needed bytes."""
    X, y = made(min(TREE_ROWS, options.rows), seed)
    forest = RandomForestClassifier(options.n_estimators, random_state=seed, n_jobs=n_jobs)
    before = sent_bytes() if engine == "dask" else math.nan
    _, fit_s, _ = bench.cost(forest.fit, X, y)
    sent = sent_bytes() - before if engine == "dask" else math.nan
    needed = 2 * X.size + sum(part.n_bytes for part in forest._trees)
    forest = RandomForestClassifier(100, random_state=seed, n_jobs=n_jobs).fit(X, y)
    X, _ = made(options.predicted, seed + 1)
    _, predict_s, _ = bench.cost(forest.predict_proba, X)
    return {"fit_s": fit_s, "predict_s": predict_s, "sent": sent / needed}


def in_a_thread(options, seed):
    """Measure with one thread."""
    with parallel_config("threading"):
        return measure_trees(options, None, 1, seed)


def trees(options, engine):
    """Measure an engine and one thread in turns."""
    with ExitStack() as stack:
        if engine == "dask":
            client = need("distributed", "dask").Client
            stack.enter_context(client(n_workers=2, direct_to_workers=True, **_ONE_THREAD))
        stack.enter_context(parallel_config(engine, n_jobs=2))
        RandomForestClassifier(8, n_jobs=2).fit(*made(3000, 0))  # starts the workers
        sides = [partial(measure_trees, options, engine, 2), partial(in_a_thread, options)]
        return bench.in_turns(sides, options.repeats)


def made_block(seed, n_rows, n_columns):
    """Return random rows, and classes that depend on four columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns), np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8
    return X, ((score > 0) ^ (rng.random(n_rows) < 0.1)).astype(np.int8)


def made_collections(n_rows, n_columns):
    """Return lazy arrays of the rows and the classes."""
    import dask
    import dask.array as da

    size = n_rows // _PARTITIONS
    blocks = [dask.delayed(made_block)(i, size, n_columns) for i in range(_PARTITIONS)]
    X = [da.from_delayed(block[0], (size, n_columns), np.float32) for block in blocks]
    y = [da.from_delayed(block[1], (size,), np.int8) for block in blocks]
    return da.concatenate(X), da.concatenate(y)


def fit_mddf(make, client, X, y, rounds):
    """Fit a model of mddf; return the bytes that the busiest worker sent, and the model."""
    from mddf.dask import DaskEstimator

    fitted = DaskEstimator(make(rounds)).fit(X, y)
    return max(fitted.n_bytes_sent_), fitted.estimator_


def boosting(rounds):
    """Return gradient boosting with trees of depth 6."""
    return GradientBoostingClassifier(
        max_iter=rounds, learning_rate=0.1, max_depth=6, max_features=0.5, early_stopping=False,
        random_state=0,
    )  # fmt: skip


def fit_lightgbm(client, X, y, rounds):
    """Fit LightGBM, leaf-wise with as many leaves as trees of depth 6 have."""
    import lightgbm

    model = lightgbm.DaskLGBMClassifier(
        n_estimators=rounds, num_leaves=64, max_bin=255, colsample_bytree=0.5, subsample=0.8,
        subsample_freq=1, random_state=0, verbose=-1, client=client,
    ).fit(X, y)  # fmt: skip
    return np.nan, model.to_local()


def fit_xgboost(client, X, y, rounds):
    """Fit XGBoost with trees of depth 6."""
    from xgboost import dask as xgboost_dask

    parameters = {
        "objective": "binary:logistic", "max_depth": 6, "max_bin": 255, "eta": 0.1,
        "colsample_bynode": 0.5, "subsample": 0.8, "seed": 0, "tree_method": "hist",
    }  # fmt: skip
    data = xgboost_dask.DaskQuantileDMatrix(client, X, y, max_bin=255)
    return np.nan, xgboost_dask.train(client, parameters, data, num_boost_round=rounds)["booster"]


FITS = {
    "GradientBoosting": partial(fit_mddf, boosting),
    "LightGBM": fit_lightgbm,
    "XGBoost": fit_xgboost,
    "RandomForest": partial(fit_mddf, partial(RandomForestClassifier, random_state=0)),
}


def fit_on(n_workers, options, method):
    """Fit on new workers; return the costs and the predicted probabilities."""
    from distributed import Client, LocalCluster, wait

    cluster = LocalCluster(n_workers=n_workers, memory_limit=0, **_ONE_THREAD)
    with cluster, Client(cluster) as client:
        X, y = client.persist(made_collections(options.rows, options.columns))
        wait([X, y])
        FITS[method](client, *made_collections(_SMALL_ROWS, options.columns), 1)
        client.run(bench.forget_peak)
        cpu_before = client.run(time.process_time)
        memory_before = client.run(bench.peak_bytes)
        start = time.perf_counter()
        sent, model = FITS[method](client, X, y, options.rounds)
        wall = time.perf_counter() - start
        cpu = client.run(time.process_time)
        memory = client.run(bench.peak_bytes)
    costs = {
        "wall_s": wall,
        "cpu_s": max(cpu[worker] - cpu_before[worker] for worker in cpu),
        "memory_mib": max(memory[worker] - memory_before[worker] for worker in memory) / 2**20,
        "sent_mib": sent / 2**20,
    }
    rows, _ = made_block(0, _COMPARED_ROWS, options.columns)
    if hasattr(model, "inplace_predict"):  # XGBoost
        return costs, model.inplace_predict(rows)
    return costs, model.predict_proba(rows)[:, 1]


def divided(options, method):
    """Fit on one worker and on two, in turns, and compare the predictions."""
    rounds = []
    for _ in range(options.repeats):
        alone, expected = fit_on(1, options, method)
        both, compared = fit_on(2, options, method)
        rounds.append(
            {f"one_{name}": value for name, value in alone.items()}
            | {f"two_{name}": value for name, value in both.items()}
            | {
                "speed_up": alone["wall_s"] / both["wall_s"],
                "cpu_speed_up": alone["cpu_s"] / both["cpu_s"],
                "difference": np.abs(expected - compared).max(),
            }
        )
    return {name: float(np.median([row[name] for row in rounds])) for name in rounds[0]}


# Function, title and columns of each measure.
MEASURES = {
    "trees": (
        trees,
        "Two workers and one thread: a random forest",
        "engine=method fit_s:.3g alone_fit_s=peer_fit_s:.3g fit_speed-up=fit_s_ratio:.2f "
        "predict_s:.3g alone_predict_s=peer_predict_s:.3g predict_speed-up=predict_s_ratio:.2f "
        "sent:.2f",
    ),
    "divided": (
        divided,
        "One worker of one thread and two",
        "method one_wall_s:.3g two_wall_s:.3g times_as_fast=speed_up:.2f one_CPU_s=one_cpu_s:.3g "
        "two_CPU_s=two_cpu_s:.3g CPU_ratio=cpu_speed_up:.2f one_MiB=one_memory_mib:.0f "
        "two_MiB=two_memory_mib:.0f sent_MiB=two_sent_mib:.0f difference:.2g",
    ),
}


def keys(options):
    """Return the keys of all measures."""
    methods = {"trees": options.engines, "divided": options.methods}
    return [
        {"measure": measure, "set": "made", "method": method}
        for measure in options.measures
        for method in methods[measure]
    ]


def cell(options, measure, set, method):
    return MEASURES[measure][0](options, method)


def report(frame, options):
    return tables.by_measure(frame, MEASURES)


study = Study(
    globals(), "bench_workers", keys,
    ("n_estimators", "predicted", "rounds", "rows", "columns"), fresh=True,
    measures=["trees"], engines=("dask", "loky"), methods=["GradientBoosting", "LightGBM",
                                                          "XGBoost"],
    n_estimators=2000, predicted=1_000_000, rounds=100, rows=1_000_000, columns=50, repeats=3,
    checks={"measures": tuple(MEASURES), "methods": tuple(FITS)},
    quick={"n_estimators": 20, "predicted": 20_000, "rounds": 3, "rows": 4000, "repeats": 1,
           "methods": ["GradientBoosting", "RandomForest"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
