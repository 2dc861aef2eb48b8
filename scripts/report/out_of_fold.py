"""Compare out-of-fold losses with losses on new rows, and the layers that they keep.

    python scripts/report/out_of_fold.py --quick
    python scripts/report/out_of_fold.py --datasets car wine --own-sets mysets.py

The out-of-fold log-loss of the training rows is compared with the log-loss on a third of the rows,
which is held out. Methods are mdDF, gcForest, and the deep forest with the layers that it keeps,
with one layer, and with two layers even if the second one does not help. Probabilities are clipped
to at least 0.0001. --own-sets is a Python file with a list NAMES, and a function load(name) that
returns X, y and a task ("binary", "multiclass" or "regression"; regression is left out). Fits use
one thread.
"""

import time
from contextlib import nullcontext
from functools import partial
from unittest.mock import patch

import numpy as np
from _lab import data, held_out, tables
from _lab.held_out import own_sets
from _lab.study import Study
from mddf.baselines import GCForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from mddf import DeepForestClassifier, MDDFClassifier
from mddf._deep_forest.policy import Gain

METHODS = {
    "deep forest": DeepForestClassifier,
    "one layer": partial(DeepForestClassifier, 1),
    "two layers": DeepForestClassifier,  # the second layer is always kept
    "mdDF": MDDFClassifier,
    "gcForest": GCForestClassifier,
}
DEEP = ("deep forest", "one layer", "two layers")
# Smallest probability in a log-loss: one wrong row cannot dominate a small set.
FLOOR = 1e-4


def keys(options):
    """Return a key for each classification set, seed and method."""
    sets = list(options.datasets)
    if options.own_sets:
        own = own_sets(options.own_sets)
        sets += [n for n in own["NAMES"] if n not in sets and own["load"](n)[2] != "regression"]
    return [
        {"set": name, "seed": seed, "method": method}
        for name in sets
        for seed in range(options.seeds)
        for method in options.methods
    ]


def loss(y, probabilities, classes):
    """Return the log-loss; rows of classes without training rows are left out."""
    known = np.isin(y, classes)
    own = probabilities[known, np.searchsorted(classes, y[known])]
    return float(-np.log(np.maximum(own, FLOOR)).mean())


def keep_all():
    """Make deep forests keep all layers within the context."""
    return patch.object(Gain, "is_significant", True)


def cell(options, set, seed, method):
    X, y, _ = held_out.table(options, set)
    strata = data.strata_of(y)
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=seed, stratify=strata
    )
    X, X_test = (_safe_indexing(X, rows) for rows in (train, test))
    model = METHODS[method](random_state=seed, n_jobs=1)
    start = time.process_time()
    with keep_all() if method == "two layers" else nullcontext():
        model.fit(X, y[train])
    seconds = time.process_time() - start
    stages = [loss(y[test], p, model.classes_) for p in model.staged_predict_proba(X_test)]
    return {
        "rows": len(train),
        "oof": loss(y[train], model.oof_probabilities_, model.classes_),
        "test": loss(y[test], model.predict_proba(X_test), model.classes_),
        "test_first_layer": stages[0],
        "layers": len(stages),
        "why": getattr(model, "stop_reason_", ""),
        "cpu_seconds": seconds,
    }


def report(frame, options):
    rows = frame.drop(columns="why").groupby(["set", "method"], as_index=False, sort=False)
    rows = rows.mean(numeric_only=True)
    report_tables = []
    deep = rows[rows["method"].isin(DEEP)].pivot(index="set", columns="method")
    if not deep.empty:
        deep.columns = [f"{figure} {method}" for figure, method in deep.columns]
        deep = deep.rename(columns=lambda name: name.replace(" ", "-")).reset_index()
        layout = """set rows=rows-deep-forest:.0f out-of-fold=oof-deep-forest:.4f
        test=test-deep-forest:.4f layers=layers-deep-forest:.1f
        out-of-fold,_one_layer=oof-one-layer:.4f test,_one_layer=test-one-layer:.4f
        out-of-fold,_two_layers=oof-two-layers:.4f test,_two_layers=test-two-layers:.4f
        CPU,_s=cpu_seconds-deep-forest:.2f one_layer,_CPU_s=cpu_seconds-one-layer:.2f"""
        title = f"Log-loss of the deep forest; {ratio(rows, 'deep forest')}"
        report_tables.append(tables.columns("deep-forest", title, deep, layout))
    layout = """set rows:.0f out-of-fold=oof:.4f test:.4f test,_first_layer=test_first_layer:.4f
    layers:.1f CPU,_s=cpu_seconds:.2f"""
    for method in ("mdDF", "gcForest"):
        method_rows = rows[rows["method"] == method]
        if len(method_rows):
            gain = np.exp(np.log(method_rows["test"] / method_rows["test_first_layer"]).mean())
            title = f"{method}, log-loss: {ratio(rows, method)}; kept/first {gain:.2f}"
            report_tables.append(tables.columns(method.lower(), title, method_rows, layout))
    return report_tables


def ratio(rows, method):
    """Return the geometric mean of out-of-fold loss divided by test loss, as text."""
    rows = rows[rows["method"] == method]
    mean = np.exp(np.log(rows["oof"] / rows["test"]).mean())
    return f"out-of-fold over test {mean:.3f}, mean of {len(rows)}"


study = Study(
    globals(), "out-of-fold", keys, datasets=list(data.BUNDLED), own_sets="", methods=METHODS,
    seeds=1, quick={"datasets": ["iris", "wine"], "methods": ["deep forest"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
