"""Boosted trees of the kernel refuse invalid arguments."""

import numpy as np
import pytest
from compiled import _core
from gradient_cases import grown, held_out, make_problem, options_of, table_of, trees_of

REFUSED = (ValueError, TypeError)
PROBLEM = make_problem(0, 30)
N = len(PROBLEM.codes)


def booster_arguments():
    return {
        "table": table_of(PROBLEM),
        "y": PROBLEM.y,
        "weights": np.ones(N),
        "train": PROBLEM.train,
        "held_out": held_out(PROBLEM),
        "options": options_of(PROBLEM),
        "start": np.zeros((N, 1)),
    }


def changed(array, value, at=0):
    array = array.copy()
    array.flat[at] = value
    return array


WRONG = {
    "y": [
        PROBLEM.y[:-1],
        changed(PROBLEM.y, np.nan),
        changed(PROBLEM.y, np.inf),
        PROBLEM.y.astype(np.float32),
        PROBLEM.y[None],
    ],
    "weights": [
        np.ones(N - 1),
        changed(np.ones(N), -1),
        changed(np.ones(N), np.nan),
        changed(np.ones(N), 0, PROBLEM.train[0]),
        np.ones(N, int),
    ],
    "train": [
        np.zeros(0, np.int32),
        np.array([-1], np.int32),
        np.array([N], np.int32),
        np.arange(N, dtype=np.int64),
    ],
    "held_out": [np.array([-1], np.int32), np.array([N], np.int32), None],
    "offset": [np.zeros((N, 2)), np.zeros((N - 1, 1)), np.full((N, 1), np.inf), np.zeros(N)],
    "start": [np.zeros((N, 2)), np.zeros((N - 1, 1)), np.full((N, 1), np.nan), np.zeros(N)],
    "options": [
        _core.BoostOptions("log_loss"),
        _core.BoostOptions("squared_error", n_copies=1000),
        _core.BoostOptions("squared_error", monotonic=np.zeros(4, np.int8)),
        _core.BoostOptions("squared_error", interactions=np.ones((2, 6), np.uint8)),
        None,
    ],
}


def test_boosters_refuse():
    for name, value in [(name, value) for name, values in WRONG.items() for value in values]:
        _core.GradientBooster(**booster_arguments())
        with pytest.raises(REFUSED):
            _core.GradientBooster(**{**booster_arguments(), name: value})


def test_losses_refuse_targets():
    for loss, y in [
        ("log_loss", 2),
        ("log_loss", 0.5),
        ("exponential", -1),
        ("softmax", 3),
        ("softmax", -1),
        ("poisson", -0.1),
        ("tweedie", -0.1),
        ("gamma", 0),
        ("squared_error", 1e101),
    ]:
        arguments = booster_arguments() | {
            "options": _core.BoostOptions(loss, n_classes=3),
            "start": None,
        }
        _core.GradientBooster(**{**arguments, "y": np.ones(N)})
        with pytest.raises(
            ValueError, match=r"^y: expected finite numbers that fit the loss, got"
        ):
            _core.GradientBooster(**{**arguments, "y": changed(np.ones(N), y)})


def test_options_refuse():
    for options in [
        {"loss": "hinge"},
        {"loss": "softmax", "n_classes": 1},
        {"loss": "softmax", "n_classes": 65536},
        {"learning_rate": 0.0},
        {"learning_rate": np.nan},
        {"learning_rate": np.inf},
        {"l2": -1.0},
        {"category_smoothing": -1.0},
        {"subsample": 0.0},
        {"subsample": 1.1},
        {"n_copies": 0},
        {"quantile": -0.1},
        {"quantile": np.nan},
        {"max_depth": 0},
        {"max_depth": 17},
        {"symmetric": False, "max_depth": -1},
        {"max_leaf_nodes": 0},
        {"max_leaf_nodes": 65536},
        {"min_samples_leaf": 0},
        {"max_features": 0},
        {"tweedie_power": 0.99},
        {"tweedie_power": 2.01},
        {"tweedie_power": np.nan},
        {"n_outputs": 0},
        {"n_outputs": 1025},
        {"n_outputs": 2, "loss": "huber"},
        {"n_outputs": 2, "loss": "softmax"},
        {"n_outputs": 2, "monotonic": np.ones(3, np.int8)},
        {"counting": "fast"},
        {"monotonic": np.full(3, 2, np.int8)},
        {"monotonic": np.ones(3)},
        {"monotonic": np.ones(3, np.int8), "loss": "softmax"},
        {"interactions": np.ones((0, 3), np.uint8)},
        {"interactions": np.ones((1, 3), np.uint8), "monotonic": np.ones(2, np.int8)},
    ]:
        with pytest.raises(REFUSED):
            _core.BoostOptions(**{"loss": "squared_error", **options})


