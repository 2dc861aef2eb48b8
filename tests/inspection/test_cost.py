"""Costs of a model."""

import pickle

import numpy as np
import pytest
from made_models import TABLES, labels_of, number_table
from mddf.baselines import AdaBoostClassifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    cost,
)
from mddf.explain import tree_arrays
from mddf.rules import MarginRules, mean_regions


@pytest.mark.parametrize("kind", TABLES)
def test_counted_costs(kind):
    X = TABLES[kind]()
    model = MDDFClassifier(2, n_estimators=2, cv=3, early_stopping=False, random_state=0)
    model_cost = cost(model.fit(X, labels_of(X)))
    trees = [tree for layer in (0, 1) for tree in tree_arrays(model, layer=layer)]
    assert model_cost.n_trees == len(trees) == 2 * 4 * 3 * 2
    assert model_cost.n_nodes == sum(tree.node_count for tree in trees)
    assert 0.5 < model_cost.n_bytes / len(pickle.dumps(model)) <= 1
    assert 0 < model_cost.microseconds_per_row < 1e4
    assert str(model_cost).startswith(f"48 trees, {model_cost.n_nodes} nodes, ")
    assert "microseconds per row on one thread" in str(model_cost)
    assert model_cost.microseconds_per_call > model_cost.microseconds_per_row
    assert str(model_cost).endswith("ms for a row alone")


def test_external_estimators_are_counted():
    X = number_table()
    model = MDDFClassifier(1, forests=["random", LogisticRegression()], n_estimators=1, cv=2)
    model_cost = cost(model.fit(X, labels_of(X)))
    assert model_cost.n_trees == 2
    coefficients = sum(m.coef_.nbytes for m in model._fitted.stages[0].members[1].models)
    assert model_cost.n_bytes > coefficients > 0


def test_deep_forests():
    X = number_table()
    members = ["random", "completely-random", "linear"]
    model = DeepForestClassifier(n_estimators=3, members=members, random_state=0)
    model_cost = cost(model.fit(X, labels_of(X)))
    layers = [[v for v in layer.members if v.has_trees] for layer in model._fitted.stages]
    assert model_cost.n_trees == 9 * sum(map(len, layers))  # three classes: three times as many
    assert 0 < model_cost.microseconds_per_row < 1e4


def test_boosted_members_have_trees():
    X = number_table()
    model = DeepForestClassifier(n_estimators=2, members=["boosted", "random"], random_state=0)
    model_cost = cost(model.fit(X, labels_of(X)))
    members = [member for layer in model._fitted.stages for member in layer.members]
    boosted = [m for member in members if not member.has_trees for m in member.models]
    assert boosted
    forests = 6 * sum(member.has_trees for member in members)
    assert model_cost.n_trees == forests + sum(sum(folds.rounds) for folds in boosted)
    alone = cost(DeepForestClassifier(members=["boosted"], random_state=0).fit(X, labels_of(X)))
    assert alone.n_nodes > alone.n_trees > 0


def test_a_prediction_does_not_change_the_size():
    X, y = load_iris(return_X_y=True)
    rules = MarginRules(augmentation=mean_regions)
    model = MDDFClassifier(2, n_estimators=3, early_stopping=False, rules=rules, random_state=0)
    before = cost(model.set_params(refit=False).fit(X, y))
    model.predict(X)
    after = cost(model)
    assert (after.n_bytes, after.n_trees) == (before.n_bytes, before.n_trees)


def test_dates():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(
        {
            "listed": pd.date_range("2024-01-01", periods=60, freq="7h"),
            "kind": pd.Categorical(["a", "b", None] * 20),
            "sold": pd.date_range("2024-02-01", periods=60, tz="UTC"),
            "paid": [True, False] * 30,
        }
    )
    X = X.sample(frac=1, random_state=0)
    for model in (RandomForestClassifier(2), GradientBoostingClassifier(max_iter=2)):
        assert cost(model.fit(X, np.arange(60) % 4 > 1)).microseconds_per_call > 0


def test_refusals():
    X, y = number_table(), labels_of(number_table())
    with pytest.raises(NotFittedError):
        cost(RandomForestClassifier())
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        cost(AdaBoostClassifier(2).fit(X, y))
