"""Folds of groups and of time order, by which boosting chooses the number of trees."""

import numpy as np
import pytest

from mddf import GradientBoostingClassifier, GradientBoostingRegressor, TimeOrder, by_columns


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


def test_folds_without_weights_are_refused(data):
    X, y, _ = data
    weight = np.repeat([1.0, 0.0], 100)
    halves = np.split(np.arange(200), 2)
    model = small(cv=[halves, halves[::-1]])
    with pytest.raises(ValueError, match=r"on both sides of a split, got cv=\["):
        model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_a_splitter_reads_tables_by_columns(data, kind):
    X, y, _ = data
    model = small(kind, cv=TimeOrder(time=0))
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(by_columns(X), y).predict(X), expected)
