"""Names and parameters of the members of cascades and deep forests."""

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import (
    DeepForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)

LISTS = [
    (DeepForestClassifier, "members"),
    (MDDFClassifier, "forests"),
    (GCForestClassifier, "forests"),
]
of_each = pytest.mark.parametrize(("Model", "name"), LISTS)
SMALL = {"n_layers": 1, "n_estimators": 3, "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


@of_each
def test_parameters_are_named_as_in_a_voting_estimator(Model, name):
    pairs = [("lr", LogisticRegression()), ("pipe", make_pipeline(StandardScaler(), Ridge()))]
    ours = Model(**{name: pairs}).get_params()
    theirs = VotingClassifier(pairs).get_params()
    inner = {key for key in theirs if key.split("__")[0] in ("lr", "pipe")}
    assert "pipe__ridge__alpha" in inner
    assert inner == ours.keys() - Model().get_params().keys()
    assert all(ours[key] is theirs[key] for key in inner)
    assert Model(**{name: pairs}).get_params(deep=False).keys() == Model().get_params().keys()


@of_each
def test_members_and_their_parameters_are_set(Model, name):
    forest, other = RandomForestClassifier(5), LogisticRegression(C=3)
    model = Model(**{name: [("lr", LogisticRegression()), "random", forest]})
    assert model.set_params(lr__C=7.0, n_estimators=3) is model
    assert dict([getattr(model, name)[0]])["lr"].C == 7
    model.set_params(lr=other)
    assert getattr(model, name) == [("lr", other), "random", forest]
    model.set_params(**{"lr": LogisticRegression()}, lr__C=2)
    assert (model.get_params()["lr__C"], other.C) == (2, 3)
    model.set_params(**{name: [("b", other)], "b__C": 4})
    assert (getattr(model, name), other.C) == ([("b", other)], 4)
    copy = clone(model)
    assert copy.get_params()["b"] is not other
    assert copy.get_params()["b__C"] == 4
    for parameter in ["nobody__C", "b__nothing"]:
        with pytest.raises(ValueError, match="Invalid parameter 'no"):
            model.set_params(**{parameter: 1})


@of_each
def test_names_that_are_not_clear_are_refused(Model, name, data):
    for names, message in [
        (["a", "a"], "unique names, got 'a'"),
        (["a__b"], "names without '__', got 'a__b'"),
        ([""], "names without '__', got ''"),
        (["n_layers"], "no parameters of the estimator, got 'n_layers'"),
        (["cv"], "no parameters of the estimator, got 'cv'"),
    ]:
        model = Model(
            **SMALL | {name: [(member_name, LogisticRegression()) for member_name in names]}
        )
        clone(model)
        with pytest.raises(ValueError, match=f"^{name} must have .*{message}"):
            model.fit(*data)


def test_member_names_are_used_in_features_and_tables(data):
    X, y = data
    lr = LogisticRegression()
    members = [("LogisticRegression", LogisticRegression(C=2)), "random", ("few", "random"), lr]
    model = DeepForestClassifier(members=members, **SMALL).fit(X, y)
    names = ["LogisticRegression", "random", "few", "LogisticRegression-2"]
    assert [row["member"] for row in model.leaderboard_] == names
    assert [n.split("_")[1] for n in model.get_feature_names_out()[::2]] == names
