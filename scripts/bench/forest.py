"""Compare the forests with scikit-learn's: time, accuracy, model size.

    python scripts/bench/forest.py --quick    two minutes; bundled data if no other is there
    python scripts/bench/forest.py            all data sets; takes about an hour and a half
    python scripts/bench/forest.py --datasets letter adult --repeats 7
    python scripts/bench/forest.py --datasets letter --measures threads row memory growth parts
    python scripts/bench/forest.py --measures binning --forests random
    python scripts/bench/forest.py --measures peers --libraries oneDAL YDF --repeats 3

Both sides get the same numbers (categories as codes), trees and one core, in turns; ratios are
medians of scikit-learn's CPU time through mddf's, and a bracket holds the ratio aimed at. The
targets of "curves" and "many curves" are numbers, and 100 R2 takes the place of accuracy; "genes"
are 200 rows of 20 000 columns; forests of "leaves" have 200 leaves, best first, those of "medians"
the absolute error as criterion, and "labels" are ten of a row, of which the accuracy is the mean.
Forests of "quantiles" are asked for three, and their accuracy is that of medians; the peer is the
package quantile-forest, without which they are left out.
Other measures: the speed of two threads (aim: 1.85 of one), predict_proba of one row beyond what
scikit-learn's validation takes (aim: 120 us), bytes per cell of X at the peak of a fit beyond data
and model, and how the time grows with the rows; and what it costs in accuracy to deal the rows out
at random to parts that each grow their share of the trees, and to average the probabilities.
"binning" finds the bins of the columns, as doubles, and codes
them; its peer is KBinsDiscretizer, by quantiles of all rows. "peers" puts other libraries beside
mddf, with classes as numbers and missing values as -1, which all take; what a library makes of the
numbers is part of its time. What they are given is in _lab/libraries.py.
"""

import math
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from statistics import median

import numpy as np
from _lab import bench, data, libraries, models, tables
from _lab.study import Study
from sklearn import ensemble
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.validation import validate_data

import mddf
from mddf._binning.bins import apply_bins, find_bins

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
    """A forest that is asked for three quantiles, and predicts the median."""

    def __init__(self, make, n_trees, **options):
        self.forest = make(n_trees, **options)

    def fit(self, X, y):
        """Fit the forest."""
        self.forest.fit(X, y)

    def predict(self, X):
        """The medians; both other quantiles are found, too."""
        return self.forest.predict(X, quantiles=[0.1, 0.5, 0.9])[:, 1]


def peer_of_quantiles(name, n_trees, **options):
    """quantile-forest's, with all targets of the leaves."""
    make = getattr(import_module("quantile_forest"), name)
    return Quantiles(partial(make, max_samples_leaf=None), n_trees, **options)


