import naive
import numpy as np
import pytest
from mddf.baselines import MultiGrainedScanner
from naive_windows import naive_pool, naive_windows
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn_checks import sklearn_checks

pytestmark = pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")

OUT_OF_FOLD = "fit_transform gives out-of-fold vectors, transform the mean over all folds"


def scanner(*args, **options):
    return MultiGrainedScanner(
        *args, **{"strides": 2, "n_estimators": 4, "random_state": 0, **options}
    )


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300].reshape(-1, 8, 8), y[:300]


@pytest.mark.parametrize("pooling", [None, "max"])
def test_both_outputs_window_by_window(digits, pooling):
    X, y = digits[0][:60], digits[1][:60].astype(str)
    half = np.arange(60) < 30
    cv = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.arange(30))]
    model = scanner([(3, 4), 5], strides=[2, (1, 3)], cv=cv, pooling=pooling)
    held_out, averaged = model.fit_transform(X, y), model.transform(X)
    names = model.get_feature_names_out().tolist()
    assert held_out.dtype == averaged.dtype == np.float32
    assert held_out.shape == averaged.shape == (60, len(names))
    codes = (X[..., None] * 1).astype(np.uint8)  # whole numbers from 0 to 16 are their own bins
    for size, stride, forests in zip(
        [(3, 4), (5, 5)], [(2, 2), (1, 3)], model._trees, strict=True
    ):
        for kind, trees in zip(["random", "completely_random"], forests, strict=True):
            assert [t.n_trees for t in trees] == [4, 4]
            for i in (0, 29, 30, 59):
                windows = naive_windows(codes[i], size, stride)
                for matrix, asked_forests in ((held_out, [trees[int(i < 30)]]), (averaged, trees)):
                    sums = {
                        place: sum(
                            naive.probabilities(block, window[None], 10) for block in asked_forests
                        )
                        for place, window in windows.items()
                    }
                    vectors = {place: (of / of.sum())[0] for place, of in sums.items()}
                    if pooling:
                        vectors = naive_pool(vectors, np.add(max(vectors), 1), pooling)
                    for (row, column), vector in vectors.items():
                        for label, value in zip(model.classes_, vector, strict=True):
                            size_name = "x".join(map(str, size))
                            name = f"window{size_name}_{kind}_y{row}_x{column}_{label}"
                            assert matrix[i, names.index(name)] == pytest.approx(value, abs=1e-6)


# What comes out


def test_grains_and_attributes(digits):
    model = scanner([2, (4, 8), 8], strides=[2, 1, 1], pooling="mean").fit(*digits)
    assert model.windows_ == [(2, 2), (4, 8), (8, 8)]
    assert model.positions_ == [(2, 2), (3, 1), (1, 1)]
    assert (model.grid_, model.n_channels_, model.n_features_in_) == ((8, 8), 1, 64)
    features = model.transform(digits[0])
    assert [len(columns) for columns in model.grains_] == [80, 60, 20]
    assert np.array_equal(np.concatenate(model.grains_), np.arange(features.shape[1]))
    names = model.get_feature_names_out()
    assert len(set(names)) == len(names) == 160
    for columns, size in zip(model.grains_, ["2x2", "4x8", "8x8"], strict=True):
        assert all(name.startswith(f"window{size}_") for name in names[columns])
    by_forest = features.reshape(300, -1, 10)
    np.testing.assert_allclose(by_forest.sum(axis=2), 1, rtol=1e-5)


def test_channels(digits):
    X, y = digits
    sequences = scanner([3], shape=(8,)).fit(X, y)  # eight steps of eight channels
    assert (sequences.grid_, sequences.n_channels_) == ((8,), 8)
    assert sequences._trees[0][0][0].n_columns == 24
    names = sequences.get_feature_names_out()
    assert names[0] == "window3_random_t0_0"
    images = np.stack([X, X[:, ::-1], X.transpose(0, 2, 1)], axis=-1)
    colour = scanner([3], strides=2)
    vectors = colour.fit_transform(images, y)
    assert (colour.grid_, colour.n_channels_) == ((8, 8), 3)
    table = clone(colour).set_params(shape=(8, 8)).fit_transform(images.reshape(300, -1), y)
    assert np.array_equal(table, vectors)


# Folds


def test_no_window_is_in_the_fold_that_predicts_it(digits):
    X, y = digits
    cv = list(KFold(3).split(X))
    vectors = scanner(cv=cv).fit_transform(X, y)
    for _, test in cv:
        other = y.copy()
        other[test] = (other[test] + 1 + np.arange(len(test)) % 9) % 10
        changed = scanner(cv=cv).fit_transform(X, other)
        assert np.array_equal(changed[test], vectors[test])
        assert not np.array_equal(changed, vectors)


# How the forests are grown


def test_the_number_of_threads_does_not_matter(digits):
    first, second = (scanner(n_jobs=n_jobs, n_estimators=9) for n_jobs in (1, 2))
    assert np.array_equal(first.fit_transform(*digits), second.fit_transform(*digits))
    assert np.array_equal(first.transform(digits[0]), second.transform(digits[0]))


