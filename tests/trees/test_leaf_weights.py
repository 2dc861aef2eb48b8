"""Weights of training samples in leaves, which are stored with the leaf values."""

import numpy as np
from forest_cases import decode_forest, leaf_weights
from value_cases import every_forest

from mddf import RandomForestClassifier


def table(n=700, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 5)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.integers(0, 4, n)) // 6
    return X, y


def weights(forest):
    """Weights of all nodes, by tree."""
    for block in forest._trees:
        for tree in block.single_trees():
            yield leaf_weights(tree.nodes)


@every_forest
def test_numbers_of_rows(Forest):
    for options in [{}, {"max_depth": 2}, {"max_depth": 1}, {"min_samples_leaf": 90}]:
        for categories in [None, [0, 1]]:
            X, y = table()
            forest = Forest(
                5, bootstrap=False, categorical_features=categories, random_state=0, **options
            ).fit(X, y)
            leaves = forest.apply(X)
            for t, of_tree in enumerate(weights(forest)):
                counts = np.bincount(leaves[:, t], minlength=len(of_tree))
                leaves_with_rows = np.flatnonzero(counts)
                np.testing.assert_array_equal(of_tree[leaves_with_rows], counts[leaves_with_rows])
            for block in forest._trees:
                assert decode_forest(block).weight.sum() == 700 * block.n_trees


@every_forest
def test_draws_and_whole_weights(Forest):
    X, y = table()
    drawn = Forest(6, bootstrap=True, max_samples=250, random_state=0).fit(X, y)
    assert all(decode_forest(block).weight.sum() == 250 * block.n_trees for block in drawn._trees)
    sample_weight = np.random.default_rng(1).integers(0, 5, len(X))
    weighed = Forest(3, bootstrap=False, random_state=0).fit(X, y, sample_weight)
    leaves = weighed.apply(X)
    for t, of_tree in enumerate(weights(weighed)):
        result = np.bincount(leaves[:, t], sample_weight, minlength=len(of_tree))
        leaves_with_rows = np.flatnonzero(result)
        np.testing.assert_array_equal(of_tree[leaves_with_rows], result[leaves_with_rows])


@every_forest
def test_real_weights_are_shares(Forest):
    for scale in [1e-300, 1, 1e300]:
        X, y = table()
        sample_weight = np.random.default_rng(1).random(len(X)) * scale
        forest = Forest(3, bootstrap=False, max_depth=4, random_state=0).fit(X, y, sample_weight)
        leaves = forest.apply(X)
        for t, of_tree in enumerate(weights(forest)):
            result = np.bincount(
                leaves[:, t], sample_weight / sample_weight.sum(), minlength=len(of_tree)
            )
            leaves_with_rows = np.flatnonzero(result)
            total = of_tree[leaves_with_rows].sum()
            np.testing.assert_allclose(
                of_tree[leaves_with_rows] / total, result[leaves_with_rows], rtol=1e-6
            )


def test_however_small_a_weight_is_above_zero():
    X = np.arange(4.0)[:, None]
    forest = RandomForestClassifier(1, bootstrap=False, random_state=0)
    forest.fit(X, [0, 1, 0, 1], [1, 1e-300, 1, 1])
    (of_tree,) = weights(forest)
    assert np.count_nonzero(of_tree) == 4


@every_forest
def test_predictions_do_not_depend_on_leaf_weights(Forest):
    for n_rows in [1, 40]:
        X, y = table(60_000)
        X = X[:, :1]  # one column, and leaves of large weights
        forest = Forest(2, bootstrap=False, max_depth=2, random_state=0).fit(X, y)
        one_by_one = [forest.predict(row[None])[0] for row in X[:n_rows]]
        np.testing.assert_array_equal(one_by_one, forest.predict(X)[:n_rows])
