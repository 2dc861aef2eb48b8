"""Invariants of boosted trees on any table."""

from dataclasses import replace

import numpy as np
import pytest
from compiled import _core
from gradient_cases import (
    LOSSES,
    booster_of,
    grown,
    held_out,
    make_problem,
    options_of,
    table_of,
    trees_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_losses import mean_loss, weighted_quantile

SHAPES = st.sampled_from(
    [
        {"symmetric": True, "max_depth": 5},
        {"symmetric": False, "max_depth": 0, "max_leaf_nodes": 9},
        {"symmetric": False, "max_depth": 3, "max_leaf_nodes": 31},
    ]
)
ROUNDS = range(8)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


@given(
    seed=st.integers(0, 999),
    shape=SHAPES,
    loss=st.sampled_from(LOSSES),
    weights=st.sampled_from([None, "whole", "real"]),
    least=st.sampled_from([1, 4]),
)
@settings(max_examples=60, deadline=None)
def test_the_order_of_rows_changes_nothing(seed, shape, loss, weights, least):
    options = {**shape, "loss": loss, "min_samples_leaf": least, "l2": 1.0}
    problem = make_problem(seed, 60, weights, **options)
    order = np.random.default_rng(seed).permutation(problem.train).astype(np.int32)
    first, grown_trees = grown(problem, ROUNDS)
    second, other = grown(replace(problem, train=order), ROUNDS)
    assert np.array_equal(grown_trees.start, other.start)
    assert same(first, second)


@given(seed=st.integers(0, 999), shape=SHAPES, loss=st.sampled_from(LOSSES))
@settings(max_examples=40, deadline=None)
def test_whole_weights_are_copies(seed, shape, loss):
    problem = make_problem(seed, 50, "whole", loss=loss, l2=0.5, **shape)
    times = problem.weights[problem.train].astype(int)
    copies = replace(problem, weights=None, train=np.repeat(problem.train, times))
    first, weighted = grown(problem, ROUNDS)
    second, other = grown(copies, ROUNDS)
    assert np.array_equal(weighted.start, other.start)
    assert same(first, second)


@given(seed=st.integers(0, 999), shape=SHAPES, loss=st.sampled_from(LOSSES))
@settings(max_examples=20, deadline=None)
def test_scaling_weights_by_a_power_of_two_changes_nothing(seed, shape, loss):
    problem = make_problem(seed, 50, "real", loss=loss, **shape)
    first, _ = grown(problem, ROUNDS)
    second, _ = grown(replace(problem, weights=problem.weights * 4), ROUNDS)
    if loss in ("squared_error", "absolute_error", "quantile"):  # others have a least hessian
        assert np.array_equal(first["values"], second["values"])
    assert len(first["values"]) > 0


@given(
    seed=st.integers(0, 999),
    shape=SHAPES,
    loss=st.sampled_from([loss for loss in LOSSES if loss != "softmax"]),
    sign=st.sampled_from([1, -1]),
    subsample=st.sampled_from([1.0, 0.6]),
)
@settings(max_examples=40, deadline=None)
def test_raw_predictions_obey_monotonic_constraints(seed, shape, loss, sign, subsample):
    monotonic = np.array([sign, 0, 0, 0, 0])
    problem = make_problem(seed, 80, loss=loss, monotonic=monotonic, subsample=subsample, **shape)
    trees, booster = grown(problem, range(30))
    trees = trees_of(trees, problem)
    for row in problem.codes[:20]:
        line = np.tile(row, (problem.n_bins[0], 1))
        line[:, 0] = np.arange(problem.n_bins[0])
        raw = np.tile(booster.start, (len(line), 1))
        trees.add_raw(line, 0, trees.n_trees, raw)
        assert np.all(sign * np.diff(raw[:, 0]) >= -1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_paths_keep_to_one_group_of_columns(symmetric):
    groups = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
    problem = make_problem(1, 200, symmetric=symmetric, interactions=groups, max_leaf_nodes=12)
    trees, _ = grown(problem, range(10))
    for first, last in zip(trees["first_split"][:-1], trees["first_split"][1:], strict=True):
        if symmetric:
            assert len(set(trees["column"][first:last] > 1)) == 1
            continue
        for number in range(first, last):
            for child in (trees["left"][number], trees["right"][number]):
                if child >= 0:
                    both = trees["column"][[number, first + child]] > 1
                    assert both[0] == both[1]


def test_raw_predictions_to_go_on_from():
    problem = make_problem(4, 100, symmetric=False)
    whole, booster = grown(problem, range(6))
    first, _ = grown(problem, range(3))
    raw = np.tile(booster.start, (len(problem.codes), 1))
    trees_of(first, problem).add_raw(problem.codes, 0, 3, raw)
    table, options = table_of(problem), options_of(problem)
    rest = _core.GradientBooster(
        table, problem.y, None, problem.train, held_out(problem), options, raw
    )
    rest.grow(np.arange(3, 6, dtype=np.uint64))
    n = len(first["values"])
    assert np.array_equal(rest.trees()["values"], whole["values"][n:])
    assert np.array_equal(rest.raw(best=False), booster.raw(best=False))


def test_early_stopping_keeps_the_best_round():
    rng = np.random.default_rng(0)
    problem = replace(
        make_problem(5, 300, loss="log_loss", learning_rate=0.5),
        y=rng.integers(0, 2, 300).astype(float),
        train=np.arange(150, dtype=np.int32),
    )
    booster = booster_of(problem)
    stopped = booster.grow(np.arange(100, dtype=np.uint64), patience=5)
    losses = booster.losses()
    assert stopped
    assert booster.n_rounds == len(losses) - 1 == booster.best_round + 5
    assert losses.argmin() == booster.best_round
    raw = np.tile(booster.start, (300, 1))
    trees_of(booster.trees(), problem).add_raw(problem.codes, 0, booster.best_round, raw)
    assert np.array_equal(raw[150:], booster.raw())
    y, f = problem.y[150:], raw[150:, 0]
    assert losses[booster.best_round] == pytest.approx(np.mean(np.logaddexp(0, f) - y * f))


def test_a_constant_target_has_no_splits():
    for y in [np.zeros(40), np.full(40, 1e-300), np.full(40, 7.5)]:
        for symmetric in [True, False]:
            problem = replace(make_problem(7, 40, symmetric=symmetric), y=y)
            trees, booster = grown(problem, range(3))
            assert len(trees["column"]) == 0
            assert booster.start == pytest.approx(y[:1])
            assert not trees["values"].any()


def test_targets_of_any_size():
    for size in [1e-90, 1e-20, 1e20, 1e90]:
        for symmetric in [True, False]:
            problem = make_problem(8, 60, symmetric=symmetric)
            size = 2.0 ** np.round(np.log2(size))
            expected, _ = grown(problem, range(4))
            result, _ = grown(replace(problem, y=problem.y * size), range(4))
            assert np.array_equal(result["column"], expected["column"])
            assert np.array_equal(result["values"], expected["values"] * size)


@pytest.mark.parametrize("wide_vectors", [True, False])
@pytest.mark.parametrize(("loss", "n_classes"), [*((name, 3) for name in LOSSES), ("softmax", 41)])
def test_losses_are_computed_for_each_row(loss, n_classes, wide_vectors):
    for weights in [None, "whole", "real"]:
        for rate in [0.3, 30.0]:
            problem = make_problem(
                5, 150, weights, loss=loss, n_classes=n_classes, symmetric=False,
                learning_rate=rate, quantile=0.6, max_depth=3,
            )  # fmt: skip
            rows = (
                problem.train
            )  # the same rows are held out, whose losses are found by other code
            options = options_of(problem, wide_vectors=wide_vectors)
            booster = _core.GradientBooster(
                table_of(problem), problem.y, problem.weights, rows, rows, options
            )
            y = problem.y[rows]
            times = np.ones(len(rows)) if weights is None else problem.weights[rows]
            for seed in range(6):
                booster.grow(np.array([seed], np.uint64), watch_training=True)
                raw = booster.raw(best=False).reshape(len(rows), -1)
                large = weighted_quantile(abs(y - raw[:, 0]), times, problem.quantile)
                assert booster.losses()[-1] == mean_loss(problem, raw, y, times, large)
            assert np.array_equal(booster.losses(), booster.train_losses())


@pytest.mark.parametrize(("symmetric", "subsample"), [(True, 0.6), (False, 0.6), (False, 1.0)])
def test_each_training_row_gets_the_value_of_its_leaf(symmetric, subsample):
    for train in ["all", "first", "some", "copies"]:
        problem = make_problem(8, 300, symmetric=symmetric, subsample=subsample, max_leaf_nodes=12)
        rows = np.arange(300, dtype=np.int32)
        rng = np.random.default_rng(0)
        problem.train = {
            "all": rows,
            "first": rows[:200],
            "some": rng.permutation(rows)[:200],
            "copies": rng.choice(rows, 400),
        }[train]
        booster = booster_of(problem)
        booster.grow(np.arange(6, dtype=np.uint64), watch_training=True)
        raw = np.tile(booster.start, (300, 1))
        y, ones = problem.y[problem.train], np.ones(len(problem.train))
        for t, loss in enumerate(booster.train_losses()):
            if t:
                trees_of(booster.trees(), problem).add_raw(problem.codes, t - 1, t, raw)
            assert loss == mean_loss(problem, raw[problem.train], y, ones, 0)


def test_other_rows_of_the_table_change_nothing():
    for loss in LOSSES:
        for subsample in [1.0, 0.6]:
            for symmetric in [True, False]:
                options = {"symmetric": symmetric, "subsample": subsample, "max_leaf_nodes": 12}
                problem = make_problem(9, 3000, loss=loss, **options)
                first, every = np.arange(200, dtype=np.int32), np.zeros(2, np.int32)
                few = replace(
                    problem, codes=problem.codes[:200].copy(), y=problem.y[:200], train=first
                )
                result = []
                for case in (few, replace(problem, train=first)):
                    booster = _core.GradientBooster(
                        table_of(case), case.y, None, first, every, options_of(case)
                    )
                    booster.grow(np.arange(5, dtype=np.uint64))
                    result.append(booster.trees())
                assert same(*result)
                leaf_weights = np.add.reduceat(result[1]["weight"], result[1]["first_leaf"][:-1])
                assert np.array_equal(leaf_weights, np.full(5, 200.0))
