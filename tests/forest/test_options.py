import numpy as np
import pytest
from forest_cases import (
    FORESTS,
    three_classes,
)

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

both = pytest.mark.parametrize("Forest", FORESTS)


@pytest.fixture
def data():
    return three_classes()


# Going on


def test_warm_start_refuses(data):
    X, y = data
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    before = forest.predict_proba(X)
    with pytest.raises(ValueError, match=r"n_estimators must be at least 5.*got 4"):
        forest.set_params(n_estimators=4).fit(X, y)
    with pytest.raises(ValueError, match=r"y must have the classes of the fit before"):
        forest.set_params(n_estimators=6).fit(X, y + 1)
    with pytest.raises(ValueError, match="features"):
        forest.fit(X[:, :3], y)
    for name, value in (("max_bins", 8), ("categorical_features", None), ("monotonic_cst", [1])):
        kept = getattr(forest, name)
        with pytest.raises(ValueError, match=f"with warm_start=True, {name} must be"):
            forest.set_params(**{name: value}).fit(X, y)
        forest.set_params(**{name: kept})
    assert np.array_equal(forest.predict_proba(X), before)
    forest.set_params(warm_start=False, n_estimators=2).fit(X[:, :3], y > 0)
    assert forest.n_features_in_ == 3


# Options


def test_class_weights_by_label(data):
    X, y = data
    names = np.array(["u", "v", "w"])[y]
    weights = {"u": 1, "v": 2, "w": 0}
    a = CompletelyRandomForestClassifier(5, class_weight=weights, random_state=0).fit(X, names)
    sample_weight = np.array([1.0, 2.0, 0.0])[y]
    b = CompletelyRandomForestClassifier(5, random_state=0).fit(X, names, sample_weight)
    assert (a.predict_proba(X)[:, 2] == 0).all()
    # Bins ignore class weights; here, each value has its own bin anyway.
    assert (a.predict(X) == b.predict(X)).mean() > 0.8


# Prediction


@both
def test_class_weights_that_do_not_do(Forest, data):
    for weights in [{0: -1.0}, {0: np.nan}, {1: np.inf}]:
        with pytest.raises(ValueError, match="class_weight must have finite weights"):
            Forest(class_weight=weights).fit(*data)
