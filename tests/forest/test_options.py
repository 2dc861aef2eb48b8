import pickle
import subprocess
import sys
import threading

import naive
import numpy as np
import pandas as pd
import pytest
from forest_cases import (
    FORESTS,
    Case,
    check_tree,
    codes_of,
    few_trees,
    same_predictions,
    three_classes,
    watched_growth,
)
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

both = pytest.mark.parametrize("Forest", FORESTS)


@pytest.fixture
def data():
    return three_classes()


# Going on


@few_trees
@both
@pytest.mark.parametrize("oob", [False, True])
def test_warm_start_equals_a_longer_fit(Forest, oob, data):
    X, y = data
    options = {"bootstrap": oob, "oob_score": oob, "random_state": 5}
    whole = Forest(23, **options).fit(X, y)
    steps = Forest(4, warm_start=True, **options)
    for n in (4, 5, 23):
        steps.set_params(n_estimators=n, n_jobs=n % 3 + 1).fit(X, y)
        assert steps.apply(X).shape == (300, n)
    with pytest.warns(UserWarning, match="n_estimators=23, as many as there are") as caught:
        steps.fit(X, y)
    assert caught[0].filename == __file__
    assert np.array_equal(whole.apply(X), steps.apply(X))
    assert same_predictions(whole, steps, X)
    np.testing.assert_allclose(whole.feature_importances_, steps.feature_importances_, rtol=1e-12)
    if oob:
        a, b = whole.oob_decision_function_, steps.oob_decision_function_
        assert np.array_equal(a, b, equal_nan=True)
        assert whole.oob_score_ == steps.oob_score_


@few_trees
def test_out_of_bag_is_forgotten(data):
    X, y = data
    forest = RandomForestClassifier(5, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")


@few_trees
def test_warm_start_and_out_of_bag_need_the_same_rows(data):
    X, y = data
    forest = RandomForestClassifier(5, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    score = forest.oob_score_
    forest.set_params(n_estimators=9)
    order = np.random.default_rng(0).permutation(len(y))
    for rows, labels in ((X[order], y[order]), (X, y[order]), (X[:-1], y[:-1])):
        with pytest.raises(ValueError, match="oob_score with warm_start=True needs the rows"):
            forest.fit(rows, labels)
    assert forest.oob_score_ == score
    whole = RandomForestClassifier(9, oob_score=True, random_state=0).fit(X, y)
    assert forest.fit(X, y).oob_score_ == whole.oob_score_


def test_no_row_out_of_bag_is_reported():
    X, y = np.ones((2, 1)), [0, 1]
    forest = RandomForestClassifier(1, oob_score=True, max_samples=200)
    with pytest.warns(UserWarning, match="oob_score_ is nan: every sample was drawn"):
        forest.fit(X, y)
    assert np.isnan(forest.oob_score_)
    assert np.isnan(forest.oob_decision_function_).all()


def test_warm_start_after_a_pickle(data):
    X, y = data
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    forest = pickle.loads(pickle.dumps(forest)).set_params(n_estimators=9).fit(X, y)
    whole = RandomForestClassifier(9, random_state=0).fit(X, y)
    assert same_predictions(forest, whole, X)


def test_warm_start_refuses(data):
    X, y = data
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    before = forest.predict_proba(X)
    with pytest.raises(ValueError, match=r"n_estimators must be at least 5.*got 4"):
        forest.set_params(n_estimators=4).fit(X, y)
    with pytest.raises(ValueError, match=r"y must have the classes of the fit before"):
        forest.set_params(n_estimators=6).fit(X, y + 1)
    with pytest.raises(ValueError, match="features"):
        forest.fit(X[:, :3], y)
    for name, value in (("max_bins", 8), ("categorical_features", None), ("monotonic_cst", [1])):
        kept = getattr(forest, name)
        with pytest.raises(ValueError, match=f"with warm_start=True, {name} must be"):
            forest.set_params(**{name: value}).fit(X, y)
        forest.set_params(**{name: kept})
    assert np.array_equal(forest.predict_proba(X), before)
    forest.set_params(warm_start=False, n_estimators=2).fit(X[:, :3], y > 0)
    assert forest.n_features_in_ == 3


# Pickles, clones, search


@both
def test_pickles_are_small(Forest):
    X, y = load_digits(return_X_y=True)
    forest = Forest(20, random_state=0).fit(X, y)
    data = pickle.dumps(forest)
    n_nodes = sum(trees.n_nodes for trees in forest._trees)
    assert len(data) < 9 * n_nodes + 50_000
    Theirs = SklearnForest if Forest is RandomForestClassifier else ExtraTreesClassifier
    theirs = Theirs(20, max_features=forest.max_features, random_state=0).fit(X, y)
    assert len(data) < len(pickle.dumps(theirs)) / 4


def test_pickles_load_in_another_process(data, tmp_path):
    X, y = data
    forests = [Forest(5, random_state=0).fit(X, y) for Forest in FORESTS]
    (tmp_path / "forests.pickle").write_bytes(pickle.dumps((forests, X)))
    code = (
        "import pickle, numpy as np\n"
        "forests, X = pickle.load(open('forests.pickle', 'rb'))\n"
        "np.save('found.npy', [forest.predict_proba(X) for forest in forests])\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, cwd=tmp_path, timeout=60)
    expected = [forest.predict_proba(X) for forest in forests]
    assert np.array_equal(np.load(tmp_path / "found.npy"), expected)


@both
def test_clone_search_and_pipeline(Forest, data):
    X, y = data
    forest = Forest(5, max_depth=3, random_state=0)
    copy = clone(forest.fit(X, y))
    assert copy.get_params() == forest.get_params()
    assert not hasattr(copy, "classes_")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), forest),
        {f"{Forest.__name__.lower()}__max_depth": [1, None]},
        cv=3,
        n_jobs=1,
    ).fit(X, y)
    assert list(search.best_params_.values()) == [None]
    assert search.score(X, y) > 0.9


