"""Voters are read-only arrays, wherever they come from."""

import pickle
from dataclasses import FrozenInstanceError, fields

import joblib
import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier
from mddf.baselines._boosting.fixed_voters import stump_dictionary
from mddf.baselines._boosting.search import TreeSearch
from mddf.baselines._boosting.voters import GivenVoters, TreeVoters
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


def arrays(voters):
    return {field.name: getattr(voters, field.name) for field in fields(voters)}


def same(one, other):
    for name, array in arrays(one).items():
        np.testing.assert_array_equal(array, arrays(other)[name], strict=True)


def test_joined_and_taken_apart(X, trees):
    voters = TreeVoters.joined(trees)
    assert len(voters) == 7
    assert voters.size == voters.sizes.sum() == sum(tree.size for tree in trees)
    for k, tree in enumerate(trees):
        same(voters[k], tree)
        np.testing.assert_array_equal(voters.values(X)[k], tree.values(X)[0])
    chosen = np.array([5, 0, 5])
    same(voters.take(chosen), TreeVoters.joined([trees[k] for k in chosen]))
    same(voters.take(chosen[:0]), TreeVoters.joined([]))
    same(TreeVoters.joined([voters, TreeVoters.joined([])]), voters)


def test_read_only(trees, tmp_path):
    voters = TreeVoters.joined(trees)
    with pytest.raises(FrozenInstanceError):
        voters.start = np.zeros(1, np.int64)
    joblib.dump(voters, tmp_path / "voters.joblib")
    mapped = joblib.load(tmp_path / "voters.joblib", mmap_mode="r")
    assert isinstance(mapped.threshold, np.memmap)
    for made in (voters, trees[0], voters[2], pickle.loads(pickle.dumps(voters)), mapped):
        for array in arrays(made).values():
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0
    same(mapped, voters)


def test_a_model_is_mapped_from_its_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(20, max_depth=2).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.ensembles_[0].voters.label, np.memmap)
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
def test_given_voters(X, rules):
    voters = GivenVoters(rules)
    np.testing.assert_array_equal(voters.values(X), X.T)
    parts = [voters.take(np.array([k])) for k in (2, 0)]
    some = GivenVoters.joined(parts)
    assert len(some) == 2
    np.testing.assert_array_equal(some.values(X), X.T[[2, 0]])
    np.testing.assert_array_equal(some.take(np.array([1])).values(X), X.T[[0]])
    np.testing.assert_allclose(some.votes(X, np.array([1.0, -2.0])), X[:, 2] - 2 * X[:, 0])
