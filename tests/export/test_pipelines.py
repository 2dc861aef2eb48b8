"""ONNX graphs of pipelines, compared with Python."""

import numpy as np
import pandas as pd
import pytest
from made_models import labels_of, number_table, table_with_missing
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from mddf import DeepForestClassifier, RandomForestClassifier
from mddf.export import onnx_inputs, to_onnx

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')

from onnx_graphs import graph_outputs


def assert_same(model, X, dtype=np.float64, atol=1e-12):
    label, probabilities = graph_outputs(model, X, dtype)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=atol)
    np.testing.assert_array_equal(label, model.predict(X))


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
    pipeline = make_pipeline(chosen, RandomForestClassifier(5, random_state=0)).fit(X, y)
    expected = graph_outputs(pipeline, X)
    np.testing.assert_allclose(expected[1], pipeline.predict_proba(X), rtol=0, atol=1e-12)
    shuffled = X[list("ecbda")].assign(key="a text that fit did not see")
    np.testing.assert_array_equal(graph_outputs(pipeline, shuffled)[1], expected[1])
    with pytest.raises(ValueError, match=r"X must have the columns .* but 'b' is absent; got"):
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
