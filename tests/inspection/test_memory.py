"""Estimates of the memory of a fit follow all of its parameters."""

import pytest

from mddf._inspection.memory import deep_forest_bytes, gradient_boosting_bytes

ROWS, COLUMNS = 100_000, 20
TREE_BYTES = 26 * ROWS  # of a tree with two classes


def deep(**parameters):
    return deep_forest_bytes(ROWS, COLUMNS, 2, parameters)


def boosting(**parameters):
    return gradient_boosting_bytes(ROWS, COLUMNS, 3, parameters)


@pytest.mark.parametrize("n_estimators", ["auto", None, 100])
def test_default_trees_of_a_deep_forest(n_estimators):
    assert deep(n_estimators=n_estimators) == deep()


@pytest.mark.parametrize(
    ("parameters", "n_trees"),
    [
        ({"preset": "fast"}, 50),
        ({"preset": "default", "n_estimators": 500}, 500),
        ({"n_estimators": 500, "members": ["random"], "time_limit": 3}, 500),
    ],
)
def test_trees_of_a_deep_forest(parameters, n_trees):
    assert deep(**parameters) - deep() == (n_trees - 100) * TREE_BYTES


def test_unknown_presets_are_named():
    with pytest.raises(ValueError, match=r"^preset must be one of .* got 'bset'"):
        deep(preset="bset")


def test_regression_counts_as_one_class():
    assert deep_forest_bytes(ROWS, 5, None, {}) == deep_forest_bytes(ROWS, 5, 1, {})
    assert gradient_boosting_bytes(ROWS, 5, None, {}) == gradient_boosting_bytes(ROWS, 5, 1, {})


@pytest.mark.parametrize(
    ("parameters", "n_rounds", "n_leaves"),
    [
        ({}, 5000, 64),
        ({"max_iter": None, "max_depth": None}, 5000, 64),
        ({"max_iter": 10, "max_depth": 3}, 10, 8),
        ({"max_depth": 40}, 5000, 2**16),
        ({"grow_policy": "leaf-wise"}, 5000, 31),
        ({"grow_policy": "leaf-wise", "max_leaf_nodes": 255}, 5000, 255),
        ({"grow_policy": "leaf-wise", "max_leaf_nodes": 255, "max_depth": 4}, 5000, 16),
        ({"grow_policy": "leaf-wise", "max_leaf_nodes": None}, 5000, ROWS),
    ],
)
def test_leaves_of_gradient_boosting(parameters, n_rounds, n_leaves):
    without_trees = boosting(max_iter=1, max_depth=1) - 2 * 3 * 16
    assert boosting(**parameters) - without_trees == n_rounds * n_leaves * 3 * 16
