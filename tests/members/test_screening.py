"""Columns that boosting uses in wide tables."""

import time

import numpy as np
import pytest

from mddf import DeepForestClassifier, DeepForestRegressor


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Model", "shape", "n_classes", "seconds"),
    [
        (DeepForestClassifier, (60, 3000), 2, 2),
        (DeepForestClassifier, (100, 5000), 2, 3),
        (DeepForestClassifier, (80, 2000), 10, 6),
        (DeepForestRegressor, (60, 300), None, 6),
        (DeepForestClassifier, (100, 20000), 2, 20),
        (DeepForestRegressor, (100, 5000), None, 20),
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
