"""Listeners and logs of fits."""

import numpy as np
import pytest

from mddf import (
    DeepForestClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from mddf._base.progress import has_listener, listening


class Events:
    """A listener that stores all events."""

    def __init__(self):
        self.grown = []
        self.shares = []

    def trees(self, description, n_grown, n_trees):
        self.grown.append((description, n_grown, n_trees))

    def work(self, description, share):
        self.shares.append((description, share))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + rng.normal(size=300) > 0).astype(int)


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(n_estimators=12), GradientBoostingRegressor(max_iter=25)]
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_number_of_trees_is_reported(data, model, n_jobs):
    model.set_params(random_state=0, n_jobs=n_jobs)
    silent = model.fit(*data).predict(data[0])
    events = Events()
    with listening(events):
        assert has_listener()
        assert np.array_equal(model.fit(*data).predict(data[0]), silent)
    assert not has_listener()
    grown = [n for _, n, _ in events.grown]
    assert grown == sorted(grown)
    assert grown[-1] == events.grown[-1][2] >= 12


def test_work_of_a_deep_forest_is_reported(data):
    model = DeepForestClassifier(
        n_estimators=5, members=["random", "completely-random", "linear"], random_state=0, n_jobs=1
    )
    events = Events()
    with listening(events):
        model.fit(*data)
    shares = [share for _, share in events.shares]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    assert {"options", "layer 1: forests", "layer 1: linear"} <= dict(events.shares).keys()
