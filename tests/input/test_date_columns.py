"""Columns of dates in data frames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mddf import (
    DeepForestRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from mddf.explain import shap_values

N = 120
MODELS = [
    RandomForestRegressor(5, random_state=0),
    GradientBoostingRegressor(max_iter=20, early_stopping=False, random_state=0),
    DeepForestRegressor(1, n_estimators=5, members=["random", "linear"], random_state=0),
]


def orders():
    """The square of the month; one date is missing."""
    rng = np.random.default_rng(0)
    day = pd.Series(pd.date_range("2021-01-01", periods=N, freq="97h", tz="America/New_York"))
    day = day.sample(frac=1, random_state=0, ignore_index=True)
    day[7] = pd.NaT
    frame = pd.DataFrame({"size": rng.normal(size=N), "day": day})
    return frame, frame["day"].dt.month.fillna(0).to_numpy(float) ** 2


def test_dates_are_their_parts_of_the_calendar():
    """Forests are equal on dates and on their month, weekday, day of the year and hour."""
    rng = np.random.default_rng(0)
    ends = np.array(["1700-01-01", "2250-01-01"], "M8[us]").astype(int)
    moments = pd.Series(rng.integers(*ends, 400).astype("M8[us]"))
    moments[::9] = pd.NaT
    X = pd.DataFrame({"size": rng.normal(size=400), "day": moments})
    parts = X[["size"]].copy()
    calendar = {
        "month": lambda moment: moment.month,
        "weekday": lambda moment: moment.weekday(),
        "day_of_year": lambda moment: moment.timetuple().tm_yday,
        "hour": lambda moment: moment.hour,
    }
    for name, part in calendar.items():
        parts[f"day.{name}"] = [
            np.nan if pd.isna(moment) else part(moment.to_pydatetime()) for moment in moments
        ]
    y = rng.normal(size=400) + parts["day.hour"].fillna(0) * parts["day.weekday"].fillna(0)
    forest = RandomForestRegressor(10, max_features=1.0, random_state=0)
    expected = forest.fit(parts[:300], y[:300]).predict(parts)
    np.testing.assert_array_equal(forest.fit(X[:300], y[:300]).predict(X), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_dates_of_another_frame(model):
    X, y = orders()
    model.fit(X, y)
    assert model.feature_names_in_.tolist() == ["size", "day"]
    assert model.n_features_in_ == 2
    assert model.feature_importances_[1] > 0.3
    if not isinstance(model, DeepForestRegressor):
        names = ["size", "day.month", "day.weekday", "day.day_of_year", "day.hour"]
        assert shap_values(model, X[:3]).feature_names == names
    expected = model.predict(X)
    naive = X["day"].dt.tz_convert("UTC").dt.tz_localize(None)
    other_frames = {
        "another zone": X.assign(day=X["day"].dt.tz_convert("Asia/Tokyo")),
        "without a zone": X.assign(day=naive),
        "objects": X.assign(day=X["day"].astype(object)),
        "coarse": X.assign(day=naive.astype("datetime64[s]")),
        "polars": pl.from_pandas(X),
        "arrow": pl.from_pandas(X).to_arrow(),
        "pandas with arrow": X.convert_dtypes(dtype_backend="pyarrow"),
    }
    for name, other in other_frames.items():
        np.testing.assert_array_equal(model.predict(other), expected, err_msg=name)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), expected)


def test_the_same_trees_from_every_kind_of_frame():
    X, y = orders()
    model = RandomForestRegressor(5, random_state=0)
    expected = model.fit(X, y).predict(X)
    for other in (pl.from_pandas(X), X.assign(day=X["day"].astype(object))):
        np.testing.assert_array_equal(model.fit(other, y).predict(X), expected)


def test_new_rows_without_dates():
    X, y = orders()
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    missing = model.predict(X.head(2).assign(day=pd.Series([pd.NaT, pd.NaT])))
    for cells in ([None, None], [np.nan, np.nan]):
        np.testing.assert_array_equal(model.predict(X.head(2).assign(day=cells)), missing)


def test_values_that_are_not_dates_are_refused():
    X, y = orders()
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="hold dates in column 1, 'day', as in fit; got 'soon'"):
        model.predict(X.assign(day="soon"))
    with pytest.raises(ValueError, match="day"):
        model.predict(X.drop(columns="day"))
    with pytest.raises(ValueError, match=r"must not have a column 'day\.hour'"):
        model.fit(X.assign(**{"day.hour": 1}), y)
    with pytest.raises(ValueError, match="text as names of its columns if some hold dates, got 0"):
        model.fit(X.set_axis([0, 1], axis=1), y)
    numbers = RandomForestRegressor(5, random_state=0).fit(X.assign(day=1.0), y)
    with pytest.raises((TypeError, ValueError), match="must hold numbers as in fit, got Times"):
        numbers.predict(X)


@pytest.mark.parametrize("marked", [["day"], [1], [False, True, False]])
def test_dates_that_are_marked_as_categories(marked):
    X, y = orders()
    X = X.assign(day=X["day"].dt.date.where(X["day"].notna(), None), kind=np.arange(N) % 3)
    with pytest.warns(UserWarning, match="look|categories"):
        model = RandomForestRegressor(5, categorical_features=marked, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == ["size", "day", "kind"]


def test_constraints_refer_to_the_users_columns():
    X, y = orders()
    model = GradientBoostingRegressor(max_iter=5, early_stopping=False, random_state=0)
    for constraint in ([1, 0], {"size": 1}):
        model.set_params(monotonic_cst=constraint).fit(X, y)
        rising = X.head(2).assign(size=[-3.0, 3.0], day=X["day"][0])
        assert np.diff(model.predict(rising)) >= 0
    with pytest.raises(ValueError, match=r"monotonic_cst must be 0 for dates, .* 'day'"):
        model.set_params(monotonic_cst={"day": 1}).fit(X, y)
    apart = model.set_params(monotonic_cst=None, interaction_cst="no_interactions").fit(X, y)
    low, high = (apart.predict(X.assign(size=size)) for size in (-3.0, 3.0))
    np.testing.assert_allclose(high - low, high[0] - low[0], atol=1e-9)


def test_trees_of_a_forest_read_dates_and_arrays_are_refused():
    X, y = orders()
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    means = np.mean([tree.predict(X) for tree in model], axis=0)
    np.testing.assert_allclose(means, model.predict(X))
    with pytest.raises(ValueError, match=r"must be a data frame with the dates \['day'\]"):
        model.predict(np.zeros((3, 2)))
