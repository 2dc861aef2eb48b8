"""mddf's forests under the names and defaults of scikit-learn's, for scikit-learn's own tests."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest
from peers_tests import adapted, of_module

import mddf


def _adapted(name, Model, **defaults):
    return adapted(name, Model, defaults, __name__)


RandomForestClassifier = _adapted("RandomForestClassifier", mddf.RandomForestClassifier)
RandomForestRegressor = _adapted("RandomForestRegressor", mddf.RandomForestRegressor)
ExtraTreesClassifier = _adapted(
    "ExtraTreesClassifier", mddf.CompletelyRandomForestClassifier, max_features="sqrt"
)
ExtraTreesRegressor = _adapted(
    "ExtraTreesRegressor", mddf.CompletelyRandomForestRegressor, max_features=1.0
)
FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)


def peers_tests() -> ModuleType:
    """scikit-learn's tests of its forests, for mddf's."""
    mark = pytest.mark
    marks = SimpleNamespace(
        parametrize=lambda names, values, **how: mark.parametrize(names, list(values), **how),
        filterwarnings=mark.filterwarnings,
        skipif=mark.skipif,
        xfail=mark.xfail,
        usefixtures=mark.usefixtures,
        thread_unsafe=lambda test: test,
    )
    return of_module("tests.test_forest", FORESTS, marks)
