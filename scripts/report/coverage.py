"""How many test rows intervals and sets of classes cover, and how large these are.

    python scripts/report/coverage.py --quick
    python scripts/report/coverage.py --datasets car airfoil --own-sets mysets.py

Of `DeepForestRegressor.predict_interval` and `DeepForestClassifier.predict_set`, beside the
packages mapie and crepes, which are left out where they are not installed, on scikit-learn's
random forest: mapie by CV+ and cross-conformal sets on ten folds, crepes by out-of-bag errors,
divided by the standard deviation of trees. A third of the rows is held out. Widths are in standard
deviations of the training targets; sizes of sets are in classes. --own-sets is a Python file with
NAMES, a list, and load(name), which gives X, y, a task ("binary", "multiclass" or "regression")
and more; of more rows than --rows, so many are drawn.
"""

import importlib.util
import runpy
import warnings

import numpy as np
import pandas as pd
from _lab import data, tables
from _lab.study import Study
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from mddf import DeepForestClassifier, DeepForestRegressor

PEERS = ["mapie", "crepes"]
METHODS = ["deep forest", "one width", *PEERS]
COVERAGE, FOLDS = 0.9, 10
OWN = {}


def own_sets(path):
    """What a file of own sets holds."""
    if path not in OWN:
        OWN[path] = runpy.run_path(path)
    return OWN[path]


def prepare(options, parser):
    options.methods = [m for m in options.methods if m not in PEERS or importlib.util.find_spec(m)]


def keys(options):
    """A cell for each set, and each method that is for its task."""
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
    """X and y of a set, and whether y is numbers."""
    if options.own_sets and name in own_sets(options.own_sets)["NAMES"]:
        X, y, task, *_ = own_sets(options.own_sets)["load"](name)
    else:
        found = data.load(data.Source(name, options.data_home))
        X, y, task = found.X, found.y, found.task
    y = np.asarray(y)
    return X, y.astype(float) if task == "regression" else y, task == "regression"


def interval(method, seed, X, y, new):
    """Ends of intervals for new rows, shape (n_rows, 2)."""
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
    """Sets of classes, bool of shape (n_rows, n_classes)."""
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
    seen, new = (_safe_indexing(X, part) for part in (train, test))
    if method in PEERS:
        encoder = data.to_numbers().fit(seen)
        seen, new = (np.asarray(encoder.transform(part), float) for part in (seen, new))
    common = {"rows": len(train), "test_rows": len(test), "task": "sets"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_numeric:
            low, high = interval(method, seed, seen, y[train], new).T
            size = float(np.mean(high - low) / y[train].std())
            inside = (low <= y[test]) & (y[test] <= high)
            common["task"] = "intervals"
        else:
            classes, labels = np.unique(y[train], return_inverse=True)
            found = classes_of(method, seed, seen, labels, new)
            place = np.searchsorted(classes, y[test])
            inside = found[np.arange(len(test)), np.minimum(place, len(classes) - 1)]
            size = float(found.sum(axis=1).mean())
    return {**common, "covered": float(np.mean(inside)), "size": size}


def report(frame, options):
    found = []
    for task, title in (("intervals", "Intervals, and their width"), ("sets", "Sets of classes")):
        here = frame[frame["task"] == task]
        if not len(here):
            continue
        rows = tables.means(here, ["set", "method"], ["rows", "covered", "size"])
        total = tables.means(here, ["method"], ["rows", "covered", "size"]).assign(set="mean")
        both = [rows, total[rows.columns]]
        shown = "set method rows:.0f covered:.3f size:.3f"
        found.append(tables.columns(task, title, pd.concat(both), shown, 2))
    return found


study = Study(
    globals(), "coverage", keys, ("rows",), methods=METHODS, seeds=3, rows=2500, own_sets="",
    datasets=["airfoil", "auto-mpg", "concrete", "energy", "student-por", "car", "cmc", "german",
              "pima", "yeast"],
    quick={"datasets": ["diabetes-progression", "wine"], "methods": ["deep forest"], "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
