"""Measure the gain from each member of a deep forest: losses with all members, and without one.

    python scripts/report/ingredients.py --quick
    python scripts/report/ingredients.py --own-sets mysets.py --methods default no-kernel

A third of the rows is held out for testing. Losses are 1 - AUC for two classes, log-loss for more,
and RMSE for regression, divided by the loss of the default. --own-sets is a Python file with a
list NAMES, and a function load(name) that returns X, y and a task ("binary", "multiclass" or
"regression"). Fits use one thread.
"""

import pickle
import time

import numpy as np
import pandas as pd
from _lab import data, held_out, tables
from _lab.study import Study
from sklearn.utils import _safe_indexing

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._members.members import AUTO, AUTO_REGRESSORS

# Members that each method leaves out.
LEFT_OUT = {
    "default": (),
    "no-boosted": ("boosted", "boosted-leaf-wise"),
    "no-symmetric": ("boosted",),
    "no-leaf-wise": ("boosted-leaf-wise",),
    "no-kernel": ("kernel",),
    "no-kernel-logistic": ("kernel-logistic",),
    "no-linear": ("linear",),
    "no-network": ("network",),
    "no-forests": ("random", "random-half", "completely-random", "completely-random-sqrt"),
    "no-random": ("random", "random-half"),
    "no-completely-random": ("completely-random", "completely-random-sqrt"),
    "one-layer": (),
}


def estimator(method, task, seed):
    """Return the deep forest of a method."""
    regression = task == "regression"
    members = [m for m in (AUTO_REGRESSORS if regression else AUTO) if m not in LEFT_OUT[method]]
    Forest = DeepForestRegressor if regression else DeepForestClassifier
    n_layers = 1 if method == "one-layer" else 2
    return Forest(n_layers, members=members, random_state=seed, n_jobs=1)


def cell(options, set, seed, method):
    X, y, task, train, test = held_out.split(options, set, seed)
    model = estimator(method, task, seed)
    start = time.process_time()
    model.fit(_safe_indexing(X, train), y[train])
    return {
        "rows": len(train),
        "cpu_seconds": time.process_time() - start,
        "loss": held_out.loss(model, _safe_indexing(X, test), y[test], task),
        "megabytes": len(pickle.dumps(model)) / 1e6,
    }


def report(frame, options):
    rows = frame.groupby(["set", "method"], sort=False).mean(numeric_only=True)
    losses = rows["loss"].unstack("method")
    if "default" not in losses:
        return []
    relative = losses.div(losses["default"], axis=0)
    by_set = relative.reset_index()
    set_layout = " ".join(["set", *(f"{name}={name}:.3f" for name in relative)])
    summary = pd.DataFrame(
        {
            "ratio": np.exp(np.log(relative).mean()),
            "better": (relative < 1).sum(),
            "worse": (relative > 1).sum(),
            "seconds": rows["cpu_seconds"].unstack("method").median(),
            "total": rows["cpu_seconds"].unstack("method").sum(),
            "megabytes": rows["megabytes"].unstack("method").median(),
        }
    ).reset_index()
    summary_layout = """method loss/default=ratio:.4f better=better:.0f worse=worse:.0f
    CPU,_s,_median=seconds:.2f CPU,_s,_sum=total:.1f MB,_median=megabytes:.2f"""
    title = f"Loss on new rows, geometric mean of {len(relative)} sets"
    return [
        tables.columns("ingredients", title, summary, summary_layout),
        tables.columns("ingredients-by-set", "Loss relative to the default", by_set, set_layout),
    ]


study = Study(
    globals(), "ingredients", held_out.keys, datasets=list(data.BUNDLED), own_sets="",
    methods=dict.fromkeys(LEFT_OUT), seeds=1,
    quick={"datasets": ["wine"], "methods": ["default", "no-kernel"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
