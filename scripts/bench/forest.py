"""Compare the forests with those of scikit-learn: time, accuracy, model size.

    python scripts/bench/forest.py --quick    two minutes; bundled data if no other is there
    python scripts/bench/forest.py            all data sets; takes about an hour and a half
    python scripts/bench/forest.py --datasets letter adult --repeats 7
    python scripts/bench/forest.py --datasets letter --measures threads row
    python scripts/bench/forest.py --measures peers --libraries oneDAL YDF --repeats 3

Both sides get the same numbers (categories as codes), numbers of trees and one core, and are
measured in turns. Ratios are medians of the CPU time of scikit-learn divided by that of mddf.

Sets: "curves", "many curves", "leaves", "medians" and "quantiles" are regression sets, with 100 R2
in the column of the accuracy. "genes" has 200 rows of 20 000 columns. Forests of "leaves" have 200
leaves, grown best first; forests of "medians" use the absolute error. "labels" has ten labels for
each row, and the accuracy is the mean over labels. Forests of "quantiles" predict three quantiles,
and are scored by the median; the peer is the package quantile-forest, and the set is left out
without it.

Measures: "threads" is the speed of two threads relative to one. "row" is predict_proba of one row,
and the time of scikit-learn's validation. "peers" measures other libraries with the settings of
_lab/libraries.py; classes are numbers and missing values are -1, which all of them accept. The
time includes the conversion of the numbers by the library.
"""

import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from sklearn import ensemble
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.utils.validation import validate_data

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import bench, data, libraries, models, tables
from _lab.study import Study

import mddf

CLASSIFIERS = {
    "random": (mddf.RandomForestClassifier, ensemble.RandomForestClassifier),
    "completely random": (
        mddf.CompletelyRandomForestClassifier,
        partial(ensemble.ExtraTreesClassifier, max_features=1),
    ),
}
REGRESSORS = {
    "random": (mddf.RandomForestRegressor, ensemble.RandomForestRegressor),
    "completely random": (
        mddf.CompletelyRandomForestRegressor,
        partial(ensemble.ExtraTreesRegressor, max_features=1),
    ),
}


class Quantiles:
    """A quantile forest that computes three quantiles and returns the median."""

    def __init__(self, make, n_trees, **options):
        self.forest = make(n_trees, **options)

    def fit(self, X, y):
        """Fit the forest."""
        self.forest.fit(X, y)

    def predict(self, X):
        """Return the medians; the 0.1 and 0.9 quantiles are computed as well."""
        return self.forest.predict(X, quantiles=[0.1, 0.5, 0.9])[:, 1]


def peer_of_quantiles(name, n_trees, **options):
    """Return a forest of quantile-forest that keeps all targets of the leaves."""
    make = getattr(import_module("quantile_forest"), name)
    return Quantiles(partial(make, max_samples_leaf=None), n_trees, **options)


def own_quantiles(make, n_trees, **options):
    """Return a quantile forest of mddf that keeps all targets of the leaves."""
    return Quantiles(partial(make, keep_targets=10_000), n_trees, **options)


QUANTILES = {
    "random": tuple(
        partial(make, min_samples_leaf=5)
        for make in (
            partial(own_quantiles, mddf.RandomForestRegressor),
            partial(peer_of_quantiles, "RandomForestQuantileRegressor"),
        )
    ),
    "completely random": (
        partial(own_quantiles, mddf.CompletelyRandomForestRegressor),
        partial(peer_of_quantiles, "ExtraTreesQuantileRegressor", max_features=1),
    ),
}
# Options of the forests for generated sets that measure more than the defaults.
OPTIONS: dict[str, dict] = {
    "leaves": {"max_leaf_nodes": 200},
    "medians": {"criterion": "absolute_error"},
    "labels": {},
    "quantiles": {},
}
CURVES = {
    "curves": (20_000, 16),
    "many curves": (200_000, 50),
    "leaves": (20_000, 16),
    "medians": (4_000, 16),
    "quantiles": (10_000, 16),
}
MADE = {**CURVES, "genes": (200, 20_000)}
SETS = ("adult", "letter", "satimage", "synthetic", "mnist", *MADE, "labels")


def load(name, data_home):
    """Return the split of a set as numbers, or of a generated set."""
    n_test = {"genes": 1000, "quantiles": 2000}.get(name, 20_000)
    if name == "synthetic":
        X, y = make_classification(200_000, 50, n_informative=15, n_classes=3, random_state=0)
    elif name == "labels":
        X, y = make_multilabel_classification(20_000 + n_test, 20, n_classes=10, random_state=0)
    elif name in MADE:
        rng, (n_rows, n_columns) = np.random.default_rng(0), MADE[name]
        X = rng.normal(size=(n_rows + n_test, n_columns))
        noise = 0.3 * rng.normal(size=len(X))
        y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + noise
        y = y if name in CURVES else (X[:, :20].sum(axis=1) > 0).astype(int)
    else:
        return data.codes(name, data_home)
    return data.Split(X[:-n_test], y[:-n_test], X[-n_test:], y[-n_test:])


