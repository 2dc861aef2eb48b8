"""Linear leaves of boosted trees: slopes against dense ridge regressions, and invariants."""

from dataclasses import replace

import naive_linear_leaves as naive
import numpy as np
import pytest
from compiled import _core
from gradient_cases import LOSSES, booster_of, grown, held_out, make_problem, options_of, trees_of
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_losses import gradients

STEPPED = [loss for loss in LOSSES if loss not in ("absolute_error", "quantile")]
SHAPES = [
    {"symmetric": True, "max_depth": 3},
    {"symmetric": False, "max_depth": 0, "max_leaf_nodes": 6},
]
WEIGHTS = [None, "whole", "real"]


def positions_of(problem):
    """Positions that rise with the codes, and 0 for missing values."""
    positions = np.zeros((len(problem.n_bins), 256), np.int16)
    for column, n in enumerate(problem.n_bins):
        if not problem.categorical[column]:
            positions[column, :n] = np.rint(np.linspace(-256, 256, n))
    return positions


def grown_linear(problem, rounds, penalty, **changes):
    """The kernel's trees as arrays with positions, and the booster."""
    positions = positions_of(problem)
    arrays, booster = grown(problem, rounds, positions=positions, slope_l2=penalty, **changes)
    return arrays | {"positions": positions}, booster


def raw_of(arrays, problem, first, last, raw):
    """Raw predictions of all rows after some more trees."""
    after = raw.copy()
    trees_of(arrays, problem).add_raw(problem.codes, first, last, after)
    return after


def test_slopes_match_ridge_regressions():
    for loss in [loss for loss in STEPPED if loss != "huber"]:
        for shape in SHAPES:
            for weights in WEIGHTS:
                problem = make_problem(3, 60, weights, loss=loss, l2=1.0, **shape)
                penalty = 0.7
                arrays, booster = grown_linear(problem, range(3), penalty)
                if loss in (
                    "poisson",
                    "tweedie",
                ):  # their penalties have the unit of second derivatives
                    mean = np.average(
                        problem.y[problem.train],
                        weights=None if weights is None else problem.weights[problem.train],
                    )
                    penalty *= mean if loss == "poisson" else mean**0.5
                x = arrays["positions"][np.arange(problem.codes.shape[1]), problem.codes] / 256
                leaves = np.empty((len(problem.codes), 3), np.int32)
                trees_of(arrays, problem).leaves(problem.codes, leaves)
                raw = np.tile(booster.start, (len(problem.codes), 1))
                train = problem.train
                row_weights = np.ones(len(train)) if weights is None else problem.weights[train]
                n_compared = 0
                for tree in range(3):
                    gradient, hessian = gradients(
                        problem, raw[train], problem.y[train], row_weights
                    )
                    gradient, hessian = (
                        gradient * row_weights[:, None],
                        hessian * row_weights[:, None],
                    )
                    columns_of = naive.path_columns(
                        arrays, tree, problem.symmetric, problem.categorical
                    )
                    after = raw_of(arrays, problem, tree, tree + 1, raw)
                    for leaf, columns in enumerate(columns_of):
                        rows = np.flatnonzero(leaves[train, tree] == leaf)
                        slope_columns, slopes = naive.slopes_of(
                            arrays, arrays["first_leaf"][tree] + leaf
                        )
                        if not len(rows):
                            continue  # another number of a leaf that has rows
                        assert slope_columns == columns
                        for k in range(problem.width if columns else 0):
                            of_leaf = x[train[rows]][:, columns]
                            expected, mean = naive.ridge_slopes(
                                of_leaf, gradient[rows, k], hessian[rows, k], penalty
                            )
                            if np.abs(expected).max() < 1e-9:  # all rows have the same positions
                                assert np.abs(slopes[:, k]).max() < 1e-9
                                continue
                            ratio = slopes[:, k] @ expected / (expected @ expected)
                            assert np.allclose(
                                slopes[:, k], ratio * expected, rtol=1e-5, atol=1e-12
                            )
                            halvings = -np.log2(ratio * 256 / problem.learning_rate)
                            assert np.isclose(halvings, round(halvings), atol=1e-5)
                            assert halvings > -0.5
                            assert loss != "squared_error" or halvings < 0.5
                            # The weighted mean of the leaf is that of a constant leaf.
                            change = after[train[rows], k] - raw[train[rows], k]
                            constant = arrays["values"][arrays["first_leaf"][tree] + leaf, k]
                            assert np.allclose(
                                hessian[rows, k] @ change / hessian[rows, k].sum(),
                                constant + mean * 256 @ slopes[:, k],
                            )
                            n_compared += 1
                    raw = after
                assert n_compared > 5


@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_add_constants_and_slopes(shape):
    problem = make_problem(1, 40, **shape)
    arrays, booster = grown_linear(problem, range(4), 1.0)
    leaves = np.empty((len(problem.codes), 4), np.int32)
    trees_of(arrays, problem).leaves(problem.codes, leaves)
    raw = np.tile(booster.start, (len(problem.codes), 1))
    for tree in range(4):
        expected = naive.raw_after(
            arrays, arrays["positions"], problem.codes, leaves[:, tree], raw, tree
        )
        raw = raw_of(arrays, problem, tree, tree + 1, raw)
        assert np.allclose(raw, expected, rtol=1e-12)
    assert np.array_equal(raw[held_out(problem)], booster.raw(best=False))
    assert len(arrays["slopes"]) > 4


