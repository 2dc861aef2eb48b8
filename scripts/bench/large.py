"""Measure defaults on large tables: CPU seconds, peak memory and loss on new rows.

    python scripts/bench/large.py                    200 000 rows of classes and of numbers
    python scripts/bench/large.py --rows 1000000 --methods DeepForest CatBoost
    python scripts/bench/large.py --quick            2000 rows

The table has 20 standard normal columns x0, x1, ... The score is 1.2 x0 x1 + sin(2 x2) x3, plus x5
if x4 > 0.3 and otherwise -x6, plus 0.8 |x7| x8 + 0.5 x9 + 0.7 x10 x11 x12 + 0.4 (x13^2 - 1).
Log-odds of the second class are 1.5 times the score; numbers are the score and normal noise.
Losses are log-losses and root mean squared errors on 50 000 new rows. All methods have the
defaults of their libraries. Every fit has its own process of one thread. Memory is the peak of
the process above that before the fit.
"""

import numpy as np
from _lab import bench, cli, tables
from _lab.study import Study
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, root_mean_squared_error

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

_N_COLUMNS = 20
_N_TEST_ROWS = 50_000
TASKS = ("classification", "regression")


def made_table(seed, n_rows, task):
    """Return random rows, and their classes or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, _N_COLUMNS))
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


def catboost(task):
    """Return CatBoost, which writes no files."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    Model = CatBoostRegressor if task == "regression" else CatBoostClassifier
    return Model(random_seed=0, thread_count=1, verbose=False, allow_writing_files=False)


def lightgbm(task):
    """Return LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    Model = LGBMRegressor if task == "regression" else LGBMClassifier
    return Model(random_state=0, n_jobs=1, verbose=-1)


def made_by(Classifier, Regressor, **parameters):
    """Return a function that makes the model of a task."""

    def make(task):
        return (Regressor if task == "regression" else Classifier)(random_state=0, **parameters)

    return make


METHODS = {
    "DeepForest": made_by(DeepForestClassifier, DeepForestRegressor, n_jobs=1),
    "GradientBoosting": made_by(GradientBoostingClassifier, GradientBoostingRegressor, n_jobs=1),
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "HistGradientBoosting": made_by(HistGradientBoostingClassifier, HistGradientBoostingRegressor),
}


def fit(task, n_rows, method):
    """Measure the costs and the loss of one fit."""
    X, y = made_table(0, n_rows, task)
    model = METHODS[method](task)
    bench.forget_peak()
    before = bench.status("VmRSS")
    cpu, wall, _ = bench.cost(model.fit, X, y)
    memory = None if before is None else (bench.peak_bytes() - before) / 2**20
    X, y = made_table(1, _N_TEST_ROWS, task)
    if task == "regression":
        loss = root_mean_squared_error(y, model.predict(X))
    else:
        loss = log_loss(y, model.predict_proba(X))
    return {"cpu_s": cpu, "wall_s": wall, "memory_mib": memory, "loss": loss}


def cell(options, set, rows, method):
    """Fit one model in a new process."""
    return bench.in_new_process(fit, set, rows, method)


def report(frame, options):
    """Return one table of costs and losses."""
    title = "Defaults on large tables of 20 columns, one thread"
    layout = """task=set rows method fit_CPU_s=cpu_s:.3g wall_s:.3g loss:.4f
    MiB=memory_mib:.0f"""
    return [tables.columns("large", title, frame, layout)]


study = Study(
    globals(), "bench_large", "set=tasks rows=rows method=methods", fresh=True,
    tasks=TASKS, rows=[200_000],
    methods=["DeepForest", "GradientBoosting", "CatBoost", "LightGBM", "HistGradientBoosting"],
    checks={"rows": cli.count, "methods": tuple(METHODS), "tasks": TASKS},
    quick={"rows": [2000], "methods": ["GradientBoosting", "HistGradientBoosting"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