def forests(name):
    """Return the forests of both sides for a set, by kind."""
    pairs = REGRESSORS if name in CURVES else CLASSIFIERS
    if name == "quantiles":
        pairs = QUANTILES
    options = OPTIONS.get(name, {})
    return {
        kind: tuple(partial(make, **options) for make in makes) for kind, makes in pairs.items()
    }


def fit(make, split, n_trees, seed, n_jobs=1):
    """Measure the costs of a fit, and the bytes of the pickle for each node."""
    model = make(n_trees, random_state=seed, n_jobs=n_jobs)
    costs = bench.fit_cost(model, split)
    forest = getattr(model, "forest", model)
    if hasattr(forest, "_trees"):
        n_nodes = sum(block.n_nodes for block in forest._trees)
    else:
        n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return {**costs, "bytes_per_node": costs["pickle_bytes"] / n_nodes}


def floored_loss(y, probabilities, classes):
    """Return the log-loss of probabilities that are clipped to at least 1e-6."""
    p = np.maximum(probabilities, 1e-6)
    return log_loss(y, p / p.sum(axis=1, keepdims=True), labels=classes)


def speed(options, split, kinds):
    """Measure both sides in turns."""
    sides = [partial(fit, make, split, options.n_estimators) for make in kinds]
    return bench.in_turns(sides, options.repeats)


def alike(split, task):
    """Return a split that all libraries accept: classes as numbers from 0, no missing values."""
    X, X_test = (np.nan_to_num(part, nan=-1) for part in (split.X, split.X_test))
    if task == "regression":
        return data.Split(X, split.y, X_test, split.y_test)
    classes, y = np.unique(split.y, return_inverse=True)
    return data.Split(X, y, X_test, np.searchsorted(classes, split.y_test))


def library(method, split, plan, seed):
    """Measure the costs of a library's fit, and the log-loss of its probabilities."""
    model = models.build(method, seed, task=plan.task, budget=plan)
    costs = bench.fit_cost(model, split)
    if plan.task == "classification":
        p = model.predict_proba(split.X_test)
        costs["log_loss"] = floored_loss(split.y_test, p, np.unique(split.y))
    return costs


def peers(options, name, kind):
    """Measure all libraries in turns."""
    task = "regression" if name in CURVES else "classification"
    split = alike(load(name, options.data_home), task)
    plan = libraries.Plan(options.n_estimators, *split.X.shape, task)
    methods, few = libraries.FORESTS[kind], split.X[:100]
    methods = {n: methods[n] for n in ("mddf", *options.libraries) if n in methods}
    for method in methods.values():  # a first fit loads the library
        models.build(method, 0, task=task, budget=plan).fit(few, np.arange(len(few)) % 2)
    sides = {name: partial(library, method, split, plan) for name, method in methods.items()}
    rows = bench.side_by_side(sides, options.repeats)
    return {"peers": [{"library": name, **row} for name, row in rows.items()]}


def threads(options, split, kinds):
    """Measure the speed of two threads relative to one."""
    sides = [
        partial(fit, kinds[0], split, options.n_estimators, n_jobs=n_jobs) for n_jobs in (2, 1)
    ]
    return {"speed": bench.in_turns(sides, options.repeats)["wall_s_ratio"]}


def row(options, split, kinds):
    """Measure medians over single rows: of predict_proba, and of the validation in it."""
    model = kinds[0](options.n_estimators, random_state=0).fit(split.X, split.y)
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
    if "quantiles" in options.datasets and find_spec("quantile_forest") is None:
        print('quantiles left out: needs quantile-forest: pip install "mddf[peers]"')
        options.datasets = [name for name in options.datasets if name != "quantiles"]
    if "peers" in options.measures:
        known_libraries = libraries.FORESTS["random"]
        options.libraries = list(
            models.present({n: known_libraries[n] for n in options.libraries})
        )


def cell(options, set, forest, measure):
    if measure == "peers":
        return peers(options, set, forest)
    return MEASURES[measure][0](options, load(set, options.data_home), forests(set)[forest])


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
    datasets=list(SETS), n_estimators=100, repeats=5, forests=CLASSIFIERS,
    measures=["speed"], libraries=list(libraries.NAMES),
    checks={"libraries": list(libraries.NAMES), "measures": list(MEASURES)},
    quick={"datasets": ["digits", "breast_cancer", "satimage", "letter"], "repeats": 3},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
