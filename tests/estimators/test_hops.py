"""A prediction takes at most five calls from the public method to the kernel, without closures."""

import sys
from pathlib import Path

import pytest
from mddf.baselines import GCForestClassifier
from sklearn.datasets import load_iris

import mddf
from mddf import _core

PACKAGE = str(Path(mddf.__file__).parent)
LAYERS = {"n_estimators": 3, "cv": 2, "random_state": 0}
MODELS = [
    mddf.RandomForestClassifier(3, random_state=0),
    mddf.RandomForestRegressor(3, random_state=0),
    mddf.GradientBoostingClassifier(max_iter=3, random_state=0),
    mddf.GradientBoostingRegressor(max_iter=3, random_state=0),
    mddf.MDDFClassifier(2, early_stopping=False, **LAYERS),
    GCForestClassifier(2, early_stopping=False, **LAYERS),
    mddf.DeepForestClassifier(1, members=["random", "boosted"], **LAYERS),
    mddf.DeepForestRegressor(1, members=["random", "boosted"], **LAYERS),
]
# Functions of the kernel that read the rows to predict, with the module or class that holds them.
READERS = [
    (_core, "apply_bins"),
    (_core.TreeReader, "add_leaf_values"),
    (_core.ValueTreeReader, "add_leaf_values"),
    (_core.GradientTrees, "add_raw"),
]
CODES = "apply_bins"
FOREST = "add_leaf_values"
BOOSTED = "add_raw"
KERNEL_FUNCTIONS = {
    "RandomForestClassifier": {CODES, FOREST},
    "RandomForestRegressor": {CODES, FOREST},
    "GradientBoostingClassifier": {CODES, BOOSTED},
    "GradientBoostingRegressor": {CODES, BOOSTED},
    "MDDFClassifier": {CODES, FOREST},
    "GCForestClassifier": {CODES, FOREST},
    "DeepForestClassifier": {CODES, FOREST, BOOSTED},
    "DeepForestRegressor": {CODES, FOREST, BOOSTED},
}


@pytest.fixture
def call_chains(monkeypatch):
    """Chains of active mddf functions when the kernel is called, outermost first."""
    chains = {}

    def recorded(name, function):
        def call(*arguments, **options):
            frame = sys._getframe(1)
            chain = []
            while frame is not None:
                if frame.f_code.co_filename.startswith(PACKAGE):
                    chain.insert(0, frame.f_code.co_qualname)
                frame = frame.f_back
            chains.setdefault(name, set()).add(tuple(chain))
            return function(*arguments, **options)

        return call

    for owner, name in READERS:
        monkeypatch.setattr(owner, name, recorded(name, getattr(owner, name)))
    return chains


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_predictions_take_at_most_five_calls(model, call_chains):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            call_chains.clear()
            getattr(model, method)(X[:1])
            assert set(call_chains) == KERNEL_FUNCTIONS[type(model).__name__]
            for chain in set().union(*call_chains.values()):
                # The last of the five calls is the call of the kernel.
                assert chain[0].endswith(f".{method}")
                assert len(chain) <= 5, " > ".join(chain)
                assert "<locals>" not in "".join(chain), " > ".join(chain)
