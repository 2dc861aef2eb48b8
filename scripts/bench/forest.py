"""Compare the forests with those of scikit-learn: time, accuracy, model size.

    python scripts/bench/forest.py --quick    two minutes; bundled data if no other is there
    python scripts/bench/forest.py            all data sets; takes about an hour and a half
    python scripts/bench/forest.py --datasets letter adult --repeats 7
    python scripts/bench/forest.py --datasets letter --measures threads row
    python scripts/bench/forest.py --measures peers --libraries oneDAL YDF --repeats 3

Both sides get the same numbers (categories as codes), numbers of trees and one core, and are
measured in turns. Ratios are medians of the CPU time of scikit-learn divided by that of mddf.

Sets: "curves" and "many curves" are generated regression sets, with 100 R2 in the column of the
accuracy; "synthetic" is a generated set of three classes.

Measures: "threads" is the speed of two threads relative to one. "row" is predict_proba of one row,
and the time of scikit-learn's validation. "peers" measures other libraries with the settings of
_lab/libraries.py; classes are numbers and missing values are -1, which all of them accept. The
time includes the conversion of the numbers by the library.
"""

import sys
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.utils.validation import validate_data

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, libraries, models, tables
from _lab.study import Study

# Rows and columns of the generated regression sets.
CURVES = {"curves": (20_000, 16), "many curves": (200_000, 50)}
SETS = ("adult", "letter", "satimage", "synthetic", "mnist", *CURVES)
N_TEST = 20_000
# Smallest probability in a log-loss: forests of some libraries give a probability of 0.
SMALLEST = 1e-6


def load(name, data_home):
    """Return the split of a set as numbers, or of a generated set."""
    if name == "synthetic":
        X, y = make_classification(200_000, 50, n_informative=15, n_classes=3, random_state=0)
    elif name in CURVES:
        rng, (n_rows, n_columns) = np.random.default_rng(0), CURVES[name]
        X = rng.normal(size=(n_rows + N_TEST, n_columns))
        noise = 0.3 * rng.normal(size=len(X))
        y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + noise
    else:
        return data.codes(name, data_home)
    return data.Split(X[:-N_TEST], y[:-N_TEST], X[-N_TEST:], y[-N_TEST:])


def measured(method, split, plan, seed, n_jobs=1):
    """Measure costs and scores of a fit, and for mddf the bytes of the pickle for each node."""
    model = models.build(method, seed, task=plan.task, budget=plan, n_jobs=n_jobs)
    costs = bench.fit_cost(model, split)
    if hasattr(model, "_trees"):
        n_nodes = sum(block.n_nodes for block in model._trees)
        costs["bytes_per_node"] = costs["pickle_bytes"] / n_nodes
    if plan.task == "classification":
        p = np.maximum(model.predict_proba(split.X_test), SMALLEST)
        p /= p.sum(axis=1, keepdims=True)
        costs["log_loss"] = log_loss(split.y_test, p, labels=np.unique(split.y))
    return costs


def speed(options, split, plan, methods):
    """Measure mddf and scikit-learn in turns."""
    sides = [partial(measured, methods[name], split, plan) for name in ("mddf", "scikit-learn")]
    return bench.in_turns(sides, options.repeats)


def alike(split, task):
    """Return a split that all libraries accept: classes as numbers from 0, no missing values."""
    X, X_test = (np.nan_to_num(part, nan=-1) for part in (split.X, split.X_test))
    if task == "regression":
        return data.Split(X, split.y, X_test, split.y_test)
    classes, y = np.unique(split.y, return_inverse=True)
    return data.Split(X, y, X_test, np.searchsorted(classes, split.y_test))


def peers(options, split, plan, methods):
    """Measure all libraries in turns."""
    split = alike(split, plan.task)
    few = split.X[:100]
    methods = {n: methods[n] for n in ("mddf", *options.libraries) if n in methods}
    for method in methods.values():  # a first fit loads the library
        models.build(method, 0, task=plan.task, budget=plan).fit(few, np.arange(len(few)) % 2)
    sides = {name: partial(measured, method, split, plan) for name, method in methods.items()}
    rows = bench.side_by_side(sides, options.repeats)
    return {"peers": [{"library": name, **row} for name, row in rows.items()]}


def threads(options, split, plan, methods):
    """Measure the speed of two threads relative to one."""
    sides = [partial(measured, methods["mddf"], split, plan, n_jobs=n) for n in (2, 1)]
    return {"speed": bench.in_turns(sides, options.repeats)["wall_s_ratio"]}


def row(options, split, plan, methods):
    """Measure medians over single rows: of predict_proba, and of the validation in it."""
    model = models.build(methods["mddf"], 0, budget=plan).fit(split.X, split.y)
    check = partial(validate_data, model, reset=False, ensure_all_finite="allow-nan")
    rows = [split.X_test[i : i + 1] for i in range(min(400, len(split.X_test)))]
    whole, validation = (
        1e6 * median(bench.cost(call, single_row)[1] for single_row in rows)
        for call in (model.predict_proba, check)
    )
    return {"row": whole, "validation": validation}


MEASURES = {
    "speed": (
        speed,
        "CPU seconds, one core; ratio: scikit-learn / mddf",
        "fit_s:.4g peer's_fit=peer_fit_s:.4g ratio=fit_s_ratio:.3g predict_s:.4g "
        "peer's_predict=peer_predict_s:.4g ratio_=predict_s_ratio:.3g accuracy:.2f "
        "peer's_accuracy=peer_accuracy:.2f bytes_per_node:.1f",
    ),
    "peers": (
        peers,
        "CPU seconds, one core; ratio: the library's / mddf's",
        "fit_s:.4g ratio=fit_s_ratio:.3g predict_s:.4g ratio_=predict_s_ratio:.3g "
        "MB:.3g accuracy:.2f log-loss=log_loss:.4f",
    ),
    "threads": (threads, "speed of two threads over one", "speed:.2f"),
    "row": (row, "one row, microseconds", "predict_proba=row:.0f validation:.0f"),
}


def prepare(options, parser):
    if "peers" in options.measures:
        known_libraries = libraries.FORESTS["random"]
        options.libraries = list(
            models.present({n: known_libraries[n] for n in options.libraries})
        )


def cell(options, set, forest, measure):
    split = load(set, options.data_home)
    task = "regression" if set in CURVES else "classification"
    plan = libraries.Plan(options.n_estimators, *split.X.shape, task)
    return MEASURES[measure][0](options, split, plan, libraries.FORESTS[forest])


def report(frame, options):
    report_tables = []
    for measure, rows in frame.groupby("measure", sort=False):
        _, title, layout = MEASURES[measure]
        rows, index = rows.dropna(axis=1, how="all").drop(columns="measure"), ["set", "forest"]
        if measure == "peers":
            rows, index = tables.unnest(rows, "peers"), [*index, "library"]
            rows["MB"] = rows["pickle_bytes"] / 1e6
        layout = f"{' '.join(index)} {layout}"
        report_tables.append(tables.columns(measure, title, rows, layout, n_index=len(index)))
    return report_tables


study = Study(
    globals(), "bench_forest", "set=datasets forest=forests measure=measures", ("n_estimators",),
    fresh=True,
    datasets=list(SETS), n_estimators=100, repeats=5, forests=libraries.FORESTS,
    measures=["speed"], libraries=list(libraries.NAMES),
    checks={"libraries": list(libraries.NAMES), "measures": list(MEASURES)},
    quick={"datasets": ["digits", "breast_cancer", "satimage", "letter"], "repeats": 3},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
