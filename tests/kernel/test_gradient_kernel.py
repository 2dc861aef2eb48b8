"""Boosted trees of the kernel against the slow twin, bit by bit."""

import numpy as np
import pytest
from compiled import _core
from gradient_cases import LOSSES, booster_of, check_against_twin, grown, make_problem

SEEDS = [3, 1]
GROWTH = {
    "sorted": {"symmetric": True, "max_depth": 4},
    "histograms": {"symmetric": True, "max_depth": 4},
    "leaf-wise": {"symmetric": False, "max_depth": 0, "max_leaf_nodes": 7},
}


def check(method, seed=0, **options):
    problem = make_problem(seed, **{**GROWTH[method], **options})
    counting = {"counting": method} if method != "leaf-wise" else {}
    return check_against_twin(problem, SEEDS, **counting)


@pytest.mark.parametrize("loss", LOSSES)
def test_trees_match_a_slow_twin(loss):
    for method in GROWTH:
        for weights in [None, "whole", "real"]:
            quantile = {"quantile": 0.7, "huber": 0.8}.get(loss, 0.5)
            check(method, loss=loss, weights=weights, l2=1.0, quantile=quantile, n_rows=24)


OTHERS = {
    "no penalty": {},
    "rows of leaves": {"min_samples_leaf": 6},
    "rows of leaves, weights": {"min_samples_leaf": 6, "weights": "real"},
    "rows of leaves, hessians": {"min_samples_leaf": 6, "loss": "log_loss", "l2": 3.0},
    "rows of leaves, classes": {"min_samples_leaf": 6, "loss": "softmax", "l2": 3.0},
    "some rows": {"subsample": 0.6, "l2": 1.0},
    "some rows, medians": {"subsample": 0.6, "loss": "absolute_error"},
    "copies": {"n_copies": 3, "l2": 1.0},
    "some rows of copies": {"n_copies": 3, "subsample": 0.6, "loss": "log_loss", "l2": 1.0},
    "some columns": {"max_features": 2, "l2": 1.0},
    # Of less than half of them, all leaves are counted, and only the columns that are drawn.
    "one column": {"max_features": 1, "l2": 1.0, "max_depth": 6},
    "one column, some rows": {"max_features": 1, "subsample": 0.7, "weights": "real"},
    "one column, large leaves": {"max_features": 1, "min_samples_leaf": 4, "loss": "log_loss"},
    "one column, classes": {"max_features": 1, "loss": "softmax", "n_classes": 4, "l2": 1.0},
    "one column, rising": {"max_features": 1, "monotonic": np.array([1, 0, -1, 0, 0])},
    "many classes": {"loss": "softmax", "n_classes": 9, "l2": 1.0},
    "rising": {"monotonic": np.array([1, 0, -1, 0, 0]), "l2": 0.5},
    "falling": {"monotonic": np.array([-1, -1, 1, 0, 0]), "l2": 0.5, "loss": "log_loss"},
    "rising medians": {"monotonic": np.array([1, 1, -1, 0, 0]), "loss": "absolute_error"},
    "falling quantiles": {
        "monotonic": np.array([-1, 1, -1, 0, 0]),
        "loss": "quantile",
        "quantile": 0.3,
        "subsample": 0.7,
        "weights": "real",
    },
    "groups": {"interactions": np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 1]])},
    "a few of a group": {
        "interactions": np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]),
        "max_features": 1,
    },
    "a shallow tree": {"max_depth": 1},
    "steep counts": {"loss": "poisson", "learning_rate": 1.0},
    "steep gamma": {"loss": "gamma", "learning_rate": 1.0},
    "steep tweedie": {"loss": "tweedie", "learning_rate": 1.0, "tweedie_power": 1.9},
    "flat tweedie": {"loss": "tweedie", "tweedie_power": 1.0, "l2": 1.0, "weights": "real"},
    "outputs": {"n_outputs": 2, "l2": 1.0, "weights": "real", "min_samples_leaf": 3},
    "outputs, copies": {"n_outputs": 3, "subsample": 0.7, "weights": "whole"},
    "many outputs": {"n_outputs": 9, "l2": 1.0},
    "outputs of counts": {"n_outputs": 3, "loss": "poisson", "learning_rate": 1.0},
    "steep outputs": {"n_outputs": 2, "loss": "gamma", "learning_rate": 2.0},
    "outputs of amounts": {"n_outputs": 2, "loss": "tweedie", "l2": 1.0, "tweedie_power": 1.7},
    "steep classes": {"loss": "softmax", "learning_rate": 1.0},
    "steep, two classes": {"loss": "log_loss", "learning_rate": 1.0, "weights": "real"},
    "steep, rising": {
        "loss": "log_loss",
        "learning_rate": 1.0,
        "monotonic": np.array([1, 0, -1, 0, 0]),
    },
    "first-order splits": {"newton_splits": False, "loss": "log_loss", "l2": 1.0},
    "first-order splits, weights": {
        "newton_splits": False,
        "loss": "log_loss",
        "weights": "real",
        "min_samples_leaf": 3,
    },
    "first-order splits, classes": {"newton_splits": False, "loss": "softmax", "l2": 1.0},
    "first-order splits of counts": {
        "newton_splits": False,
        "loss": "poisson",
        "weights": "whole",
        "min_samples_leaf": 3,
        "l2": 1.0,
    },
    "too steep": {"learning_rate": 5.0},
    "too steep medians": {"loss": "absolute_error", "learning_rate": 3.0},
    "too steep exponentials": {"loss": "exponential", "learning_rate": 6.0},
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_options_match_a_slow_twin(options):
    for method in GROWTH:
        for seed in range(2):
            check(method, seed, n_rows=32, **options)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "softmax"])
