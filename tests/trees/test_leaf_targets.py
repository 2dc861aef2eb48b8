import pickle
from copy import deepcopy

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from value_cases import REGRESSORS

from mddf import RandomForestRegressor

both = pytest.mark.parametrize("Forest", REGRESSORS)
LEVELS = [0.0, 0.05, 0.5, 0.95, 1.0]


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(150, 6, noise=0.5, random_state=0)
    return X, np.round(y, 1)


def slow_quantiles(forest, X, y, weights, new, levels):
    """Quantiles of the weighted targets in the leaves, with all targets kept."""
    leaves, result = forest.apply(X), []
    for row in forest.apply(new):
        share = np.zeros(len(y))
        for t, leaf in enumerate(row):
            leaf_weights = np.where(leaves[:, t] == leaf, weights, 0)
            share += leaf_weights / leaf_weights.sum() / leaves.shape[1]
        order = np.argsort(y)
        order = order[share[order] > 0]
        reached = np.cumsum(share[order])
        result.append([y[order][np.argmax(reached >= min(q, reached[-1]) - 1e-9)] for q in levels])
    return np.array(result)


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_slow_way(Forest, weighted, data):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 3, len(y)) if weighted else np.ones(len(y))
    forest = Forest(7, min_samples_leaf=4, keep_targets=150, random_state=0)
    forest.fit(X, y, weights)
    new = np.random.default_rng(2).random((40, 6))
    expected = slow_quantiles(forest, X, y, weights, new, LEVELS)
    assert np.array_equal(forest.predict_quantiles(new, LEVELS), expected)


@both
def test_kept_targets_are_few_and_independent_of_order_and_jobs(Forest, data):
    X, y = data
    options = {"min_samples_leaf": 5, "keep_targets": 2, "random_state": 0}
    forest = Forest(70, **options).fit(X, y)
    kept, _ = forest._leaf_targets[0]
    assert np.diff(kept.leaf_start).max() == 2
    assert len(kept.rows) <= 2 * len(kept.leaves)
    result = forest.predict_quantiles(X, LEVELS)
    assert (np.diff(result, axis=1) >= 0).all()
    assert np.isin(result, y).all()
    order = np.random.default_rng(0).permutation(len(y))
    for other in (
        Forest(70, n_jobs=2, **options).fit(X, y),
        Forest(70, **options).fit(X[order], y[order]),
        pickle.loads(pickle.dumps(forest)),
    ):
        assert np.array_equal(other.predict_quantiles(X, LEVELS), result)
    # Not the same rows in every tree.
    assert len(np.unique(kept.rows)) > 0.9 * len(y)


@both
def test_warm_start(Forest, data):
    X, y = data
    options = {"keep_targets": 3, "min_samples_leaf": 3, "random_state": 0}
    whole = Forest(9, **options).fit(X, y)
    steps = Forest(4, warm_start=True, **options).fit(X, y).set_params(n_estimators=9).fit(X, y)
    assert np.array_equal(whole.predict_quantiles(X), steps.predict_quantiles(X))
    steps.set_params(n_estimators=10, keep_targets=None)
    with pytest.raises(ValueError, match="keep_targets must be 3"):
        steps.fit(X, y)
    steps.set_params(warm_start=False).fit(X, y)
    with pytest.raises(ValueError, match=r"predict_quantiles needs.*keep_targets"):
        steps.predict_quantiles(X)


def test_several_outputs(data):
    X, y = data
    forest = RandomForestRegressor(9, keep_targets=5, min_samples_leaf=4, random_state=0)
    result = forest.fit(X, np.column_stack([y, -2 * y])).predict_quantiles(X, [0.25, 0.5])
    assert result.shape == (150, 2, 2)
    assert np.corrcoef(result[:, 0, 1], y)[0, 1] > 0.7
    assert (result[:, 1, 0] <= result[:, 1, 1]).all()


def test_all_targets_of_a_leaf_can_be_kept(data):
    X, y = data
    forest = RandomForestRegressor(5, keep_targets=2**31 - 1, random_state=0).fit(X, y)
    exact = RandomForestRegressor(5, keep_targets=len(y), random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_quantiles(X), exact.predict_quantiles(X))


