"""Boosted trees as arrays, against the model that grew them; and linear models on tables."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from mddf import _core
from mddf._members.boosting import BoostedClassifier, BoostedRegressor, best_round, check_trees
from mddf._members.kernel import GaussianClassifier, GaussianRegressor
from mddf._members.linear import Encoding, LinearClassifier

pytestmark = pytest.mark.usefixtures("one_thread")
OPTIONS = {"max_iter": 12, "max_leaf_nodes": 6, "min_samples_leaf": 3, "random_state": 0}
CATEGORICAL = np.array([False, True, False, True, False])


@pytest.fixture(scope="module")
def one_thread():
    """scikit-learn's threads wait for each other where others are at work."""
    with threadpool_limits(1):
        yield


def table(n, seed):
    """Numbers and codes, some missing; a column of nothing but NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 5, n) * 3
    X[:, 3] = rng.integers(0, 200, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    return X


def numbers(X, n_outputs=1):
    """A target of the numbers and the codes, and others of other sizes."""
    score = np.nan_to_num(X[:, 0]) + (X[:, 1] % 2 == 0) + 0.01 * np.nan_to_num(X[:, 3])
    more = [100 * np.nan_to_num(X[:, 2]) + score**2, np.full(len(X), 7.0)]
    return score if n_outputs == 1 else np.column_stack([score, *more][:n_outputs])


def labels(X, n_classes):
    score = numbers(X)
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) * 2


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("categorical", [CATEGORICAL, np.zeros(5, bool)], ids=["codes", "numbers"])
def test_arrays_predict_as_the_model_does(n_classes, categorical):
    X, new = table(300, 0), table(100, 1)
    new[::5, 3] = 201  # not seen
    y = labels(X, n_classes)
    model = BoostedClassifier(categorical, **OPTIONS).fit(X, y)
    given = categorical if categorical.any() else None
    alone = HistGradientBoostingClassifier(
        early_stopping=False, categorical_features=given, **OPTIONS
    ).fit(np.where([False] * 4 + [True], 0, X), y)
    filled = np.where([False] * 4 + [True], 0, new)
    expected = list(alone.staged_predict_proba(filled))
    for said, of_round in zip(model.staged_predict_proba(new), expected, strict=True):
        np.testing.assert_allclose(said, of_round, rtol=0, atol=1e-14)
    np.testing.assert_allclose(model.predict_proba(new), expected[-1], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.predict(new), alone.predict(filled))
    for n_rounds in (1, 7, 12):
        shorter = model.cut(n_rounds)
        np.testing.assert_array_equal(
            shorter.predict_proba(new), list(model.staged_predict_proba(new))[n_rounds - 1]
        )
        assert len(shorter.trees_["left"]) <= len(model.trees_["left"])


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("categorical", [CATEGORICAL, np.zeros(5, bool)], ids=["codes", "numbers"])
def test_numbers_are_predicted_as_the_models_of_each_output_do(categorical, weighted, n_outputs):
    X, new = table(300, 0), table(100, 1)
    X[:, 2] = np.where(n_outputs == 2, X[:, 2], -1.5)  # a constant column
    new[::5, 3] = 201  # not seen
    weights = np.random.default_rng(0).uniform(0, 3, 300) if weighted else None
    y = numbers(X, n_outputs)
    options = {**OPTIONS, "max_features": 0.5}
    model = BoostedRegressor(categorical, **options).fit(X, y, weights)
    given = categorical if categorical.any() else None
    filled, stages = np.where([False] * 4 + [True], 0, new), []
    for target in y.reshape(300, -1).T:
        alone = HistGradientBoostingRegressor(
            early_stopping=False, categorical_features=given, **options
        )
        alone.fit(np.where([False] * 4 + [True], 0, X), target, weights)
        stages.append(list(alone.staged_predict(filled)))
    expected = np.moveaxis(stages, 0, -1)
    size = np.abs(expected).max()
    np.testing.assert_allclose(model.predict(new), expected[-1], rtol=0, atol=1e-14 * size)
    for n_rounds in (1, 7, 12):
        shorter = model.cut(n_rounds)
        assert shorter.n_rounds == n_rounds
        np.testing.assert_allclose(
            shorter.predict(new), expected[n_rounds - 1], rtol=0, atol=1e-14 * size
        )
        assert len(shorter.trees_["left"]) <= len(model.trees_["left"])


@pytest.mark.parametrize("n_rows", [1, 60])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_constant_numbers_are_given_back(value, n_rows):
    X = table(n_rows, 3)
    weights = np.random.default_rng(0).uniform(0, 3, n_rows)
    model = BoostedRegressor(CATEGORICAL).fit(X, np.full((n_rows, 2), value), weights)
    np.testing.assert_allclose(model.predict(X), np.full((n_rows, 2), value), rtol=1e-15)


def test_the_best_round_is_the_one_with_the_least_loss_on_held_out_rows():
    X = table(200, 2)
    y = labels(X, 3)
    rng = np.random.default_rng(0)
    y[rng.random(200) < 0.3] = 0
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    models = [BoostedClassifier(CATEGORICAL, **OPTIONS).fit(X[t], y[t]) for t, _ in folds]
    losses = [
        np.mean(
            [
                log_loss(y[held], model.cut(n).predict_proba(X[held]))
                for model, (_, held) in zip(models, folds, strict=True)
            ]
        )
        for n in range(1, 13)
    ]
    assert best_round(models, X, y, folds, 12) == np.argmin(losses) + 1
    assert best_round(models, X, y, folds, 2) == np.argmin(losses[:2]) + 1


@pytest.mark.parametrize(
    "kind", [BoostedClassifier, LinearClassifier, partial(GaussianClassifier, gamma=0.25)]
)
def test_one_class(kind):
    X = table(20, 3)
    model = kind(CATEGORICAL).fit(X, np.full(20, 5))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((20, 1)))
    assert set(model.predict(X)) == {5}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "kind", [BoostedClassifier, LinearClassifier, partial(GaussianClassifier, gamma=0.25)]
)
def test_rows_are_predicted_alike_alone_and_together(kind, n_classes):
    X, new = table(300, 0), table(211, 1)
    model = kind(CATEGORICAL).fit(X, labels(X, n_classes))
    together = model.predict_proba(new)
    for rows in (slice(0, 1), slice(7, 8), slice(3, 36), slice(100, 211)):
        np.testing.assert_array_equal(model.predict_proba(new[rows]), together[rows])
    with threadpool_limits(2):
        np.testing.assert_array_equal(model.predict_proba(new), together)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", [BoostedRegressor, partial(GaussianRegressor, gamma=0.5)])
def test_numbers_of_rows_are_predicted_alike_alone_and_together(kind, n_outputs):
    X, new = table(300, 0), table(211, 1)
    model = kind(CATEGORICAL).fit(X, numbers(X, n_outputs))
    together = model.predict(new)
    assert together.shape == (211, n_outputs)
    for rows in (slice(0, 1), slice(7, 8), slice(3, 36), slice(100, 211)):
        np.testing.assert_array_equal(model.predict(new[rows]), together[rows])


@pytest.mark.parametrize("categorical", [CATEGORICAL, np.zeros(5, bool), np.ones(5, bool)])
def test_encodings_are_the_same_dense_and_sparse(categorical):
    X, new = np.abs(np.round(table(300, 0))), np.abs(np.round(table(100, 1) * 3))
    encoding = Encoding.of(X, categorical)
    for rows in (X, new):
        matrix = encoding.matrix(rows)
        matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        np.testing.assert_array_equal(encoding.dense(rows), matrix)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"left": np.array([0, 0, 0], np.int32)[:2]}, "left must have length 3, got 2"),
        ({"left": np.array([3, 0, 0], np.int32)}, "left: expected nodes behind their parents"),
        ({"left": np.array([-1, 0, 0], np.int32)}, "left: expected nodes behind their parents"),
        ({"column": np.array([2, 0, 0], np.int32)}, "column: expected columns of X"),
        ({"set": np.array([0, -1, -1], np.int32)}, "set: expected rows of sets"),
        ({"roots": np.array([3], np.int32)}, "roots: expected nodes, got 3"),
    ],
)
def test_the_kernel_refuses_arrays_that_are_no_trees(changed, message):
    trees = {
        "roots": np.zeros(1, np.int32),
        "column": np.zeros(3, np.int32),
        "left": np.array([1, 0, 0], np.int32),
        "split": np.array([0.5, -1.0, 1.0]),
        "set": np.full(3, -1, np.int32),
        "missing_left": np.array([True, False, False]),
        "sets": np.zeros((0, 4), np.uint64),
    }
    X, out = np.array([[0.0, 9], [1, 9], [np.nan, 9]]), np.zeros((3, 1))
    _core.add_boosted(X, **trees, out=out)
    assert out.ravel().tolist() == [-1, 1, -1]
    with pytest.raises(ValueError, match=message):
        _core.add_boosted(X, **trees | changed, out=out)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "categorical", [CATEGORICAL, np.zeros(5, bool), np.ones(5, bool)], ids=["some", "none", "all"]
)
def test_linear_is_the_usual_pipeline(n_classes, categorical):
    X, new = table(300, 0), table(100, 1)
    if categorical.all():
        X, new = np.abs(np.round(X)), np.abs(np.round(new))
    y = labels(X, n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, 300)
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=-1, keep_empty_features=True),
        OneHotEncoder(handle_unknown="ignore"),
    )
    pipeline = make_pipeline(
        ColumnTransformer([("n", numbers, ~categorical), ("c", words, categorical)]),
        LogisticRegression(max_iter=200, tol=1e-3),
    )
    pipeline.fit(X, y, logisticregression__sample_weight=weights)
    model = LinearClassifier(categorical).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(new), pipeline.predict_proba(new), atol=1e-5)
    np.testing.assert_array_equal(model.predict(new), pipeline.predict(new))


def changed(name, place, value):
    """Change an entry of a part of the trees."""

    def change(trees):
        trees[name] = trees[name].copy()
        trees[name][place] = value

    return change


DAMAGES = [
    *(changed("left", place, value) for place, value in [(0, 0), (0, -1), (0, 3), (0, 2**30)]),
    *(changed("roots", place, value) for place, value in [(0, 1), (1, 0), (-1, 2**30)]),
    *(changed("column", 0, value) for value in (-1, 5)),
    lambda trees: trees["left"].__setitem__(trees["left"] > 1, 1),  # back to the first children
    lambda trees: trees.update(left=trees["left"][:-1]),
    *(
        lambda trees, name=name: trees.update({name: trees[name][:-1]})
        for name in ("column", "split", "set", "missing_left")
    ),
    lambda trees: trees["left"].__setitem__(
        np.flatnonzero(trees["left"])[-1], 0
    ),  # two nodes that nothing leads to
    lambda trees: trees.update(left=trees["left"].astype(float)),
    lambda trees: trees.update(roots=trees["roots"][None]),
    lambda trees: trees.update(split=trees["split"].tolist()),
    lambda trees: trees.pop("set"),
    lambda trees: trees.update(more=trees["set"]),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_trees_are_refused_when_they_are_loaded(damage):
    X = table(200, 0)
    model = BoostedClassifier(CATEGORICAL, **OPTIONS).fit(X, labels(X, 2))
    state = pickle.loads(pickle.dumps(model.__getstate__()))
    BoostedClassifier(CATEGORICAL).__setstate__(state)
    damage(state["trees_"])
    with pytest.raises(ValueError, match="boosted trees: "):
        BoostedClassifier(CATEGORICAL).__setstate__(state)


def test_a_tree_that_is_its_own_child_is_refused():
    trees = BoostedClassifier(CATEGORICAL).fit(table(20, 0), np.zeros(20)).trees_
    for name, values in {"left": [0, 1, 0], "roots": [0]}.items():
        trees[name] = np.array(values, np.int32)
    for name in ("column", "split", "set", "missing_left"):
        trees[name] = np.zeros(3, trees[name].dtype)
    with pytest.raises(ValueError, match="boosted trees: left"):
        check_trees(trees, 5)


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_trees_that_were_cut_load(n_classes):
    X = table(200, 0)
    model = BoostedClassifier(CATEGORICAL, **OPTIONS).fit(X, labels(X, n_classes))
    for whole in (model, model.cut(3) if n_classes > 1 else model):
        again = pickle.loads(pickle.dumps(whole))
        assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))
