"""ONNX graphs of regressors, compared with their models."""

import numpy as np
import pytest
from made_models import TABLES, frame_table, number_table, table_with_missing
from sklearn.neighbors import KNeighborsRegressor

from mddf import DeepForestRegressor, RandomForestRegressor
from mddf.export import onnx_inputs, to_onnx

runtime = pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')


def numbers_of(X, n_outputs=1):
    """Targets that depend on the first columns; a second output has another scale."""
    cells = X.iloc[:, :2].to_numpy() if hasattr(X, "iloc") else X[:, :2]
    cells = np.nan_to_num(cells)
    y = cells.sum(axis=1) + np.sin(3 * cells[:, 0])
    if hasattr(X, "iloc"):
        y += X["colour"] == "red"
    return y if n_outputs == 1 else np.column_stack([1e5 * y, cells[:, 1].round(1) + 3])


def assert_same(model, X, dtype=np.float64, rtol=1e-12):
    session = runtime.InferenceSession(to_onnx(model, dtype=dtype).SerializeToString())
    (outputs,) = session.run(["variable"], onnx_inputs(model, X, dtype=dtype))
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


@pytest.mark.parametrize("most", [300, 1])
def test_layers(every_layer_helps, most_columns, most):
    """Both kinds of added columns, with a fixed number of layers."""
    most_columns(most)
    X = frame_table(200)
    members = ["random", "completely-random"]
    for n_outputs in (1, 2):
        model = DeepForestRegressor(3, n_estimators=5, members=members, random_state=1)
        model.fit(X[:150], numbers_of(X, n_outputs)[:150])
        assert model.n_layers_ > 1
        assert_same(model, X)


def test_warns_of_numbers_beyond_single_precision():
    X = number_table()
    forest = RandomForestRegressor(3, random_state=0)
    with pytest.warns(UserWarning, match=r"in 5 of 5 columns \('x0' is the first\)"):
        to_onnx(forest.fit(X, numbers_of(X)))
    assert_same(forest.fit(X.round(), numbers_of(X)), X.round(), None, 1e-6)


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


def test_refusals():
    X = number_table()
    y = numbers_of(X)
    model = DeepForestRegressor(1, members=[KNeighborsRegressor(2)], random_state=0).fit(X, y)
    with pytest.raises(
        TypeError, match=r"among regressors .* to_onnx takes a Ridge, .*; got KNei"
    ):
        to_onnx(model, dtype=np.float64)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got 'int'"):
        to_onnx(RandomForestRegressor(1).fit(X, y), dtype="int")
    X = frame_table().rename(columns={"a": "variable"})
    with pytest.raises(ValueError, match=r"output \(variable\); got 'variable' for column 0"):
        to_onnx(RandomForestRegressor(1).fit(X, y), dtype=np.float64)
