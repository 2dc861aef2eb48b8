"""Trees as arrays, traversed in plain numpy."""

import numpy as np
import pytest
from made_models import TABLES, labels_of, number_table
from mddf.baselines import GCForestClassifier
from traversal import node_path, numbers

from mddf import (
    CompletelyRandomForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.explain import tree_arrays
from mddf.rules import MarginRules


def predicted(trees, rows):
    return np.array(
        [np.mean([t.value[node_path(t, row)[-1]] for t in trees], axis=0) for row in rows]
    )


@pytest.mark.parametrize("Forest", [RandomForestClassifier, CompletelyRandomForestClassifier])
def test_forests_traversed_by_hand(Forest):
    for kind in TABLES:
        X = TABLES[kind]()
        forest = Forest(7, min_samples_leaf=2, random_state=0).fit(X, labels_of(X))
        trees = tree_arrays(forest)
        assert len(trees) == 7
        assert np.allclose(
            predicted(trees, numbers(forest, X)), forest.predict_proba(X), atol=1e-8
        )


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_layers_traversed_by_hand(kind):
    X = TABLES[kind]()
    model = MDDFClassifier(
        3, n_estimators=2, cv=2, forests=["random", "completely-random"], early_stopping=False,
        rules=MarginRules(augmentation="per-forest"),
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


def test_arrays_of_a_cascade_count_rows_at_later_layers():
    X = number_table()
    model = GCForestClassifier(2, n_estimators=1, cv=2, early_stopping=False, random_state=0)
    model.fit(X, labels_of(X))
    for layer in (0, 1):
        trees = tree_arrays(model, layer=layer, X=X)
        assert all(tree.n_node_samples[0] == len(X) for tree in trees)
        features = {feature for tree in trees for feature in tree.feature if feature >= 0}
        assert max(features) < X.shape[1] + (8 * 3 if layer else 0)
