from dataclasses import replace
from itertools import pairwise
from time import monotonic

import naive
import numpy as np
import pandas as pd
import pytest
from forest_cases import bin_table

import mddf
from mddf._base.parallel import TimeIsUp
from mddf._binning import binner
from mddf._binning import bins as binning
from mddf._binning.bins import find_bins
from mddf._input.reading import read_table
from mddf._trees import grower, predictor
from mddf._trees.arrays import Trees
from mddf._trees.grower import ClassTarget, GrowthResult, Sampling, TreeJob, TreeOptions


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


@pytest.mark.parametrize("n_jobs", [2, 3, 5, -1])
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
@pytest.mark.parametrize("whole", [False, True])
def test_a_sufficient_time_limit_changes_nothing(problem, n_jobs, whole):
    table, y, rows = problem
    blocks = blocks_of(rows)
    plain = grower.grow(table, y, blocks)
    until = monotonic() + 1e6
    limited = grower.grow(table, y, blocks, until=until, whole=whole, n_jobs=n_jobs)
    for a, b in zip(plain, limited, strict=True):
        assert all_nodes(a) == all_nodes(b)
        for name in ("sums", "n_trees", "importances"):
            assert np.array_equal(getattr(a, name), getattr(b, name))


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


@pytest.mark.parametrize("whole", [False, True])
def test_time_ends_a_tree_in_the_middle(whole):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(60_000, 10)), np.arange(60_000, dtype=np.int32)
    table, y = (
        bin_table(X, find_bins(X)),
        ClassTarget(rng.integers(0, 2, 60_000).astype(np.uint16), 2),
    )
    trees = {"options": TreeOptions(), "sampling": Sampling(rows), "held_out": rows[:9]}
    blocks = [TreeJob(seeds=grower.draw_seeds(1, 1000), **trees)]
    start = monotonic()
    if whole:
        with pytest.raises(TimeIsUp):
            grower.grow(table, y, blocks, until=start + 0.3, whole=True, n_jobs=2)
    else:
        (grown,) = grower.grow(table, y, blocks, until=start + 0.3, n_jobs=2)
        n_trees = sum(trees.n_trees for trees in grown.trees)
        assert 1 <= n_trees < 1000
        assert set(grown.n_trees) == {n_trees}
        assert grown.sums.sum() == pytest.approx(9 * n_trees)
    assert monotonic() - start < 10


@pytest.mark.parametrize("size", [1, 2, 3, 64])
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


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_pieces_cover_every_tree_once(problem, n_jobs):
    blocks = [replace(blocks_of(problem[2])[0], seeds=np.arange(n)) for n in (1, 200, 0, 64, 5)]
    piece_trees = [set() for _ in blocks]
    for job_index, first, last in grower._cut_into_pieces(blocks, n_jobs, 64):
        assert 0 < last - first <= 64
        trees = set(range(first, last))
        assert piece_trees[job_index].isdisjoint(trees)
        piece_trees[job_index] |= trees
    assert [len(trees) for trees in piece_trees] == [1, 200, 0, 64, 5]


def test_many_forests_in_one_call_equal_each_alone(problem):
    table, y, rows = problem
    blocks = blocks_of(rows)
    together = grower.grow(table, y, blocks)
    for block, grown in zip(blocks, together, strict=True):
        (alone,) = grower.grow(table, y, [block])
        assert all_nodes(alone) == all_nodes(grown)
        assert np.array_equal(alone.sums, grown.sums)


def test_every_tree_has_its_seed(problem):
    table, y, rows = problem
    block = blocks_of(rows)[0]
    trees = all_nodes(grower.grow(table, y, [block])[0])
    for i in (0, 3, 6):
        (alone,) = grower.grow(table, y, [replace(block, seeds=block.seeds[i : i + 1])])
        assert all_nodes(alone) == [trees[i]]
    assert all(a != b for a, b in pairwise(trees))


def test_held_out_rows_are_predicted_by_these_trees(problem):
    table, y, rows = problem
    _, grown, _ = grower.grow(table, y, blocks_of(rows), n_jobs=2)
    expected = predictor.leaf_sums(grown.trees, table.codes[120:])
    assert np.array_equal(grown.sums, expected)
    assert (grown.n_trees == 97).all()
    np.testing.assert_allclose(grown.held_out_probabilities(), expected / 97, atol=1e-7)
    np.testing.assert_allclose(grown.held_out_probabilities().sum(axis=1), 1, rtol=1e-15)


