"""Tables and targets for gradient boosting."""

import made_models
import numpy as np
import pandas as pd
import pytest

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

MODELS = [GradientBoostingClassifier, GradientBoostingRegressor]
both = pytest.mark.parametrize("Model", MODELS)
growth = pytest.mark.parametrize("grow_policy", ["symmetric", "leaf-wise"])


def numbers(n=400, seed=0, missing=0.1):
    """A table with missing values, and a target that depends on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = np.round(X[:, 3])
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def problem(Model, n=400, seed=0, n_classes=3):
    X, y = numbers(n, seed)
    if Model is GradientBoostingClassifier:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
        y = np.array(["ape", "bee", "cat", "dog"])[y]
    return X, y


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def frame(n=300, seed=0):
    """Numbers and categories, and a target that depends on both."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    kinds = np.array(["red", "green", "blue", "white", "black"])
    table["kind"] = kinds[rng.integers(0, 5, n)]
    y = table["a"] + 2 * table["kind"].isin(["red", "blue"]) + 0.1 * rng.normal(size=n)
    table.loc[::11, "kind"] = None
    table["kind"] = table["kind"].astype("category")
    return table, y.to_numpy()


def frame_of_few_levels(n_rows=120):
    """`made_models.frame_table` with 30 places; more levels would get target statistics."""
    X = made_models.frame_table(n_rows)
    return X.assign(place=[f"p{int(place[1:]) % 30:02}" for place in X["place"]])


TABLES = {**made_models.TABLES, "frame": frame_of_few_levels}
