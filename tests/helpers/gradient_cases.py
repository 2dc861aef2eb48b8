"""Small random problems for boosted trees, in the kernel and in the slow twin."""

from __future__ import annotations

from dataclasses import fields

import naive_gradient
import numpy as np
from compiled import _core
from naive_losses import Problem

MISSING = naive_gradient.MISSING
LOSSES = [
    "squared_error",
    "absolute_error",
    "quantile",
    "huber",
    "poisson",
    "gamma",
    "tweedie",
    "log_loss",
    "exponential",
    "softmax",
]
OPTIONS = {field.name for field in fields(Problem)} - {
    "codes",
    "n_bins",
    "categorical",
    "y",
    "train",
    "weights",
}


def make_problem(seed, n_rows=40, weights=None, n_outputs=1, **options):
    """A table with numbers, categories and missing values, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    n_bins = [min(n_rows, 255), 7, 2, 5, 4]
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in n_bins]).astype(np.uint8)
    codes[rng.random(n_rows) < 0.2, 1] = MISSING
    codes[rng.random(n_rows) < 0.2, 3] = MISSING
    categorical = np.array([False, False, False, True, True])
    score = codes[:, 0] / n_bins[0] + (codes[:, 1] == MISSING) + (codes[:, 3] % 2)
    score = score + 0.3 * rng.normal(size=n_rows)
    loss = options.get("loss", "squared_error")
    if loss == "softmax":
        n_classes = options.setdefault("n_classes", 3)
        y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    elif loss in ("log_loss", "exponential"):
        y = score > np.median(score)
    elif loss in ("poisson", "tweedie"):
        y = rng.poisson(np.exp(score)) / (1 if loss == "poisson" else 2)
    else:
        y = np.exp(score) if loss == "gamma" else score
    if n_outputs > 1:
        y = np.column_stack([y[rng.permutation(n_rows)] if k % 2 else y for k in range(n_outputs)])
    if weights == "whole":
        of_rows = rng.integers(1, 4, n_rows).astype(float)
    elif weights == "real":
        of_rows = rng.uniform(0.5, 2, n_rows)
    else:
        of_rows = None
    train = rng.permutation(n_rows)[: n_rows - 5].astype(np.int32)
    return Problem(codes, n_bins, categorical, y.astype(float), train, of_rows, **options)


def held_out(problem):
    """The rows without training."""
    held_out_rows = np.setdiff1d(np.arange(len(problem.codes)), problem.train)
    return held_out_rows.astype(np.int32)


def table_of(problem):
    start = np.concatenate([[0], np.cumsum(problem.n_bins)]).astype(np.int64)
    values = np.concatenate([np.arange(n, dtype=float) for n in problem.n_bins])
    categorical = problem.categorical.astype(np.uint8)
    return _core.BinnedTable(problem.codes, None, values, start, categorical)


def options_of(problem, **changes):
    arguments = {name: getattr(problem, name) for name in OPTIONS} | changes
    arguments["n_outputs"] = problem.y.shape[1] if problem.y.ndim == 2 else 1
    for name, kind in (("monotonic", np.int8), ("interactions", np.uint8)):
        if arguments[name] is not None:
            arguments[name] = np.ascontiguousarray(arguments[name], kind)
    return _core.BoostOptions(arguments.pop("loss"), **arguments)


def booster_of(problem, positions=None, **changes):
    return _core.GradientBooster(
        table_of(problem),
        problem.y.ravel(),
        problem.weights,
        problem.train,
        held_out(problem),
        options_of(problem, **changes),
        positions=positions,
    )


def grown(problem, seeds, **changes):
    """The kernel's trees as arrays, and the booster."""
    booster = booster_of(problem, **changes)
    booster.grow(np.asarray(seeds, np.uint64))
    return booster.trees(), booster


def trees_of(arrays, problem):
    """Return the trees of the kernel with these arrays."""
    arrays = {name: array for name, array in arrays.items() if name not in ("gain", "weight")}
    return _core.GradientTrees(
        **arrays, symmetric=problem.symmetric, n_columns=problem.codes.shape[1]
    )


def codes_on_left(arrays, split, n_bins):
    """Return the codes of a column that go left."""
    codes = [*range(n_bins), MISSING]
    number = arrays["set"][split]
    if number >= 0:
        words = arrays["sets"][number]
        return frozenset(c for c in codes if int(words[c // 64]) >> c % 64 & 1)
    shift, threshold = int(arrays["shift"][split]), int(arrays["threshold"][split])
    return frozenset(c for c in codes if (c + shift) % 256 <= threshold)


def check_against_twin(problem, seeds, **changes):
    """Compare every split, and every bit of every leaf."""
    arrays, booster = grown(problem, seeds, **changes)
    trees, start, raw = naive_gradient.boost(problem, seeds)
    assert booster.start.tolist() == list(start)
    assert len(arrays["first_split"]) == len(trees) + 1
    for t, tree in enumerate(trees):
        first, last = arrays["first_split"][t : t + 2].tolist()
        assert last - first == len(tree.splits), t
        for at, split in enumerate(tree.splits, first):
            assert arrays["column"][at] == split.column
            left = codes_on_left(arrays, at, problem.n_bins[split.column])
            assert left == split.left, (t, split)
            assert arrays["gain"][at] > 0
        leaves = slice(*arrays["first_leaf"][t : t + 2].tolist())
        weights = np.ones(len(problem.codes)) if problem.weights is None else problem.weights
        of_leaves = [weights[problem.train][leaf.rows].sum() for leaf in tree.leaves]
        if problem.symmetric:
            first = [tree.ways.index(n) for n in range(len(tree.leaves))]
            expected = np.zeros(len(tree.ways))
            expected[first] = of_leaves
        else:
            expected = of_leaves
        assert np.allclose(arrays["weight"][leaves], expected, rtol=1e-12)
        if problem.weights is None or problem.whole:
            assert np.array_equal(arrays["weight"][leaves], expected)
        if problem.symmetric:
            assert np.array_equal(arrays["values"][leaves], tree.values[tree.ways])
        else:
            assert np.array_equal(arrays["values"][leaves], tree.values)
            assert arrays["left"][first:last].tolist() == tree.left
            assert arrays["right"][first:last].tolist() == tree.right
    raw_predictions = np.tile(booster.start, (len(problem.codes), 1))
    trees_of(arrays, problem).add_raw(problem.codes, 0, len(trees), raw_predictions)
    assert np.array_equal(raw_predictions[problem.train], raw)
    assert np.array_equal(raw_predictions[held_out(problem)], booster.raw(best=False))
    return arrays, trees
