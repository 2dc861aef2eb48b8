"""Graphs that some versions of onnxruntime misread, and unsupported text."""

import numpy as np
import pandas as pd
import pytest
from made_models import TABLES, labels_of
from mddf.baselines import GCForestClassifier
from sklearn.ensemble import HistGradientBoostingClassifier

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.export import onnx_inputs, to_onnx

runtime = pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')


def ensembles(graph):
    """The attributes of each tree operator."""
    from onnx import helper

    return [
        {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        for node in graph.graph.node
        if node.op_type == "TreeEnsemble"
    ]


def assert_roots_branch(graph):
    """The two children of a root have different ids, as leaves or as inner nodes."""
    for trees in ensembles(graph):
        roots = trees["tree_roots"]
        true, false = (
            np.array(trees[f"nodes_{side}nodeids"])[roots] for side in ("true", "false")
        )
        assert np.all(true != false)


def assert_same(model, X, atol=0.0):
    graph = to_onnx(model, dtype=np.float64)
    assert_roots_branch(graph)
    session = runtime.InferenceSession(graph.SerializeToString())
    outputs = session.run(None, onnx_inputs(model, X, dtype=np.float64))
    if len(outputs) == 1:
        expected = model.predict(X).reshape(outputs[0].shape)
        scale = np.abs(expected).max(axis=0)
        assert np.all(np.abs(outputs[0] - expected) <= max(atol, 1e-12) * scale)
    else:
        assert np.abs(outputs[1] - model.predict_proba(X)).max() <= atol
        assert outputs[0].tolist() == model.predict(X).tolist()


def test_small_trees():
    for kind in TABLES:
        for depth in [1, 2, 3, None]:
            X = TABLES[kind](60)
            y = labels_of(X)
            options = {"max_depth": depth, "n_estimators": 12}
            for seed in range(2):
                for Forest in (RandomForestClassifier, CompletelyRandomForestClassifier):
                    assert_same(Forest(**options, random_state=seed).fit(X, y), X)
                    assert_same(Forest(**options, random_state=seed).fit(X, y > 0), X)
                for Forest in (RandomForestRegressor, CompletelyRandomForestRegressor):
                    for target in (y, np.column_stack([y, y == 1])):
                        assert_same(Forest(**options, random_state=seed).fit(X, target), X)


@pytest.mark.parametrize("kind", TABLES)
def test_trees_of_one_leaf(kind):
    X = TABLES[kind](60)
    y = np.arange(60) % 3
    options = {"n_estimators": 3, "min_samples_leaf": 40, "random_state": 0}
    assert_same(RandomForestClassifier(**options).fit(X, y), X)
    assert_same(RandomForestRegressor(**options).fit(X, y), X)
    assert_same(RandomForestRegressor(**options).fit(X, np.column_stack([y, y**2])), X)
    forests = [RandomForestClassifier(**options), "random"]
    cascade = {"forests": forests, "n_estimators": 2, "cv": 2, "random_state": 0}
    assert_same(MDDFClassifier(2, **cascade).fit(X, y), X)
    assert_same(GCForestClassifier(1, **cascade).fit(X, y), X, 1e-12)


@pytest.mark.parametrize("kind", TABLES)
def test_boosted_trees_of_few_leaves(kind):
    """Trees of one leaf and of two, by the member "boosted" and by scikit-learn."""
    X = TABLES[kind](90)
    y = labels_of(X)
    for least in (70, 30):
        boosting = HistGradientBoostingClassifier(
            max_iter=4, min_samples_leaf=least, early_stopping=False
        )
        members = ["random", boosting]
        for target in (y, y > 0):
            model = DeepForestClassifier(
                1, n_estimators=2, members=members, cv=2, refit=False, random_state=0
            )
            assert_same(model.fit(X, target), X, 1e-9)
    members = ["random", "boosted"]
    model = DeepForestRegressor(1, n_estimators=2, members=members, cv=2, random_state=0)
    assert_same(model.fit(X, y + 0.5), X, 1e-9)


def test_categories():
    for n_categories in [2, 20, 31, 32, 200]:
        for as_numbers in [False, True]:
            rng = np.random.default_rng(n_categories)
            codes = rng.integers(0, n_categories, (400 + n_categories, 4))
            if as_numbers:
                X = pd.DataFrame(codes * 0.5, columns=list("abcd")).astype("category")
            else:
                X = pd.DataFrame(codes, columns=list("abcd")).map("w{}".format)
            X["a"] = X["a"].where(rng.random(len(X)) > 0.1)
            y = rng.integers(0, 3, len(X))
            for seed in range(2):
                forest = RandomForestClassifier(5, random_state=seed).fit(X[:-100], y[:-100])
                assert_same(forest, X)
                assert_same(RandomForestRegressor(5, random_state=seed).fit(X[:-100], y[:-100]), X)
            # Runtimes that never end with sets of categories do not know the format.
            assert to_onnx(forest, dtype=np.float64).ir_version == 11
            numbers = RandomForestClassifier(2).fit(codes, y)
            assert to_onnx(numbers).ir_version == 9


@pytest.mark.filterwarnings("ignore:rows hold categories that fit did not see:UserWarning")
def test_text_that_is_not_utf8():
    def table(*words):
        return pd.DataFrame({"word": pd.Series(words, dtype=object)})

    y = np.arange(60) // 7 % 2
    X = table(*np.array(["a", "b"])[y])
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    # It is in no graph, so that no graph has seen it.
    assert_same(model, table("a", "b", "a", "a\ud800"))
    broken = table(*np.array(["a", "b\udfff"], object)[y])
    with pytest.raises(
        ValueError, match=r"text in UTF-8, got the category 'b\\udfff' of .*'word'"
    ):
        to_onnx(RandomForestClassifier(3).fit(broken, y))
    with pytest.raises(ValueError, match=r"text in UTF-8, got the label 'b\\udfff'"):
        to_onnx(RandomForestClassifier(3).fit(X, broken["word"].to_numpy()))