def test_out_of_bag_rows_are_predicted_by_the_trees_that_left_them_out(problem):
    table, y, rows = problem
    block = blocks_of(rows)[0]
    (grown,) = grower.grow(table, y, [block], n_jobs=2)
    sums, n_trees = np.zeros((120, 3)), np.zeros(120)
    for seed, nodes in zip(block.seeds, all_nodes(grown), strict=True):
        left_out = naive.bootstrap(seed, rows, 120, 150)[:120] == 0
        n_trees += left_out
        for row in np.flatnonzero(left_out):
            for label, p in naive.find_leaf(nodes, table.codes[row]).distribution.items():
                sums[row, label] += p
    assert np.array_equal(grown.sums, sums)
    assert np.array_equal(grown.n_trees, n_trees)
    never = n_trees == 0
    assert never.any()
    assert np.isnan(grown.held_out_probabilities()[never]).all()
    assert not np.isnan(grown.held_out_probabilities()[~never]).any()


def test_folds_on_one_table_learn_nothing_from_held_out_rows():
    # Random labels: a prediction from trees with the row itself would be right too often.
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 8)), rng.integers(0, 2, 600).astype(np.uint16)
    table = bin_table(X, find_bins(X))
    folds = np.array_split(rng.permutation(600).astype(np.int32), 5)
    blocks = []
    for i, fold in enumerate(folds):
        rows = np.concatenate(folds[:i] + folds[i + 1 :])
        for random_thresholds in (False, True):
            options = TreeOptions(random_thresholds=random_thresholds, max_features=1)
            seeds = grower.draw_seeds([i, random_thresholds], 20)
            blocks.append(TreeJob(seeds, options, Sampling(rows), held_out=np.sort(fold)))
    grown = grower.grow(table, ClassTarget(y, 2), blocks, n_jobs=2)
    right = [
        (result.held_out_probabilities().argmax(axis=1) == y[block.held_out])
        for block, result in zip(blocks, grown, strict=True)
    ]
    assert 0.45 < np.mean(np.concatenate(right)) < 0.55
    for block, result in zip(blocks, grown, strict=True):
        training_sums = predictor.leaf_sums(result.trees, table.codes[block.sampling.rows])
        assert (training_sums.argmax(axis=1) == y[block.sampling.rows]).all()
        # Other labels of the rows held out change nothing.
    other = y.copy()
    other[blocks[0].held_out] = 1 - other[blocks[0].held_out]
    (again,) = grower.grow(table, ClassTarget(other, 2), blocks[:1])
    assert all_nodes(again) == all_nodes(grown[0])
    assert np.array_equal(again.sums, grown[0].sums)


def test_columns_rows_and_weights_of_a_block(problem):
    table, y, rows = problem
    block = blocks_of(rows)[2]
    (grown,) = grower.grow(table, y, [block])
    (nodes,) = all_nodes(grown)
    assert {node.column for node in nodes.values()} <= {-1, 1, 4}
    weights = np.zeros(150)
    weights[rows[::2]] = block.sampling.weights[rows[::2]]
    for node, node_rows, depth in naive.visit(nodes, table.codes, np.flatnonzero(weights)):
        assert depth <= 3
        if node.is_leaf:
            of_class = np.bincount(y.labels[node_rows], weights[node_rows], 3)
            assert node.distribution == naive.leaf_distribution(of_class)


def test_importances_are_normalised_by_tree(problem):
    table, y, rows = problem
    block = replace(blocks_of(rows)[0], sampling=Sampling(rows), held_out=None)
    (grown,) = grower.grow(table, y, [block], n_jobs=2)
    expected = np.zeros(6)
    for nodes in all_nodes(grown):
        of_tree = naive.importances(nodes, table.codes, rows, y.labels, np.ones(150), 3, 6)
        expected += of_tree / of_tree.sum()
    np.testing.assert_allclose(grown.importances, expected, rtol=1e-9)
    stumps = replace(block, options=TreeOptions(max_depth=0))
    assert grower.grow(table, y, [stumps])[0].importances.tolist() == [0] * 6


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sums_and_leaves_of_many_rows(problem, n_jobs):
    table, y, rows = problem
    grown = grower.grow(table, y, blocks_of(rows))
    trees = grown[0].trees + grown[2].trees
    codes = np.tile(table.codes, (200, 1))  # enough work for three threads
    sums = predictor.leaf_sums(trees, codes, n_jobs=n_jobs)
    expected = sum(naive.probabilities(block, table.codes, 3) for block in trees)
    assert np.array_equal(sums, np.tile(expected, (200, 1)))
    leaves = predictor.forest_leaves(trees, codes, n_jobs=n_jobs)
    assert leaves.shape == (30_000, 8)
    expected = np.hstack([naive.leaves(block, table.codes) for block in trees])
    assert np.array_equal(leaves, np.tile(expected, (200, 1)))


SMALL = {"n_estimators": 3, "random_state": 0}
WIDE = {
    "forest": (mddf.RandomForestClassifier(**SMALL), ["predict_proba", "apply"]),
    "regressor": (
        mddf.RandomForestRegressor(**SMALL, keep_targets=5),
        ["predict", "predict_quantiles"],
    ),
    "cascade": (
        mddf.MDDFClassifier(2, **SMALL, forests=["random"], cv=2, early_stopping=False),
        ["predict_proba", "decision_function", "transform"],
    ),
    "deep forest": (
        mddf.DeepForestClassifier(2, **SMALL, members=["random", "completely-random"]),
        ["predict_proba", "transform"],
    ),
    "deep regressor": (mddf.DeepForestRegressor(2, **SMALL, members=["random"]), ["predict"]),
}


