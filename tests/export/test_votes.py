"""ONNX graphs of the boosting baselines and of pipelines, compared with Python."""

import warnings

import numpy as np
import pandas as pd
import pytest
from made_models import TABLES, labels_of, number_table, table_with_missing
from mddf.baselines import (
    AdaBoostClassifier,
    AdaBoostRhoClassifier,
    ArcGVClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from mddf import DeepForestClassifier, RandomForestClassifier
from mddf.export import onnx_inputs, to_onnx

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')

from onnx_graphs import graph_outputs

MODELS = [
    AdaBoostClassifier(8),
    AdaBoostClassifier(5, max_depth=3),
    AdaBoostClassifier(8, weak_learners="stumps"),
    DeepBoostClassifier(6, loss="logistic"),
    DeepBoostClassifier(6, loss="exponential", max_depth=3),
    QuadBoostClassifier(n_estimators=20),
    LPBoostClassifier(nu=0.4, n_estimators=6),
    ArcGVClassifier(8),
    AdaBoostRhoClassifier(5, max_depth=3),
]


def assert_same(model, X, dtype=np.float64, atol=1e-12):
    label, probabilities = graph_outputs(model, X, dtype)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=atol)
    np.testing.assert_array_equal(label, model.predict(X))


def test_boosting():
    for n_classes in [2, 3]:
        for kind in TABLES:
            for model in MODELS:
                X = TABLES[kind](240)
                y = np.array(["low", "mid", "high"])[np.minimum(labels_of(X), n_classes - 1)]
                model = clone(model).fit(X[:180], y[:180])
                assert len(model.classes_) == n_classes
                assert_same(model, X)


def test_single_precision():
    for model in MODELS:
        X = table_with_missing().astype(np.float32)
        model = clone(model).fit(X, labels_of(X))
        assert_same(model, X, np.float32, 1e-6)


def test_votes_without_a_round_and_ties():
    for n_classes in [2, 3]:
        for model in MODELS:
            X, y = np.zeros((12, 2)), np.arange(12) % n_classes
            assert_same(clone(model).fit(X, y), X)
            # Two columns that say the opposite of each other, so that votes cancel.
            X = np.array([[0.0, 1], [1, 0], [0, 0], [1, 1]] * 3)
            assert_same(clone(model).fit(X, (X[:, 0] + X[:, 1] > 0) * (n_classes - 1.0)), X)


def test_missing_values_unseen_in_fit_become_medians():
    X = number_table()
    model = AdaBoostClassifier(6, max_depth=2).fit(X, labels_of(X))
    rows = X.copy()
    rows[::2, :3] = np.nan
    assert_same(model, rows)


def messages_of(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        to_onnx(model)
    return [str(warning.message) for warning in caught]


def test_warns_of_numbers_beyond_single_precision():
    X = np.random.default_rng(0).integers(0, 9, (80, 3)).astype(float)
    y = X[:, 0] + X[:, 1] > 8
    model = AdaBoostClassifier(9)
    assert messages_of(model.fit(X, y)) == []
    (message,) = messages_of(model.fit(X / [10, 1, 1], y))
    assert "in 1 of 3 columns ('x0' is the first)" in message
    missing = np.where(X[:, [0]] == 8, np.nan, X)
    assert messages_of(model.fit(missing, y)) == []
    (message,) = messages_of(make_pipeline(StandardScaler(), model).fit(X, y))
    assert "a pipeline does not store" in message


def test_refused_votes():
    X, y = number_table(), labels_of(number_table())
    lambdas = AdaBoostClassifier(2, weak_learners=[lambda X: np.where(X[:, 0] > 2, 1.0, -1.0)])
    with pytest.raises(TypeError, match=r"to_onnx takes boosted trees .* of given le"):
        to_onnx(lambdas.fit(X, y > 0))
    fits = AdaBoostClassifier(2, estimator=GaussianNB()).fit(X, y)
    with pytest.raises(TypeError, match=r"to_onnx takes boosted trees .* of an estimator"):
        to_onnx(fits)
    with pytest.raises(NotFittedError):
        to_onnx(AdaBoostClassifier())

    class Own(AdaBoostClassifier):
        def predict_proba(self, X):
            return 1 - super().predict_proba(X)

    with pytest.raises(TypeError, match="got Own"):
        to_onnx(Own(2).fit(X, y))


def steps():
    columns = [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1, 2]),
        ("codes", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [3]),
    ]
    return ColumnTransformer(columns, remainder="passthrough")


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        AdaBoostClassifier(6),
        DeepForestClassifier(1, n_estimators=2, members=["random"], random_state=0),
    ],
    ids=str,
)
def test_pipelines(model):
    X = table_with_missing(160)
    X[:, 3] = np.round(X[:, 3])
    y = labels_of(X)
    for first in (["passthrough"], [SimpleImputer(), StandardScaler()], [steps()]):
        pipeline = make_pipeline(*first, clone(model)).fit(X[:100], y[:100])
        assert_same(pipeline, X)
        assert_same(pipeline, X.astype(np.float32), np.float32, 1e-5)


def test_pipelines_of_frames_go_by_name():
    X = pd.DataFrame(number_table(), columns=list("abcde"))
    y = labels_of(X.to_numpy())
    chosen = ColumnTransformer([("scaled", StandardScaler(), ["c", "a"])])
    pipeline = make_pipeline(chosen, AdaBoostClassifier(5)).fit(X, y)
    expected = graph_outputs(pipeline, X)
    np.testing.assert_allclose(expected[1], pipeline.predict_proba(X), rtol=0, atol=1e-12)
    shuffled = X[list("ecbda")].assign(key="a text that fit did not see")
    np.testing.assert_array_equal(graph_outputs(pipeline, shuffled)[1], expected[1])
    with pytest.raises(ValueError, match="X must have the columns of the fit, but 'b' is absent"):
        onnx_inputs(pipeline, X.drop(columns="b"))
    with pytest.raises(ValueError, match="X must have 5 columns as in fit, got 4"):
        onnx_inputs(pipeline, X.to_numpy()[:, :4])


def test_refused_pipelines():
    X, y = number_table(), labels_of(number_table())
    forest = RandomForestClassifier(2, random_state=0)
    with pytest.raises(TypeError, match=r"these transformers before .* got MinMaxScaler\(\)"):
        to_onnx(make_pipeline(MinMaxScaler(), forest).fit(X, y), dtype=np.float64)
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        to_onnx(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    text = pd.DataFrame({"a": ["u", "v"] * 60})
    for step in (OneHotEncoder(sparse_output=False), SimpleImputer(strategy="most_frequent")):
        last = forest if isinstance(step, OneHotEncoder) else clone(forest)
        last.set_params(categorical_features="from_dtype")
        pipeline = make_pipeline(step, OneHotEncoder(sparse_output=False), last).fit(text, y)
        with pytest.raises(TypeError, match="all of numbers; got"):
            to_onnx(pipeline, dtype=np.float64)
    sees = clone(forest).set_params(categorical_features=[0])
    sees = make_pipeline(SimpleImputer(), sees).fit(np.round(X), y)
    with pytest.raises(TypeError, match="must take numbers alone in to_onnx, got categories in 1"):
        to_onnx(sees, dtype=np.float64)
