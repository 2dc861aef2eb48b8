"""report/dependent_rows.py: grouped rows and rows in time order."""

from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def run(script):
    return script("report.dependent_rows")


def test_groups_are_held_out_as_a_whole(run):
    rows = run.simulated()
    train, test = run.split(rows, 1)
    assert len(train) + len(test) == len(rows.y)
    assert not set(rows.groups[train]) & set(rows.groups[test])


def test_tests_follow_training_rows(run):
    rows = run.Rows(X=np.zeros((60, 1)), y=np.zeros(60), groups=None, task="regression")
    for seed in range(3):
        train, test = run.split(rows, seed)
        assert train.tolist() == list(range(30 + 10 * seed))
        assert test.tolist() == list(range(30 + 10 * seed, 40 + 10 * seed))


def test_random_folds_promise_more_than_groups(run):
    options = SimpleNamespace(max_train=1000, data_home=None)
    honest, random = (
        run.cell(options, run.SIMULATED, 0, method) for method in ("honest folds", "random folds")
    )
    assert random["claimed"] / random["loss"] < 0.7 * honest["claimed"] / honest["loss"]
    assert run.cell(options, run.SIMULATED, 0, "lightgbm")["claimed"] is None


def test_sets_are_in_the_order_of_time(run, data_home):
    options = SimpleNamespace(max_train=20000, data_home=data_home)
    claims = run.load(options, "carclaims").X
    months = run._sort_key(claims["Year"]) * 12 + run._sort_key(claims["Month"])
    assert (np.diff(months) >= 0).all()
    assert len(np.unique(run._sort_key(claims["Month"]))) == 12
    prints = run.load(options, "cylinder")
    assert "customer" not in prints.X
    assert 1 < len(np.unique(prints.groups)) < len(prints.y)