@pytest.mark.parametrize("kind", WIDE)
def test_unused_columns_are_not_coded(kind, monkeypatch):
    model, methods = WIDE[kind]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 300))).rename(columns=str)
    y = (X["0"] + X["299"] > 0).astype(int)
    X["1"] = pd.Categorical(np.where(y, "yes", "no"))
    model.fit(X, y)
    column_masks = []

    def apply_bins(*arguments, **options):
        column_masks.append(options["wanted"])
        return binning.apply_bins(*arguments, **options)

    monkeypatch.setattr(binner, "apply_bins", apply_bins)
    few = [getattr(model, method)(X[::-1]) for method in methods]
    assert any(mask is not None and not mask.all() for mask in column_masks)
    if "transform" in methods:
        with pytest.warns(UserWarning, match="not out-of-fold"):
            model.transform(X)
    monkeypatch.setattr(predictor, "_MIN_COLUMNS_TO_SELECT", 301)
    for method, result in zip(methods, few, strict=True):
        assert np.array_equal(getattr(model, method)(X[::-1]), result)


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


def test_trees_predict_raw_numbers_if_they_use_few_cells():
    X = np.random.default_rng(0).normal(size=(150, 1000))
    y = X[:, 0] > 0
    few, many = (mddf.RandomForestClassifier(n, random_state=0).fit(X, y) for n in (20, 500))
    is_wanted = np.ones(1000, bool)
    assert predictor.prefers_raw_numbers(few._trees, X, is_wanted)
    assert not predictor.prefers_raw_numbers(many._trees, X, is_wanted)
    assert not predictor.prefers_raw_numbers(few._trees, np.round(np.abs(X)), is_wanted[:500])
    assert numbers_to_compare(few, X) is not None
    assert numbers_to_compare(many, X) is None
    assert numbers_to_compare(few, X.astype(int)) is None
    assert numbers_to_compare(few, pd.DataFrame(X)) is None
    X[:, 1] = np.round(X[:, 1])
    few.set_params(categorical_features=[1]).fit(X, y)
    assert numbers_to_compare(few, X) is None


def numbers_to_compare(forest, X):
    table = read_table(forest, X, reset=False)
    return forest._fitted._numbers_to_compare(forest._fitted.only_member, table)


def test_sums_are_exact_in_any_order(problem):
    table, y, rows = problem
    block = replace(blocks_of(rows)[0], options=TreeOptions(max_features=1, max_depth=3))
    single = [replace(block, seeds=block.seeds[i : i + 1]) for i in range(7)]
    trees = [grown.trees[0] for grown in grower.grow(table, y, single)]
    sums = predictor.leaf_sums(trees, table.codes)
    assert np.array_equal(sums, predictor.leaf_sums(trees[::-1], table.codes))


def test_longer_seed_streams_start_with_the_shorter_ones():
    long = grower.draw_seeds([5, 6], 1000)
    assert long.dtype == np.uint64
    assert np.array_equal(long[:10], grower.draw_seeds([5, 6], 10))
    assert len(np.unique(long)) == 1000
    assert not np.intersect1d(long, grower.draw_seeds([5, 7], 1000)).size


def test_no_trees_and_no_blocks(problem):
    table, y, rows = problem
    assert grower.grow(table, y, []) == []
    (grown,) = grower.grow(table, y, [replace(blocks_of(rows)[0], seeds=np.array([], "u8"))])
    assert grown == GrowthResult()


def test_progress_is_shown_on_request(problem, capsys):
    table, y, rows = problem
    grower.grow(table, y, blocks_of(rows), description="growing here")
    assert capsys.readouterr().err == ""
    grower.grow(table, y, blocks_of(rows), verbose=True, description="growing here")
    output = capsys.readouterr().err
    assert "growing here" in output
    assert "105/105" in output


def test_trees_take_little_memory(problem):
    table, y, rows = problem
    grown = grower.grow(table, y, blocks_of(rows))[1]
    n_nodes = sum(block.n_nodes for block in grown.trees)
    assert sum(block.n_bytes for block in grown.trees) < 9 * n_nodes + 1000
    assert isinstance(grown.trees[0], Trees)


def test_received_arrays_may_be_read_only():
    grown = grower.GrowthResult()
    for _ in range(2):
        sums, n_trees, importances = np.ones((3, 2)), np.ones(3, np.int32), np.ones((4, 5))
        for array in (sums, n_trees, importances):
            array.flags.writeable = False
        grown.merge(grower._GrownPiece(None, sums, n_trees, importances))
    assert (grown.sums == 2).all()
    assert (grown.n_trees == 2).all()
    np.testing.assert_allclose(grown.importances, 8 / 5)
