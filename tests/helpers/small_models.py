"""Small models of each kind, with their tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MultiGrainedScanner,
    QuadBoostClassifier,
)
from sklearn.base import is_regressor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import mddf

_SEED = {"random_state": 0}


def table(kind):
    """The training and test rows of a kind of model: numbers, images or a frame."""
    X, _ = load_iris(return_X_y=True)
    if kind == "images":
        return X.reshape(150, 2, 2)
    if kind == "numbers":
        return X
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame.loc[::7, "b"] = np.nan
    frame["kind"] = np.array(["red", "green", None], object)[np.arange(150) * 5 % 3]
    return frame


def labels():
    """Text labels."""
    return load_iris().target_names[load_iris().target]


def targets(model):
    """Text labels, or numbers for a regressor."""
    return load_iris().data[:, 3] if is_regressor(model) else labels()


def models():
    """Each estimator with a name and the kind of its table."""
    external = LogisticRegression(C=0.1, max_iter=500)
    numbers: dict = {
        "completely_random": mddf.CompletelyRandomForestClassifier(3, max_depth=4, **_SEED),
        "cascade_with_external": mddf.MDDFClassifier(
            2, n_estimators=2, forests=["random", external], cv=2, early_stopping=False, **_SEED
        ),
        "gcforest": GCForestClassifier(2, n_estimators=1, cv=2, **_SEED),
        "adaboost": AdaBoostClassifier(3, **_SEED),
        "deepboost": DeepBoostClassifier(3, **_SEED),
        "lpboost": LPBoostClassifier(n_estimators=3, **_SEED),
        "quadboost": QuadBoostClassifier(n_estimators=3, **_SEED),
    }
    frames = {
        "random_forest": mddf.RandomForestClassifier(3, oob_score=False, max_depth=4, **_SEED),
        "mddf": mddf.MDDFClassifier(2, n_estimators=1, cv=2, early_stopping=False, **_SEED),
    }
    members = ["random", "completely-random", "linear"]
    frames["deep_forest"] = mddf.DeepForestClassifier(
        n_estimators=2, cv=2, members=members, **_SEED
    )
    members = ["random", "kernel", "linear"]
    frames["deep_regressor"] = mddf.DeepForestRegressor(
        1, n_estimators=2, cv=2, members=members, **_SEED
    )
    frames["boosted_trees"] = mddf.GradientBoostingClassifier(
        max_iter=9, grow_policy="leaf-wise", subsample=0.8, early_stopping=True, **_SEED
    )
    numbers["boosted_regressor"] = mddf.GradientBoostingRegressor("gamma", max_iter=9, **_SEED)
    numbers["regressor"] = mddf.RandomForestRegressor(3, max_depth=4, **_SEED)
    scanner = MultiGrainedScanner([1], n_estimators=1, cv=2, max_depth=3, **_SEED)
    return {
        **{name: (model, "numbers") for name, model in numbers.items()},
        **{name: (model, "frame") for name, model in frames.items()},
        "scanner": (scanner, "images"),
    }


def says(model, X):
    """Return probabilities or features of rows; several outputs are stacked side by side."""
    if is_regressor(model):
        return model.predict(X)
    if hasattr(model, "decision_function") and not hasattr(model, "predict_proba"):
        return model.decision_function(X)
    output = model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)
    return np.hstack(output) if isinstance(output, list) else output
