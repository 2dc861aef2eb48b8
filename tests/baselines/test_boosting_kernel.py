import naive_boosting as naive
import numpy as np
import pytest
from compiled import _core
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines._boosting.fixed_learners import stump_dictionary
from mddf.baselines._boosting.search import TreeSearch
from mddf.baselines._boosting.weak_learners import WeakTrees


def problem(seed, n_values=None):
    """A small random problem; few values give many ties and duplicated rows."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 30), rng.integers(1, 5)
    n_values = n_values or rng.choice([2, 4, 1000])
    X = rng.integers(0, n_values, size=(n, d)) / 7.0
    weight = rng.dirichlet(np.ones(n))
    return X, weight * rng.choice([-1.0, 1.0], n)


seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=150, deadline=None)
def test_stump_is_the_best_of_all(seed):
    X, g = problem(seed)
    tree, prediction, edge = TreeSearch(X, 1).best(g)
    best = max([abs(g @ h) for *_, h in naive.all_stumps(X)] + [abs(g.sum())])
    assert edge == pytest.approx(best, abs=1e-10)
    assert edge == pytest.approx(g @ prediction, abs=1e-12)
    np.testing.assert_array_equal(prediction, naive.predict_tree(tree, X))


@pytest.mark.parametrize("mode", ["layerwise", "greedy"])
@given(seeds, st.integers(1, 4), st.floats(0, 0.1))
@settings(max_examples=100, deadline=None)
def test_deeper_trees_match_enumeration(mode, seed, max_depth, slope):
    X, g = problem(seed)
    penalty = slope * np.sqrt(np.arange(200.0))
    tree, prediction, edge = TreeSearch(X, max_depth, mode, penalty).best(g)
    np.testing.assert_array_equal(prediction, naive.predict_tree(tree, X))
    if mode == "layerwise":
        best = naive.layerwise_value(X, g, lambda n: penalty[n], max_depth)
        assert edge / 2 - penalty[tree.size] == pytest.approx(best, abs=1e-9)
    else:
        leaves = naive.greedy_leaves(X, g, lambda n: penalty[n], max_depth)
        assert tree.size == 2 * len(leaves) - 1
        assert edge == pytest.approx(naive.tree_votes(leaves, g) @ g, abs=1e-10)


def test_the_smaller_one_of_equally_good_trees_is_taken():
    """The second split of the last layer gains as much as it costs."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    g = np.array([1, -0.25, -1, 0.125])
    tree, _, edge = TreeSearch(X, 2, "layerwise", np.arange(-1, 9) / 16).best(g)
    assert tree.size == 5
    assert edge == 2.125


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_second_level_of_stumps_has_the_best_common_split(seed):
    X, g = problem(seed)
    tree, prediction, edge = TreeSearch(X, 2, "stumps").best(g)
    np.testing.assert_array_equal(prediction, naive.predict_tree(tree, X))
    assert tree.size in (1, 3, 7)
    if tree.size == 7:
        assert tree.feature[1] == tree.feature[2]
        assert tree.threshold[1] == tree.threshold[2]
        best = naive.best_shared_question(X, g, tree.feature[0], tree.threshold[0])
        assert edge == pytest.approx(best, abs=1e-10)


def test_ties_go_to_the_lower_feature_and_threshold():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    g = (
        np.array([1.0, -1.0, 1.0, -1.0]) / 4
    )  # cuts after row 0 and before row 3 both have edge 1/2
    for order in (X, -X):
        tree, _, _ = TreeSearch(np.ascontiguousarray(order), 1).best(g)
        assert tree.feature[0] == 0
        assert tree.threshold[0] == order[:, 0].min() + 0.5


def test_thresholds_are_midpoints_of_the_nodes_own_values():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.4, 1.0], [1.6, 1.0], [4.0, 0.0]])
    g = np.array([1.0, 1.0, 1.5, 1.5, -2.0])
    tree, _, _ = TreeSearch(X, 2, "greedy").best(g / abs(g).sum())
    assert tree.threshold[0] == 2.8
    # On the left of feature 0 the neighbours of the second cut are 0 and 2, though 1 lies between
    # them on the right.
    X = np.array([[0, 0], [0, 2], [0, 4], [1, 1], [1, 2], [1, 3]], dtype=float)
    g = np.array([-1.0, 10, 2, 1, -10, -2])
    tree, _, edge = TreeSearch(X, 2).best(g / 26)
    assert edge == pytest.approx(1)
    assert tree.threshold[:3].tolist() == [0.5, 1.0, 1.5]


def test_columns_with_many_values():
    n_distinct = 65537
    values = np.random.default_rng(0).permutation(n_distinct) * 0.5
    g = np.where(values < 100.25, 1.0, -1.0) / n_distinct
    tree, _prediction, edge = TreeSearch(values[:, None], 1).best(g)
    assert edge == pytest.approx(1)
    assert tree.threshold[0] == 100.25


