"""Boosters on codes in the layout of trees grow the trees of boosters on a coded table."""

import gc
import weakref
from dataclasses import replace

import gradient_cases
import numpy as np
import pytest
from compiled import _core


def column_table_of(problem):
    # Missing values have the code after the last bin there, and 255 in the problem.
    columns = [
        np.where(problem.codes[:, c] == 255, np.uint8(n), problem.codes[:, c])
        for c, n in enumerate(problem.n_bins)
    ]
    start = np.concatenate([[0], np.cumsum(problem.n_bins)]).astype(np.int64)
    return _core.ColumnTable(np.stack(columns), start, problem.categorical.astype(np.uint8))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_the_trees_of_a_coded_table(symmetric, weights, monkeypatch):
    problem = gradient_cases.make_problem(0, 300, weights, symmetric=symmetric)
    seeds = np.arange(5, dtype=np.uint64)
    expected, _ = gradient_cases.grown(problem, seeds)
    monkeypatch.setattr(gradient_cases, "table_of", column_table_of)
    booster = gradient_cases.booster_of(problem)
    gc.collect()  # the booster keeps its table alive
    booster.grow(seeds)
    for name, array in booster.trees().items():
        np.testing.assert_array_equal(array, expected[name])


def with_encoded_levels(problem):
    """Add 30 columns of a one-hot encoding. Some of their ones are missing values."""
    n_rows = len(problem.codes)
    levels = np.random.default_rng(0).integers(0, 30, n_rows)
    encoded = (levels[:, None] == np.arange(30)).astype(np.uint8)
    encoded[:, 7] *= np.uint8(gradient_cases.MISSING)
    return replace(
        problem,
        codes=np.hstack([problem.codes, encoded, problem.codes[:, :1]]),
        n_bins=[*problem.n_bins, *[2] * 30, problem.n_bins[0]],
        categorical=np.append(problem.categorical, [False] * 20 + [True] * 10 + [False]),
        y=(problem.y + levels) % problem.n_classes
        if problem.loss == "softmax"
        else problem.y + levels % 3,
    )


@pytest.mark.parametrize("n_rows", [500, 20_000])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("symmetric", [True, False])
def test_bundles_of_columns_do_not_change_the_trees(symmetric, n_classes, n_rows, monkeypatch):
    loss = "softmax" if n_classes > 2 else "squared_error"
    growth = {"symmetric": symmetric, "loss": loss, "n_classes": n_classes}
    problem = with_encoded_levels(gradient_cases.make_problem(0, n_rows, "whole", **growth))
    boosters = [gradient_cases.booster_of(problem, counting="histograms")]
    # Codes in the layout of trees are not bundled.
    monkeypatch.setattr(gradient_cases, "table_of", column_table_of)
    boosters.append(gradient_cases.booster_of(problem, counting="histograms"))
    bundled, single = boosters
    bundled.grow(np.arange(4, dtype=np.uint64), team=_core.BoostTeam(3))
    single.grow(np.arange(4, dtype=np.uint64))
    trees = single.trees()
    assert set(trees["column"]) & set(range(5, 35))
    for name, array in bundled.trees().items():
        np.testing.assert_array_equal(array, trees[name])


class Codes(np.ndarray):
    """An array that weak references can refer to."""


def test_the_codes_are_freed_with_the_booster(monkeypatch):
    problem = gradient_cases.make_problem(0, 300)
    codes = np.zeros((5, 300), np.uint8).view(Codes)
    codes[:, ::2] = 1
    freed = weakref.ref(codes)
    start = np.arange(6, dtype=np.int64)
    table = _core.ColumnTable(codes, start, np.zeros(5, np.uint8))
    monkeypatch.setattr(gradient_cases, "table_of", lambda _, columns=table: columns)
    booster = gradient_cases.booster_of(problem)
    monkeypatch.undo()
    del codes, table
    gc.collect()
    assert freed() is not None
    booster.grow(np.arange(2, dtype=np.uint64))
    del booster
    gc.collect()
    assert freed() is None


START = np.array([0, 2, 5], np.int64)
CATEGORICAL = np.zeros(2, np.uint8)


def test_tables_that_are_refused():
    for codes, start, categorical, message in [
        ([[0, 3], [0, 0]], START, CATEGORICAL, "codes: one is above"),
        ([[0, 255], [0, 0]], START, CATEGORICAL, "codes: one is above"),
        ([[], []], START, CATEGORICAL, "rows of codes"),
        ([[0, 1], [0, 0]], START[:2], CATEGORICAL, "bin_start"),
        ([[0, 1], [0, 0]], START[::-1].copy(), CATEGORICAL, "bin_start, bins of a column"),
        ([[0, 1], [0, 0]], START, CATEGORICAL[:1], "categorical"),
    ]:
        _core.ColumnTable(np.array([[2], [3]], np.uint8), START, CATEGORICAL)
        with pytest.raises(ValueError, match=message):
            _core.ColumnTable(np.array(codes, np.uint8).reshape(2, -1), start, categorical)
