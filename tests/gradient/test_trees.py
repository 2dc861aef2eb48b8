"""Fitted boosted trees: stored arrays and training metadata."""

import pickle

import numpy as np
import pytest
from boosted_cases import both, growth, numbers, problem

from mddf import GradientBoostingRegressor


@both
@growth
def test_damaged_arrays_are_refused(Model, grow_policy):
    X, y = problem(Model)
    model = Model(max_iter=3, grow_policy=grow_policy).fit(X, y)
    for name, wrong, message in [
        ("column", np.zeros(1, np.int32), "must|expected"),
        *[
            (name, wrong, f"{name} must have")
            for name in ("gain", "weight")
            for wrong in (np.zeros(3), -1.0, np.nan, np.inf)
        ],
    ]:
        state = model.__getstate__()
        trees = state["_fitted"]["stages"][0]["members"][0]["models"][0]
        arrays = trees["arrays"]
        if np.ndim(wrong) == 0:
            wrong = np.append(arrays[name][1:], wrong)
        trees["arrays"] = arrays | {name: wrong}
        with pytest.raises(ValueError, match=message):
            Model.__new__(Model).__setstate__(state)


@both
@growth
def test_compact_trees_predict_the_same_in_single_precision(Model, grow_policy):
    X, y = problem(Model)
    trees = Model(max_iter=15, grow_policy=grow_policy).fit(X, y)._trees
    small = trees.compact()
    codes = np.random.default_rng(0).integers(0, 256, (40, trees.n_columns)).astype(np.uint8)
    np.testing.assert_allclose(small.raw(codes), trees.raw(codes), atol=1e-5)
    np.testing.assert_array_equal(small.leaves(codes), trees.leaves(codes))
    assert small.n_bytes < 0.55 * trees.n_bytes
    loaded = pickle.loads(pickle.dumps(small.between(3, 9)))
    np.testing.assert_array_equal(loaded.raw(codes), small.between(3, 9).raw(codes))
    for name, of in (("gain", "column"), ("weight", "values")):
        wrong = small.__getstate__()
        wrong["arrays"] = wrong["arrays"] | {name: np.zeros(len(small.arrays[of]) + 1)}
        with pytest.raises(ValueError, match=f"{name} must have"):
            type(small).__new__(type(small)).__setstate__(wrong)


@growth
@pytest.mark.parametrize("subsample", [1, 0.5])
def test_leaves_store_their_training_weight(grow_policy, subsample):
    X, y = numbers()
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    weights /= weights.mean()
    options = {"grow_policy": grow_policy, "subsample": subsample, "random_state": 0}
    model = GradientBoostingRegressor(max_iter=5, **options).fit(X, y, weights)
    trees, leaves = model._trees, model.apply(X)
    for tree, (first, last) in enumerate(
        zip(trees.arrays["first_leaf"][:-1], trees.arrays["first_leaf"][1:], strict=True)
    ):
        values, known = trees.arrays["values"][first:last, 0], trees.arrays["weight"][first:last]
        result = np.bincount(leaves[:, tree], weights, minlength=last - first)
        for value in np.unique(values):  # ways to one leaf have their weight at the first
            same = values == value
            assert known[same].sum() == pytest.approx(result[same].sum())
    more = model.set_params(warm_start=True, max_iter=8).fit(X, y, weights)._trees
    assert np.array_equal(
        more.arrays["weight"][: len(trees.arrays["weight"])], trees.arrays["weight"]
    )
    assert len(more.first(6).arrays["weight"]) == more.arrays["first_leaf"][6]