@both
def test_searching_categories_in_frames(Forest):
    rng = np.random.default_rng(14)
    frame = pd.DataFrame({"a": rng.choice(list("uvw"), 150), "b": rng.normal(size=150)})
    y = (frame["a"] == "u").to_numpy()
    search = GridSearchCV(Forest(10, random_state=0), {"criterion": ["gini", "entropy"]}, cv=3)
    assert search.fit(frame, y).best_score_ > 0.95


# Options


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, {}),
        ({"criterion": "entropy"}, {"entropy": True}),
        ({"max_depth": 3}, {"max_depth": 3}),
        ({"min_samples_split": 20}, {"min_samples_split": 20}),
        ({"min_samples_split": 0.05}, {"min_samples_split": 15}),
        ({"min_samples_leaf": 6}, {"min_samples_leaf": 6}),
        ({"min_samples_leaf": 0.0301}, {"min_samples_leaf": 10}),
        ({"min_weight_fraction_leaf": 0.05}, {"min_weight_leaf": 0.05}),
        ({"max_samples": 40}, {}),
        ({"class_weight": "balanced_subsample"}, {"exact": False}),
        ({"bootstrap": False, "class_weight": {0: 1, 1: 2.5, 2: 4}}, {}),
        ({"bootstrap": False, "max_bins": 9}, {}),
    ],
)
def test_every_option_changes_the_trees(options, limits, data):
    X, y = data
    forest = RandomForestClassifier(3, max_features=None, random_state=0, **options)
    with watched_growth() as blocks:
        forest.fit(X, y)
    case, (block,) = case_of(forest, X, y), blocks
    rows = case.order()
    trees = [nodes for block in forest._trees for nodes in naive.decode(block)]
    for seed, nodes in zip(block.seeds, trees, strict=True):
        weights = np.ones(len(y))
        if forest.bootstrap:
            n_draws = forest.max_samples or len(y)
            weights = naive.bootstrap(seed, rows, n_draws, len(y)).astype(float)
        if forest.class_weight == "balanced_subsample":
            weights /= np.bincount(y, weights)[y]
        elif forest.class_weight:
            weights *= np.array([1, 2.5, 4])[y]
        check_tree(nodes, case, weights=weights, **limits)


def case_of(forest, X, y):
    bins = forest._binner.bins_
    labels = np.searchsorted(forest.classes_, y).astype(np.uint16)
    codes = codes_of(forest, X)
    n_classes = len(forest.classes_)
    return Case(codes, bins.values, bins.start, bins.categorical, labels, n_classes)


def test_class_weight_balanced_gives_every_class_the_same_weight():
    X = np.zeros((100, 1))
    y = np.repeat([0, 1, 2], [80, 15, 5])
    for class_weight in ("balanced", "balanced_subsample", {0: 3, 1: 16, 2: 48}):
        forest = CompletelyRandomForestClassifier(3, class_weight=class_weight).fit(X, y)
        np.testing.assert_allclose(forest.predict_proba(X[:1]), [[1 / 3] * 3], atol=1e-7)
    forest = RandomForestClassifier(300, class_weight="balanced_subsample", random_state=0)
    mean = forest.fit(X, y).predict_proba(X[:1])
    np.testing.assert_allclose(mean, [[1 / 3] * 3], atol=1e-2)
    forest = RandomForestClassifier(500, class_weight="balanced", random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.predict_proba(X[:1]), [[1 / 3] * 3], atol=2e-2)
    plain = RandomForestClassifier(500, random_state=0).fit(X, y).predict_proba(X[:1])
    np.testing.assert_allclose(plain, [[0.8, 0.15, 0.05]], atol=2e-2)


