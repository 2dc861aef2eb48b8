"""ONNX graphs of regressors, compared with their models."""

import numpy as np
import pytest
from made_models import TABLES, frame_table, number_table, table_with_missing
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "members",
    [
        "auto",
        ["random"],
        ["kernel"],
        ["linear"],
        ["network"],
        ["boosted"],
    ],
    ids=str,
)
def test_named_members(members, kind, n_outputs):
    X = TABLES[kind](300)
    y = numbers_of(X, n_outputs)
    model = DeepForestRegressor(1, n_estimators=4, members=members, cv=2, random_state=0)
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


def test_members_from_outside_of_all_folds():
    X = table_with_missing(240)
    boosting = HistGradientBoostingRegressor(max_iter=5, loss="absolute_error")
    members = ["random", make_pipeline(SimpleImputer(), StandardScaler(), Ridge()), boosting]
    model = DeepForestRegressor(1, n_estimators=3, members=members, refit=False, random_state=0)
    assert_same(model.fit(X[:120], numbers_of(X)[:120]), X)
    X = number_table(240)
    model = DeepForestRegressor(1, members=[LinearRegression()], random_state=0)
    assert_same(model.fit(X[:120], numbers_of(X)[:120]), X)


def test_a_regressor_for_each_output():
    X = number_table(240)
    boosting = MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=5))
    model = DeepForestRegressor(1, members=[boosting], cv=2, random_state=0)
    assert_same(model.fit(X[:120], numbers_of(X, 2)[:120]), X)


@pytest.mark.parametrize("columns", [[0], [0, 1]])
def test_boosting_without_splits(columns):
    X = number_table(60)
    y = np.column_stack([np.full(60, 3.0), X[:, 0]])[:, columns]
    model = DeepForestRegressor(1, members=["boosted"], cv=2, random_state=0)
    assert_same(model.fit(X, y if len(columns) > 1 else y[:, 0]), X)


def test_warns_of_numbers_beyond_single_precision():
    X = number_table()
    forest = RandomForestRegressor(3, random_state=0)
    with pytest.warns(UserWarning, match=r"in 5 of 5 columns \('x0' is the first\)"):
        to_onnx(forest.fit(X, numbers_of(X)))
    assert_same(forest.fit(X.round(), numbers_of(X)), X.round(), None, 1e-6)


def test_single_precision():
    X = table_with_missing(300).astype(np.float32)
    model = DeepForestRegressor(n_estimators=4, cv=2, random_state=0)
    assert_same(model.fit(X[:150], numbers_of(X)[:150]), X, np.float32, 1e-6)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["california", "student-por"])
def test_real_sets(data_home, name):
    from mddf.datasets import load

    data = load(name, data_home=data_home, download=False)
    rows = np.random.default_rng(0).permutation(len(data.X))[:2500]
    X, y = data.X.iloc[rows], data.y[rows]
    model = DeepForestRegressor(n_estimators=10, random_state=0).fit(X[:500], y[:500])
    assert_same(model, X[500:])


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
