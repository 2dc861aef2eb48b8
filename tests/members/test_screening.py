"""Columns that boosting uses in wide tables."""

import time

import numpy as np
import pytest

from mddf import DeepForestClassifier, DeepForestRegressor


def seconds_of_fit(Model, n_rows, n_columns, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] + X[:, 1] / 2
    if n_classes is not None:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    start = time.process_time()
    Model(random_state=0).fit(X, y)
    return time.process_time() - start


# Measured ratios are at most 3.7, 8.4, 3.4, 1.0, 21 and 4.3. A busy machine slows both fits.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("Model", "shape", "n_classes", "ratio"),
    [
        (DeepForestClassifier, (60, 3000), 2, 12),
        (DeepForestClassifier, (100, 5000), 2, 25),
        (DeepForestClassifier, (80, 2000), 10, 10),
        (DeepForestRegressor, (60, 300), None, 4),
        (DeepForestClassifier, (100, 20000), 2, 60),
        (DeepForestRegressor, (100, 5000), None, 12),
    ],
)
def test_wide_tables_take_seconds(Model, shape, n_classes, ratio):
    seconds_of_fit(Model, shape[0], 20, n_classes)  # imports what fits need
    narrow = seconds_of_fit(Model, shape[0], 20, n_classes)
    assert seconds_of_fit(Model, *shape, n_classes) < ratio * narrow


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
