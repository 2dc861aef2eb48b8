"""Scalings of numeric columns for kernels and networks."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from mddf._members.linear import FeatureEncoding
from mddf._members.scores import (
    _MANY_LEVELS,
    INDICATOR,
    NormalScores,
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


def test_indicators_and_single_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, 60)])
    X[::5, 0] = np.nan
    categorical = np.array([False, False, True])
    columns = NormalScores.from_rows(X, FeatureEncoding.from_rows(X, categorical))
    encoded = columns.dense(X)
    assert columns.n_numbers == 2
    assert np.array_equal(encoded[:, 2:], INDICATOR * (X[:, 2:] == np.arange(4)))
    alone = np.vstack([columns.dense(row[None]) for row in X])
    assert np.array_equal(alone, encoded)
    distances = columns.distances(X, encoded[:20])
    np.testing.assert_allclose(distances, cdist(encoded, encoded[:20], "cityblock"))
