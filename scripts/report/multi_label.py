"""The multi-label deep forest against one forest, binary relevance and classifier chains.

    python scripts/report/multi_label.py --quick
    python scripts/report/multi_label.py --seeds 2
    python scripts/report/multi_label.py --datasets flags --methods MLDF random-forest

All methods are made of forests of this package. "random-forest" is one forest whose trees predict
all labels. "binary-relevance" and "chain" have a forest for each label; in a chain, a forest also
gets the labels before its own, in a random order. These forests have 200 trees, as many as the two
forests of a layer of MLDF have on a fold at most. MLDF is fitted once for each measure, which then
decides about its layers. "MLDF-no-reuse" does not reuse vectors, and "MLDF-deep" has no depth
limit.

Sets are made by scikit-learn's make_multilabel_classification, with half of the rows for training;
"flags" are the colours of 194 national flags, with two thirds for training.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.preprocessing import OrdinalEncoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _lab import data, stats, tables
from _lab.bench import cost
from _lab.study import Study
from mddf.baselines import MLDFClassifier
from mddf.baselines._labels.measures import MEASURES, measure_value

from mddf import RandomForestClassifier

N_TREES = 200
COLOURS = ["red", "green", "blue", "gold", "white", "black", "orange"]
# Few and many labels, few rows, and rows with most labels.
MADE = {
    "few-labels": {"n_samples": 600, "n_features": 20, "n_classes": 5, "n_labels": 2},
    "many-labels": {"n_samples": 600, "n_features": 40, "n_classes": 15, "n_labels": 3},
    "few-rows": {"n_samples": 200, "n_features": 20, "n_classes": 8, "n_labels": 2},
    "dense": {"n_samples": 600, "n_features": 20, "n_classes": 8, "n_labels": 5},
}
DATASETS = [*MADE, "flags"]


def forest(options, seed):
    return RandomForestClassifier(N_TREES, random_state=seed, n_jobs=options.n_jobs)


def one_forest(options, seed, measure):
    """One forest whose trees predict all labels."""
    return forest(options, seed)


def binary_relevance(options, seed, measure):
    """A forest for each label."""
    return MultiOutputClassifier(forest(options, seed))


def chain(options, seed, measure):
    """A forest for each label, which also sees the labels before it."""
    return ClassifierChain(forest(options, seed), order="random", random_state=seed)


def mldf(options, seed, measure, **params):
    """The multi-label deep forest for a measure."""
    return MLDFClassifier(measure=measure, random_state=seed, n_jobs=options.n_jobs, **params)


METHODS = {
    "MLDF": mldf,
    "MLDF-no-reuse": partial(mldf, reuse=False),
    "MLDF-deep": partial(mldf, depth_step=None),
    "random-forest": one_forest,
    "binary-relevance": binary_relevance,
    "chain": chain,
}
# Methods that are fitted again for each measure.
BY_MEASURE = {name for name in METHODS if name.startswith("MLDF")}


def load(options, name, seed):
    """X and labels of training and test rows.

    Labels that all training rows have or lack are left out, as chains cannot learn them.
    """
    if name in MADE:
        X, labels = make_multilabel_classification(random_state=seed, **MADE[name])
    else:
        flags = data.load(data.Source("flags", options.data_home)).X
        X = OrdinalEncoder().fit_transform(flags.drop(columns=COLOURS))
        labels = (flags[COLOURS].astype(str).astype(float) > 0).to_numpy(int)
    X, X_test, labels, labels_test = train_test_split(
        X, labels, test_size=1 / 2 if name in MADE else 1 / 3, random_state=seed
    )
    varies = labels.min(axis=0) < labels.max(axis=0)
    return X, X_test, labels[:, varies], labels_test[:, varies]


def label_probabilities(model, X):
    """Probabilities of the labels, (n_rows, n_labels)."""
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):
        return np.column_stack([p[:, 1] for p in probabilities])
    return probabilities


def cell(options, set, seed, method):
    """Fit a method, and measure its predictions of the test rows."""
    X, X_test, labels, labels_test = load(options, set, seed)
    result, seconds, layers = {}, [], []
    model = probabilities = None
    for measure in MEASURES:
        if model is None or method in BY_MEASURE:
            model = METHODS[method](options, seed, measure)
            fit_seconds, _, _ = cost(model.fit, X, labels)
            seconds.append(fit_seconds)
            layers.append(getattr(model, "n_layers_", 1))
            probabilities = label_probabilities(model, X_test)
        result[measure] = measure_value(measure, labels_test, probabilities)
    return result | {"fit_s": float(np.mean(seconds)), "layers": float(np.mean(layers))}


RANKS = """
method sets hamming-loss=hamming-loss:.2f one-error=one-error:.2f coverage=coverage:.2f
ranking-loss=ranking-loss:.2f average-precision=average-precision:.2f macro-AUC=macro-auc:.2f
layers:.1f fit_s=fit_s:.2f
"""
BY_SET = """
set method hamming-loss=hamming-loss:.3f± one-error=one-error:.3f± coverage=coverage:.3f±
ranking-loss=ranking-loss:.3f± average-precision=average-precision:.3f± macro-AUC=macro-auc:.3f±
layers:.1f seeds=n_seeds
"""


def report(frame, options):
    complete = stats.by_set(frame, "hamming-loss").index
    rows = frame[frame["set"].isin(complete)]
    ranks = {
        name: stats.ranks(stats.by_set(rows, name), greater=measure.best > 0).mean()
        for name, measure in MEASURES.items()
    }
    overview = tables.pd.DataFrame(ranks)
    means = rows.groupby(["method", "set"], sort=False).mean(numeric_only=True)
    costs = means.groupby("method", sort=False)[["layers", "fit_s"]].mean()
    overview = overview.join(costs).assign(sets=len(complete))
    overview = overview.rename_axis("method").reset_index()
    return [
        tables.columns("multi-label", "mean ranks over sets, 1 the best", overview, RANKS),
        tables.columns(
            "multi-label-by-set", "mean over seeds", tables.means(frame, ["set", "method"]),
            BY_SET, n_index=2,
        ),
    ]  # fmt: skip


study = Study(
    globals(), "multi-label", "set=datasets seed=seeds method=methods", datasets=tuple(DATASETS),
    methods=METHODS, seeds=2,
    quick={"datasets": ["few-rows"], "methods": ["MLDF", "random-forest", "chain"], "seeds": 1},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
