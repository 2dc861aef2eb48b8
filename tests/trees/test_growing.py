from dataclasses import replace
from itertools import pairwise
from time import monotonic

import naive
import numpy as np
import pytest
from forest_cases import bin_table

import mddf
from mddf._base.parallel import TimeIsUp
from mddf._binning.bins import find_bins
from mddf._trees import grower, predictor
from mddf._trees.grower import ClassTarget, Sampling, TreeJob, TreeOptions


@pytest.fixture(scope="module")
def problem():
    """Three classes with missing values, and 30 held-out rows."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(150, 6)), 1)
    y = ((X[:, 0] > 0) + (X[:, 1] + X[:, 2] > 0.5)).astype(np.uint16)
    X[rng.random(X.shape) < 0.05] = np.nan
    return bin_table(X, find_bins(X)), ClassTarget(y, 3), np.arange(120, dtype=np.int32)


def blocks_of(rows, n=7):
    return [
        TreeJob(
            seeds=grower.draw_seeds(1, n),
            options=TreeOptions(max_features=2),
            sampling=Sampling(rows, n_draws=len(rows)),
            held_out=grower.OUT_OF_BAG,
            importances=True,
        ),
        TreeJob(
            seeds=grower.draw_seeds(2, n + 90),
            options=TreeOptions(random_thresholds=True),
            sampling=Sampling(rows),
            held_out=np.arange(120, 150, dtype=np.int32),
        ),
        TreeJob(
            seeds=grower.draw_seeds(3, 1),
            options=TreeOptions(max_features=3, entropy=True, max_depth=3),
            sampling=Sampling(rows[::2].copy(), weights=np.arange(150) % 3.0),
            columns=np.array([1, 4], np.int32),
        ),
    ]


def all_nodes(grown):
    return [nodes for trees in grown.trees for nodes in naive.decode(trees)]


@pytest.mark.parametrize("n_jobs", [3, -1])
def test_n_jobs_changes_nothing(problem, n_jobs):
    table, y, rows = problem
    blocks = blocks_of(rows)
    sequential = grower.grow(table, y, blocks, n_jobs=1)
    many = grower.grow(table, y, blocks, n_jobs=n_jobs)
    for a, b in zip(sequential, many, strict=True):
        assert all_nodes(a) == all_nodes(b)
        for name in ("sums", "n_trees"):
            assert np.array_equal(getattr(a, name), getattr(b, name))
        if a.importances is None:
            assert b.importances is None
        else:
            assert np.array_equal(a.importances, b.importances)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_time_ends_growing(problem, n_jobs):
    table, y, rows = problem
    blocks = blocks_of(rows)
    with pytest.raises(TimeIsUp):
        grower.grow(table, y, blocks, until=monotonic() - 1, whole=True, n_jobs=n_jobs)
    first = [replace(block, seeds=block.seeds[:1]) for block in blocks]
    few = grower.grow(table, y, blocks, until=monotonic() - 1, n_jobs=n_jobs)
    for a, b in zip(grower.grow(table, y, first), few, strict=True):
        assert all_nodes(a) == all_nodes(b)
        assert np.array_equal(a.sums, b.sums)
        assert np.array_equal(a.n_trees, b.n_trees)
    assert grower.grow(table, y, [], until=0.0) == []


@pytest.mark.parametrize("size", [1, 3])
def test_results_do_not_depend_on_the_cuts(problem, monkeypatch, size):
    table, y, rows = problem
    blocks = blocks_of(rows)
    whole = grower.grow(table, y, blocks)

    def pieces(blocks, n_jobs, most):
        for index, block in enumerate(blocks):
            for first in range(0, len(block.seeds), size):
                yield index, first, min(first + size, len(block.seeds))

    monkeypatch.setattr(grower, "_cut_into_pieces", pieces)
    cut = grower.grow(table, y, blocks)
    for a, b in zip(whole, cut, strict=True):
        assert all_nodes(a) == all_nodes(b)
        assert np.array_equal(a.sums, b.sums)
        assert np.array_equal(a.n_trees, b.n_trees)


FEW_CELLS = {
    "random": mddf.RandomForestClassifier(7, random_state=0),
    "completely random": mddf.CompletelyRandomForestClassifier(7, random_state=0),
    "regressor": mddf.RandomForestRegressor(7, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", FEW_CELLS)
def test_numbers_go_where_their_codes_do(kind, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(90, 200)), rng.integers(-3, 4, (90, 200))])
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(dtype)
    y = np.nansum(X[:, :3], axis=1) + np.isnan(X[:, 300])
    y = np.column_stack([y, -y]) if kind == "regressor" else np.round(y)
    forest = FEW_CELLS[kind].fit(X, y)
    bins = forest._binner.bins_
    edges = [bins.edges[a:b] for a, b in pairwise(bins.start)]
    new = np.column_stack([rng.choice(np.append(part[:-1], [-1e30, 1e30]), 50) for part in edges])
    predict = forest.predict if kind == "regressor" else forest.predict_proba
    for rows in (X, new, new.astype(np.float32), np.asfortranarray(new)[::-2], new[:1]):
        result = []
        for numbers in (True, False):
            answers = []
            monkeypatch.setattr(
                predictor, "prefers_raw_numbers", lambda *_, n=numbers, a=answers: a.append(n) or n
            )
            result += [predict(rows), forest.set_params(n_jobs=2).predict(rows)]
            assert answers == [numbers] * 2
        assert np.array_equal(result[0], result[2])
        assert np.array_equal(result[1], result[3])
