"""ONNX graphs, compared with their models; equal bits if only trees vote."""

import warnings

import numpy as np
import pandas as pd
import pytest
from made_models import TABLES, frame_table, labels_of, number_table, table_with_missing
from mddf.baselines import GCForestClassifier
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import (
    CompletelyRandomForestClassifier,
    DeepForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.export import onnx_inputs, to_onnx
from mddf.rules import MarginRules

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')

from onnx_graphs import graph_outputs

CASCADE = {"n_estimators": 3, "cv": 2, "early_stopping": False, "random_state": 0}
MODELS = {
    "forest": RandomForestClassifier(7, random_state=0),
    "shallow": CompletelyRandomForestClassifier(7, max_depth=3, random_state=0),
    "mddf": MDDFClassifier(3, **CASCADE),
    "mean": MDDFClassifier(
        2, rules=MarginRules(augmentation="mean", alpha="mean-margin"), **CASCADE
    ),
    "stacking": MDDFClassifier(2, rules=MarginRules(structure="stacking"), **CASCADE),
    "grains": GCForestClassifier(2, grains=[[0, 1, 4], [1, 2, 3]], **CASCADE),
    "gcforest": GCForestClassifier(2, **CASCADE),
    "refit": MDDFClassifier(2, refit=True, **CASCADE),
}


def test_the_same_bits():
    for kind in TABLES:
        for name in MODELS:
            X = TABLES[kind](240)
            y = np.array(["low", "mid", "high"])[labels_of(X)]
            model = MODELS[name].fit(X[:120], y[:120])
            label, probabilities = graph_outputs(model, X)
            assert np.array_equal(probabilities, model.predict_proba(X))
            assert np.array_equal(label, model.predict(X))


@pytest.mark.parametrize("name", ["forest", "mddf"])
def test_single_precision_takes_the_same_paths_as_rounded_numbers(name):
    X = table_with_missing().astype(np.float32)
    model = MODELS[name].fit(X, labels_of(X))
    # Values on and next to the edges of bins, where single precision could be on another side.
    edges = np.tile(model._binner.bins_.edges[:40].astype(np.float32)[:, None], 5)
    rows = np.vstack([np.nextafter(edges, np.float32(s)) for s in (-9, 9)] + [edges, X])
    rows = rows[np.isfinite(rows).all(axis=1) | np.isnan(rows).any(axis=1)]
    label, probabilities = graph_outputs(model, rows, np.float32)
    assert probabilities.dtype == np.float32
    assert np.array_equal(probabilities, model.predict_proba(rows).astype(np.float32))
    assert np.array_equal(label, model.predict(rows))


@pytest.mark.parametrize("seed", range(3))
def test_decimals(seed):
    """Raw rows, many of which lie midway between two training values."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(seed).permutation(150)
    train, test = order[:75], order[75:]
    for model in (
        RandomForestClassifier(30, random_state=seed),
        MDDFClassifier(2, n_estimators=5, random_state=seed),
        DeepForestClassifier(n_estimators=10, random_state=seed),
    ):
        model.fit(X[train], y[train])
        label, probabilities = graph_outputs(model, X[test])
        assert np.allclose(probabilities, model.predict_proba(X[test]), rtol=0, atol=1e-6)
        assert np.array_equal(label, model.predict(X[test]))


def warnings_of(model, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        to_onnx(model, **options)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("made", [RandomForestClassifier(9), MDDFClassifier(1, **CASCADE)])
def test_warns_of_numbers_beyond_single_precision(made):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 9, (400, 3)) * [1, 0.25, 2.0**30]
    y = whole[:, 0] > 4
    assert warnings_of(made.fit(whole, y)) == []
    for column, values in (
        (0, whole[:, 0] / 10),
        (0, whole[:, 0] + 2**25 + 1),
        (0, whole[:, 0] * 1e300),
        (2, np.where(y, rng.normal(size=400), whole[:, 2])),  # more values than bins
    ):
        X = whole.copy()
        X[:, column] = values
        model = made.fit(X, y)
        (message,) = warnings_of(model)
        assert f"in 1 of 3 columns ('x{column}' is the first)" in message
        assert "Pass dtype=numpy.float64 to to_onnx and onnx_inputs" in message
        for dtype in (np.float32, "float64"):
            assert warnings_of(model, dtype=dtype) == []
    with pytest.warns(UserWarning, match="the graph takes single precision") as caught:
        to_onnx(model)
    assert caught[0].filename == __file__


def named_table(names, n_rows=120):
    X = pd.DataFrame({name: np.arange(n_rows) % (3 + i) for i, name in enumerate(names)})
    return X.assign(word=np.array(["a", "b", "c"], object)[np.arange(n_rows) // 2 % 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 60])
def test_inputs_are_the_cells_one_by_one(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    words = np.array(["", "?", "a", "b\0", None], object)
    X = pd.DataFrame(
        {
            "word": pd.Series(words[rng.integers(0, 5, 120)], dtype=object),
            "number": np.where(rng.random(120) < 0.2, np.nan, rng.normal(size=120)),
            "code": pd.Categorical(rng.integers(0, 5, 120)),
            "whole": rng.integers(0, 9, 120),
            "category": pd.Categorical(rng.choice(["x", "y"], 120)),
        }
    )
    model = RandomForestClassifier(2, random_state=0).fit(X, np.arange(120) % 2)
    new = X.iloc[-n_rows:].copy()
    new.iloc[0, 0] = "\udc00"  # not UTF-8
    inputs = onnx_inputs(model, new, dtype=dtype)
    assert list(inputs) == list(X.columns)
    for name, values in inputs.items():
        assert values.shape == (n_rows, 1)
        assert values.flags.c_contiguous
        for cell, value in zip(new[name], values[:, 0], strict=True):
            if name not in ("word", "category"):
                np.testing.assert_equal(value, dtype(cell))
            elif cell == "\udc00":
                assert value == "???"  # a new category
            else:
                assert value == ("??" if cell is None else cell)
        assert values.dtype == (object if name in ("word", "category") else dtype)


@pytest.mark.filterwarnings("ignore:.* looks like an identifier of subjects:UserWarning")
def test_feature_names_equal_to_internal_names():
    inside = [*(f"{kind}{i}" for kind in ("value", "constant") for i in range(9)), "_value3", "X"]
    X = named_table([*inside, "variable", " "])
    y = np.arange(120) // 2 % 3
    model = MDDFClassifier(2, **CASCADE).fit(X, y)
    label, probabilities = graph_outputs(model, X)
    assert np.array_equal(probabilities, model.predict_proba(X))
    assert np.array_equal(label, model.predict(X))


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_categories_that_were_all_missing(nothing):
    X = named_table(["a"]).assign(none=pd.Series([nothing] * 120, dtype="category"))
    model = RandomForestClassifier(5, random_state=0).fit(X, np.arange(120) // 2 % 3)
    for cells in ("new", "", None):
        _, probabilities = graph_outputs(model, X.assign(none=cells))
        assert np.array_equal(probabilities, model.predict_proba(X))
    for cells in (np.nan, 2.0, pd.Series([pd.NaT] * 120), pd.array([None] * 120, "Int64")):
        for name in ("none", "word") if not np.isscalar(cells) else ("none",):
            new = X.assign(**{name: cells})
            _, probabilities = graph_outputs(model, new)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "most rows hold categories")
                assert np.array_equal(probabilities, model.predict_proba(new))
    with pytest.raises(TypeError, match="'word' of X must hold texts as in fit, got number"):
        onnx_inputs(model, X.assign(word=2.0))
    numbers = np.column_stack([np.arange(120.0) % 3, np.full(120, np.nan)])
    model = RandomForestClassifier(5, categorical_features=[1], random_state=0)
    model.fit(numbers, np.arange(120) % 3 > 0)
    _, probabilities = graph_outputs(model, numbers)
    assert np.array_equal(probabilities, model.predict_proba(numbers))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("options", [{}, {"refit": False, "calibrate": False}], ids=str)
def test_deep_forests(kind, options):
    X = TABLES[kind](300)
    y = labels_of(X)
    members = ["random", "completely-random", "kernel", "kernel-logistic", "linear", "network"]
    model = DeepForestClassifier(n_estimators=6, members=members, random_state=0, **options)
    model.fit(X[:150], y[:150])
    label, probabilities = graph_outputs(model, X)
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)
    assert np.array_equal(label, model.predict(X))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting(kind, n_classes):
    X = TABLES[kind](300)
    y = np.minimum(labels_of(X), n_classes - 1)
    members = ["random", "boosted"]
    model = DeepForestClassifier(1, n_estimators=2, members=members, random_state=0)
    model.fit(X[:150], y[:150])
    assert any(member.name == "boosted" for member in model._fitted.stages[0].members)
    label, probabilities = graph_outputs(model, X)
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)
    assert np.array_equal(label, model.predict(X))


def test_a_linear_member_without_rows_of_a_class():
    X = number_table(60)
    y = np.array([0] * 30 + [1] * 29 + [2])
    linear = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    model = MDDFClassifier(1, forests=[linear, "random"], n_estimators=2, cv=2, random_state=0)
    model.fit(X, y)
    _, probabilities = graph_outputs(model, X)
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [MDDFClassifier, DeepForestClassifier])
def test_members_fitted_on_one_class(kind):
    X = number_table(60)
    y = (np.arange(60) == 7).astype(int)
    member = {"forests" if kind is MDDFClassifier else "members": [LogisticRegression()]}
    model = kind(1, **member, cv=2, random_state=0).set_params(refit=False).fit(X, y)
    _, probabilities = graph_outputs(model, X)
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:rows hold categories that fit did not see:UserWarning")
def test_categories_that_are_numbers_rare_or_new():
    X = frame_table(300)
    X["size"] = pd.Categorical(np.arange(300) % 7 * 1.5)
    with pytest.warns(UserWarning, match="the rarest of them share a bin"):
        forest = RandomForestClassifier(9, max_bins=5, random_state=0).fit(X, labels_of(X))
    new_rows = X.copy()
    new_rows["colour"] = new_rows["colour"].where(new_rows.index % 3 > 0, "violet")
    new_rows["size"] = pd.Categorical(np.arange(300) % 8 * 1.5)
    for dtype in (np.float32, np.float64):
        # Both sides see the numbers in single precision.
        rounded = new_rows.astype(dict.fromkeys("abcd", dtype))
        _, probabilities = graph_outputs(forest, rounded, dtype)
        assert np.allclose(probabilities, forest.predict_proba(rounded), rtol=0, atol=1e-7)


def test_refusals():
    X, y = number_table(), labels_of(number_table())
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got 'int'"):
        to_onnx(forest, dtype="int")
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        to_onnx(LogisticRegression().fit(X, y))
    external = MDDFClassifier(1, forests=["random", ExtraTreesClassifier(2)], **CASCADE).fit(X, y)
    with pytest.raises(TypeError, match="to_onnx takes a LogisticRegression"):
        to_onnx(external, dtype=np.float64)
    odd = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())
    with pytest.raises(TypeError, match="without an indicator"):
        to_onnx(MDDFClassifier(1, forests=["random", odd], **CASCADE).fit(X, y), dtype=np.float64)
    of_years = RandomForestClassifier(1).fit(X, np.array(["2020", "2021"], "M8[D]")[y % 2])
    with pytest.raises(TypeError, match="labels that are numbers, booleans or text"):
        to_onnx(of_years, dtype=np.float64)
    numbers = pd.DataFrame({"a": pd.Categorical([1.0, 1 + 1e-12] * 60)})
    near = RandomForestClassifier(1).fit(numbers, y)
    with pytest.raises(ValueError, match=r"column 'a' .* in float32, .* use dtype=float64"):
        to_onnx(near)
    whole = pd.DataFrame({"a": pd.Categorical([2**53, 2**53 + 1] * 60)})
    for dtype in (np.float32, np.float64):
        with pytest.raises(
            ValueError, match=r"in float64, .*: turn them into text before the fit"
        ):
            to_onnx(RandomForestClassifier(1).fit(whole, y), dtype=dtype)
    days = pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 60))})
    with pytest.raises(TypeError, match="categories that are text or numbers"):
        to_onnx(RandomForestClassifier(1).fit(days, y))


def test_sets_that_follow_each_other():
    """Runtimes merge such sets into one, and some versions do so wrongly."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({name: [f"w{i}" for i in rng.integers(0, 40, 400)] for name in "ab"})
        X.loc[rng.random(400) < 0.1, "a"] = None
        y = rng.integers(0, 3, 400)
        for Forest in (RandomForestClassifier, CompletelyRandomForestClassifier):
            forest = Forest(25, random_state=seed).fit(X[:300], y[:300])
            _, probabilities = graph_outputs(forest, X)
            assert np.array_equal(probabilities, forest.predict_proba(X))