def own_quantiles(make, n_trees, **options):
    """The same of mddf."""
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
# Made sets for what forests can be asked to do beyond their defaults.
ASKED: dict[str, dict] = {
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
# The ratios that the project aims at.
AIMS = {
    (name, kind): {"fit_s_ratio": fit, "predict_s_ratio": 3 if name in CURVES else 5}
    for name in SETS
    if name != "genes"
    for kind, fit in zip(
        CLASSIFIERS,
        {"synthetic": (15, 6), "mnist": (6, 5)}.get(name, (8, 6) if name in CURVES else (10, 8)),
        strict=True,
    )
}
AIMS |= {(name, kind): {"fit_s_ratio": 4} for name in ASKED for kind in CLASSIFIERS}
AIMS |= {(*key, "oneDAL"): {"fit_s_ratio": 4, "predict_s_ratio": 2} for key in AIMS}


def load(name, data_home):
    """A set as numbers, or a made one."""
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
    """The forests of both sides that a set is for."""
    pairs = REGRESSORS if name in CURVES else CLASSIFIERS
    if name == "quantiles":
        pairs = QUANTILES
    options = ASKED.get(name, {})
    return {
        kind: tuple(partial(make, **options) for make in makes) for kind, makes in pairs.items()
    }


def fit(make, split, n_trees, seed, n_jobs=1):
    """What a fit costs, with the bytes of each node of the model's pickle."""
    model = make(n_trees, random_state=seed, n_jobs=n_jobs)
    found = bench.fit_cost(model, split)
    forest = getattr(model, "forest", model)
    if hasattr(forest, "_trees"):
        n_nodes = sum(block.n_nodes for block in forest._trees)
    else:
        n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return {**found, "bytes_per_node": found["pickle_bytes"] / n_nodes}


def floored_loss(y, probabilities, classes):
    """Log-loss of probabilities of at least a millionth."""
    p = np.maximum(probabilities, 1e-6)
    return log_loss(y, p / p.sum(axis=1, keepdims=True), labels=classes)


def speed(options, split, kinds):
    """Both sides in turns."""
    sides = [partial(fit, make, split, options.n_estimators) for make in kinds]
    return bench.in_turns(sides, options.repeats)


def alike(split, task):
    """What all libraries take: classes as numbers from 0, and nothing missing."""
    X, X_test = (np.nan_to_num(part, nan=-1) for part in (split.X, split.X_test))
    if task == "regression":
        return data.Split(X, split.y, X_test, split.y_test)
    classes, y = np.unique(split.y, return_inverse=True)
    return data.Split(X, y, X_test, np.searchsorted(classes, split.y_test))


def library(method, split, plan, seed):
    """What a library's fit costs, and the log-loss of its probabilities."""
    model = models.build(method, seed, task=plan.task, budget=plan)
    found = bench.fit_cost(model, split)
    if plan.task == "classification":
        p = model.predict_proba(split.X_test)
        found["log_loss"] = floored_loss(split.y_test, p, np.unique(split.y))
    return found


def peers(options, name, kind):
    """All libraries in turns."""
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
    """Two threads, and one."""
    sides = [
        partial(fit, kinds[0], split, options.n_estimators, n_jobs=n_jobs) for n_jobs in (2, 1)
    ]
    return {"speed": bench.in_turns(sides, options.repeats)["wall_s_ratio"]}


def row(options, split, kinds):
    """Medians over single rows: validation alone, and the whole."""
    model = kinds[0](options.n_estimators, random_state=0).fit(split.X, split.y)
    check = partial(validate_data, model, reset=False, ensure_all_finite="allow-nan")
    rows = [split.X_test[i : i + 1] for i in range(min(400, len(split.X_test)))]
    whole, alone = (
        1e6 * median(bench.cost(call, one)[1] for one in rows)
        for call in (model.predict_proba, check)
    )
    return {"row": whole, "validation": alone}


def memory(options, name, kind):
    """A fit in a process of its own."""
    split = load(name, options.data_home)
    make = forests(name)[kind][0]
    make(2).fit(split.X[:200], split.y[:200])
    found = fit(make, split, 10, 0)
    beyond = found["MiB"] * 2**20 - found["pickle_bytes"]
    return {"bytes": beyond / split.X.size}


def growth(options, split, kinds):
    """Nanoseconds per tree over n log2 n, of a part of the rows."""
    found = {}
    for share in (16, 4, 1):
        X, y = split.X[::share], split.y[::share]
        used = bench.cost(kinds[0](options.n_estimators, random_state=0).fit, X, y)[0]
        found[f"1/{share}"] = 1e9 * used / options.n_estimators / (len(y) * math.log2(len(y)))
    return found


def parts(options, split, kinds):
    """Test error in % and log-loss, means over repeats, by the number of parts."""
    found, classes = [], np.unique(split.y)
    for seed, n_parts in product(range(options.repeats), (1, 2, 4, 8)):
        deal = np.random.default_rng(seed).permutation(len(split.y)) % n_parts
        total = np.zeros((len(split.y_test), len(classes)))
        for part in range(n_parts):
            forest = kinds[0](options.n_estimators // n_parts, random_state=8 * seed + part)
            forest.fit(split.X[deal == part], split.y[deal == part])
            seen = np.searchsorted(classes, forest.classes_)
            total[:, seen] += forest.predict_proba(split.X_test) / n_parts
        wrong = np.mean(classes[total.argmax(axis=1)] != split.y_test)
        loss = floored_loss(split.y_test, total, classes)
        found.append({f"{n_parts}": 100 * wrong, f"{n_parts},_log-loss": loss})
    return tables.pd.DataFrame(found).mean().to_dict()


def binning(options, split, kinds):
    """Finding bins and coding, of both sides in turns."""
    X = np.asarray(split.X, np.float64)
    known = np.nan_to_num(X, nan=-1)  # all that the peer takes

    def ours(seed):
        find, _, bins = bench.cost(find_bins, X, least=0.05)
        return {"find_s": find, "code_s": bench.cost(apply_bins, X, bins, least=0.05)[0]}

    def peers(seed):
        parts = KBinsDiscretizer(
            255, encode="ordinal", subsample=None, quantile_method="averaged_inverted_cdf"
        )
        with warnings.catch_warnings(action="ignore"):  # columns may have fewer values
            find, _, _ = bench.cost(parts.fit, known)
        return {"find_s": find, "code_s": bench.cost(parts.transform, known)[0]}

    found = bench.in_turns([ours, peers], options.repeats)
    return {**found, "GB": X.nbytes / 1e9 / found["code_s"]}


MEASURES = {
    "speed": (
        speed,
        "CPU seconds, one core; ratio: scikit-learn / mddf (aim)",
        "fit_s:.4g peer's_fit=peer_fit_s:.4g ratio=fit_s_ratio predict_s:.4g "
        "peer's_predict=peer_predict_s:.4g ratio_=predict_s_ratio accuracy:.2f "
        "peer's_accuracy=peer_accuracy:.2f bytes_per_node:.1f",
    ),
    "peers": (
        peers,
        "CPU seconds, one core; ratio: the library's / mddf's (aim)",
        "fit_s:.4g ratio=fit_s_ratio predict_s:.4g ratio_=predict_s_ratio "
        "MB:.3g accuracy:.2f log-loss=log_loss:.4f",
    ),
    "binning": (
        binning,
        "CPU seconds, one core; ratio: KBinsDiscretizer / mddf",
        "find_s:.4g peer's_find=peer_find_s:.4g ratio=find_s_ratio code_s:.4g "
        "peer's_code=peer_code_s:.4g ratio_=code_s_ratio GB_coded_per_s=GB:.2f",
    ),
    "threads": (threads, "speed of two threads over one", "speed:.2f"),
    "row": (row, "one row, microseconds", "predict_proba=row:.0f validation:.0f"),
    "memory": (memory, "memory at the peak of a fit", "bytes_per_cell=bytes:.2f"),
    "growth": (
        growth,
        "ns per tree and n log2 n, by share of the rows",
        "1/16:.3f 1/4:.3f 1/1:.3f",
    ),
    "parts": (
        parts,
        "test error in % and log-loss of a forest on 1, 2, 4 and 8 parts of the rows",
        " ".join(f"{n}:.2f {n},_log-loss:.3f" for n in (1, 2, 4, 8)),
    ),
}


def prepare(options, parser):
    if "quantiles" in options.datasets and find_spec("quantile_forest") is None:
        print('quantiles left out: needs quantile-forest: pip install "mddf[peers]"')
        options.datasets = [name for name in options.datasets if name != "quantiles"]
    if "peers" in options.measures:
        there = libraries.FORESTS["random"]
        options.libraries = list(models.present({n: there[n] for n in options.libraries}))


def cell(options, set, forest, measure):
    if measure == "memory":
        return bench.in_new_process(memory, options, set, forest)
    if measure == "peers":
        return peers(options, set, forest)
    return MEASURES[measure][0](options, load(set, options.data_home), forests(set)[forest])


def report(frame, options):
    found = []
    for measure, rows in frame.groupby("measure", sort=False):
        _, title, shown = MEASURES[measure]
        numbers, index = rows.dropna(axis=1, how="all").drop(columns="measure"), ["set", "forest"]
        if measure == "peers":
            numbers, index = tables.unnest(numbers, "peers"), [*index, "library"]
            numbers["MB"] = numbers["pickle_bytes"] / 1e6
        rows = bench.with_aims(numbers, index, AIMS)
        words = f"{' '.join(index)} {shown}"
        found.append(tables.columns(measure, title, rows, words, len(index), numbers))
    return found


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
