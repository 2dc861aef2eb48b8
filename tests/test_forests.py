import doctest
import pickle
import subprocess
import sys

import naive
import numpy as np
import pandas as pd
import pytest
from forest_cases import Case, check_tree
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import mddf.forests
from mddf import CompletelyRandomForestClassifier, RandomForestClassifier, growth
from mddf.forest_base import resolve_max_features
from mddf.sampling import canonical_order
from mddf.targets import encode_labels

FORESTS = [RandomForestClassifier, CompletelyRandomForestClassifier]
both = pytest.mark.parametrize("Forest", FORESTS)


@parametrize_with_checks(
    [
        RandomForestClassifier(),
        RandomForestClassifier(criterion="entropy", bootstrap=False, max_bins=32),
        RandomForestClassifier(class_weight="balanced", oob_score=True, n_jobs=2),
        RandomForestClassifier(max_features=None, warm_start=True, max_samples=0.5),
        CompletelyRandomForestClassifier(),
        CompletelyRandomForestClassifier(bootstrap=True),
        CompletelyRandomForestClassifier(max_features=3, criterion="entropy"),
        CompletelyRandomForestClassifier(class_weight="balanced"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Three classes, a few missing values."""
    X, y = make_classification(
        300, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, y


def same_predictions(a, b, X):
    return np.array_equal(a.predict_proba(X), b.predict_proba(X))


# Input of every kind


@both
def test_types_and_memory_order(Forest):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, (120, 5))
    y = (X[:, 0] + X[:, 1] > 200).astype(int)
    expected = Forest(5, random_state=0).fit(X.astype(float), y).predict_proba(X.astype(float))
    wide = np.zeros((240, 15))
    wide[::2, ::3] = X
    packed = np.zeros(120, [("pad", "u1"), ("x", "f8", 5)])
    packed["x"] = X
    views = [X.astype(t) for t in ("f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", ">f8")]
    views += [np.asfortranarray(X), wide[::2, ::3], packed["x"], X.tolist(), pd.DataFrame(X)]
    views += [pd.DataFrame(X).astype("Int64"), pd.DataFrame(X).astype("Float32")]
    for view in views:
        forest = Forest(5, random_state=0).fit(view, y)
        assert np.array_equal(forest.predict_proba(view), expected)
        for other in (X.astype("f4"), np.asfortranarray(X, "f8")):
            assert np.array_equal(forest.predict_proba(other), expected)


@both
def test_booleans(Forest):
    X = np.random.default_rng(2).integers(0, 2, (80, 6)).astype(bool)
    y = X[:, 0] ^ X[:, 1]
    forest = Forest(20, random_state=0).fit(X, y)
    assert forest.classes_.dtype == bool
    assert same_predictions(forest, Forest(20, random_state=0).fit(X.astype(int), y), X)
    assert (forest.predict(X) == y).mean() > 0.9


@both
def test_infinities_are_refused_by_name(Forest, data):
    X, y = data
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        Forest().fit(bad, y)
    forest = Forest(2).fit(X, y)
    for method in (forest.predict, forest.predict_proba, forest.apply):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            method(-bad)
    frame = pd.DataFrame(bad).assign(c=pd.Categorical(["a", "b", "c"] * 100))
    frame.columns = frame.columns.astype(str)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        Forest().fit(frame, y)


@both
def test_missing_values(Forest):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = rng.integers(0, 2, 400)
    X[y == 1, 1] = np.where(rng.random((y == 1).sum()) < 0.9, np.nan, X[y == 1, 1])
    forest = Forest(30, random_state=0).fit(X[:300], y[:300])
    assert forest.score(X[300:], y[300:]) > 0.85
    everything = Forest(3, random_state=0).fit(np.full((9, 2), np.nan), np.arange(9) % 3)
    if Forest is CompletelyRandomForestClassifier:
        np.testing.assert_allclose(everything.predict_proba(np.zeros((1, 2))), 1 / 3)


@both
def test_frames_with_categories(Forest):
    rng = np.random.default_rng(4)
    n = 600
    color = rng.choice(["red", "green", "blue", "pink", "gold"], n)
    word = rng.choice(["x", "y", "z"], n)
    y = np.isin(color, ["red", "blue", "gold"]) ^ (word == "y")
    frame = pd.DataFrame(
        {"noise": rng.normal(size=n), "color": pd.Categorical(color), "word": word}
    )
    forest = Forest(40, random_state=0, n_jobs=2).fit(frame[:400], y[:400])
    assert forest.score(frame[400:], y[400:]) > 0.97
    assert forest.feature_importances_[0] < 0.3
    assert forest.feature_names_in_.tolist() == ["noise", "color", "word"]
    # The same by mask, by numbers, by names, and as an array of objects.
    for given in ([False, True, True], [1, 2], ["color", "word"]):
        other = Forest(40, random_state=0, categorical_features=given).fit(frame[:400], y[:400])
        assert same_predictions(forest, other, frame)
    other = Forest(40, random_state=0, categorical_features=[1, 2])
    objects = frame.to_numpy(dtype=object)
    other.fit(objects[:400], y[:400])
    assert np.array_equal(other.predict_proba(objects), forest.predict_proba(frame))
    # Unseen and missing categories.
    new = frame[400:420].assign(color="violet", word=None)
    probabilities = forest.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame[["color", "noise", "word"]])


@both
def test_the_names_and_order_of_categories_do_not_matter(Forest):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 6, 300)
    y = np.isin(codes, [0, 3, 4]) ^ (rng.random(300) < 0.1)
    names = np.array(["a", "b", "c", "d", "e", "f"])
    frame = pd.DataFrame({"c": pd.Categorical(names[codes], categories=names)})
    moved = pd.DataFrame({"c": pd.Categorical(names[codes], categories=names[::-1])})
    first = Forest(9, random_state=0).fit(frame, y)
    assert same_predictions(first, Forest(9, random_state=0).fit(moved, y), frame)


@both
def test_many_categories(Forest):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"c": [f"name{i}" for i in rng.integers(0, 900, 3000)]})
    y = frame["c"].str[-1].isin(["1", "4", "7", "9"]).to_numpy()
    forest = Forest(5, random_state=0).fit(frame, y)
    assert forest.predict_proba(frame).shape == (3000, 2)
    assert np.diff(forest._bins.start).tolist() == [255]


@both
@pytest.mark.parametrize(
    "y",
    [
        ["no", "yes", "no", "maybe"] * 10,
        np.array(["b", "a"] * 20, dtype=object),
        np.arange(40) % 4 - 7,
        np.arange(40) % 3 * 1.0,
        np.arange(40) % 2 == 0,
        pd.Series(["u", "v"] * 20),
        pd.Series(["u", "v"] * 20, dtype="category"),
        [3] * 40,
    ],
)
def test_labels(Forest, y):
    X = np.arange(40.0)[:, None]
    forest = Forest(15, random_state=0).fit(X, y)
    assert forest.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
    assert (forest.predict(X) == np.asarray(y)).mean() > 0.8
    assert forest.predict_proba(X).shape == (40, len(forest.classes_))


@both
def test_small_and_plain_tables(Forest):
    # One row, one column, one class.
    forest = Forest(3, random_state=0).fit([[1.0]], ["only"])
    assert forest.predict([[np.nan], [7.0]]).tolist() == ["only", "only"]
    assert forest.feature_importances_.tolist() == [0.0]
    # Constant columns only.
    X, y = np.ones((30, 4)), np.arange(30) % 3
    forest = Forest(200, random_state=0).fit(X, y)
    assert forest.apply(X).max() == 0
    np.testing.assert_allclose(forest.predict_proba(X), 1 / 3, atol=0.03)
    # One column that is not.
    X[:, 2] = y
    forest = Forest(20, random_state=0).fit(X, y)
    assert forest.feature_importances_.tolist() == [0, 0, 1, 0]
    assert forest.score(X, y) == 1


@both
def test_a_thousand_classes(Forest):
    rng = np.random.default_rng(7)
    centers = rng.normal(size=(1000, 6)) * 10
    y = np.repeat(np.arange(1000), 4)
    X = centers[y] + rng.normal(size=(4000, 6))
    forest = Forest(10, random_state=0, n_jobs=2).fit(X, y)
    assert forest.predict_proba(X).shape == (4000, 1000)
    assert forest.score(X, y) > 0.95
    assert forest.score(centers, np.arange(1000)) > 0.8


@both
def test_wide_data(Forest):
    X, y = make_classification(40, 5000, n_informative=20, shuffle=False, random_state=0)
    forest = Forest(60, random_state=0, n_jobs=2).fit(X, y)
    assert forest.score(X, y) > 0.95
    assert forest.feature_importances_.shape == (5000,)
    assert np.count_nonzero(forest.feature_importances_) <= 60 * 39


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_do_not_do():
    with pytest.raises(ValueError, match=r"y must have at most 65535 classes, got 70000"):
        encode_labels(np.arange(70000))
    for y in ([0.5, 1.25, 3], [0, np.nan, 1.0], [0, np.inf, 1], [[1, 0], [0, 1], [1, 1]]):
        with pytest.raises(ValueError):
            RandomForestClassifier(1).fit(np.zeros((3, 1)), y)
    classes, labels = encode_labels([5, 5, 2])
    assert classes.tolist() == [2, 5]
    assert labels.dtype == np.uint16
    assert labels.tolist() == [1, 1, 0]


# What must not change the result


@both
@pytest.mark.parametrize("oob", [False, True])
def test_n_jobs(Forest, oob, data):
    X, y = data
    options = {"bootstrap": True, "oob_score": True} if oob else {}
    one = Forest(40, random_state=1, **options).fit(X, y)
    for n_jobs in (2, 3, -1):
        many = Forest(40, random_state=1, n_jobs=n_jobs, **options).fit(X, y)
        assert same_predictions(one, many, np.tile(X, (4, 1)))
        assert np.array_equal(one.apply(X), many.apply(X))
        assert np.array_equal(one.feature_importances_, many.feature_importances_)
        if oob:
            found = many.oob_decision_function_
            assert np.array_equal(one.oob_decision_function_, found, equal_nan=True)


@both
@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_order_of_rows(Forest, bootstrap, data):
    X, y = data
    order = np.random.default_rng(8).permutation(len(X))
    a = Forest(20, random_state=1, bootstrap=bootstrap).fit(X, y)
    b = Forest(20, random_state=1, bootstrap=bootstrap).fit(X[order], y[order])
    assert same_predictions(a, b, X)


@both
@pytest.mark.parametrize(
    ("bootstrap", "max_samples"), [(False, None), (True, None), (True, 0.5), (True, 77)]
)
def test_weight_k_is_k_copies(Forest, bootstrap, max_samples, data):
    X, y = data
    weights = np.random.default_rng(9).integers(0, 4, len(y))
    options = {"bootstrap": bootstrap, "max_samples": max_samples, "random_state": 1}
    a = Forest(15, **options).fit(X, y, sample_weight=weights)
    b = Forest(15, **options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert same_predictions(a, b, X)


@both
@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_scale_of_weights(Forest, bootstrap, data):
    X, y = data
    weights = np.random.default_rng(10).exponential(size=len(y))
    expected = Forest(9, bootstrap=bootstrap, random_state=0).fit(X, y, weights)
    for exponent in (-1000, -9, 3, 1000):
        scaled = Forest(9, bootstrap=bootstrap, random_state=0)
        scaled.fit(X, y, np.ldexp(weights, exponent))
        assert same_predictions(expected, scaled, X)


@both
@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_without_weight_are_as_good_as_gone(Forest, bootstrap, data):
    X, y = data
    weights = np.random.default_rng(11).exponential(size=len(y))
    weights[::3] = 0
    kept = weights > 0
    a = Forest(15, random_state=0, bootstrap=bootstrap).fit(X, y, weights)
    b = Forest(15, random_state=0, bootstrap=bootstrap).fit(X[kept], y[kept], weights[kept])
    assert same_predictions(a, b, X)


@pytest.mark.parametrize(
    "forest",
    [
        CompletelyRandomForestClassifier(10, random_state=0),
        CompletelyRandomForestClassifier(10, random_state=0, max_features=4),
        RandomForestClassifier(10, random_state=0, bootstrap=False),
    ],
)
def test_the_names_of_classes(forest, data):
    X, y = data
    renamed = np.array(["m", "c", "z"])[y]  # which are in another order
    a, b = clone(forest).fit(X, y), clone(forest).fit(X, renamed)
    assert np.array_equal(a.predict_proba(X)[:, [1, 0, 2]], b.predict_proba(X))


def test_rescaling_a_column_changes_nothing_for_best_splits(data):
    X, y = data
    forest = RandomForestClassifier(10, random_state=0)
    a, b = clone(forest).fit(X, y), clone(forest).fit(X * 4 - 8, y)
    assert np.array_equal(a.predict(X), b.predict(X * 4 - 8))


@both
def test_random_state(Forest, data):
    X, y = data

    def proba(state):
        return Forest(5, random_state=state, max_depth=4).fit(X, y).predict_proba(X)

    assert np.array_equal(proba(3), proba(3))
    assert not np.array_equal(proba(3), proba(4))
    assert np.array_equal(proba(np.random.RandomState(3)), proba(np.random.RandomState(3)))
    assert not np.array_equal(proba(None), proba(None))
    state = np.random.RandomState(3)
    assert not np.array_equal(proba(state), proba(state))


# Against scikit-learn


def training_impurity(leaves, y, entropy):
    """Weighted mean impurity of the leaves of one tree."""
    _, leaf = np.unique(leaves, return_inverse=True)
    counts = np.zeros((leaf.max() + 1, y.max() + 1))
    np.add.at(counts, (leaf, y), 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(share > 0, -share * np.log(share), 0) if entropy else share * (1 - share)
    return (terms.sum(axis=1) * counts.sum(axis=1)).sum() / len(y)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("max_depth", [1, 2, 3, None])
def test_a_tree_reaches_the_training_impurity_of_scikit_learns(criterion, max_depth):
    rng = np.random.default_rng(12)
    for seed in range(12):
        X = rng.normal(size=(240, 5))  # all values distinct and fewer than bins
        noise = rng.normal(size=240)
        y = np.digitize(X[:, 0] - X[:, 1] * X[:, 2] + noise, [-1, 0.5])
        options = {"criterion": criterion, "max_depth": max_depth, "random_state": seed}
        theirs = DecisionTreeClassifier(**options).fit(X, y)
        ours = RandomForestClassifier(1, bootstrap=False, max_features=None, **options).fit(X, y)
        np.testing.assert_allclose(
            training_impurity(ours.apply(X)[:, 0], y, criterion == "entropy"),
            training_impurity(theirs.apply(X), y, criterion == "entropy"),
            rtol=1e-9,
            atol=1e-12,
        )


@both
@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.92), (load_wine, 0.95)])
def test_accuracy(Forest, load, least):
    X, y = load(return_X_y=True)
    assert cross_val_score(Forest(100, random_state=0), X, y).mean() > least


def test_accuracy_on_digits():
    X, y = load_digits(return_X_y=True)
    X, new, y, expected = train_test_split(X, y, random_state=0)
    theirs = SklearnForest(50, random_state=0).fit(X, y).score(new, expected)
    for Forest in FORESTS:
        assert Forest(50, random_state=0).fit(X, y).score(new, expected) > theirs - 0.015


# Out of bag


@both
def test_samples_that_every_tree_drew(Forest, data):
    X, y = data
    forest = Forest(2, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    decision = forest.oob_decision_function_
    never = np.isnan(decision).all(axis=1)
    assert 0.3 < never.mean() < 0.5
    assert not np.isnan(decision[~never]).any()
    np.testing.assert_allclose(decision[~never].sum(axis=1), 1)
    right = decision[~never].argmax(axis=1) == y[~never]
    assert forest.oob_score_ == right.mean()
    # Nobody is left out at all.
    forest = Forest(1, bootstrap=True, oob_score=True, random_state=0).fit([[1.0]], [5])
    assert np.isnan(forest.oob_decision_function_).all()
    assert np.isnan(forest.oob_score_)


def test_oob_score(data):
    X, y = data
    X, new, y, expected = train_test_split(X, y, random_state=0)
    options = {"oob_score": True, "random_state": 0}
    forest = RandomForestClassifier(100, **options).fit(X, y)
    assert abs(forest.oob_score_ - forest.score(new, expected)) < 0.1
    options["oob_score"] = balanced_accuracy_score
    other = RandomForestClassifier(100, **options).fit(X, y)
    votes = other.oob_decision_function_.argmax(axis=1)
    assert other.oob_score_ == balanced_accuracy_score(y, votes)
    names = np.array(["u", "v", "w"])
    named = RandomForestClassifier(100, **options).fit(X, names[y])
    assert named.oob_score_ == other.oob_score_


def test_out_of_bag_is_at_chance_for_random_labels():
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
    for Forest in FORESTS:
        forest = Forest(30, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
        assert 0.45 < forest.oob_score_ < 0.55


def test_oob_of_weighted_rows(data):
    X, y = data
    weights = np.where(np.arange(len(y)) < 20, 0, 1.0)
    weights[20] = 1e6
    forest = RandomForestClassifier(20, oob_score=True, random_state=0, max_samples=200)
    decision = forest.fit(X, y, weights).oob_decision_function_
    assert np.isnan(decision[20]).all()
    # Rows without weight are in no tree, but nobody asked what the trees say of them.
    assert np.isnan(decision[:20]).all()


# Going on


@both
@pytest.mark.parametrize("oob", [False, True])
def test_warm_start_is_one_longer_fit(Forest, oob, data):
    X, y = data
    options = {"bootstrap": oob, "oob_score": oob, "random_state": 5}
    whole = Forest(23, **options).fit(X, y)
    steps = Forest(4, warm_start=True, **options)
    for n in (4, 5, 5, 23):
        steps.set_params(n_estimators=n, n_jobs=n % 3 + 1).fit(X, y)
        assert steps.apply(X).shape == (300, n)
    assert np.array_equal(whole.apply(X), steps.apply(X))
    assert same_predictions(whole, steps, X)
    np.testing.assert_allclose(whole.feature_importances_, steps.feature_importances_, rtol=1e-12)
    if oob:
        a, b = whole.oob_decision_function_, steps.oob_decision_function_
        assert np.array_equal(a, b, equal_nan=True)
        assert whole.oob_score_ == steps.oob_score_


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
    assert np.array_equal(forest.predict_proba(X), before)
    forest.set_params(warm_start=False, n_estimators=2).fit(X[:, :3], y > 0)
    assert forest.n_features_in_ == 3


# Pickles, clones, search


@both
def test_pickles_are_small_and_load_in_another_process(Forest, tmp_path):
    X, y = load_digits(return_X_y=True)
    forest = Forest(20, random_state=0).fit(X, y)
    data = pickle.dumps(forest)
    n_nodes = sum(trees.n_nodes for trees in forest._trees)
    assert len(data) < 9 * n_nodes + 50_000
    Theirs = SklearnForest if Forest is RandomForestClassifier else ExtraTreesClassifier
    theirs = Theirs(20, max_features=forest.max_features, random_state=0).fit(X, y)
    assert len(data) < len(pickle.dumps(theirs)) / 4
    (tmp_path / "forest.pickle").write_bytes(data)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import pickle, numpy as np\n"
        "forest = pickle.load(open('forest.pickle', 'rb'))\n"
        "np.save('found.npy', forest.predict_proba(np.load('X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=60)
    assert np.array_equal(np.load(tmp_path / "found.npy"), forest.predict_proba(X))


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
    ("value", "expected"),
    [("sqrt", 7), ("log2", 5), (None, 50), (3, 3), (99, 50), (0.5, 25), (0.001, 1), (1.0, 50)],
)
def test_max_features(value, expected):
    assert resolve_max_features(value, 50) == expected
    assert resolve_max_features("log2", 1) == 1


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
def test_every_option_is_seen_in_the_trees(options, limits, data):
    X, y = data
    forest = RandomForestClassifier(3, max_features=None, random_state=0, **options).fit(X, y)
    case = case_of(forest, X, y)
    seeds = growth.draw_seeds(forest._entropy, 3)
    rows = canonical_order(case.codes, case.labels, case.rows)
    trees = [nodes for block in forest._trees for nodes in naive.decode(block)]
    for seed, nodes in zip(seeds, trees, strict=True):
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
    bins = forest._bins
    labels = np.searchsorted(forest.classes_, y).astype(np.uint16)
    codes = forest._codes(X)
    n_classes = len(forest.classes_)
    return Case(codes, bins.values, bins.start, bins.categorical, labels, n_classes)


def test_class_weight_balanced_gives_every_class_the_same_say():
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
    given = np.array([1.0, 2.0, 0.0])[y]
    b = CompletelyRandomForestClassifier(5, random_state=0).fit(X, names, given)
    assert (a.predict_proba(X)[:, 2] == 0).all()
    # Bins count rows, whatever the class weights; all values have their own here anyway.
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
def test_what_needs_a_bootstrap(options, data):
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
    assert np.diff(forest._bins.start).max() == 4
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
def test_few_rows_and_many_are_coded_alike(Forest, data):
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


def test_examples():
    assert doctest.testmod(mddf.forests).failed == 0
