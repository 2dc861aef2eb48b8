"""ONNX graphs of regressors, compared with their models."""

import numpy as np
import pytest
from made_models import TABLES, number_table, table_with_missing

from mddf import DeepForestRegressor, RandomForestRegressor

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')

from onnx_graphs import graph_outputs


def numbers_of(X, n_outputs=1):
    """Targets that depend on the first columns; a second output has another scale."""
    cells = X.iloc[:, :2].to_numpy() if hasattr(X, "iloc") else X[:, :2]
    cells = np.nan_to_num(cells)
    y = cells.sum(axis=1) + np.sin(3 * cells[:, 0])
    if hasattr(X, "iloc"):
        y += X["colour"] == "red"
    return y if n_outputs == 1 else np.column_stack([1e5 * y, cells[:, 1].round(1) + 3])


def assert_same(model, X, dtype=np.float64, rtol=1e-12):
    (outputs,) = graph_outputs(model, X, dtype)
    assert outputs.shape == (len(X), model.n_outputs_)
    assert outputs.dtype == np.dtype(dtype or np.float32)
    expected = model.predict(X).reshape(outputs.shape)
    error = np.abs(outputs - expected).max(axis=0)
    assert np.all(error <= rtol * np.abs(expected).max(axis=0))


@pytest.mark.usefixtures("few_rounds")
def test_named_members():
    options = {"n_layers": 1, "n_estimators": 4, "cv": 2, "random_state": 0}
    for kind, n_outputs in zip(TABLES, (1, 2, 1), strict=True):
        X = TABLES[kind](300)
        y = numbers_of(X, n_outputs)
        for members in ("auto", ["random"], ["kernel"], ["linear"], ["network"], ["boosted"]):
            model = DeepForestRegressor(members=members, **options)
            assert_same(model.fit(X[:150], y[:150]), X)


def test_very_large_numbers():
    X = table_with_missing(200)
    model = DeepForestRegressor(1, n_estimators=3, members=["random", "linear"], random_state=0)
    model.fit(X, numbers_of(X))
    new = X[:20].copy()
    new[:2, 0] = 1e200, -1e300
    assert_same(model, new)  # by the size of the largest
    assert_same(model, new[2:])


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_targets_of_any_size(scale):
    X = number_table(200)
    X[:, 3] = np.nan
    model = DeepForestRegressor(1, n_estimators=3, cv=2, random_state=0)
    assert_same(model.fit(X, scale * numbers_of(X)), X)
    forest = RandomForestRegressor(3, random_state=0)
    assert_same(forest.fit(X, scale * numbers_of(X)), X)
