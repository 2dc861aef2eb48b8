"""Estimators with layers cache their stages, which are not stored."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from forest_cases import three_classes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier

OPTIONS = {"n_estimators": 3, "random_state": 0}
MODELS = [
    MDDFClassifier(2, calibrate=True, **OPTIONS),
    DeepForestClassifier(1, members=["random", "linear"], **OPTIONS),
    DeepForestRegressor(1, members=["random", "linear"], **OPTIONS),
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def fitted(request):
    X, y = three_classes()
    X = np.nan_to_num(X)
    _, y = np.unique(y, return_inverse=True)
    return clone(request.param).fit(X, y), X, y


def test_predictions_change_nothing(fitted):
    model, X, _ = fitted
    stages = model._fitted_stages()
    before = dict(vars(model))
    model.predict(X)
    assert model._fitted_stages() is stages
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_a_second_fit_has_stages_of_its_own(fitted):
    model, X, y = fitted
    model = deepcopy(model)
    before = model._fitted_stages()
    model.set_params(n_estimators=5).fit(X[:60], y[:60])
    assert model._fitted_stages() is not before
    again = clone(model).fit(X[:60], y[:60])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("copied", [copy, deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_predict_the_same(fitted, copied):
    model, X, _ = fitted
    again = copied(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_unfitted_models_have_no_stages(fitted):
    model, X, _ = fitted
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
