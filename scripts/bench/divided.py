"""Compare models on Dask collections: mddf, LightGBM and XGBoost on one worker and on two.

    python scripts/bench/divided.py            100 rounds on 1 000 000 x 50
    python scripts/bench/divided.py --quick    3 rounds on 4000 rows
    python scripts/bench/divided.py --methods RandomForest --rows 400000 --rounds 20
                                               20 trees of a random forest

Every fit has new workers, processes of one thread each, that hold the rows before the measurement.
"times as fast" divides the seconds of one worker by the seconds of two. The columns of CPU seconds
and of memory are those of the busiest worker. Memory is the peak of anonymous memory above the
rows. "difference" is the largest difference of a predicted probability between both fits. The
measurement of wall time needs two free cores.
"""

import time
from itertools import pairwise

import numpy as np
from _lab import bench, tables
from _lab.study import Study

from mddf import GradientBoostingClassifier, RandomForestClassifier
from mddf.dask import DaskEstimator

# Rows of the table whose predictions are compared.
_COMPARED_ROWS = 20_000
_PARTITIONS = 4


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


def fit_mddf(client, X, y, options):
    """Fit, and return the bytes that each worker has sent and a local model."""
    boosting = GradientBoostingClassifier(
        max_iter=options.rounds,
        learning_rate=0.1,
        max_depth=6,
        max_features=0.5,
        early_stopping=False,
        random_state=0,
    )
    model = DaskEstimator(boosting).fit(X, y)
    return max(model.n_bytes_sent_), model.estimator_


def fit_forest(client, X, y, options):
    """Fit a random forest of as many trees as there are rounds."""
    forest = RandomForestClassifier(options.rounds, random_state=0)
    model = DaskEstimator(forest).fit(X, y)
    return max(model.n_bytes_sent_), model.estimator_


def fit_lightgbm(client, X, y, options):
    """Fit LightGBM, leaf-wise with as many leaves as trees of depth 6 have."""
    import lightgbm

    model = lightgbm.DaskLGBMClassifier(
        n_estimators=options.rounds,
        num_leaves=64,
        max_bin=255,
        colsample_bytree=0.5,
        subsample=0.8,
        subsample_freq=1,
        random_state=0,
        verbose=-1,
        client=client,
    ).fit(X, y)
    return np.nan, model.to_local()


def fit_xgboost(client, X, y, options):
    """Fit XGBoost with trees of depth 6."""
    from xgboost import dask as xgboost_dask

    parameters = {
        "objective": "binary:logistic",
        "max_depth": 6,
        "max_bin": 255,
        "eta": 0.1,
        "colsample_bynode": 0.5,
        "subsample": 0.8,
        "seed": 0,
        "tree_method": "hist",
    }
    data = xgboost_dask.DaskQuantileDMatrix(client, X, y, max_bin=255)
    output = xgboost_dask.train(client, parameters, data, num_boost_round=options.rounds)
    return np.nan, output["booster"]


FITS = {
    "GradientBoosting": fit_mddf,
    "LightGBM": fit_lightgbm,
    "XGBoost": fit_xgboost,
    "RandomForest": fit_forest,
}


def probabilities(model, X):
    """Return probabilities of the second class by a model of any of the libraries."""
    if hasattr(model, "inplace_predict"):
        return model.inplace_predict(X)
    return model.predict_proba(X)[:, 1]


def fit_on(n_workers, options, method):
    """Fit on new workers; return the costs and the predicted probabilities."""
    from distributed import Client, LocalCluster, wait

    alone = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **alone) as cluster, Client(cluster) as client:
        collections = client.persist(made_collections(options.rows, options.columns))
        wait(collections)
        X, y = collections
        client.run(bench.forget_peak)
        cpu_before = client.run(time.process_time)
        memory_before = client.run(bench.peak_bytes)
        start = time.perf_counter()
        sent, model = FITS[method](client, X, y, options)
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
    return costs, probabilities(model, rows), model