def test_class_weights_by_label(data):
    X, y = data
    names = np.array(["u", "v", "w"])[y]
    weights = {"u": 1, "v": 2, "w": 0}
    a = CompletelyRandomForestClassifier(5, class_weight=weights, random_state=0).fit(X, names)
    sample_weight = np.array([1.0, 2.0, 0.0])[y]
    b = CompletelyRandomForestClassifier(5, random_state=0).fit(X, names, sample_weight)
    assert (a.predict_proba(X)[:, 2] == 0).all()
    # Bins ignore class weights; here, each value has its own bin anyway.
    assert (a.predict(X) == b.predict(X)).mean() > 0.8


@both
@pytest.mark.parametrize("weights", [{0: -1.0}, {0: np.nan}, {1: np.inf}])
def test_class_weights_that_do_not_do(Forest, weights, data):
    with pytest.raises(ValueError, match="class_weight must have finite weights"):
        Forest(class_weight=weights).fit(*data)


@both
def test_sample_weights_that_do_not_do(Forest, data):
    X, y = data
    bad = np.ones(len(y))
    for value, message in [(-1, "sample_weight"), (np.nan, "sample_weight"), (np.inf, "weight")]:
        bad[4] = value
        with pytest.raises(ValueError, match=message):
            Forest().fit(X, y, sample_weight=bad)
    with pytest.raises(ValueError, match=r"(?i)sample.weight.* at least one"):
        Forest().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="sample_weight"):
        Forest().fit(X, y, sample_weight=np.ones(7))


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0),
        ("criterion", "mse"),
        ("max_depth", 0),
        ("min_samples_split", 1),
        ("min_samples_leaf", 0),
        ("min_weight_fraction_leaf", 0.6),
        ("max_features", 0),
        ("max_features", 1.5),
        ("bootstrap", "yes"),
        ("max_samples", 0),
        ("oob_score", "accuracy"),
        ("class_weight", "fair"),
        ("n_jobs", 1.5),
        ("random_state", "seed"),
        ("warm_start", None),
        ("max_bins", 256),
        ("max_bins", 1),
        ("categorical_features", "auto"),
    ],
)
def test_parameters_are_refused_by_name(Forest, name, value, data):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {Forest.__name__} must be"):
        Forest(**{name: value}).fit(*data)


@pytest.mark.parametrize("options", [{"oob_score": True}, {"max_samples": 0.5}])
def test_options_that_need_a_bootstrap(options, data):
    with pytest.raises(ValueError, match=f"{next(iter(options))} needs bootstrap=True"):
        CompletelyRandomForestClassifier(**options).fit(*data)


@both
def test_limits_of_any_size(Forest, data):
    X, y = data
    for name in ("max_depth", "min_samples_split", "min_samples_leaf", "max_features"):
        for value in (2**31, 2**62, 2**63, 10**30):
            forest = Forest(2, random_state=0, **{name: value}).fit(X, y)
            assert (forest.apply(X).max() == 0) == name.startswith("min_samples")
            forest.set_params(warm_start=True, n_estimators=3).fit(X, y)


@both
def test_max_bins(Forest, data):
    X, y = data
    forest = Forest(5, max_bins=4, random_state=0).fit(X, y)
    assert np.diff(forest._binner.bins_.start).max() == 4
    assert forest.score(X, y) > 0.7


# Prediction


@both
def test_probabilities(Forest, data):
    X, y = data
    for max_depth in (1, 3, None):
        forest = Forest(3, max_depth=max_depth, random_state=0).fit(X, y)
        proba = forest.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-15)
        np.testing.assert_allclose(np.exp(forest.predict_log_proba(X)), proba, rtol=1e-12)
        assert np.array_equal(forest.predict(X), forest.classes_[proba.argmax(axis=1)])
        log_loss(y, proba)
        roc_auc_score(y, proba, multi_class="ovr")


@both
def test_few_and_many_rows_have_the_same_codes(Forest, data):
    X, y = data
    forest = Forest(10, random_state=0).fit(X, y)
    expected = forest.predict_proba(np.tile(X, (3, 1)))[:300]
    assert np.array_equal(
        np.vstack([forest.predict_proba(X[i : i + 1]) for i in range(300)]), expected
    )


@both
def test_importances(Forest, data):
    X, y = data
    forest = Forest(30, random_state=0).fit(X, y)
    importances = forest.feature_importances_
    assert importances.min() >= 0
    np.testing.assert_allclose(importances.sum(), 1)
    importances[:] = 0
    assert forest.feature_importances_.sum() > 0
    with pytest.raises(AttributeError):
        _ = Forest().feature_importances_


def test_progress_bar(data, capsys):
    RandomForestClassifier(5, verbose=1).fit(*data)
    assert "5/5" in capsys.readouterr().err
    RandomForestClassifier(5).fit(*data)
    assert capsys.readouterr().err == ""


def test_trees_grow_on_a_small_stack(data):
    """Where a stack cannot grow, large frames end the process without an exception."""
    X, y = data
    accuracies = []
    before = threading.stack_size(192 * 1024)
    try:
        thread = threading.Thread(
            target=lambda: accuracies.append(RandomForestClassifier(3).fit(X, y).score(X, y))
        )
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(accuracies) == 1
