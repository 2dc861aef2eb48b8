"""Layer features and importances of the cascades."""

import numpy as np
import pandas as pd
import pytest
from cascade_cases import SMALL, both, small_data
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import MDDFClassifier


@pytest.fixture
def data():
    return small_data()


# Layer features


@both
def test_features_of_training_samples_are_out_of_fold(Cascade):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    forest = Cascade(**SMALL, transform_layers=0)
    held_out = forest.fit_transform(X, y)
    with pytest.warns(UserWarning, match="not out-of-fold.*use fit_transform") as warned:
        refitted = forest.transform(X)
    assert warned[0].filename == __file__
    assert held_out.shape == refitted.shape == (300, 2)
    # Labels are noise: trees memorise their training labels and cannot predict the others.
    known = np.mean(refitted.argmax(axis=1) == y)
    guessed = np.mean(held_out.argmax(axis=1) == y)
    assert 0.4 < guessed < 0.58
    assert known > guessed + 0.3
    with pytest.warns(UserWarning, match="not out-of-fold"):
        np.testing.assert_array_equal(forest.fit(X, y).transform(X), refitted)
    np.testing.assert_array_equal(forest.transform(X[1:]), refitted[1:])  # another table


@pytest.mark.parametrize(
    ("layers", "n"), [("last", 1), ("all", 3), (0, 1), (-2, 1), ([2, 0], 2), (np.array([1]), 1)]
)
@pytest.mark.parametrize("forests", ["mean", "each"])
def test_chosen_layers_and_names(layers, n, forests, data):
    X, y, new, _ = data
    options = {"transform_layers": layers, "transform_forests": forests}
    forest = MDDFClassifier(**SMALL, **options)
    held_out = forest.fit_transform(X, y)
    features = forest.transform(new)
    names = forest.get_feature_names_out()
    assert features.shape == (100, len(names))
    assert held_out.shape == (200, len(names))
    assert len(set(names)) == len(names) == n * 3 * (4 if forests == "each" else 1)
    np.testing.assert_allclose(features.sum(axis=1), len(names) / 3)
    everything = forest.set_params(transform_layers="all").transform(new)
    all_names = forest.get_feature_names_out().tolist()
    np.testing.assert_array_equal(features, everything[:, [all_names.index(m) for m in names]])


def test_layers_that_early_stopping_dropped(data):
    X, y, new, _ = data
    options = SMALL | {"early_stopping": True, "n_iter_no_change": 1, "tol": 10.0}
    forest = MDDFClassifier(**options, transform_layers=2)
    with pytest.raises(ValueError, match=r"below [12], as many as early stopping kept; got 2"):
        forest.fit_transform(X, y)
    assert forest.set_params(transform_layers="all").transform(new).shape[0] == len(new)


@pytest.mark.parametrize("layers", [3, -4, [0, 5], [], [[0]], [0.5], ["first"]])
def test_missing_layers(layers, data):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL).fit(X, y).set_params(transform_layers=layers)
    with pytest.raises(ValueError, match="transform_layers"):
        forest.transform(new)


def test_set_output_and_pipelines(data):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL, transform_layers="all").set_output(transform="pandas")
    frame = forest.fit_transform(X, y)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[:3].tolist() == ["layer1_blue", "layer1_green", "layer1_red"]
    assert forest.transform(new).columns.tolist() == frame.columns.tolist()
    model = make_pipeline(StandardScaler(), MDDFClassifier(**SMALL), LogisticRegression())
    assert model.fit(X, y).score(X[::2], y[::2]) > 0.8


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["<=50K", ">50K"], ["_=50K", "_50K"]),
        (["a[1]", "a<1>"], ["0_a_1_", "1_a_1_"]),
        ([1, 2], ["1", "2"]),
    ],
)
def test_names_are_accepted_by_other_libraries(classes, expected, data):
    X, y, *_ = data
    cascade = MDDFClassifier(2, n_estimators=2, cv=2, random_state=0).set_output(
        transform="pandas"
    )
    features = cascade.fit_transform(X, np.array(classes)[(y == "red").astype(int)])
    assert features.columns.tolist() == [f"layer{cascade.n_layers_}_{name}" for name in expected]


def test_grid_search(data):
    X, y, *_ = data
    grid = {"target_margin": [0.8, 0.9], "alpha": ["simplex", "mean-margin"]}
    forest = MDDFClassifier(**SMALL | {"n_layers": 2})
    search = GridSearchCV(forest, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.6


# Importances


@both
def test_importances_are_of_raw_features(Cascade):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 2] + 0.3 * X[:, 4] > 0).astype(int)
    forest = Cascade(**SMALL).fit(X, y)
    assert forest.layer_importances_.shape == (3, 6)
    np.testing.assert_allclose(forest.layer_importances_.sum(axis=1), 1)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.feature_importances_.argsort()[-2:].tolist() == [4, 2]


@both
def test_importances_need_a_fit(Cascade):
    for name in ("feature_importances_", "layer_importances_"):
        with pytest.raises(NotFittedError):
            getattr(Cascade(), name)


def test_no_importances_with_other_classifiers(data):
    X, y, *_ = data
    forest = MDDFClassifier(**SMALL, forests=["random", LogisticRegression(max_iter=1000)])
    with pytest.raises(AttributeError, match="of this package"):
        _ = forest.fit(X, y).feature_importances_


@pytest.mark.parametrize("library", ["xgboost.XGBClassifier", "lightgbm.LGBMClassifier"])
def test_other_libraries_learn_from_features(library, data):
    module, name = library.split(".")
    model = getattr(pytest.importorskip(module), name)(n_estimators=3)
    X, y, X_test, _ = data
    labels = np.array(["<10]", "[10, 20", "a b"])[np.unique(y, return_inverse=True)[1]]
    cascade = MDDFClassifier(**SMALL, transform_layers="all").set_output(transform="pandas")
    codes = np.unique(labels, return_inverse=True)[1]
    model.fit(cascade.fit_transform(X, labels), codes)
    assert set(model.predict(cascade.transform(X_test))) <= {0, 1, 2}
