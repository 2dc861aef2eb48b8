"""Columns that boosting uses in wide tables."""

import time

import numpy as np
import pytest

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._members.screening import is_wide, screened, split_gains


def naive_gain(column, targets, weight, least):
    """The gain of the best split, from the means of all pairs of sides."""

    def error(rows):
        mean = np.average(targets[rows], axis=0, weights=weight[rows])
        return (weight[rows, None] * (targets[rows] - mean) ** 2).sum()

    column = np.where(np.isnan(column), np.inf, column)
    everything = np.full(len(column), True)
    best = 0.0
    for threshold in np.unique(column)[:-1]:
        left = column <= threshold
        sides = [left, ~left]
        if all(s.sum() >= least and weight[s].sum() > 0 for s in sides):
            best = max(best, error(everything) - sum(map(error, sides)))
    return best


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_columns_with_the_best_splits_are_kept(n_targets, weighted):
    rng = np.random.default_rng(n_targets)
    X = rng.integers(0, 6, (30, 150)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 7], X[:, 8] = np.nan, 1.0
    targets = rng.normal(size=(30, n_targets)) + np.nan_to_num(X[:, [100]])
    weight = rng.integers(0, 4, 30).astype(float) if weighted else None
    gains = [naive_gain(c, targets, np.ones(30) if weight is None else weight, 5) for c in X.T]
    kept = screened(X, targets, weight, 5)
    assert len(kept) == 50
    assert 100 in kept
    assert not {7, 8} & set(kept)
    dropped = np.setdiff1d(np.arange(150), kept)
    assert np.take(gains, kept).min() >= np.take(gains, dropped).max() - 1e-9


def test_blocks_of_columns_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(40, 300)), rng.normal(size=(40, 2))
    whole = screened(X, targets, None, 5)
    monkeypatch.setattr("mddf._members.screening._BLOCK_CELLS", 999)
    np.testing.assert_array_equal(screened(X, targets, None, 5), whole)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(300, 500), (10, 100), (200, 400), (5000, 600)])
def test_other_tables_keep_all_columns(n_rows, n_columns):
    assert not is_wide(n_rows, n_columns)
    X = np.zeros((n_rows, n_columns))
    assert len(screened(X, np.zeros((n_rows, 1)), None, 5)) == n_columns


@pytest.mark.parametrize(
    ("Model", "shape", "n_classes", "seconds"),
    [
        (DeepForestClassifier, (60, 3000), 2, 2),
        pytest.param(DeepForestClassifier, (100, 5000), 2, 3, marks=pytest.mark.slow),
        pytest.param(DeepForestClassifier, (80, 2000), 10, 6, marks=pytest.mark.slow),
        pytest.param(DeepForestRegressor, (60, 300), None, 6, marks=pytest.mark.slow),
        pytest.param(DeepForestClassifier, (100, 20000), 2, 20, marks=pytest.mark.slow),
        pytest.param(DeepForestRegressor, (100, 5000), None, 20, marks=pytest.mark.slow),
    ],
)
def test_wide_tables_take_seconds(Model, shape, n_classes, seconds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X[:, 0] + X[:, 1] / 2
    if n_classes is not None:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    start = time.process_time()
    Model(random_state=0).fit(X, y)
    assert time.process_time() - start < 3 * seconds  # a busy machine counts more


def test_regression_forests_use_columns_chosen_on_their_rows():
    """The columns of a fold do not depend on its held-out rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    y = X[:, 3] + 0.1 * rng.normal(size=60)
    model = DeepForestRegressor(
        1, n_estimators=10, members=["random", "completely-random"], random_state=0
    ).fit(X, y)
    importances = model.feature_importances_
    assert importances.argmax() == 3
    assert (importances > 0).sum() <= 60
    noise = DeepForestRegressor(1, n_estimators=10, members=["random"], random_state=0)
    noise.fit(X, rng.permutation(y))
    assert noise.history_["r2"][0] < 0.2


def test_codes_of_one_byte_have_the_same_gains_as_numbers():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 50, (40, 200)).astype(np.uint8)
    targets = rng.normal(size=(40, 2))
    together = split_gains(codes, targets, None, [1, 2, 5])
    for least, gains in zip([1, 2, 5], together, strict=True):
        (alone,) = split_gains(codes.astype(float), targets, np.ones(40), [least])
        np.testing.assert_array_equal(gains, alone)
        expected = [naive_gain(c, targets, np.ones(40), least) for c in codes.T.astype(float)]
        np.testing.assert_allclose(gains, expected, atol=1e-9)
