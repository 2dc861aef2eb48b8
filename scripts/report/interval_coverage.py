"""Measure coverage and size of prediction intervals and prediction sets on test rows.

    python scripts/report/interval_coverage.py --quick
    python scripts/report/interval_coverage.py --datasets car airfoil --own-sets mysets.py

`DeepForestRegressor.predict_interval` and `DeepForestClassifier.predict_set` are compared with the
packages mapie and crepes on random forests of scikit-learn; packages that are not installed are
left out. mapie uses CV+ and cross-conformal sets with ten folds. crepes uses out-of-bag errors
divided by the standard deviation of the trees. A third of the rows is held out. Widths are in
standard deviations of the training targets, and sizes of sets in classes. Larger sets are reduced
to --rows random rows. --own-sets is a Python file with a list NAMES, and a function load(name)
that returns X, y and a task ("binary", "multiclass" or "regression").
"""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, held_out, tables
from _lab.held_out import own_sets
from _lab.study import Study

from mddf import DeepForestClassifier, DeepForestRegressor

PEERS = ["mapie", "crepes"]
METHODS = ["deep forest", "one width", *PEERS]
# Nominal coverage of all methods.
COVERAGE = 0.9
# Folds of mapie: as many as deep forests use on sets of this size.
FOLDS = 10


def prepare(options, parser):
    options.methods = [m for m in options.methods if m not in PEERS or importlib.util.find_spec(m)]


def keys(options):
    """Return a key for each set, and each method that can do its task."""
    names = list(options.datasets)
    if options.own_sets:
        names += [n for n in own_sets(options.own_sets)["NAMES"] if n not in names]
    return [
        {"set": name, "seed": seed, "method": method}
        for name in names
        for seed in range(options.seeds)
        for method in options.methods
        if method != "one width" or table(options, name)[2]
    ]


def table(options, name):
    """Return X and y of a set, and whether y is numeric."""
    X, y, task = held_out.table(options, name)
    is_numeric = task == "regression"
    return X, y.astype(float) if is_numeric else y, is_numeric


def interval(method, seed, X, y, new):
    """Return the ends of intervals for new rows, of shape (n_rows, 2)."""
    if method in ("deep forest", "one width"):
        model = DeepForestRegressor(random_state=seed, n_jobs=1).fit(X, y)
        return model.predict_interval(new, COVERAGE, adaptive=method == "deep forest")
    forest = RandomForestRegressor(100, random_state=seed, oob_score=method == "crepes")
    if method == "mapie":
        from mapie.regression import CrossConformalRegressor

        model = CrossConformalRegressor(forest, confidence_level=COVERAGE, cv=FOLDS)
        return model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    model = WrapRegressor(forest)
    model.fit(X, y)
    difficulty = DifficultyEstimator().fit(X=X, learner=model.learner, scaler=True, oob=True)
    model.calibrate(X, y, de=difficulty, oob=True)
    return model.predict_int(new, confidence=COVERAGE)


def classes_of(method, seed, X, y, new):
    """Return prediction sets as a Boolean array of shape (n_rows, n_classes)."""
    if method == "deep forest":
        return (
            DeepForestClassifier(random_state=seed, n_jobs=1).fit(X, y).predict_set(new, COVERAGE)
        )
    forest = RandomForestClassifier(100, random_state=seed, oob_score=method == "crepes")
    if method == "mapie":
        from mapie.classification import CrossConformalClassifier

        model = CrossConformalClassifier(
            forest, confidence_level=COVERAGE, conformity_score="lac", cv=FOLDS
        )
        return model.fit_conformalize(X, y).predict_set(new)[1][:, :, 0]
    from crepes import WrapClassifier

    model = WrapClassifier(forest)
    model.fit(X, y)
    model.calibrate(X, y, oob=True)
    return np.asarray(model.predict_p(new, smoothing=False)) > 1 - COVERAGE


def cell(options, set, seed, method):
    X, y, is_numeric = table(options, set)
    rows = np.random.default_rng(seed).permutation(len(y))[: options.rows]
    strata = None if is_numeric else data.strata_of(y[rows])
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed, stratify=strata)
    X_train, X_test = (_safe_indexing(X, part) for part in (train, test))
    if method in PEERS:
        encoder = data.to_numbers().fit(X_train)
        X_train, X_test = (
            np.asarray(encoder.transform(part), float) for part in (X_train, X_test)
        )
    common = {"rows": len(train), "test_rows": len(test), "task": "sets"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_numeric:
            low, high = interval(method, seed, X_train, y[train], X_test).T
            size = float(np.mean(high - low) / y[train].std())
            inside = (low <= y[test]) & (y[test] <= high)
            common["task"] = "intervals"
        else:
            classes, labels = np.unique(y[train], return_inverse=True)
            class_sets = classes_of(method, seed, X_train, labels, X_test)
            place = np.searchsorted(classes, y[test])
            inside = class_sets[np.arange(len(test)), np.minimum(place, len(classes) - 1)]
            size = float(class_sets.sum(axis=1).mean())
    return {**common, "covered": float(np.mean(inside)), "size": size}


def report(frame, options):
    report_tables = []
    for task, title in (("intervals", "Intervals, and their width"), ("sets", "Sets of classes")):
        task_rows = frame[frame["task"] == task]
        if not len(task_rows):
            continue
        rows = tables.means(task_rows, ["set", "method"], ["rows", "covered", "size"])
        total = tables.means(task_rows, ["method"], ["rows", "covered", "size"]).assign(set="mean")
        both = [rows, total[rows.columns]]
        layout = "set method rows:.0f covered:.3f size:.3f"
        report_tables.append(tables.columns(task, title, pd.concat(both), layout, n_index=2))
    return report_tables


study = Study(
    globals(), "coverage", keys, ("rows",), methods=METHODS, seeds=3, rows=2500, own_sets="",
    datasets=["airfoil", "auto-mpg", "concrete", "energy", "student-por", "car", "cmc", "german",
              "pima", "yeast"],
    quick={"datasets": ["diabetes-progression", "wine"], "methods": ["deep forest"], "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
