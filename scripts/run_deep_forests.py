r"""A common benchmark of deep forests: the same folds, forests, trees and seeds for all.

    python scripts/run_deep_forests.py --quick
    python scripts/run_deep_forests.py --rows 2000 --seeds 3
    python scripts/run_deep_forests.py --methods gcForest gcForestCS mine \
        --method mine=mddf.baselines:GCForestClassifier n_estimators=50

Every cascade has layers of two random and two completely-random forests with --n-estimators trees
on each of five folds, at most --n-layers layers, and stops after two layers without a better
out-of-fold score. Otherwise each method has its own rule: which rows, weights and layers count.
"random-forest" is one forest with as many trees as a layer has on a fold. "deep-forest" is the
default of this package. It is an average of forests, boosted trees and smooth models rather than
a deep forest in the papers' sense, so it has no rank among the others.

DF21 takes part if --df21-python names an interpreter that has its package deep-forest (the wheels
are for Python 3.6 to 3.9, and need NumPy before 1.24 and scikit-learn before 1.2). It has two
random and two extremely random forests in a layer and predicts the rows that a tree has not drawn
instead of folds, so each forest has five times --n-estimators trees.

Conditions: at most --rows training rows ("clean"); the same with one label in five replaced by
another class ("flipped"); 100 training rows ("small"); and images through the windows of a
multi-grained scanner ("scanned"). Test rows have their true labels and choose nothing.
"""

import json
import pickle
import subprocess
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _lab import data, models, stats, tables
from _lab.bench import cost
from _lab.conditions import CONDITIONS, DATASETS, IMAGES, margins_of, split_under
from _lab.study import Study
from mddf.baselines import GCForestClassifier
from sklearn.metrics import log_loss

from mddf import DeepForestClassifier, MDDFClassifier, RandomForestClassifier

FORESTS = ["random", "random", "completely-random", "completely-random"]
PATIENCE = 2


def random_forest(n_estimators, random_state, n_jobs, **_):
    """One forest with as many trees as a layer."""
    return RandomForestClassifier(
        len(FORESTS) * n_estimators, random_state=random_state, n_jobs=n_jobs
    )


def deep_forest(random_state, n_jobs, **_):
    """The default of this package."""
    return DeepForestClassifier(random_state=random_state, n_jobs=n_jobs)


# The default of this package, which is not a deep forest in the papers' sense.
UNRANKED = "deep-forest"
WORKER = Path(__file__).with_name("_lab") / "df21_worker.py"


class DF21:
    """The package deep-forest in a process of its own, since it needs an old Python.

    It takes numbers only: categories are encoded by their positions. The model is fitted when it
    predicts, and `measured_` has the times and the size that the process reports.
    """

    def __init__(self, python, params):
        self.python = python
        self.params = params

    def fit(self, X, y):
        """Keep the rows as numbers."""
        self.encoder = data.to_codes()
        self.X = np.asarray(self.encoder.fit_transform(X), float)
        self.classes_, self.codes = np.unique(y, return_inverse=True)
        return self

    def predict_proba(self, X):
        """Fit the cascade, and predict the probabilities of the classes."""
        X = np.asarray(self.encoder.transform(X), float)
        with TemporaryDirectory() as folder:
            rows, results = Path(folder, "rows.npz"), Path(folder, "results.npz")
            np.savez(rows, X=self.X, y=self.codes, X_test=X)
            params = json.dumps(self.params)
            command = [self.python, "-W", "ignore", str(WORKER), str(rows), str(results), params]
            process = subprocess.run(command, check=False, capture_output=True, text=True)
            if process.returncode:
                *_, reason = process.stderr.splitlines() or ["no message"]
                raise RuntimeError(f"DF21 failed: {reason}")
            with np.load(results) as stored:
                probabilities = stored["probabilities"]
                self.measured_ = {
                    name: stored[name].item() for name in stored if name != "probabilities"
                }
        return probabilities


def df21(python, *, n_layers, n_estimators, random_state, n_jobs, cv):
    """The cascade of the package deep-forest, with as many trees in a layer as the others."""
    params = {
        "max_layers": n_layers,
        "n_estimators": len(FORESTS) // 2,
        "n_trees": cv * n_estimators,
        "n_tolerant_rounds": PATIENCE,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "verbose": 0,
    }
    return DF21(python, params)


relative = partial(GCForestClassifier.named, forests=FORESTS, scoring=None)
METHODS = {
    "gcForest": partial(relative, "gcForest"),
    "gcForestCS": partial(relative, "gcForestCS"),
    "DBC-Forest": partial(relative, "DBC-Forest"),
    "AWDF": partial(relative, "AWDF"),
    "mdDF": MDDFClassifier,
    "mdDF-paper": partial(MDDFClassifier.named, "paper"),
    "mdDF-mean-margin": partial(MDDFClassifier.named, "paper-mean-margin"),
    "random-forest": random_forest,
    "deep-forest": deep_forest,
}


def prepare(options, parser):
    options.own_methods = models.own_methods(options)
    known = [*METHODS, *options.own_methods]
    if options.df21_python:
        known.append("DF21")
    options.methods = options.methods or known
    if wrong := [name for name in options.methods if name not in known]:
        parser.error(
            f"argument --methods: must be among {', '.join(known)} (and DF21 with --df21-python), "
            f"got {wrong[0]!r}"
        )
    options.sources = data.sources(options, options.datasets)


