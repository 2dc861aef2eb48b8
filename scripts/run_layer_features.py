"""Do layer features help other models? A linear model and a kNN on raw and on layer features.

    python scripts/run_layer_features.py                                 the bundled sets
    python scripts/run_layer_features.py --datasets satimage optdigits yeast
    python scripts/run_layer_features.py --quick

For each set and seed a cascade is grown on the training rows alone. The other models train on its
out-of-fold features of these rows and are tested on what it makes of the test rows. Compared are
raw features, layer features (all layers) and both, each in a pipeline that scales the columns,
with hyper-parameters (C of the logistic regression; number of neighbours and their weights) from
5-fold cross-validation on the training rows; test rows choose nothing. The accuracy of the cascade
itself stands beside. The features of a training row come from forests that saw the labels of the
others, those that cross-validation holds out as well; so its own scores are a little too good on
layer features, those on test rows are not.

Every result is a file of its own in --out; the same command goes on where the last one stopped.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from _lab import cli, data, models, tables
from _lab.running import conduct
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

FEATURES = ("raw", "layer", "raw + layer")
MODELS = {
    "linear": (LogisticRegression(max_iter=2000), {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0]}),
    "kNN": (
        KNeighborsClassifier(),
        {"model__n_neighbors": [1, 3, 5, 9, 15, 25], "model__weights": ["uniform", "distance"]},
    ),
}


def parse(argv=None):
    return cli.study(
        __doc__,
        "layer-features",
        quick={"datasets": ["wine"], "seeds": 1, "n_estimators": 5, "n_layers": 2},
        **{"datasets": ["digits", "wine", "breast_cancer"], "seeds": 3},
        **{"n_estimators": 100, "n_layers": 4},
    ).read(argv)


def evaluate(name, X, y, X_test, y_test, seed) -> dict:
    """Choose hyper-parameters on the training rows, fit on all of them, score on the test rows."""
    model, grid = MODELS[name]
    search = GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", model)]),
        grid,
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        search.fit(X, y)
    return {
        "accuracy": float(search.score(X_test, y_test)),
        "cv_accuracy": float(search.best_score_),
        "chosen": search.best_params_,
    }


def one_split(options, set, seed) -> dict:
    """All models on all kinds of features of a split."""
    split = data.split(data.Source(set, options.data_home), seed)
    budget = models.Budget(options.n_estimators, options.n_layers)
    cascade = models.build(models.METHODS["mddf"], seed, budget=budget, n_jobs=options.n_jobs)
    cascade.set_params(transform_layers="all")
    numbers = data.to_numbers().fit(split.X)
    raw = numbers.transform(split.X), numbers.transform(split.X_test)
    layers = cascade.fit_transform(split.X, split.y), cascade.transform(split.X_test)
    both = tuple(np.hstack(pair) for pair in zip(raw, layers, strict=True))
    found = {"mdDF itself": {"accuracy": float(cascade.score(split.X_test, split.y_test))}}
    with threadpool_limits(options.n_jobs):
        for name in MODELS:
            for kind, (X, X_test) in zip(FEATURES, (raw, layers, both), strict=True):
                found[f"{name}, {kind}"] = evaluate(name, X, split.y, X_test, split.y_test, seed)
    return {"n_layers": cascade.n_layers_, "models": found}


def report(frame):
    """Test accuracy of each model and kind of features."""
    order = [f"{name}, {kind}" for name in MODELS for kind in FEATURES] + ["mdDF itself"]
    rows = [
        {"set": row["set"], "seed": row["seed"], "method": name, **row["models"][name]}
        for row in frame.to_dict("records")
        for name in order
    ]
    long = tables.pd.DataFrame(rows)
    shown = tables.pivot(long, "accuracy", show=partial(tables.spread, scale=100))
    shown.insert(0, "seeds", long.groupby("set")["seed"].nunique())
    title = "test accuracy in %, mean ± standard deviation over seeds"
    return [tables.Table("accuracy", title, shown, tables.flat(long))]


def main(argv=None) -> int:
    options = parse(argv)
    keys = {"set": options.datasets, "seed": range(options.seeds)}
    return conduct(options, keys, one_split, report, settings=("n_estimators", "n_layers"))


if __name__ == "__main__":
    raise SystemExit(main())
