import pickle
import subprocess
import sys

import naive
import numpy as np
import pytest
from forest_cases import (
    FORESTS,
    Case,
    check_tree,
    codes_of,
    few_trees,
    three_classes,
    watched_growth,
)

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

both = pytest.mark.parametrize("Forest", FORESTS)


@pytest.fixture
def data():
    return three_classes()


# Going on


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
    assert np.array_equal(forest.predict_proba(X), before)
    forest.set_params(warm_start=False, n_estimators=2).fit(X[:, :3], y > 0)
    assert forest.n_features_in_ == 3


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
def test_class_weights_that_do_not_do(Forest, data):
    for weights in [{0: -1.0}, {0: np.nan}, {1: np.inf}]:
        with pytest.raises(ValueError, match="class_weight must have finite weights"):
            Forest(class_weight=weights).fit(*data)


def test_options_that_need_a_bootstrap(data):
    for options in [{"oob_score": True}, {"max_samples": 0.5}]:
        with pytest.raises(ValueError, match=f"{next(iter(options))} needs bootstrap=True"):
            CompletelyRandomForestClassifier(**options).fit(*data)


@both
def test_max_bins(Forest, data):
    X, y = data
    forest = Forest(5, max_bins=4, random_state=0).fit(X, y)
    assert np.diff(forest._binner.bins_.start).max() == 4
    assert forest.score(X, y) > 0.7


# Prediction
