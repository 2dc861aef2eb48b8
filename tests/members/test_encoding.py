"""Pipelines with encoders for mixed data frames."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mddf import DeepForestClassifier, with_encoder


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "city": rng.choice(["Bonn", "Köln", "Trier"], n),
            "kind": pd.Categorical(rng.choice(["a", "b"], n)),
            "flag": rng.random(n) < 0.5,
            "count": rng.integers(0, 9, n),
        }
    )
    X.loc[:5, "city"] = None
    X.loc[3:9, "size"] = np.nan
    return X, (X["size"].fillna(0) + (X["city"] == "Bonn") + rng.normal(size=n) > 0.4).to_numpy()


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (LogisticRegression(), "one-hot"),
        (KNeighborsClassifier(), "one-hot"),
        (HistGradientBoostingClassifier(max_iter=5), "codes"),
    ],
)
def test_mixed_frames_are_accepted(data, estimator, kind):
    X, y = data
    model = with_encoder(estimator, kind=kind).fit(X, y)
    assert model.score(X, y) > 0.6
    new = X.head(3).assign(city=["Wien", None, "Bonn"], size=[np.nan, 1, 2])
    assert clone(model).fit(X, y).predict(new).shape == (3,)
    assert not hasattr(estimator, "classes_")  # it is cloned


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("kind", ["one-hot", "codes"])
def test_dates_become_parts(data, zone, kind):
    X, _ = data
    day = pd.Series(pd.date_range("2024-01-01 12:00", periods=len(X), tz=zone))
    y = (day.dt.day_of_week >= 5).to_numpy()
    day[7] = pd.NaT
    X = X.assign(day=day)
    model = with_encoder(HistGradientBoostingClassifier(max_iter=20), kind=kind).fit(X, y)
    assert model.score(X, y) > 0.99


def test_a_member_of_a_deep_forest(data):
    X, y = data
    members = ["random", with_encoder(LogisticRegression())]
    model = DeepForestClassifier(members=members, n_estimators=5, random_state=0).fit(X, y)
    assert {row["member"] for row in model.leaderboard_} == {"random", "Pipeline"}
    with pytest.raises(ValueError, match=r"impute by mddf\.with_encoder"):
        model.set_params(members=["random", LogisticRegression()]).fit(X, y)