def test_gradients_of_the_caller_are_checked():
    arguments = booster_arguments() | {"options": _core.BoostOptions("custom"), "y": np.zeros(0)}
    booster = _core.GradientBooster(**arguments)
    n_train = len(PROBLEM.train)
    ones = np.ones((n_train, 1))
    assert booster.train_raw().shape == (n_train, 1)
    assert booster.held_out_raw().shape == (N - n_train, 1)
    with pytest.raises(ValueError, match="read-only"):
        booster.train_raw()[0] = 1
    for gradient, hessian in (
        (ones[1:], ones[1:]),
        (ones, np.ones((n_train, 2))),
        (changed(ones, np.nan), ones),
        (ones, changed(ones, np.inf)),
        (ones, changed(ones, -1)),
        (ones.astype(np.float32), ones),
    ):
        with pytest.raises(REFUSED):
            booster.set_gradients(gradient, hessian)
    with pytest.raises(ValueError, match="y must have length 0"):
        _core.GradientBooster(**arguments | {"y": PROBLEM.y})
    booster.set_gradients(changed(-ones, 1), ones)
    booster.grow(np.arange(1, dtype=np.uint64))
    assert booster.n_rounds == 1
    assert booster.losses().size == 0
    view = booster.train_raw()
    del booster
    assert np.isfinite(view).all()  # the view keeps the booster alive


def tree_arguments(symmetric):
    problem = make_problem(1, 60, symmetric=symmetric, max_depth=3)
    arrays, _ = grown(problem, range(2))
    del arrays["gain"], arrays["weight"]
    assert len(arrays["sets"])
    return {**arrays, "symmetric": symmetric, "n_columns": 5}


BROKEN = {
    "first_split": (1, -1, 99),
    "first_leaf": (1, -1, 99),
    "column": (-1, 5),
    "set": (-2, 99),
    "left": (-99, 0, 99),
    "right": (-99, 0, 99),
}


def test_trees_refuse_arrays_that_do_not_fit():
    for symmetric in [True, False]:
        for name, value in [(name, value) for name, values in BROKEN.items() for value in values]:
            arguments = tree_arguments(symmetric)
            _core.GradientTrees(**arguments)
            array = arguments[name]
            value = changed(array, value) if len(array) else np.ones(1, np.int32)
            with pytest.raises(ValueError, match=r"expected|must"):
                _core.GradientTrees(**{**arguments, name: value})


def test_trees_refuse_arrays_of_other_lengths():
    for name in ["shift", "threshold", "sets", "values", "column", "set"]:
        arguments = tree_arguments(False)
        with pytest.raises(ValueError, match=r"expected|must"):
            _core.GradientTrees(**{**arguments, name: arguments[name][:-1]})


def test_predictions_refuse():
    problem = make_problem(1, 60)
    trees = trees_of(grown(problem, range(2))[0], problem)
    out, codes = np.zeros((60, 1)), problem.codes
    trees.add_raw(codes, 0, 2, out)
    for arguments in (
        (codes[:, :-1], 0, 2, out),
        (codes, 0, 3, out),
        (codes, -1, 2, out),
        (codes, 2, 1, out),
        (codes, 0, 2, out[:-1]),
        (codes, 0, 2, np.zeros((60, 2))),
        (codes.astype(float), 0, 2, out),
    ):
        with pytest.raises(REFUSED):
            trees.add_raw(*arguments)
    with pytest.raises(ValueError, match=r"^out"):
        trees.leaves(codes, np.zeros((60, 3), np.int32))


def test_predictions_accept_all_codes():
    for symmetric in (True, False):
        problem = make_problem(1, 60, symmetric=symmetric)
        trees = trees_of(grown(problem, range(2))[0], problem)
        codes = np.arange(256, dtype=np.uint8)[:, None].repeat(5, axis=1)
        out = np.zeros((256, 1))
        trees.add_raw(codes, 0, 2, out)
        assert np.isfinite(out).all()


def test_work_can_be_stopped():
    cancel = _core.Cancel()
    cancel.stop()
    booster = _core.GradientBooster(**booster_arguments())
    with pytest.raises(_core.Cancelled):
        booster.grow(np.arange(3, dtype=np.uint64), cancel=cancel)