def test_extreme_neighbours_are_separated():
    for pair in [(-1.7e308, 1.7e308), (1.0, np.nextafter(1, 2)), (5e-324, 1e-323), (0.0, 5e-324)]:
        tree, _prediction, edge = TreeSearch(np.array(pair)[:, None], 1).best(
            np.array([0.5, -0.5])
        )
        assert edge == 1
        np.testing.assert_array_equal(naive.predict_tree(tree, np.array(pair)[:, None]), [1, -1])


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_votes_and_labels_of_many_trees(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    search = TreeSearch(X, 3)
    trees = [
        search.best(rng.dirichlet(np.ones(40)) * rng.choice([-1, 1], 40))[0] for _ in range(4)
    ]
    learners = WeakTrees.concatenate(trees)
    new = rng.normal(size=(300, 3))
    expected = np.array([naive.predict_tree(tree, new) for tree in trees])
    np.testing.assert_array_equal(learners.values(new), expected)
    alpha = rng.normal(size=4)
    np.testing.assert_allclose(learners.votes(new, alpha), alpha @ expected, atol=1e-14)
    np.testing.assert_array_equal(learners.take(np.array([2, 0])).values(new), expected[[2, 0]])


def test_stumps_and_deeper_trees_are_mixed():
    """Stumps are compared column by column, other trees row by row, over blocks of rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(700, 3)).astype(float)
    stumps = stump_dictionary(X, 3)
    deep = TreeSearch(X, 3).best(rng.dirichlet(np.ones(700)) * rng.choice([-1, 1], 700))[0]
    trees = [stumps[0], deep, stumps[1], stumps[8], stumps[4]]
    # Three nodes, but no stump: node 1 has no leaves of its own.
    i4 = np.int32
    odd = WeakTrees.from_tree(
        np.array([0, 1, -1], i4),
        np.array([2.0, 2.0, 0.0]),
        np.array([1, 2, -1], i4),
        np.array([2, 2, -1], i4),
        np.array([1, 1, -1], np.int8),
        np.zeros(3),
    )
    learners = WeakTrees.concatenate([*trees, odd])
    expected = np.array([naive.predict_tree(tree, X) for tree in [*trees, odd]])
    np.testing.assert_array_equal(learners.values(X), expected)
    alpha = rng.normal(size=6)
    np.testing.assert_allclose(learners.votes(X, alpha), alpha @ expected, atol=1e-14)


X2 = np.zeros((4, 2))
G4 = np.full(4, 0.25)
TREE = [np.array(a, dtype=t) for a, t in [([-1], "i4"), ([0], "f8"), ([-1], "i4"), ([-1], "i4"),
                                           ([1], "i1"), ([0, 1], "i8")]]  # fmt: skip


def with_changed(index, array):
    changed = list(TREE)
    changed[index] = array
    return changed


SPLIT = [np.array(a, dtype=t) for a, t in [([0, -1, -1], "i4"), ([0, 0, 0], "f8"),
                                            ([1, -1, -1], "i4"), ([2, -1, -1], "i4"),
                                            ([1, 1, 1], "i1"), ([0, 3], "i8")]]  # fmt: skip


def test_refusals():
    for call, message in [
        (lambda: _core.RankedFeatures(X2 * np.nan), "x must be finite"),
        (lambda: _core.RankedFeatures(np.zeros((0, 2))), "at least one row"),
        (lambda: TreeSearch(X2, 1).best(G4[:3]), "signed_weight must have length 4, got 3"),
        (lambda: TreeSearch(X2, 1).best(G4 * np.inf), "signed_weight: expected finite"),
        (lambda: TreeSearch(X2, 1, "deep").best(G4), "mode must be .* got 'deep'"),
        (lambda: TreeSearch(X2, 0).best(G4), "max_depth must be at least 1, got 0"),
        (lambda: TreeSearch(X2, 1, penalty=np.empty(0)).best(G4), "penalty must have at least"),
        (lambda: TreeSearch(X2, 1).best(G4, -1.0), "scale must be .* got -1"),
        (
            lambda: _core.tree_labels(X2, *with_changed(1, np.zeros(2))),
            "threshold must have length",
        ),
        (lambda: _core.tree_labels(X2, *with_changed(5, np.array([0, 2]))), "start must begin"),
        (lambda: _core.tree_labels(X2, *with_changed(5, np.array([0, 1, 1]))), "start must rise"),
        (lambda: _core.tree_labels(X2[:, :0], *SPLIT), "feature must be less"),
        (
            lambda: _core.tree_labels(X2, *SPLIT[:2], np.zeros(3, "i4"), *SPLIT[3:]),
            "left and right must follow",
        ),
        (lambda: _core.tree_votes(X2, np.zeros(2), *TREE), "weight must have length 1, got 2"),
        (lambda: _core.learner_edges(X2, G4), "signed_weight must have length 2, got 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    for call in [
        lambda: _core.RankedFeatures(X2[:, 0]),
        lambda: _core.RankedFeatures(X2.astype("f4")),
        lambda: _core.RankedFeatures(np.zeros((4, 6))[:, ::2]),
        lambda: _core.learner_edges(X2.astype("i4"), G4),
    ]:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def test_path_refusals():
    values = np.ones((2, 4), dtype=np.int8)
    y = np.array([1.0, 1, -1, -1])
    quad = {"values": values, "y": y, "weight": G4, "penalty": "l1", "lambda_": 0.1}
    quad |= {"alpha_max": 1.0, "n_rounds": 3, "tolerance": 0.0, "progress": abs}
    for change, message in [
        ({"penalty": "l3"}, "penalty must be"),
        ({"lambda_": -1.0}, "lambda_ must be"),
        ({"alpha_max": 0.0}, "alpha_max must be"),
        ({"n_rounds": -1}, "n_rounds must be"),
        ({"weight": G4 - 0.25}, "weight: expected positive"),
        ({"y": y[:2]}, "y must have length 4"),
        ({"values": np.full((2, 4), np.nan)}, "values: expected finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.quadboost_path(**{**quad, **change})
    ada = {"values": values, "y": y, "weight": G4, "n_rounds": 3, "least_error": 1e-10}
    ada["progress"] = abs
    for change, message in [
        ({"values": values * 0}, "values must be -1 or"),
        ({"y": y * 2}, "y: expected -1 or"),
        ({"least_error": 0.5}, "least_error must lie"),
        ({"values": values[:0]}, "at least one row"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.adaboost_path(**{**ada, **change})
