"""Invariants of boosted trees on any table."""

from dataclasses import replace

import numpy as np
import pytest
from compiled import _core
from gradient_cases import (
    LOSSES,
    booster_of,
    grown,
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


@pytest.mark.parametrize("wide_vectors", [True, False])
@pytest.mark.parametrize(("loss", "n_classes"), [*((name, 3) for name in LOSSES), ("softmax", 41)])
def test_losses_are_computed_for_each_row(loss, n_classes, wide_vectors):
    for weights in [None, "whole", "real"]:
        for rate in [0.3, 30.0]:
            problem = make_problem(
                5, 150, weights, loss=loss, n_classes=n_classes, symmetric=False,
                learning_rate=rate, quantile=0.6, max_depth=3,
            )  # fmt: skip
            rows = problem.train  # the same rows are held out, whose losses other code computes
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
