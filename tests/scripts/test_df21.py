"""DF21 in run_deep_forests.py: its process, with a small package in place of deep-forest."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

# It predicts the same probabilities for all rows.
PACKAGE = """
import numpy as np


class CascadeForestClassifier:
    def __init__(self, max_layers, n_estimators, n_trees, n_tolerant_rounds, random_state,
                 n_jobs, verbose):
        assert n_estimators == 2

    def fit(self, X, y):
        assert X.dtype == float and y.dtype.kind == "i"
        self.shares = np.array([0.5, 0.3, 0.2])

    def predict_proba(self, X):
        return np.tile(self.shares, (len(X), 1))

    def __len__(self):
        return 3
"""


@pytest.fixture
def package(script, tmp_path, monkeypatch):
    """A folder in which processes find a package deepforest."""
    folder = tmp_path / "packages" / "deepforest"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from .cascade import CascadeForestClassifier\n")
    (folder / "cascade.py").write_text(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    command = script("run_deep_forests")
    command.has_df21.cache_clear()
    yield
    command.has_df21.cache_clear()


def test_a_process_fits_and_measures(script, package):
    command = script("run_deep_forests")
    X, y = load_iris(as_frame=True, return_X_y=True)
    X["kind"] = np.where(y == 0, "a", "b")
    model = command.df21(
        n_layers=2, n_estimators=3, random_state=0, n_jobs=1, cv=5, python=sys.executable
    )
    assert model.params["n_trees"] == 15
    probabilities = model.fit(X, load_iris().target_names[y]).predict_proba(X)
    np.testing.assert_array_equal(model.X[:, 0], y > 0)
    np.testing.assert_array_equal(model.X[:, 1:], load_iris().data)
    np.testing.assert_allclose(probabilities, np.tile([0.5, 0.3, 0.2], (150, 1)))
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(model.measured_) == {"layers", "fit_s", "predict_us", "megabytes"}
    assert model.measured_["layers"] == 3


def test_df21_is_compared_if_there_is_an_interpreter(script, package):
    command = script("run_deep_forests")
    options = command.parse(["--datasets", "iris", "--seeds", "1"])
    assert options.methods[-1] == "DF21"
    assert command.notes(options) == []
    options.methods = ["DF21"]
    result = command.cell(options, "iris", "clean", 0, "DF21")
    assert result["layers"] == 3
    assert result["accuracy"] == pytest.approx(1 / 3)


def test_df21_is_left_out_without_an_interpreter(script):
    command = script("run_deep_forests")
    options = command.parse(["--datasets", "iris", "--df21-python", "/no/such/python"])
    assert "DF21" not in options.methods
    assert "DF21 is left out" in command.notes(options)[0]
    options.methods = ["DF21"]
    with pytest.raises(SystemExit, match="/no/such/python does not have"):
        command.keys(options)


def test_the_reason_of_a_failure(script, package):
    command = script("run_deep_forests")
    model = command.DF21(sys.executable, {"wrong": 1}).fit(np.ones((4, 1)), [0, 1, 0, 1])
    with pytest.raises(RuntimeError, match=r"DF21 failed: TypeError: .*'wrong'"):
        model.predict_proba(np.ones((2, 1)))
