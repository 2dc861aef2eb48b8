"""Spread of predictions over seeds."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import RandomForestClassifier
from mddf.analysis import seed_sensitivity

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
NUMBERS = X[:, 0] + 0.3 * rng.normal(size=120)
LABELS = np.where(NUMBERS > 0, "yes", "no")


def test_seed_by_seed():
    forest = RandomForestRegressor(5)
    result = seed_sensitivity(forest, X[:80], NUMBERS[:80], X[80:], n_seeds=3)
    fits = [
        RandomForestRegressor(5, random_state=seed).fit(X[:80], NUMBERS[:80]).predict(X[80:])
        for seed in range(3)
    ]
    np.testing.assert_array_equal(result.predictions, fits)
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert result.rank_correlation == pytest.approx(
        np.mean([spearmanr(fits[i], fits[j]).statistic for i, j in pairs])
    )
    largest = [set(np.argsort(-fit, kind="stable")[:4]) for fit in fits]
    assert result.top_overlap == pytest.approx(
        np.mean([len(largest[i] & largest[j]) / 4 for i, j in pairs])
    )
    assert np.isnan(result.label_changes)
    assert not hasattr(forest, "estimators_")


def test_classes_and_steps():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3))
    result = seed_sensitivity(pipeline, X, LABELS, X, n_seeds=4, label="no")
    other = seed_sensitivity(pipeline, X, LABELS, X, n_seeds=4)
    np.testing.assert_allclose(result.predictions, 1 - other.predictions)
    changes = np.any((result.predictions > 0.5) != (result.predictions[0] > 0.5), axis=0)
    assert result.label_changes == pytest.approx(changes.mean())
    same = seed_sensitivity(LogisticRegression(), X, LABELS, X, n_seeds=2)
    assert same.rank_correlation == 1
    assert same.deviation.max() == same.label_changes == 0


def test_errors():
    with pytest.raises(ValueError, match="n_seeds must be an int of at least 2, got 1"):
        seed_sensitivity(RandomForestClassifier(3), X, LABELS, X, n_seeds=1)
    with pytest.raises(ValueError, match=r"label must be one of \['no', 'yes'\], got 'maybe'"):
        seed_sensitivity(RandomForestClassifier(3), X, LABELS, X, label="maybe")
    with pytest.raises(ValueError, match="estimator must have a random_state"):
        seed_sensitivity(make_pipeline(StandardScaler()), X, LABELS, X)
    with pytest.raises(ValueError, match="must predict one number a sample"):
        seed_sensitivity(Ridge(), X, np.column_stack([NUMBERS, NUMBERS]), X, n_seeds=2)
