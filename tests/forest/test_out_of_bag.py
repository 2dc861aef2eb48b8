"""Out-of-bag predictions: samples in all trees, and warm starts."""

import numpy as np
import pytest
from forest_cases import three_classes
from value_cases import REGRESSORS, every_forest


def data(Forest):
    X, y = three_classes()
    if Forest in REGRESSORS:
        y = np.column_stack([y, 1e5 * np.random.default_rng(0).normal(size=300)])
    return X, y


def out_of_bag(forest):
    return getattr(forest, forest._oob_name), forest.oob_score_


@every_forest
def test_samples_without_a_prediction_are_counted(Forest):
    X, y = data(Forest)
    forest = Forest(3, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="samples have no out-of-bag prediction") as caught:
        forest.fit(X, y)
    always = np.isnan(out_of_bag(forest)[0]).any(axis=1)
    assert str(caught[0].message).startswith(f"{always.sum()} of 300 samples")
    assert caught[0].filename == __file__
    assert len(caught) == 1


@every_forest
def test_samples_without_weight_are_not_counted(Forest):
    X, y = data(Forest)
    weights = (np.arange(300) >= 30).astype(float)
    Forest(80, bootstrap=True, oob_score=True, random_state=0).fit(X, y, weights)  # no warning
    forest = Forest(3, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match=r"\d+ of 270 samples have no out-of-bag prediction"):
        forest.fit(X, y, weights)


@every_forest
def test_a_warm_start_cannot_switch_them_on(Forest):
    X, y = data(Forest)
    forest = Forest(4, bootstrap=True, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=8, oob_score=True)
    with pytest.raises(ValueError, match="oob_score must be set from the first fit on"):
        forest.fit(X, y)
    assert len(forest) == 4