def test_counting_methods_and_vectors_change_nothing(loss, wide):
    problem = make_problem(5, n_rows=250, loss=loss, weights="real", l2=2.0, subsample=0.8)
    expected, _ = grown(problem, range(20), counting="sorted", wide_vectors=True)
    for counting in ("sorted", "histograms"):
        result, _ = grown(problem, range(20), counting=counting, wide_vectors=wide)
        assert all(np.array_equal(result[name], expected[name]) for name in expected)


@pytest.mark.parametrize("method", ["histograms", "leaf-wise"])
@pytest.mark.parametrize("options", [{}, {"max_features": 1}, {"subsample": 0.7}])
def test_histograms_that_are_counted_again_give_the_same_trees(method, options):
    growth = {**GROWTH[method], "max_leaf_nodes": 12}
    problem = make_problem(3, n_rows=60, l2=1.0, **growth, **options)
    counting = {"counting": method} if method != "leaf-wise" else {}
    trees, _ = grown(problem, SEEDS, **counting)
    few, _ = grown(problem, SEEDS, histogram_bytes=0, **counting)
    for name, array in trees.items():
        np.testing.assert_array_equal(few[name], array)


@pytest.mark.slow
def test_splits_of_small_gradients_among_many_rows_are_found():
    # The sum of all gradients has 30 bits. Two large gradients, which cancel in all cells, leave
    # less than half a unit to each of the others.
    n_rows = 1 << 23
    codes = np.zeros((n_rows, 1), np.uint8)
    codes[n_rows // 2 :] = 1
    noise = np.random.default_rng(0).integers(0, 200, (n_rows, 2), np.uint8)
    noise[1] = noise[0]
    table = _core.BinnedTable(
        np.hstack([codes, noise]),
        None,
        np.arange(402, dtype=float),
        np.array([0, 2, 202, 402]),
        np.zeros(3, np.uint8),
    )
    rows = np.arange(n_rows, dtype=np.int32)
    options = _core.BoostOptions("custom", symmetric=False, max_leaf_nodes=2)
    booster = _core.GradientBooster(table, np.empty(0), None, rows, rows[:0], options)
    gradient = np.where(codes == 1, 1.0, -1.0)
    gradient[:2] = [[3 * n_rows * 64], [-3 * n_rows * 64]]
    booster.set_gradients(gradient, np.ones_like(gradient))
    booster.grow(np.zeros(1, np.uint64))
    assert booster.trees()["column"].tolist() == [0]


@pytest.mark.parametrize("method", ["histograms", "leaf-wise"])
@pytest.mark.parametrize(
    ("loss", "n_classes"), [("squared_error", 2), ("softmax", 3), ("softmax", 6)]
)
def test_rows_divided_among_threads_give_the_same_trees(loss, n_classes, method):
    problem = make_problem(4, n_rows=30_000, loss=loss, n_classes=n_classes, **GROWTH[method])
    counting = {"counting": method} if method != "leaf-wise" else {}
    trees, _ = grown(problem, SEEDS, **counting)
    booster = booster_of(problem, **counting)
    booster.grow(np.asarray(SEEDS, np.uint64), team=_core.BoostTeam(3))
    for name, array in booster.trees().items():
        np.testing.assert_array_equal(trees[name], array)
