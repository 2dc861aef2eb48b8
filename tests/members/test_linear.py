"""The logistic regression of layers: a row's probabilities are the same alone and in a table."""

from functools import partial

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.linear import LinearClassifier, LinearRegressor
from mddf._members.network import NetworkClassifier, NetworkRegressor

CATEGORICAL = np.array([False, True, False, True, False])


def table(n, seed):
    """Numbers and codes with missing values, and a column of NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 5, n) * 3
    X[:, 3] = rng.integers(0, 200, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    return X


def numbers(X, n_outputs=1):
    """A target that depends on numbers and codes, and targets of other scales."""
    score = np.nan_to_num(X[:, 0]) + (X[:, 1] % 2 == 0) + 0.01 * np.nan_to_num(X[:, 3])
    more = [100 * np.nan_to_num(X[:, 2]) + score**2, np.full(len(X), 7.0)]
    return score if n_outputs == 1 else np.column_stack([score, *more][:n_outputs])


def labels(X, n_classes):
    score = numbers(X)
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) * 2


KINDS = [
    LinearClassifier,
    partial(KernelClassifier, gamma=0.25),
    KernelClassifier,
    NetworkClassifier,
]


def test_one_class():
    for kind in KINDS:
        X = table(20, 3)
        model = kind(CATEGORICAL).fit(X, np.full(20, 5))
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((20, 1)))
        assert set(model.predict(X)) == {5}


def test_probabilities_of_rows_are_equal_alone_and_together():
    for n_classes in [2, 3]:
        for kind in KINDS:
            X, new = table(300, 0), table(211, 1)
            model = kind(CATEGORICAL).fit(X, labels(X, n_classes))
            together = model.predict_proba(new)
            for rows in (slice(0, 1), slice(7, 8), slice(3, 36), slice(100, 211)):
                np.testing.assert_array_equal(model.predict_proba(new[rows]), together[rows])
            with threadpool_limits(2):
                np.testing.assert_array_equal(model.predict_proba(new), together)


def test_regression_of_rows_is_equal_alone_and_together():
    for n_outputs in [1, 2]:
        for kind in [
            partial(KernelRegressor, gamma=0.5),
            KernelRegressor,
            LinearRegressor,
            NetworkRegressor,
        ]:
            X, new = table(300, 0), table(211, 1)
            model = kind(CATEGORICAL).fit(X, numbers(X, n_outputs))
            together = model.predict(new)
            assert together.shape == (211, n_outputs)
            for rows in (slice(0, 1), slice(7, 8), slice(3, 36), slice(100, 211)):
                np.testing.assert_array_equal(model.predict(new[rows]), together[rows])


def test_linear_is_the_usual_pipeline():
    for n_classes in [2, 3]:
        for categorical in [CATEGORICAL, np.zeros(5, bool), np.ones(5, bool)]:
            X, new = table(300, 0), table(100, 1)
            if categorical.all():
                X, new = np.abs(np.round(X)), np.abs(np.round(new))
            y = labels(X, n_classes)
            weights = np.random.default_rng(0).uniform(0.5, 2, 300)
            numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
            codes = make_pipeline(
                SimpleImputer(strategy="constant", fill_value=-1, keep_empty_features=True),
                OneHotEncoder(handle_unknown="ignore"),
            )
            encode = ColumnTransformer([("n", numbers, ~categorical), ("c", codes, categorical)])
            pipeline = make_pipeline(encode, LogisticRegression(max_iter=200, tol=1e-3))
            pipeline.fit(X, y, logisticregression__sample_weight=weights)
            model = LinearClassifier(categorical).fit(X, y, weights)
            np.testing.assert_allclose(
                model.predict_proba(new), pipeline.predict_proba(new), atol=1e-5
            )
            np.testing.assert_array_equal(model.predict(new), pipeline.predict(new))
            values = np.column_stack([y, X[:, 0] ** 2 if not np.isnan(X[:, 0]).any() else y**2])
            for targets in (values, values[:, 0]):
                pipeline = make_pipeline(encode, Ridge(tol=1e-10)).fit(
                    X, targets, ridge__sample_weight=weights
                )
                result = LinearRegressor(categorical).fit(X, targets, weights).predict(new)
                np.testing.assert_allclose(
                    result, pipeline.predict(new).reshape(result.shape), atol=1e-2
                )
