"""Learners are read-only arrays, whatever their source."""

import pickle
from dataclasses import FrozenInstanceError, fields

import joblib
import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier, QuadBoostClassifier
from mddf.baselines._boosting.fixed_learners import stump_dictionary
from mddf.baselines._boosting.search import TreeSearch
from mddf.baselines._boosting.weak_learners import GivenLearners, WeakTrees
from sklearn.datasets import load_iris


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).integers(0, 9, size=(60, 3)).astype(float)


@pytest.fixture(scope="module")
def trees(X):
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(60), 7) * rng.choice([-1, 1], (7, 60))
    return [
        TreeSearch(X, 1 + k % 4).best(np.ascontiguousarray(w))[0] for k, w in enumerate(weights)
    ]


def arrays(learners):
    return {field.name: getattr(learners, field.name) for field in fields(learners)}


def same(learners, other):
    for name, array in arrays(learners).items():
        np.testing.assert_array_equal(array, arrays(other)[name], strict=True)


def test_joined_and_taken_apart(X, trees):
    learners = WeakTrees.concatenate(trees)
    assert len(learners) == 7
    assert learners.size == learners.sizes.sum() == sum(tree.size for tree in trees)
    for k, tree in enumerate(trees):
        same(learners[k], tree)
        np.testing.assert_array_equal(learners.values(X)[k], tree.values(X)[0])
    chosen = np.array([5, 0, 5])
    same(learners.take(chosen), WeakTrees.concatenate([trees[k] for k in chosen]))
    same(learners.take(chosen[:0]), WeakTrees.concatenate([]))
    same(WeakTrees.concatenate([learners, WeakTrees.concatenate([])]), learners)


def test_read_only(trees, tmp_path):
    learners = WeakTrees.concatenate(trees)
    with pytest.raises(FrozenInstanceError):
        learners.start = np.zeros(1, np.int64)
    joblib.dump(learners, tmp_path / "learners.joblib")
    mapped = joblib.load(tmp_path / "learners.joblib", mmap_mode="r")
    assert isinstance(mapped.threshold, np.memmap)
    for made in (learners, trees[0], learners[2], pickle.loads(pickle.dumps(learners)), mapped):
        for array in arrays(made).values():
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0
    same(mapped, learners)


def test_a_model_is_mapped_from_its_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(20, max_depth=2).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.ensembles_[0].learners.label, np.memmap)
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))


def test_stumps(X):
    stumps = stump_dictionary(X, 2)
    thresholds = stumps.threshold[::3].reshape(3, 2)
    expected = np.where(X.T[:, None, :] > thresholds[:, :, None], 1, -1).reshape(6, -1)
    np.testing.assert_array_equal(stumps.values(X), expected)
    np.testing.assert_array_equal(
        stumps.importances(np.array([1, 1, 0, 0, -2, 0]), 3), [0.5, 0, 0.5]
    )


@pytest.mark.parametrize(
    "rules",
    [lambda X: X, [lambda X: X[:, 0], lambda X: X[:, 1], lambda X: X[:, 2]]],
    ids=["one callable", "several"],
)
def test_learners_of_the_user(X, rules):
    learners = GivenLearners(rules)
    np.testing.assert_array_equal(learners.values(X), X.T)
    parts = [learners.take(np.array([k])) for k in (2, 0)]
    joined = GivenLearners.concatenate(parts)
    assert len(joined) == 2
    np.testing.assert_array_equal(joined.values(X), X.T[[2, 0]])
    np.testing.assert_array_equal(joined.take(np.array([1])).values(X), X.T[[0]])
    np.testing.assert_allclose(joined.votes(X, np.array([1.0, -2.0])), X[:, 2] - 2 * X[:, 0])


def test_a_vote_is_pickled_by_itself(X):
    model = QuadBoostClassifier(n_estimators=3, weak_learners=np.tanh).fit(X, X[:, 0] > 4)
    vote = pickle.loads(pickle.dumps(model.ensembles_[0]))
    assert np.array_equal(vote.decision(X), model.decision_function(X))