def n_nodes(model):
    return [sum(t.n_nodes for t in trees) for forests in model._trees for trees in forests]


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_have_enough_samples(digits, weighted):
    X, y = digits
    weights = np.full(300, 5.0) if weighted else None
    few, many = (scanner([6], min_samples_leaf=n).fit(X, y, weights) for n in (1, 40))
    assert all(np.less(n_nodes(many), np.divide(n_nodes(few), 3)))
    rows = many._specs[0].rows(X[..., None].astype(np.uint8))
    for trees in many._trees[0][1]:  # completely random, without a bootstrap
        leaves = np.empty((len(rows), trees.n_trees), np.int64)
        trees.reader.leaf_indices(rows, 0, len(rows), leaves)
        for column in leaves.T:  # one fold in five was held out
            assert np.bincount(column)[np.unique(column)].min() >= 40 / (5 if weighted else 1)
    assert all(np.less_equal(n_nodes(scanner([6], max_depth=1).fit(X, y)), 3 * 20))


def test_missing_values(digits):
    X, y = digits[0].copy(), digits[1]
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = scanner(n_estimators=10)
    assert np.isfinite(model.fit_transform(X, y)).all()
    assert np.isfinite(model.transform(X[:5] * np.nan)).all()


# What is refused


def test_refused_parameters(digits):
    for options, message in [
        ({"windows": "gcforest"}, "'windows' parameter .*'auto'.* Got 'gcforest'"),
        ({"windows": []}, "windows must .* at least one size, got"),
        ({"windows": [9]}, r"windows must .* at most \(8, 8\).* got 9"),
        ({"windows": [(3, 3, 3)]}, r"windows must .* got \(3, 3, 3\)"),
        ({"windows": [0]}, "windows must .* at least 1 .* got 0"),
        ({"windows": [2.5]}, r"windows must .* got 2\.5"),
        ({"windows": ["3"]}, "windows must .* got '3'"),
        ({"strides": [1, 1]}, r"strides must .* each of the 3 windows, got \[1, 1\]"),
        ({"strides": [1, 0, 1]}, "strides must .* got 0"),
        ({"strides": [1, (1, 2, 3), 1]}, r"strides must .* got \(1, 2, 3\)"),
        ({"shape": (4, 16)}, r"shape=\(4, 16\) must .* got samples of shape \(8, 8\)"),
        ({"shape": (8, 0)}, r"shape must .* got \(8, 0\)"),
        ({"shape": (8, 8, 1)}, r"shape must .* got \(8, 8, 1\)"),
        ({"cv": [([0, 1], [1, 2])]}, "cv must not train on what it holds out"),
        ({"cv": [(range(10), range(10, 300))]}, "cv must hold every sample out"),
    ]:
        with pytest.raises(ValueError, match=message):
            scanner(**options).fit(*digits)


def test_refused_samples(digits):
    X, y = digits
    with pytest.raises(ValueError, match=r"shape=\(5,\) must .* got samples of shape \(64,\)"):
        scanner(shape=(5,)).fit(X.reshape(300, 64), y)
    with pytest.raises(ValueError, match=r"2 to 4 dimensions.* of shape \(2, 2, 4, 4\)"):
        scanner().fit(X.reshape(300, 2, 2, 4, 4), y)
    with pytest.raises(ValueError, match="infinity"):
        scanner().fit(np.where(X == 3, np.inf, X), y)
    words = np.full((300, 8, 8), "dark", object)
    model = scanner([8]).fit(X, y)
    for ask in (lambda X: scanner().fit(X, y), model.transform):
        for samples in (words, words.tolist(), words.reshape(300, 64)):
            with pytest.raises(ValueError, match=r"X must hold numbers, .* got 'dark' in row 0"):
                ask(samples)
    with pytest.raises(ValueError, match=r"begins with \(8, 8\).* got samples of shape \(4, 16\)"):
        model.transform(X.reshape(300, 4, 16))
    with pytest.raises(ValueError, match="64 features"):
        model.transform(X[:, :7])
    with pytest.raises(ValueError, match="requires y"):
        scanner().fit(X, None)
    with pytest.raises(ValueError, match="0 sample"):
        scanner().fit(X[:0], [])
    with pytest.raises(ValueError, match="0 sample"):
        model.transform(X[:0])


# Split of the whole


def expected_failures(model):
    checks = ("check_transformer_general", "check_transformer_data_not_an_array")
    failures = dict.fromkeys(checks, OUT_OF_FOLD)
    if model.max_windows is None:
        name = "check_sample_weight_equivalence_on_dense_data"
        failures[name] = "draws as many windows as have weight"
    return failures


@sklearn_checks(
    [
        scanner(),
        scanner(max_windows=1.0),
        scanner(max_windows=0.5, pooling="mean", min_samples_leaf=1),
    ],
    expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
