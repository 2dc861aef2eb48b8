"""Interaction values: against enumeration, against the package shap, and refusals."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import TABLES as BOOSTED_TABLES
from boosted_cases import frame_of_few_levels
from made_models import TABLES, labels_of, number_table
from mddf.baselines import AdaBoostClassifier, GCForestClassifier
from shapley import interaction_values, path_dependent
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.explain import shap_interaction_values, shap_values, tree_arrays

shap = pytest.importorskip("shap", reason='needs "mddf[explain]"')

FOREST = {"n_estimators": 4, "min_samples_leaf": 4, "random_state": 0}
BOOSTING = {"max_iter": 4, "min_samples_leaf": 9, "learning_rate": 0.3, "random_state": 0}


def enumerated(trees, node_weights, row):
    """Interaction values of all trees, shape (n_trees, n_features, n_features, n_outputs)."""
    values = []
    for tree, node_weight in zip(trees, node_weights, strict=True):

        def game(S, tree=tree, node_weight=node_weight):
            return path_dependent(tree, node_weight, row, S)

        values.append(interaction_values(game, len(row)))
    return np.array(values)


def test_forests_by_enumeration():
    for kind in TABLES:
        for model in [
            RandomForestClassifier(**FOREST),
            CompletelyRandomForestClassifier(**FOREST),
            RandomForestRegressor(**FOREST),
            CompletelyRandomForestRegressor(**FOREST),
        ]:
            X = TABLES[kind]()
            model.fit(X, labels_of(X))
            explanation = shap_interaction_values(model, X[:3], background=X[:60])
            trees = tree_arrays(model, X=X[:60])
            for row, values in zip(explanation.data, explanation.values, strict=True):
                exact = enumerated(trees, [tree.n_node_samples for tree in trees], row).mean(
                    axis=0
                )
                np.testing.assert_allclose(values, exact.reshape(values.shape), atol=1e-8)


def test_boosted_trees_by_enumeration():
    for kind in BOOSTED_TABLES:
        for grow_policy in ["symmetric", "leaf-wise"]:
            for n_classes in [None, 3]:
                X = BOOSTED_TABLES[kind]()
                options = BOOSTING | {"grow_policy": grow_policy, "max_depth": 4}
                model = (GradientBoostingClassifier if n_classes else GradientBoostingRegressor)(
                    **options
                )
                model.fit(X, labels_of(X))
                explanation = shap_interaction_values(model, X[:3])
                trees = tree_arrays(model)
                for row, values in zip(explanation.data, explanation.values, strict=True):
                    weights = [tree.weighted_n_node_samples for tree in trees]
                    exact = enumerated(trees, weights, row).sum(axis=0)
                    np.testing.assert_allclose(values, exact.reshape(values.shape), atol=1e-12)


def as_shap_model(model, X):
    """The trees of a model in the form that the package shap reads, weighted by the rows of X."""
    trees = [
        {
            "children_left": tree.children_left,
            "children_right": tree.children_right,
            "children_default": tree.children_right,
            "features": tree.feature,
            "thresholds": np.nan_to_num(tree.threshold),
            "values": tree.value,
            "node_sample_weight": tree.n_node_samples.astype(float),
        }
        for tree in tree_arrays(model, X=X)
    ]
    return {"trees": trees}


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, bootstrap=False, random_state=0),
        RandomForestRegressor(5, bootstrap=False, random_state=0),
        GradientBoostingRegressor(max_iter=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_package_shap_agrees(model):
    X = number_table(200)
    model.fit(X, labels_of(X))
    explainer = shap.TreeExplainer(
        as_shap_model(model, X), feature_perturbation="tree_path_dependent"
    )
    expected = np.asarray(explainer.shap_interaction_values(X[:20]))
    if not isinstance(model, GradientBoostingRegressor):
        expected = expected / model.n_estimators
    result = shap_interaction_values(model, X[:20], background=X)
    np.testing.assert_allclose(result.values.reshape(expected.shape), expected, atol=1e-6)


MODELS = {
    "forest": RandomForestClassifier(**FOREST),
    "two classes": RandomForestClassifier(**FOREST),
    "regressor": RandomForestRegressor(**FOREST),
    "two targets": RandomForestRegressor(**FOREST),
    "boosting": GradientBoostingClassifier(**BOOSTING),
    "levels": GradientBoostingRegressor(**BOOSTING),
    "cascade": MDDFClassifier(1, n_estimators=3, cv=2, random_state=0),
    "gcforest": GCForestClassifier(1, n_estimators=3, cv=2, refit=True, random_state=0),
}


def test_values_are_symmetric_and_add_up_to_contributions():
    for name in MODELS:
        X = frame_of_few_levels() if name == "levels" else number_table()
        y = labels_of(X) > 0 if name == "two classes" else labels_of(X)
        y = np.column_stack([y, y**2]) if name == "two targets" else y
        model = MODELS[name].fit(X, y)
        for background in (X, X[:30]):
            explanation = shap_interaction_values(model, X[:6], background=background)
            contributions = shap_values(model, X[:6], background=background, method="tree")
            values = explanation.values
            np.testing.assert_array_equal(values, values.swapaxes(1, 2))
            np.testing.assert_allclose(values.sum(axis=1), contributions.values, atol=1e-12)
            np.testing.assert_array_equal(explanation.base_values, contributions.base_values)
            np.testing.assert_array_equal(explanation.data, contributions.data)
            assert explanation.feature_names == contributions.feature_names
            assert explanation.output_names == contributions.output_names


def test_target_statistics_of_pairs_are_shared_by_both_columns():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 35, 300), rng.integers(0, 3, 300)
    X = pd.DataFrame({"a": rng.normal(size=300), "c": first, "d": (2 * first + second) % 35})
    y = X["a"] + np.sin(first) + rng.normal(size=(35, 3))[first, second]
    X[["c", "d"]] = X[["c", "d"]].astype("category")
    model = GradientBoostingRegressor(max_iter=10, random_state=0).fit(X, y)
    assert any(len(group) == 2 for group in model._statistics.groups)
    explanation = shap_interaction_values(model, X[:6])
    np.testing.assert_allclose(explanation.values, explanation.values.swapaxes(1, 2), atol=1e-15)
    contributions = shap_values(model, X[:6])
    np.testing.assert_allclose(explanation.values.sum(axis=1), contributions.values, atol=1e-12)


def test_refusals():
    X = number_table()
    y = labels_of(X)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    fitted = {
        "cascade": MDDFClassifier(2, n_estimators=2, cv=2, early_stopping=False).fit(X, y),
        "deep": DeepForestClassifier(1, n_estimators=2, members=["random"], cv=2).fit(X, y),
        "outputs": RandomForestClassifier(2).fit(X, np.column_stack([y, y])),
        "other": AdaBoostClassifier(2).fit(X, y),
        "pipeline": make_pipeline(RandomForestClassifier(2)).fit(X, y),
        "sklearn": LogisticRegression().fit(X, y),
    }
    for model, message in {
        "cascade": r"model must have a single layer .*, got 2 layers of MDDFClassifier",
        "deep": r"DeepForestClassifier is not a sum over trees.* use shap_values\(model, X",
        "outputs": r"model must have classes of one output .* got 2 outputs",
        "other": r"model must be a forest of mddf",
        "pipeline": r"got a pipeline: pass model\[-1\]",
        "sklearn": r"model must be a forest of mddf",
    }.items():
        with pytest.raises((TypeError, ValueError), match=message):
            shap_interaction_values(fitted[model], X)
    with pytest.raises(ValueError, match=r"background must hold rows to compare with"):
        shap_interaction_values(forest, X[:1])
    with pytest.raises(ValueError, match=r"background cannot be used: X has 2 features"):
        shap_interaction_values(forest, X, background=X[:, :2])
    with pytest.warns(UserWarning, match="background has no two rows"):
        shap_interaction_values(forest, X[:2], background=X[:1])