def test_coverage():
    """Noise that grows with a feature: intervals contain 90 % of new targets and widen."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = 5 * X[:, 0] + X[:, 1] * rng.normal(size=3000)
    forest = RandomForestRegressor(60, min_samples_leaf=20, keep_targets=20, random_state=0)
    low, high = forest.fit(X[:2000], y[:2000]).predict_quantiles(X[2000:], [0.05, 0.95]).T
    inside = (low <= y[2000:]) & (y[2000:] <= high)
    assert 0.86 < inside.mean() < 0.95
    assert np.corrcoef(high - low, X[2000:, 1])[0, 1] > 0.8


@pytest.mark.parametrize("quantiles", [[], 0.5, [1.1], [np.nan], ["a"], [[0.5]], None])
def test_quantiles_that_do_not_do(quantiles, data):
    forest = RandomForestRegressor(2, keep_targets=2).fit(*data)
    with pytest.raises(ValueError, match="quantiles must be"):
        forest.predict_quantiles(data[0], quantiles)


def replaced(name, place, value):
    """A part with a changed entry."""

    def change(state):
        part = state[name].copy()
        part[place] = value
        state[name] = part

    return change


def cut(name):
    """A part without its last entry."""
    return lambda state: state.update({name: state[name][:-1]})


DAMAGES = [
    *(
        replaced("leaf_start", *change)
        for change in [(0, 1), (1, 0), (3, 2**40), (3, -1), (-1, 2**40)]
    ),
    *(replaced("tree_start", *change) for change in [(0, -1), (1, 0), (1, 2**40), (-1, 3)]),
    *(replaced("rows", *change) for change in [(0, -1), (5, 2**30), (-1, 150)]),
    *map(cut, ["weights", "leaves", "tree_start", "rows", "leaf_start"]),
    lambda state: state.update(leaf_start=np.delete(state["leaf_start"], 1)),
    lambda state: state.update(leaf_start=state["leaf_start"].astype(float)),
    lambda state: state.update(leaf_start=state["leaf_start"][:, None]),
    lambda state: state.update(leaf_start=state["leaf_start"].tolist()),
    lambda state: state.update(y=state["y"].ravel()),
    lambda state: state.update(y=state["y"][:10]),
    lambda state: state.pop("y"),
    lambda state: state.update(more=1),
    # All in one leaf of a tree, more than there are samples.
    lambda state: state.update(
        leaves=state["leaves"][:3],
        tree_start=np.arange(4),
        leaf_start=np.array([0, 1, len(state["rows"]) - 1, len(state["rows"])]),
    ),
]


@pytest.mark.parametrize("mapped", [False, True])
def test_damaged_files_are_refused(mapped, data, tmp_path):
    forest = RandomForestRegressor(3, keep_targets=5, random_state=0).fit(*data)

    def ask(state):
        model = RandomForestRegressor()
        model.__setstate__(state)
        assert mapped  # others are refused when they are loaded
        model.predict_quantiles(data[0])

    for damage in DAMAGES:
        state = deepcopy(forest.__getstate__())
        damage(state["_leaf_targets"][0][0])
        joblib.dump(state, tmp_path / "state")
        state = joblib.load(tmp_path / "state", mmap_mode="r" if mapped else None)
        with pytest.raises(ValueError, match="kept targets: "):
            ask(state)


def test_a_mapped_file_is_read_when_it_is_used(data, tmp_path):
    forest = RandomForestRegressor(3, keep_targets=5, random_state=0).fit(*data)
    joblib.dump(forest, tmp_path / "forest")
    again = joblib.load(tmp_path / "forest", mmap_mode="r")
    kept, _ = again._leaf_targets[0]
    assert "max_per_leaf" not in vars(kept)
    result = forest.predict_quantiles(data[0])
    assert np.array_equal(again.predict_quantiles(data[0]), result)
    assert vars(kept)["max_per_leaf"] <= 5
    assert "most" not in kept.__getstate__()


def test_targets_of_other_trees_are_refused(data):
    forest = RandomForestRegressor(3, keep_targets=5, random_state=0).fit(*data)
    larger = RandomForestRegressor(4, keep_targets=5, random_state=0).fit(*data)
    forest._leaf_targets = larger._leaf_targets
    with pytest.raises(ValueError, match=r"kept targets: they must belong to \d+ trees"):
        forest.predict_quantiles(data[0])
