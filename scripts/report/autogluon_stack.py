"""Measure the gain of AutoGluon's stack from deep forests and gradient boosting of mddf.

    python scripts/report/autogluon_stack.py --quick
    python scripts/report/autogluon_stack.py --own-sets mysets.py --time-limit 60

A third of the rows is held out for testing. ingredients.py explains --own-sets. AutoGluon fits its
tree models (LightGBM, CatBoost, XGBoost, random forests, extra trees) in bags, stack levels and a
weighted ensemble, without networks. "own" has these models only, "with-mddf" also has the two
models of mddf.autogluon, and "deep-forest" is the default deep forest by itself. All of them have
the same time limit in seconds, and one processor.
"""

import shutil
import tempfile
import time

import numpy as np
import pandas as pd
from _lab import data, held_out, tables
from _lab.study import Study

from mddf import DeepForestClassifier, DeepForestRegressor

METHODS = ["own", "with-mddf", "deep-forest"]
TREES = {"GBM": {}, "CAT": {}, "XGB": {}, "RF": {}, "XT": {}}
METRICS = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "root_mean_squared_error"}
TARGET = "the target"


def settings(options):
    """Return the settings that all results share."""
    names = ("time_limit", "folds", "levels")
    return {name: getattr(options, name) for name in names}


def stacked(options, X, y, task, method):
    """Return a fitted predictor of AutoGluon, its folder, and the weight of mddf's models."""
    from autogluon.tabular import TabularPredictor

    from mddf.autogluon import DeepForestModel, GradientBoostingModel

    own = {DeepForestModel: {}, GradientBoostingModel: {}} if method == "with-mddf" else {}
    folder = tempfile.mkdtemp()
    predictor = TabularPredictor(
        TARGET, problem_type=task, eval_metric=METRICS[task], path=folder, verbosity=0
    )
    predictor.fit(
        X.assign(**{TARGET: y}),
        hyperparameters=TREES | own,
        time_limit=options.time_limit,
        num_bag_folds=options.folds,
        num_stack_levels=options.levels,
        dynamic_stacking=False,
        num_cpus=1,
        num_gpus=0,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
    )
    weights = predictor.info()["model_info"][predictor.model_best]["children_info"]
    weights = next(iter(weights.values()))["model_weights"]
    ours = sum(w for name, w in weights.items() if "DeepForest" in name or "MDDF" in name)
    return predictor, folder, ours


def cell(options, set, seed, method):
    X, y, task, train, test = held_out.split(options, set, seed)
    X = pd.DataFrame(X).rename(columns=str)
    start, cpu = time.perf_counter(), time.process_time()
    ours = np.nan
    if method == "deep-forest":
        Forest = DeepForestRegressor if task == "regression" else DeepForestClassifier
        model = Forest(random_state=seed, n_jobs=1).fit(X.iloc[train], y[train])
    else:
        model, folder, ours = stacked(options, X.iloc[train], y[train], task, method)
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    if method == "deep-forest":
        loss = held_out.loss(model, X.iloc[test], y[test], task)
    else:
        classes = None if task == "regression" else model.class_labels
        predict = model.predict if task == "regression" else model.predict_proba
        loss = held_out.loss_of(predict(X.iloc[test]).to_numpy(), y[test], task, classes)
        shutil.rmtree(folder)
    return {"rows": len(train), **took, "loss": loss, "weight": ours}


def report(frame, options):
    means = frame.groupby(["set", "method"], sort=False).mean(numeric_only=True)
    losses = means["loss"].unstack("method")
    if "own" not in losses:
        return []
    relative = losses.div(losses["own"], axis=0).dropna()
    summary = pd.DataFrame(
        {
            "ratio": np.exp(np.log(relative).mean()),
            "better": (relative < 1).sum(),
            "worse": (relative > 1).sum(),
            "seconds": means["seconds"].unstack("method").median(),
            "weight": means["weight"].unstack("method").mean(),
        }
    ).reset_index()
    by_set = losses.reset_index()
    set_columns = " ".join(f"{name}={name}:.4g" for name in losses)
    level = "levels" if options.levels != 1 else "level"
    title = (
        f"Loss on new rows relative to AutoGluon's own stack, {len(relative)} sets: "
        f"{options.time_limit:g} s, {options.folds} folds, {options.levels} more {level}"
    )
    summary_layout = (
        "method loss/own=ratio:.4f better=better:.0f worse=worse:.0f s,_median=seconds:.1f"
    )
    return [
        tables.columns("stack", title, summary, f"{summary_layout} weight_of_mddf=weight:.2f"),
        tables.columns("stack-by-set", "Losses", by_set, f"set {set_columns}"),
    ]


study = Study(
    globals(), "autogluon-stack", held_out.keys, datasets=list(data.BUNDLED), own_sets="",
    methods=METHODS, seeds=1, time_limit=60.0, folds=5, levels=1,
    quick={"datasets": ["wine"], "time_limit": 20.0, "folds": 3, "levels": 0},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