def keys(options):
    """Return the keys of all combinations; only image sets have the condition "scanned"."""
    return [
        {"set": name, "condition": condition, "seed": seed, "method": method}
        for name in options.sources
        for condition in options.conditions
        if condition != "scanned" or name in IMAGES
        for seed in range(options.seeds)
        for method in options.methods
    ]


def cell(options, set, condition, seed, method):
    """Fit a method, and measure its test rows and its costs."""
    split = split_under(options.sources[set], condition, seed, options.rows)
    if method in options.own_methods:
        model = models.build(options.own_methods[method], seed, n_jobs=options.n_jobs)
    else:
        make = partial(df21, options.df21_python) if method == "DF21" else METHODS[method]
        model = make(
            n_layers=options.n_layers,
            n_estimators=options.n_estimators,
            cv=5,
            random_state=seed,
            n_jobs=options.n_jobs,
        )
    fit_seconds, _, _ = cost(model.fit, split.X, split.y)
    predict_seconds, _, probabilities = cost(model.predict_proba, split.X_test, min_seconds=0.02)
    margins = margins_of(probabilities, split.y_test, model.classes_)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    return {
        "accuracy": float(np.mean(predicted == split.y_test)),
        "log_loss": log_loss(split.y_test, probabilities, labels=model.classes_),
        "ratio": float(margins.std() / margins.mean()),
        "layers": getattr(model, "n_layers_", 1),
        "fit_s": fit_seconds,
        "predict_us": 1e6 * predict_seconds / len(split.y_test),
        "megabytes": len(pickle.dumps(model, protocol=5)) / 1e6,
    } | getattr(model, "measured_", {})


OVERVIEW = """
condition method sets rank_of_accuracy=accuracy_rank:.2f accuracy=accuracy:.2%
rank_of_log-loss=log_loss_rank:.2f log-loss=log_loss:.3f median_margin_ratio=ratio:.3f
layers=layers:.1f
fit_s=fit_s:.2f prediction_µs_a_row=predict_us:.0f megabytes=megabytes:.2f
Holm_p_against_gcForest=p:.2g
"""
BY_SET = """
condition set method accuracy=accuracy:.2%± log-loss=log_loss:.3f± layers=layers:.1f
seeds=n_seeds
"""


def overview(frame, condition):
    """Return mean ranks and figures of a condition, over the sets with results of all methods."""
    rows = frame[frame["condition"] == condition]
    ranked = rows[rows["method"] != UNRANKED]
    ranked = rows if ranked.empty else ranked
    accuracies = stats.by_set(ranked, "accuracy")
    losses = stats.by_set(ranked, "log_loss")
    rows = rows[rows["set"].isin(accuracies.index)]
    means = rows.groupby(["method", "set"], sort=False).mean(numeric_only=True)
    figures = means.groupby("method", sort=False).mean()
    # Single very large ratios would dominate a mean.
    figures["ratio"] = means.groupby("method", sort=False)["ratio"].median()
    figures["accuracy_rank"] = stats.ranks(accuracies).mean()
    figures["log_loss_rank"] = stats.ranks(losses, greater=False).mean()
    figures["sets"] = len(accuracies)
    if "gcForest" in accuracies and accuracies.shape[1] > 1 and len(accuracies) > 1:
        compared = stats.compare_with(accuracies, "gcForest").set_index("column")
        figures["p"] = compared["holm_p"]
    if {"gcForest", UNRANKED} <= set(figures.index):
        pair = stats.by_set(rows[rows["method"].isin(["gcForest", UNRANKED])], "accuracy")
        compared = stats.compare_with(pair, "gcForest").set_index("column")
        figures.loc[UNRANKED, "p"] = compared.loc[UNRANKED, "holm_p"]
    return figures.assign(condition=condition).sort_values("accuracy_rank").reset_index()


def report(frame, options):
    conditions = [name for name in CONDITIONS if name in set(frame["condition"])]
    parts = [overview(frame, condition) for condition in conditions]
    by_set = tables.means(frame, ["condition", "set", "method"])
    title = "means over sets; p by Wilcoxon's signed ranks of accuracies over sets"
    return [
        tables.columns("deep-forests", title, tables.pd.concat(parts), OVERVIEW, n_index=2),
        tables.columns("deep-forests-by-set", "mean over seeds", by_set, BY_SET, n_index=3),
    ]


def settings(options):
    """Return the settings that all results share, also the content of the user's own table."""
    shared = {name: getattr(options, name) for name in ("n_estimators", "n_layers", "rows")}
    if options.csv is not None:
        shared["set"] = {name: source.settings() for name, source in options.sources.items()}
    return shared


study = Study(
    globals(), "deep-forests", keys, own="as they are", known={"methods": [*METHODS, "DF21"]},
    datasets=[*DATASETS, "digits"], methods=[], conditions=CONDITIONS, seeds=3, rows=2000,
    n_estimators=50, n_layers=8, df21_python="",
    quick={"datasets": ["digits"], "seeds": 1, "rows": 200, "n_estimators": 5, "n_layers": 2,
           "conditions": ["clean", "scanned"]},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
