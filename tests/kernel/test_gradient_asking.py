"""Predictions of boosted trees row by row and in blocks, and helper threads for growth."""

from threading import Thread

import numpy as np
import pytest
from compiled import _core
from gradient_cases import booster_of, grown, held_out, make_problem, options_of, trees_of


def test_blocks_of_rows_end_where_each_row_does():
    for most in [1, 2, 20, 32, 33, 64, 65, 120]:
        problem = make_problem(
            1, n_rows=400, symmetric=False, max_depth=0, max_leaf_nodes=most, loss="squared_error"
        )
        arrays, _ = grown(problem, range(4))
        assert np.diff(arrays["first_leaf"]).max() == most
        check_blocks(trees_of(arrays, problem), problem.codes, 4)


def test_blocks_of_any_length():
    for symmetric in [True, False]:
        for loss in ["squared_error", "softmax"]:
            problem = make_problem(2, n_rows=300, loss=loss, symmetric=symmetric, max_depth=5)
            arrays, _ = grown(problem, range(5))
            trees = trees_of(arrays, problem)
            for n in (1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300):
                check_blocks(trees, problem.codes[:n], 5)
            width = arrays["values"].shape[1]
            together, alone = np.zeros((300, width)), np.zeros((300, width))
            trees.add_raw(problem.codes, 0, 5, together)
            for i in range(300):
                trees.add_raw(problem.codes[i : i + 1], 0, 5, alone[i : i + 1])
            assert np.array_equal(together, alone)


def check_blocks(trees, codes, n_trees):
    together = np.full((len(codes), n_trees), -1, np.int32)
    trees.leaves(codes, together)
    for row, expected in zip(codes, together, strict=True):
        result = np.empty((1, n_trees), np.int32)
        trees.leaves(row[None], result)
        assert np.array_equal(result[0], expected)


def test_splits_of_several_parents():
    """Such trees are never grown, but predictions must end."""
    n = 40  # both children of each split are the next one
    arrays = {
        "first_split": np.array([0, n]),
        "first_leaf": np.array([0, n + 1]),
        "column": np.zeros(n, np.int32),
        "shift": np.zeros(n, np.uint8),
        "threshold": np.full(n, 3, np.uint8),
        "set": np.full(n, -1, np.int32),
        "left": np.array([*range(1, n), -1], np.int32),
        "right": np.array([*range(1, n), -2], np.int32),
        "sets": np.zeros((0, 4), np.uint64),
        "values": np.arange(n + 1.0)[:, None],
    }
    trees = _core.GradientTrees(**arrays, symmetric=False, n_columns=1)
    codes = np.arange(50, dtype=np.uint8)[:, None]
    result = np.zeros((50, 1))
    trees.add_raw(codes, 0, 1, result)
    assert np.array_equal(result[:, 0], codes[:, 0] > 3)


@pytest.mark.parametrize(("symmetric", "subsample"), [(True, 1.0), (False, 1.0), (False, 0.6)])
def test_threads_of_a_team_work(symmetric, subsample):
    options = {"symmetric": symmetric, "subsample": subsample, "max_depth": 5}
    problem = make_problem(3, n_rows=20_000, **options)
    seeds = np.arange(30, dtype=np.uint64)
    expected = booster_of(problem)
    expected.grow(seeds)
    for _ in range(200):  # until a busy machine lets the helper take part
        booster, team, done = booster_of(problem), _core.BoostTeam(2), []
        helper = Thread(target=lambda team=team, done=done: done.append(team.help()))
        helper.start()
        booster.grow(seeds, team=team)
        team.close()
        helper.join()
        assert all(np.array_equal(booster.trees()[k], v) for k, v in expected.trees().items())
        if done[0]:
            break
    assert done[0] > 0


def test_boosters_of_replaced_columns():
    """Boosters share the codes of a table; new boosters use its replaced columns."""
    problem = make_problem(4, n_rows=60)
    values = np.concatenate([np.arange(n, dtype=float) for n in problem.n_bins])
    start = np.concatenate([[0], np.cumsum(problem.n_bins)]).astype(np.int64)
    kinds = problem.categorical.astype(np.uint8)
    table = _core.BinnedTable(problem.codes.copy(), None, values, start, kinds)
    seeds = np.arange(5, dtype=np.uint64)

    def booster_on(table):
        held_out_rows = held_out(problem)
        return _core.GradientBooster(
            table, problem.y, None, problem.train, held_out_rows, options_of(problem)
        )

    before = booster_on(table)
    n = problem.n_bins[0]
    turned = np.ascontiguousarray(n - 1 - problem.codes[:, :1])
    table.replace_columns(0, turned, values[:n], np.array([0, n]), kinds[:1])
    after = booster_on(table)
    expected = booster_of(problem)
    other = _core.BinnedTable(
        np.column_stack([turned, problem.codes[:, 1:]]), None, values, start, kinds
    )
    for booster, same in ((before, expected), (after, booster_on(other))):
        booster.grow(seeds)
        same.grow(seeds)
        assert all(np.array_equal(booster.trees()[k], v) for k, v in same.trees().items())
    assert not np.array_equal(before.trees()["threshold"], after.trees()["threshold"])
