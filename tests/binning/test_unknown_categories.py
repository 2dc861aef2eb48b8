"""Unknown categories: counts, and a warning if there are more than expected."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mddf.baselines import AdaBoostClassifier
from sklearn import config_context

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

MODELS = [
    RandomForestClassifier(3),
    RandomForestRegressor(3),
    GradientBoostingClassifier(max_iter=3, early_stopping=False),
    GradientBoostingRegressor(max_iter=3, early_stopping=False),
    DeepForestClassifier(1, members=["random"], n_estimators=3, cv=2),
    DeepForestRegressor(1, members=["random"], n_estimators=3, cv=2),
    MDDFClassifier(1, n_estimators=2, cv=2),
    AdaBoostClassifier(3, categorical_features="from_dtype"),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def table(n=200, seed=0, n_towns=40):
    rng = np.random.default_rng(seed)
    towns = [f"town {i}" for i in rng.integers(0, n_towns, n)]
    colors = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    return pd.DataFrame({"size": rng.normal(size=n), "color": colors, "town": towns})


def with_share(X, share, column="color"):
    """A frame whose first rows have a new color."""
    new = X.copy()
    new.loc[: int(share * len(X)) - 1, column] = "violet"
    return new


def test_scikit_learn_may_be_set_to_return_frames():
    X, y = table(), np.arange(200) % 2
    model = RandomForestClassifier(3, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    with config_context(transform_output="pandas"):
        assert (model.fit(X, y).predict_proba(X) == expected).all()


@by_model
def test_unknown_categories_are_reported_and_counted(model):
    for share in [0.1, 0.3, 0.49]:
        X = table()
        model.fit(X, np.arange(200) % 2)
        new = with_share(X, share)
        message = rf"column 1, 'color': {100 * share:.0f}% of the rows, such as 'violet' \(at most"
        with pytest.warns(UserWarning, match=message):
            model.predict(new)
        model.predict(new)
        assert model.unknown_categories(new) == {"color": round(200 * share), "town": 0}
        assert model.unknown_categories(X) == {"color": 0, "town": 0}


@by_model
def test_few_unknown_categories_are_as_expected(model):
    X = table(n=240, n_towns=110)
    model.fit(X[:200], np.arange(200) % 2)
    new = X[200:].reset_index(drop=True)
    assert model.unknown_categories(new)["town"] > 0
    model.predict(new)


def test_rows_one_at_a_time_are_counted_together():
    X = table()
    model = RandomForestClassifier(3, random_state=0).fit(X[:30], np.arange(30) % 2)
    new = X[:1].assign(color="violet")
    model.predict(new)
    with pytest.warns(UserWarning, match="'color': 100% of the rows"):
        model.predict(new)


def test_columns_of_arrays_have_numbers():
    X = table().to_numpy(dtype=object)
    model = RandomForestClassifier(3, categorical_features=[1, 2]).fit(X, np.arange(200) % 2)
    X[:3, 2] = ["Paris", None, "Rome"]
    assert model.unknown_categories(X) == {1: 0, 2: 2}
    numbers = RandomForestClassifier(3).fit(np.eye(4), [0, 1, 0, 1])
    assert numbers.unknown_categories(np.eye(4)) == {}
    with pytest.raises(ValueError, match="features"):
        numbers.unknown_categories(np.eye(3))


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda X: X.astype({"town": "category"})])
def test_frames_of_other_kinds(convert):
    X = table()
    model = RandomForestClassifier(3).fit(convert(X), np.arange(200) % 2)
    new = with_share(X, 0.2, "town")
    assert model.unknown_categories(convert(new)) == {"color": 0, "town": 40}
    restored = pickle.loads(pickle.dumps(model))
    with pytest.warns(UserWarning, match="column 2, 'town': 20% of the rows"):
        restored.predict(convert(new))


def test_missing_values_and_empty_columns_are_not_unknown():
    X = table()
    model = RandomForestClassifier(3).fit(X, np.arange(200) % 2)
    for missing in (X.assign(color=None), X.assign(color=np.nan)):
        assert model.unknown_categories(missing) == {"color": 0, "town": 0}
        model.predict(missing)


def test_warnings_come_once_for_all_columns():
    X = table()
    model = RandomForestClassifier(3).fit(X, np.arange(200) % 2)
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        model.predict(X.assign(color="violet", town="Paris"))
    assert len(reported) == 1
    assert "'color': 100%" in str(reported[0].message)
    assert "'town': 100% of the rows, such as 'Paris'" in str(reported[0].message)
