"""Every fit warns of columns that equal the target."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    by_columns,
)

DEEP = {"members": ["random"], "n_estimators": 2, "cv": 2, "random_state": 0}
CLASSIFIERS = [
    RandomForestClassifier(2),
    GradientBoostingClassifier(max_iter=2),
    MDDFClassifier(1, n_estimators=2, cv=2),
    DeepForestClassifier(1, **DEEP),
]
REGRESSORS = [
    RandomForestRegressor(2),
    GradientBoostingRegressor(max_iter=2),
    DeepForestRegressor(1, **DEEP),
]
N = 200
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=N)
LABELS = RNG.choice(["a", "b", "c"], N)
GAPS = RNG.random(N) < 0.3


def model_name(model):
    return type(model).__name__


def has_warned(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return any("equals the target in all" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("model", REGRESSORS, ids=model_name)
def test_numbers(model, tmp_path):
    for column in [VALUES, np.where(GAPS, np.nan, VALUES), VALUES.astype(np.float32)]:
        X = pd.DataFrame({"x": RNG.normal(size=N), "copy": column})
        assert has_warned(model, X, VALUES)
        assert has_warned(model, X.to_numpy(), VALUES.tolist())
        X.to_parquet(tmp_path / "rows.parquet")
        assert has_warned(model, by_columns(tmp_path / "rows.parquet"), VALUES)
        X.loc[3, "copy"] = 7.0
        assert not has_warned(model, X, VALUES)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=model_name)
def test_classes(model):
    for column in [
        LABELS,
        np.where(GAPS, None, LABELS),
        pd.Series(LABELS).map({"a": 5, "b": 1, "c": 2}),
    ]:
        X = pd.DataFrame({"x": RNG.normal(size=N), "copy": column})
        assert has_warned(model, X, LABELS)
        X.loc[3, "copy"] = X["copy"][np.flatnonzero(LABELS[3] != LABELS)].dropna().iloc[0]
        assert not has_warned(model, X, LABELS)


def test_other_tables():
    forest = RandomForestClassifier(2)
    columns = np.column_stack([VALUES, LABELS == "a", VALUES > 1])
    assert has_warned(forest, columns, np.column_stack([VALUES > 0, LABELS == "a"]))
    assert has_warned(forest, sparse.csr_array(columns), LABELS == "a")
    rare = np.arange(N) < 3
    assert has_warned(forest, np.column_stack([VALUES, rare]), rare)
    # A single row, or few rows, may be equal by chance.
    assert not has_warned(forest, np.column_stack([VALUES, np.arange(N) == 0]), np.arange(N) == 0)
    assert not has_warned(forest, columns[:20], LABELS[:20] == "a")


def test_a_column_on_disk(tmp_path):
    pd.DataFrame({"x": RNG.normal(size=N), "y": VALUES}).to_parquet(tmp_path / "rows.parquet")
    X = by_columns(tmp_path / "rows.parquet", codes_folder=tmp_path)
    with pytest.warns(UserWarning, match="column 1, 'y' equals the target in all 200 rows"):
        GradientBoostingRegressor(max_iter=2, early_stopping=False).fit(X, VALUES)
