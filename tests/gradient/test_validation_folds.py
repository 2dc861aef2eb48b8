"""Folds of groups and of time order, by which boosting chooses the number of trees."""

import numpy as np
import pytest

from mddf import GradientBoostingClassifier, GradientBoostingRegressor, TimeOrder, by_columns
from mddf._binning.binner import Binner


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, (X[:, 0] > 0).astype(int), np.arange(200) // 5


def small(kind=GradientBoostingClassifier, **options):
    return kind(max_iter=5, random_state=0, **options)


def test_invalid_groups_are_refused(data):
    for early_stopping in ["auto", True, False]:
        X, y, groups = data
        model = small(early_stopping=early_stopping)
        with pytest.raises(ValueError, match=r"groups must have .* got nan in row"):
            model.fit(X, y, groups=np.where(groups == 3, np.nan, groups))


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_a_splitter_reads_tables_by_columns(data, kind):
    X, y, _ = data
    model = small(kind, cv=TimeOrder(time=0))
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(by_columns(X), y).predict(X), expected)


@pytest.mark.parametrize("cv", [None, 3])
def test_tables_by_columns_are_not_read_as_a_whole(data, cv, monkeypatch):
    X, y, groups = data

    def refuse(*_):
        raise AssertionError("the table was read as a whole")

    monkeypatch.setattr(Binner, "numbers", refuse)
    small(cv=cv).fit(by_columns(X), y, groups=groups)
