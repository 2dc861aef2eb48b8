"""Leaf embeddings, proximities, forest kernels and eForest, compared with slow twins."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import GCForestClassifier
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn_checks import sklearn_checks

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.representation import (
    EForest,
    ForestKernelEmbedding,
    LeafEmbedding,
    boosted_features,
    leaf_indices,
    nearest_rows,
    outlier_scores,
    proximities,
)
from mddf.rules import MarginRules

X, Y = load_iris(return_X_y=True)
NEW = X[::3] + 0.05
ESTIMATORS = [
    LeafEmbedding(n_estimators=5, random_state=0),
    LeafEmbedding(RandomForestRegressor(4, random_state=0), sparse_output=False),
    ForestKernelEmbedding(n_estimators=5, n_components=1, random_state=0),
    EForest(n_estimators=5, random_state=0),
]


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(12, random_state=0).fit(X, Y)


@sklearn_checks(ESTIMATORS)
def test_sklearn_checks(estimator, check):
    check(estimator)


def slow_proximities(leaves, other_leaves):
    near = np.zeros((len(leaves), len(other_leaves)))
    for i, row in enumerate(leaves):
        for j, other in enumerate(other_leaves):
            near[i, j] = np.mean(row == other)
    return near


def test_leaf_embedding_one_by_one(forest):
    embedding = LeafEmbedding(clone(forest)).fit(X, Y)
    encoded = embedding.transform(NEW)
    leaves = forest.apply(NEW)
    names = embedding.get_feature_names_out()
    assert sparse.isspmatrix_csr(encoded)
    assert encoded.shape == (len(NEW), len(names))
    assert (encoded.sum(axis=1) == 12).all()
    train = forest.apply(X)
    for tree in range(12):
        known = sorted(set(train[:, tree]))
        mine = [i for i, name in enumerate(names) if name.startswith(f"tree{tree}_")]
        assert len(mine) == len(known)
        part = encoded[:, mine].toarray()
        assert [known[i] for i in part.argmax(axis=1)] == leaves[:, tree].tolist()
    dense = clone(embedding).set_params(sparse_output=False).fit_transform(X, Y)
    np.testing.assert_array_equal(dense, embedding.transform(X).toarray())


def test_unsupervised_embedding_ignores_targets_and_threads():
    first = LeafEmbedding(random_state=0, n_estimators=20).fit_transform(X)
    second = LeafEmbedding(random_state=0, n_estimators=20, n_jobs=2).fit_transform(X, Y[::-1])
    assert (first != second).nnz == 0
    assert first.shape[1] > 100
    model = make_pipeline(LeafEmbedding(random_state=0), LogisticRegression()).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert (pickle.loads(pickle.dumps(model)).predict(NEW) == model.predict(NEW)).all()


@pytest.mark.parametrize("weighting", ["all", "leaf-size"])
def test_proximities_pair_by_pair(forest, weighting):
    leaves, training_leaves = forest.apply(NEW[:9]), forest.apply(X)
    expected = np.zeros((9, len(X)))
    for tree in range(12):
        for i in range(9):
            together = training_leaves[:, tree] == leaves[i, tree]
            expected[i] += together / (together.sum() if weighting == "leaf-size" else 1) / 12
    near = proximities(forest, NEW[:9], X, weighting=weighting)
    np.testing.assert_allclose(near, expected, atol=1e-12)
    again = proximities(forest, NEW[:9], X, weighting=weighting, sparse_output=True)
    np.testing.assert_array_equal(again.toarray(), near)
    if weighting == "leaf-size":
        np.testing.assert_allclose(near.sum(axis=1), 1)


@pytest.mark.parametrize("weighting", ["out-of-bag", "in-bag"])
def test_proximities_of_bags(forest, weighting):
    leaves = forest.apply(X)
    drawn = np.stack([np.bincount(rows, minlength=150) > 0 for rows in forest.estimators_samples_])
    counted = drawn if weighting == "in-bag" else ~drawn
    near = proximities(forest, X, weighting=weighting)
    for i in range(0, 150, 11):
        for j in range(0, 150, 7):
            trees = np.flatnonzero(counted[:, i] & counted[:, j])
            share = np.mean(leaves[i, trees] == leaves[j, trees]) if len(trees) else 0
            assert near[i, j] == pytest.approx(share)


def test_nearest_rows_and_outliers(forest):
    near = slow_proximities(forest.apply(NEW), forest.apply(X))
    rows, shares = nearest_rows(forest, NEW, X, n_neighbors=4)
    np.testing.assert_array_equal(rows, np.argsort(-near, axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(shares, np.take_along_axis(near, rows, axis=1))
    scores = outlier_scores(forest, X, Y)
    near = slow_proximities(forest.apply(X), forest.apply(X))
    for label in range(3):
        mine = np.flatnonzero(label == Y)
        squares = np.square(near[np.ix_(mine, mine)]).sum(axis=1) - 1
        raw = len(X) / squares
        centre = np.median(raw)
        expected = (raw - centre) / (np.median(np.abs(raw - centre)) or 1)
        np.testing.assert_allclose(scores[mine], expected, rtol=1e-9)


def test_a_row_far_from_its_class_is_an_outlier():
    points, labels = make_blobs([40, 40], centers=[[0, 0], [9, 9]], random_state=0)
    labels[np.flatnonzero(labels == 0)[0]] = 1
    forest = CompletelyRandomForestClassifier(100, random_state=0).fit(points, labels)
    scores = outlier_scores(forest, points, labels)
    wrong = np.flatnonzero((labels == 1) & (points[:, 0] < 5))
    assert scores.argmax() == wrong[0]


def test_kernel_embedding_against_dense_eigenvectors():
    embedding = ForestKernelEmbedding(
        RandomForestClassifier(12, random_state=0), n_components=3, steps=0.5
    ).fit(X, Y)
    kernel = proximities(embedding.estimator_, X, weighting="leaf-size")
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12)
    # No tree joins setosa with the others: 1 is an eigenvalue twice.
    np.testing.assert_allclose(np.linalg.eigvalsh(kernel)[-2:], 1)
    values, vectors = np.linalg.eigh(kernel - 1 / 150)
    np.testing.assert_allclose(embedding.eigenvalues_, values[-1:-4:-1], atol=1e-9)
    scaled = vectors[:, -1:-4:-1] * np.sqrt(150) * values[-1:-4:-1] ** 0.5
    # Inner products do not depend on signs or on the basis of equal eigenvalues.
    mine = embedding.embedding_
    np.testing.assert_allclose(mine @ mine.T, scaled @ scaled.T, atol=1e-6)
    # Nyström's formula of a new row: its kernel times the eigenvectors divided by the eigenvalues.
    np.testing.assert_allclose(embedding.transform(X), mine, atol=1e-8)
    new = proximities(embedding.estimator_, NEW, X, weighting="leaf-size")
    expected = new @ (mine / embedding.eigenvalues_)
    np.testing.assert_allclose(embedding.transform(NEW), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("n_copies", "options"),
    [
        (1, {"n_estimators": 5, "n_components": 1}),  # no tree joins the blobs
        (1, {"n_estimators": 1, "n_components": 3}),  # each leaf has the eigenvalue 1
        (1, {"n_estimators": 5, "n_components": 12}),  # cuts three eigenvalues of 0.6
        (1, {"n_estimators": 5, "n_components": 40, "steps": 0}),
        (8, {"n_estimators": 5, "n_components": 12}),  # too many rows for a dense kernel
    ],
)
def test_rounding_does_not_choose_an_eigenvector(n_copies, options):
    """Another order of the rows changes all rounding, and nothing else."""
    points, _ = make_blobs(150, centers=3, cluster_std=0.3, random_state=1)
    points = np.tile(points, (n_copies, 1))
    embedding = ForestKernelEmbedding(random_state=0, **options)
    columns = embedding.fit_transform(points)
    np.testing.assert_array_equal(columns, embedding.transform(points))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(points))
        np.testing.assert_allclose(
            clone(embedding).fit(points[order]).transform(points), columns, atol=1e-7
        )


def test_columns_beyond_the_rank_are_zero():
    columns = ForestKernelEmbedding(n_components=3, random_state=0).fit_transform(np.zeros((9, 2)))
    np.testing.assert_array_equal(columns, 0)


def slow_box(forest, rows, codes):
    """Boxes of rows, from the splits of all trees on their paths."""
    lower = np.tile(rows.min(axis=0), (len(codes), 1))
    upper = np.tile(rows.max(axis=0), (len(codes), 1))
    for tree in forest.estimators_:
        arrays = tree.tree_
        for i, row in enumerate(codes):
            node = 0
            while arrays.children_left[node] >= 0:
                f, t = arrays.feature[node], arrays.threshold[node]
                if row[f] <= t:
                    upper[i, f] = min(upper[i, f], t)
                    node = arrays.children_left[node]
                else:
                    lower[i, f] = max(lower[i, f], t)
                    node = arrays.children_right[node]
    return lower, upper


@pytest.mark.parametrize("supervised", [False, True])
def test_boxes_of_eforest_split_by_split(supervised):
    estimator = RandomForestClassifier(7, random_state=0) if supervised else None
    coder = EForest(estimator, n_estimators=7, random_state=0).fit(X, Y)
    codes = coder.transform(NEW)
    lower, upper = coder.decoded_boxes(codes)
    inside = np.clip(NEW, coder.lower_, coder.upper_)
    expected = slow_box(coder.estimator_, X, NEW)
    np.testing.assert_allclose(lower, np.minimum(*expected))
    np.testing.assert_allclose(upper, np.maximum(*expected))
    assert ((lower <= inside + 1e-12) & (inside <= upper + 1e-12)).all()
    np.testing.assert_allclose(coder.inverse_transform(codes), (lower + upper) / 2)
    drawn = clone(coder).set_params(decode="draw").fit(X, Y).inverse_transform(codes)
    assert ((lower <= drawn) & (drawn <= upper)).all()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(2, 5), st.integers(10, 60))
def test_rows_lie_in_their_boxes(seed, n_features, n_rows):
    rows = np.random.default_rng(seed).normal(size=(n_rows, n_features)).round(1)
    coder = EForest(n_estimators=10, random_state=seed).fit(rows)
    lower, upper = coder.decoded_boxes(coder.transform(rows))
    assert ((lower <= rows) & (rows <= upper)).all()


def test_reconstruction_improves_with_trees_and_bears_damage():
    digits = load_digits().data[:300]
    errors = []
    for n_estimators in (10, 100):
        coder = EForest(n_estimators=n_estimators, random_state=0).fit(digits[:200])
        codes = coder.transform(digits[200:])
        errors.append(np.square(coder.inverse_transform(codes) - digits[200:]).mean())
    assert errors[1] < 0.8 * errors[0]
    codes[:, ::2] = -1
    damaged = np.square(coder.inverse_transform(codes) - digits[200:]).mean()
    assert errors[1] < damaged < errors[0]


def test_refusals(forest):
    for call, message in [
        (lambda f: proximities(f, X, weighting="b"), "weighting must be one of .*, got 'b'"),
        (lambda f: proximities(f, X, X, weighting="in-bag"), "training rows of a forest"),
        (lambda f: proximities(f, NEW, weighting="in-bag"), "must have the 150 training rows"),
        (lambda f: leaf_indices(f, X, layer=0), "layer must be None for a forest, got 0"),
        (lambda f: nearest_rows(f, X, X, n_neighbors=0), "n_neighbors must .* 1 to 150, got 0"),
        (lambda f: nearest_rows(f, X, X, n_neighbors=2.5), "must be a whole .*, got 2.5"),
        (lambda f: nearest_rows(f, X, X, n_neighbors="5"), "must be a whole .*, got '5'"),
        (lambda f: outlier_scores(f, X, Y[:5]), "y cannot be used: .* \\[150, 5\\]"),
        (lambda f: outlier_scores(f, X, np.where(Y, Y, np.nan)), "contains NaN.*row 0"),
        (lambda f: outlier_scores(f, X, [None] * 150), "must have a label for every sample"),
        (
            lambda f: ForestKernelEmbedding(n_components=149).fit(X),
            "at least n_components . 2 = 151 rows, got n_samples=150",
        ),
        (lambda f: EForest(n_estimators=2).fit(X).inverse_transform([[0]]), "codes of 2 trees"),
        (
            lambda f: EForest(n_estimators=1, random_state=0).fit(X).inverse_transform([[999]]),
            "codes below",
        ),
        (
            lambda f: EForest(n_estimators=1, random_state=0).fit(X).inverse_transform([[0.5]]),
            "whole numbers as codes, got 0.5",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call(forest)


@pytest.mark.parametrize("kind", [LeafEmbedding, ForestKernelEmbedding])
def test_a_failed_fit_changes_nothing(kind):
    embedding = kind(n_estimators=3, random_state=0).fit(X)
    expected = embedding.transform(NEW)
    with pytest.raises(ValueError, match="layer must be None for a forest"):
        embedding.set_params(layer=1).fit(X[:, :2])
    assert embedding.n_features_in_ == 4
    assert abs(embedding.set_params(layer=None).transform(NEW) - expected).sum() == 0


def test_a_failed_fit_of_eforest_changes_nothing():
    coder = EForest(n_estimators=3, random_state=0).fit(X)
    expected = coder.transform(X)
    with pytest.raises(ValueError, match="y must have a label for every sample"):
        coder.set_params(estimator=RandomForestClassifier()).fit(X[:, :2], [None] * 150)
    np.testing.assert_array_equal(coder.transform(X), expected)


def test_equal_rows_have_no_direction():
    """No tree splits constant columns, so that the kernel only has its constant eigenvector."""
    embedding = ForestKernelEmbedding(n_estimators=5, random_state=0)
    assert not embedding.fit_transform(np.ones((9, 3))).any()
    assert not embedding.eigenvalues_.any()
    assert embedding.transform(np.zeros((2, 3))).tolist() == [[0, 0], [0, 0]]


def test_leaves_of_boosted_trees_are_nodes():
    """Rows with equal leaves have equal raw predictions; each row is nearest to itself."""
    labels = np.array(["u", "v", "w"])[Y]
    for grow_policy in ("symmetric", "leaf-wise"):
        model = GradientBoostingClassifier(
            max_iter=6, grow_policy=grow_policy, random_state=0
        ).fit(X, labels)
        leaves = leaf_indices(model, X)
        assert leaves.shape == (150, model.n_iter_)
        assert leaves.dtype == np.int64
        _, first_rows, groups = np.unique(leaves, axis=0, return_index=True, return_inverse=True)
        predictions = model.predict_proba(X)
        np.testing.assert_array_equal(predictions, predictions[first_rows[groups.ravel()]])
        rows, shares = nearest_rows(model, X[:5], X, n_neighbors=1)
        assert (shares == 1).all()
        np.testing.assert_array_equal(leaves[rows[:, 0]], leaves[:5])


FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    kind=pd.Categorical(np.where(X[:, 0] > 5.8, "long", "short"))
)
MODELS = [
    RandomForestClassifier(10, random_state=0),
    CompletelyRandomForestClassifier(10, random_state=0),
    RandomForestRegressor(10, random_state=0),
    CompletelyRandomForestRegressor(10, random_state=0),
    GradientBoostingClassifier(max_iter=10, random_state=0),
    GradientBoostingRegressor(max_iter=10, random_state=0),
    MDDFClassifier(2, n_estimators=3, random_state=0),
    GCForestClassifier(2, n_estimators=3, random_state=0),
    GCForestClassifier.named("gcForestCS", n_layers=2, n_estimators=3, random_state=0),
    DeepForestClassifier(1, n_estimators=3, random_state=0),
    DeepForestRegressor(1, n_estimators=3, random_state=0),
]


def test_nearest_training_rows_of_every_model():
    """Frames with categories: the nearest rows have similar targets."""
    for model in MODELS:
        target = Y.astype(float) if is_regressor(model) else np.array(["u", "v", "w"])[Y]
        model = clone(model).fit(FRAME, target)
        rows, shares = nearest_rows(model, FRAME[::10], FRAME, n_neighbors=3)
        assert rows.shape == shares.shape == (15, 3)
        # A training row is in its own leaves, as equal rows may be.
        assert (shares[:, 0] == 1).all()
        assert (np.diff(shares, axis=1) <= 0).all()
        assert np.mean(target[rows] == target[::10, None]) > 0.9


def test_models_without_leaves_are_refused():
    with pytest.raises(TypeError, match="model must be a forest of mddf, gradient boosting"):
        nearest_rows(KNeighborsClassifier().fit(X, Y), X, X)
    with pytest.raises(NotFittedError):
        nearest_rows(RandomForestClassifier(), X, X)
    # The kernel model alone has a weight on these rows of numbers.
    kernel = DeepForestRegressor(1, n_estimators=3, random_state=0).fit(X, X[:, 2] * X[:, 0])
    members = [row["member"] for row in kernel.leaderboard_ if row["weight"] > 0]
    assert members == ["kernel"]
    with pytest.raises(ValueError, match=r"layer 0 .* a member with trees, got .*kernel; fit a"):
        nearest_rows(kernel, X, X)


@pytest.mark.parametrize("alpha", ["simplex", "stagewise"])
def test_boosted_features_end_at_the_prediction(alpha):
    X, y = load_digits(n_class=4, return_X_y=True)
    model = MDDFClassifier(
        3,
        n_estimators=4,
        rules=MarginRules(alpha=alpha),
        early_stopping=False,
        random_state=0,
    )
    out_of_fold = boosted_features(model, model.fit_transform(X[::2], y[::2]))
    features = boosted_features(model, model.transform(X[1::2]))
    assert features.shape == (len(X[1::2]), model.n_layers_, 4)
    for boosted, p in [
        (out_of_fold, model.oof_probabilities_), (features, model.predict_proba(X[1::2])),
    ]:  # fmt: skip
        last = boosted[:, -1]
        np.testing.assert_allclose(last.sum(axis=1), model.alphas_.sum())
        np.testing.assert_allclose(last / last.sum(axis=1, keepdims=True), p, rtol=1e-6)
    with pytest.raises(ValueError, match="columns of transform, got 64"):
        boosted_features(model, X)
    with pytest.raises(TypeError, match="cascade must be a cascade of mddf, got int"):
        boosted_features(3, X)
