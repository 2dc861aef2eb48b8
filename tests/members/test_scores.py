"""Scalings of numeric columns for kernels and networks."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from mddf._members.linear import FeatureEncoding
from mddf._members.scores import (
    _MANY_LEVELS,
    FARTHEST,
    INDICATOR,
    SCALINGS,
    NormalScores,
    RobustScores,
    StandardScores,
)

NONE = np.zeros(3, bool)


def test_normal_scores_of_any_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(3 * rng.normal(size=2000)), np.full(2000, np.nan), np.ones(2000)])
    X[::9, 0] = np.nan
    scores = NormalScores.from_rows(X, FeatureEncoding.from_rows(X, NONE)).dense(X)
    present_scores = scores[~np.isnan(X[:, 0]), 0]
    assert abs(present_scores.mean()) < 0.01
    assert 0.95 < present_scores.std() < 1.05
    assert (scores[::9, 0] == 0).all()
    assert (scores[:, 1:] == 0).all()
    order = np.argsort(X[~np.isnan(X[:, 0]), 0])
    assert (np.diff(present_scores[order]) >= 0).all()


def test_distances_by_levels_equal_distances_by_indicators():
    """Equal to the last bit, also for unseen and missing values and for single rows."""
    for n_numbers in [0, 1, 4]:
        for levels in [(100,), (250, 3), (90, 60, 200)]:
            rng = np.random.default_rng(len(levels))
            categories = [rng.integers(0, n, 300).astype(float) for n in levels]
            numbers = list(rng.normal(size=(n_numbers, 300)) ** 3)
            X = np.column_stack(categories + numbers)
            X[::7, 0] = np.nan
            categorical = np.arange(X.shape[1]) < len(levels)
            scores = NormalScores.from_rows(X, FeatureEncoding.from_rows(X, categorical))
            assert scores.encoding.n_codes >= _MANY_LEVELS * len(levels)
            landmarks, queries = scores.dense(X[:40]), X[100:].copy()
            queries[::3, len(levels) - 1] = 255
            queries[::5, -1] = np.nan
            result = scores.distances(queries, landmarks)
            assert np.array_equal(result, cdist(scores.dense(queries), landmarks, "cityblock"))
            alone = [scores.distances(queries[i : i + 1], landmarks) for i in range(9)]
            assert np.array_equal(np.vstack(alone), result[:9])


@pytest.mark.parametrize("n_rows", [30, 300])
def test_normal_scores_of_columns_with_and_without_ties(n_rows):
    """Columns without ties share their scores, and get the same scores as alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = np.round(X[:, 1])
    X[0, 2] = np.nan
    encoding = FeatureEncoding.from_rows(X, np.zeros(4, bool))
    learnt = NormalScores.from_rows(X, encoding)
    for place, column in enumerate(X.T):
        known = column[~np.isnan(column)]
        knots, of_each = np.unique(known, return_counts=True)
        below = (np.cumsum(of_each) - of_each / 2) / len(known)
        places = np.searchsorted(knots, learnt.values[place])
        assert np.array_equal(knots[places], learnt.values[place])
        assert len(places) == min(len(knots), 256)
        np.testing.assert_allclose(learnt.scores[place], norm.ppf(below[places]), atol=2**-10)


def test_robust_scores_are_clipped_distances_from_the_median():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 3)) ** 3
    X[::9, 1] = np.nan
    scores = RobustScores.from_rows(X, FeatureEncoding.from_rows(X, NONE)).dense(X)
    for column, result in zip(X.T, scores.T, strict=True):
        known = column[~np.isnan(column)]
        lower, median, upper = np.percentile(known, [25, 50, 75])
        z = (column - median) / (upper - lower)
        expected = np.where(np.isnan(z), 0, z / np.sqrt(1 + (z / 3) ** 2))
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-15)
    assert np.abs(scores).max() < 3


def test_robust_scores_of_columns_without_a_spread():
    rare = np.zeros(50)
    rare[3] = 8.0
    X = np.column_stack([rare, np.full(50, 7.0), np.full(50, np.nan)])
    robust = RobustScores.from_rows(X, FeatureEncoding.from_rows(X, NONE))
    scores = robust.dense(X)
    assert scores[3, 0] == pytest.approx(2 / np.sqrt(1 + 4 / 9))  # 8 over half of the range
    assert np.count_nonzero(scores) == 1
    extreme = robust.dense(np.array([[1e100, -1e100, 0.0]]))
    assert extreme[0] == pytest.approx([3, -3, 0])


def test_standard_scores_have_mean_0_and_deviation_1():
    X = np.random.default_rng(0).normal(5, 3, size=(200, 3))
    X[::7, 2] = np.nan
    standard = StandardScores.from_rows(X, FeatureEncoding.from_rows(X, NONE))
    scores = standard.dense(X)
    np.testing.assert_allclose(scores[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scores[:, :2].std(axis=0), 1)
    assert (scores[::7, 2] == 0).all()
    assert standard.dense(np.full((1, 3), 1e100)).max() == FARTHEST


@pytest.mark.parametrize("scaling", SCALINGS)
def test_indicators_and_single_rows_are_the_same_for_all_scalings(scaling):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, 60)])
    X[::5, 0] = np.nan
    categorical = np.array([False, False, True])
    columns = SCALINGS[scaling](X, FeatureEncoding.from_rows(X, categorical))
    encoded = columns.dense(X)
    assert columns.n_numbers == 2
    assert np.array_equal(encoded[:, 2:], INDICATOR * (X[:, 2:] == np.arange(4)))
    alone = np.vstack([columns.dense(row[None]) for row in X])
    assert np.array_equal(alone, encoded)
    distances = columns.distances(X, encoded[:20])
    np.testing.assert_allclose(distances, cdist(encoded, encoded[:20], "cityblock"))
