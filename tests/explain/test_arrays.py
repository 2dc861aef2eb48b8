"""Trees as arrays, walked in plain numpy."""

import numpy as np
import pytest
from made_models import TABLES, frame_table, labels_of, number_table
from mddf.baselines import AdaBoostClassifier, GCForestClassifier
from sklearn.linear_model import LogisticRegression
from walks import numbers, walk

from mddf import (
    CompletelyRandomForestClassifier,
    DeepForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.explain import tree_arrays


def predicted(trees, rows):
    return np.array([np.mean([t.value[walk(t, row)[-1]] for t in trees], axis=0) for row in rows])


@pytest.mark.parametrize("Forest", [RandomForestClassifier, CompletelyRandomForestClassifier])
@pytest.mark.parametrize("kind", TABLES)
def test_forests_walked_by_hand(Forest, kind):
    X = TABLES[kind]()
    forest = Forest(7, min_samples_leaf=2, random_state=0).fit(X, labels_of(X))
    trees = tree_arrays(forest)
    assert len(trees) == 7
    assert np.allclose(predicted(trees, numbers(forest, X)), forest.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_layers_walked_by_hand(kind):
    X = TABLES[kind]()
    model = MDDFClassifier(
        3, n_estimators=2, cv=2, forests=["random", "completely-random"], early_stopping=False,
        augmentation="per-forest", transform_forests="each", transform_layers="all",
        random_state=0,
    ).fit(X, labels_of(X))  # fmt: skip
    rows, K = numbers(model, X), 3
    vectors = np.hsplit(model.transform(X[::-1])[::-1], 3)
    for layer in range(3):
        for forest in range(2):
            trees = tree_arrays(model, layer=layer, forest=forest)
            assert len(trees) == 4
            assert np.allclose(
                predicted(trees, rows), vectors[layer][:, forest * K : (forest + 1) * K], atol=1e-8
            )
        alphas = model._fitted.stages[layer].alphas
        before = sum(a * v for a, v in zip(alphas, vectors, strict=False)) / alphas.sum()
        rows = np.hstack([numbers(model, X), before])
    both = tree_arrays(model, layer=-1)
    assert len(both) == 8
    assert max(tree.feature.max() for tree in both) >= X.shape[1]


def test_deep_forests():
    X = frame_table()
    model = DeepForestClassifier(
        n_estimators=3, members=["random", "completely-random", "linear"], random_state=0
    ).fit(X, labels_of(X))
    rows = numbers(model, X)
    first = next(model._fitted_stages().run(model._encode(X).block(0, len(X)))).vectors
    for i, member in enumerate(model._fitted.stages[0].members):
        if member.has_trees:
            assert np.allclose(predicted(tree_arrays(model, layer=0, forest=i), rows), first[i])


def test_inner_values_come_from_training_or_from_the_passed_rows():
    X = number_table()
    forest = RandomForestClassifier(2, bootstrap=False, random_state=0).fit(X, labels_of(X))
    tree, of_rows = tree_arrays(forest)[0], tree_arrays(forest, X=X)[0]
    inner = tree.children_left != -1
    assert tree.n_node_samples is None
    assert np.array_equal(tree.weighted_n_node_samples, of_rows.n_node_samples)
    assert np.allclose(tree.value, of_rows.value, rtol=1e-12)
    few = tree_arrays(forest, X=X[:1])[0]
    assert np.isnan(few.value[inner & (few.n_node_samples == 0)]).all()


def test_arrays_of_a_cascade_count_rows_at_later_layers():
    X = number_table()
    model = GCForestClassifier(2, n_estimators=1, cv=2, early_stopping=False, random_state=0)
    model.fit(X, labels_of(X))
    for layer in (0, 1):
        trees = tree_arrays(model, layer=layer, X=X)
        assert all(tree.n_node_samples[0] == len(X) for tree in trees)
        features = {feature for tree in trees for feature in tree.feature if feature >= 0}
        assert max(features) < X.shape[1] + (8 * 3 if layer else 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 3}, "layer must be"),
        ({"layer": None}, "layer"),
        ({"layer": 0, "forest": 9}, "forest must"),
    ],
)
def test_refusals_of_cascades(options, message):
    X = number_table()
    model = MDDFClassifier(2, n_estimators=1, cv=2, early_stopping=False).fit(X, labels_of(X))
    with pytest.raises(ValueError, match=message):
        tree_arrays(model, **options)


def test_other_refusals():
    X, y = number_table(), labels_of(number_table())
    with pytest.raises(ValueError, match="layer must be None for a forest"):
        tree_arrays(RandomForestClassifier(1).fit(X, y), layer=0)
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        tree_arrays(AdaBoostClassifier(2).fit(X, y))
    external = MDDFClassifier(1, forests=["random", LogisticRegression()], n_estimators=1, cv=2)
    external.fit(X, y)
    assert len(tree_arrays(external, layer=0, forest=0)) == 2
    with pytest.raises(TypeError, match=r"only forests of mddf .* forest=\[\d"):
        tree_arrays(external, layer=0)