@given(
    seed=st.integers(0, 999),
    shape=st.sampled_from(SHAPES),
    loss=st.sampled_from(STEPPED),
    weights=st.sampled_from(WEIGHTS),
)
@settings(max_examples=30, deadline=None)
def test_a_huge_penalty_means_constants(seed, shape, loss, weights):
    problem = make_problem(seed, 50, weights, loss=loss, l2=1.0, subsample=0.8, **shape)
    constant, booster = grown(problem, range(6))
    linear, other = grown_linear(problem, range(6), 1e290)
    assert all(np.array_equal(linear[name], constant[name]) for name in constant)
    assert np.array_equal(other.raw(best=False), booster.raw(best=False))
    assert np.array_equal(other.losses(), booster.losses())


@given(
    seed=st.integers(0, 999),
    shape=st.sampled_from(SHAPES),
    loss=st.sampled_from(STEPPED),
    weights=st.sampled_from(WEIGHTS),
    learning_rate=st.sampled_from([0.1, 1.0, 3.0]),
    penalty=st.sampled_from([1e-3, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_the_training_loss_does_not_rise(seed, shape, loss, weights, learning_rate, penalty):
    problem = make_problem(
        seed, 50, weights, loss=loss, l2=0.1, learning_rate=learning_rate, quantile=0.8, **shape
    )
    booster = booster_of(problem, positions_of(problem), slope_l2=penalty)
    booster.grow(np.arange(10, dtype=np.uint64), watch_training=True)
    losses = booster.train_losses()
    if loss == "huber":  # its threshold changes between rounds
        assert losses[-1] <= losses[0]
    else:
        assert np.all(np.diff(losses) <= 1e-12 * np.abs(losses).max())


@given(
    seed=st.integers(0, 999),
    shape=st.sampled_from(SHAPES),
    loss=st.sampled_from(STEPPED),
    weights=st.sampled_from(WEIGHTS),
)
@settings(max_examples=30, deadline=None)
def test_the_order_of_rows_and_vectors_change_nothing(seed, shape, loss, weights):
    problem = make_problem(seed, 60, weights, loss=loss, l2=1.0, **shape)
    order = np.random.default_rng(seed).permutation(problem.train).astype(np.int32)
    first, _ = grown_linear(problem, range(6), 1.0)
    second, _ = grown_linear(replace(problem, train=order), range(6), 1.0, wide_vectors=False)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_threads_change_nothing():
    problem = make_problem(0, 20_000, loss="softmax", l2=1.0, max_depth=4)
    expected, _ = grown_linear(problem, range(2), 1.0)
    from concurrent.futures import ThreadPoolExecutor

    team = _core.BoostTeam(3)
    booster = booster_of(problem, positions_of(problem), slope_l2=1.0)
    with ThreadPoolExecutor(2) as pool:
        helpers = [pool.submit(team.help) for _ in range(2)]
        booster.grow(np.arange(2, dtype=np.uint64), team=team)
        team.close()
        for helper in helpers:
            helper.result()
    arrays = booster.trees()
    assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)


def test_arguments_that_do_not_fit_are_refused():
    problem = make_problem(0, 30)
    positions = positions_of(problem)
    with pytest.raises(ValueError, match="positions: expected for linear leaves"):
        booster_of(problem, positions)
    with pytest.raises(ValueError, match="positions: expected for linear leaves"):
        booster_of(problem, slope_l2=1.0)
    with pytest.raises(ValueError, match="256 numbers for each column"):
        booster_of(problem, positions[1:].copy(), slope_l2=1.0)
    for wrong in (positions * np.int16(2), positions + np.int16(1)):
        with pytest.raises(ValueError, match="numbers from -256 to 256, and 0 without a bin"):
            booster_of(problem, wrong, slope_l2=1.0)
    with pytest.raises(ValueError, match="slope_l2"):
        options_of(problem, slope_l2=0.0)
    with pytest.raises(ValueError, match="slope_l2: not with a loss whose leaves are quantiles"):
        options_of(replace(problem, loss="quantile"), slope_l2=1.0)
    arrays, _ = grown_linear(problem, range(2), 1.0)
    for name in ("first_slope", "slope_column", "slopes", "positions"):
        with pytest.raises(ValueError, match="expected all of them or none"):
            trees_of({key: arrays[key] for key in arrays if key != name}, problem)
    with pytest.raises(ValueError, match="slope_column: expected columns of the table"):
        trees_of(arrays | {"slope_column": arrays["slope_column"] + np.int32(5)}, problem)
    with pytest.raises(ValueError, match="first_slope"):
        trees_of(arrays | {"first_slope": arrays["first_slope"][1:].copy()}, problem)
