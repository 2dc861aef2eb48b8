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
"""

from __future__ import annotations

import warnings

import numpy as np
from _lab import data, models, tables
from _lab.study import Study
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

MODELS = {
    "linear": (LogisticRegression(max_iter=2000), {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0]}),
    "kNN": (
        KNeighborsClassifier(),
        {"model__n_neighbors": [1, 3, 5, 9, 15, 25], "model__weights": ["uniform", "distance"]},
    ),
}


def cell(options, set, seed):
    """All models on all kinds of features of a split."""
    split = data.split(data.Source(set, options.data_home), seed)
    cascade = models.cascade(options, "mddf", seed, transform_layers="all")
    numbers = data.to_numbers().fit(split.X)
    raw = numbers.transform(split.X), numbers.transform(split.X_test)
    layers = cascade.fit_transform(split.X, split.y), cascade.transform(split.X_test)
    both = tuple(np.hstack(pair) for pair in zip(raw, layers, strict=True))
    found = []
    for name, (model, grid) in MODELS.items():
        for kind, (X, X_test) in {"raw": raw, "layer": layers, "raw + layer": both}.items():
            pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            search = GridSearchCV(pipeline, grid, cv=folds)
            with threadpool_limits(options.n_jobs), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
                search.fit(X, split.y)
            accuracy = search.score(X_test, split.y_test)
            found.append({"method": f"{name}, {kind}", "accuracy": accuracy,
                          "cv_accuracy": search.best_score_})  # fmt: skip
    itself = float(cascade.score(split.X_test, split.y_test))
    return {"models": [*found, {"method": "mdDF itself", "accuracy": itself}]}


def report(frame, options):
    """Test accuracy of each model and kind of features."""
    long = tables.unnest(frame, "models")
    shown = tables.pivot(long, "accuracy", scale=100)
    shown.insert(0, "seeds", long.groupby("set")["seed"].nunique())
    title = "test accuracy in %, mean ± standard deviation over seeds"
    return [tables.Table("accuracy", title, shown, long)]


study = Study(
    globals(), "layer-features", "set=datasets seed=seeds", ("n_estimators", "n_layers"),
    datasets=["digits", "wine", "breast_cancer"], seeds=3, n_estimators=100, n_layers=4,
    quick={"datasets": ["wine"], "seeds": 1, "n_estimators": 5, "n_layers": 2},
)  # fmt: skip
parse, main = study.parse, study.main

if __name__ == "__main__":
    raise SystemExit(main())