def histogram_bytes(model, n_columns):
    """Bytes that each of two workers sends for the histograms of all trees of a model.

    At the first level, all rows are counted; at later levels, one of the two children of each
    leaf that the level before has divided. All columns are counted, and at the last level only
    the drawn half. A cell has two numbers of 32 bits. Two workers each add up half of the cells,
    and send the other half and then their sums.
    """
    cell_bytes = 256 * 8
    total = 0
    arrays = model._trees.arrays
    for first, last in pairwise(arrays["first_split"].tolist()):
        n_counted = 1
        leaves = [{}]  # the range of codes of each column in a leaf, unless it is the whole range
        for split in range(first, last):
            n_cells = n_columns if split + 1 < last else n_columns // 2
            total += n_counted * n_cells * cell_bytes
            column = int(arrays["column"][split])
            threshold = int(arrays["threshold"][split])
            children = []
            for leaf in leaves:
                low, high = leaf.get(column, (0, 255))
                if low <= threshold < high - 1:
                    children.append(leaf | {column: (low, threshold + 1)})
                    children.append(leaf | {column: (threshold + 1, high)})
                else:
                    children.append(leaf)
            n_counted = len(children) - len(leaves)
            leaves = children
    return total


def forest_bytes(model, options):
    """Bytes that the second of two workers sends for a forest.

    A tree has (1 - 1 / e) of the rows, half of which are on the other worker, and copies each of
    them once: its codes, its class in two bytes and its count in four. Each worker grows half of
    the trees, and sends half of its columns to the other one, which finds their bins. The second
    worker sends its trees to the first.
    """
    n_rows = (1 - np.exp(-1)) * options.rows / 2
    copied = len(model) / 2 * n_rows * (options.columns + 6)
    columns = options.rows / 2 * options.columns / 2 * np.float32().nbytes
    return copied + columns + sum(block.n_bytes for block in model._trees) / 2


def cell(options, set, method):
    """Fit on one worker and on two, in turns, and compare the predictions."""
    rounds = []
    for _ in range(options.repeats):
        costs_of_one, expected, _ = fit_on(1, options, method)
        costs_of_two, compared, model = fit_on(2, options, method)
        rounds.append(
            {f"one_{name}": value for name, value in costs_of_one.items()}
            | {f"two_{name}": value for name, value in costs_of_two.items()}
            | {
                "speed_up": costs_of_one["wall_s"] / costs_of_two["wall_s"],
                "cpu_speed_up": costs_of_one["cpu_s"] / costs_of_two["cpu_s"],
                "difference": np.abs(expected - compared).max(),
            }
        )
    medians = {name: float(np.median([row[name] for row in rounds])) for name in rounds[0]}
    medians["formula_mib"] = np.nan
    if isinstance(model, GradientBoostingClassifier):
        medians["formula_mib"] = histogram_bytes(model, options.columns) / 2**20
    if isinstance(model, RandomForestClassifier):
        medians["formula_mib"] = forest_bytes(model, options) / 2**20
    return medians


def report(frame, options):
    """Return a table of costs by library."""
    title = (
        f"{options.rounds} rounds on {options.rows} x {options.columns},\n"
        "one worker of one thread and two"
    )
    layout = """method one_wall_s:.3g two_wall_s:.3g times_as_fast=speed_up:.2f
    one_CPU_s=one_cpu_s:.3g two_CPU_s=two_cpu_s:.3g CPU_ratio=cpu_speed_up:.2f
    one_MiB=one_memory_mib:.0f two_MiB=two_memory_mib:.0f sent_MiB=two_sent_mib:.0f
    computed_MiB=formula_mib:.0f difference:.2g"""
    return [tables.columns("divided", title, frame, layout)]


study = Study(
    globals(), "bench_divided", "set=made method=methods", ("rounds", "rows", "columns"),
    fresh=True,
    methods=["GradientBoosting", "LightGBM", "XGBoost"],
    rounds=100, rows=1_000_000, columns=50, repeats=1,
    checks={"methods": tuple(FITS)},
    quick={"rounds": 3, "rows": 4000, "methods": ["GradientBoosting", "RandomForest"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
