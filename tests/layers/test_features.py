"""Layer features and importances of the cascades."""

import numpy as np
import pytest
from cascade_cases import SMALL, both, small_data

from mddf import MDDFClassifier


@pytest.fixture
def data():
    return small_data()


# Layer features


@both
def test_features_of_training_samples_are_out_of_fold(Cascade):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    forest = Cascade(**SMALL, transform_layers=0)
    held_out = forest.fit_transform(X, y)
    with pytest.warns(UserWarning, match="not out-of-fold.*use fit_transform") as warned:
        refitted = forest.transform(X)
    assert warned[0].filename == __file__
    assert held_out.shape == refitted.shape == (300, 2)
    # Labels are noise: trees memorise their training labels and cannot predict the others.
    known = np.mean(refitted.argmax(axis=1) == y)
    guessed = np.mean(held_out.argmax(axis=1) == y)
    assert 0.4 < guessed < 0.58
    assert known > guessed + 0.3
    with pytest.warns(UserWarning, match="not out-of-fold"):
        np.testing.assert_array_equal(forest.fit(X, y).transform(X), refitted)
    np.testing.assert_array_equal(forest.transform(X[1:]), refitted[1:])  # another table


def test_chosen_layers_and_names(data):
    for layers, n in [("last", 1), ("all", 3), (0, 1), (-2, 1), ([2, 0], 2), (np.array([1]), 1)]:
        for forests in ["mean", "each"]:
            X, y, new, _ = data
            options = {"transform_layers": layers, "transform_forests": forests}
            forest = MDDFClassifier(**SMALL, **options)
            held_out = forest.fit_transform(X, y)
            features = forest.transform(new)
            names = forest.get_feature_names_out()
            assert features.shape == (100, len(names))
            assert held_out.shape == (200, len(names))
            assert len(set(names)) == len(names) == n * 3 * (4 if forests == "each" else 1)
            np.testing.assert_allclose(features.sum(axis=1), len(names) / 3)
            everything = forest.set_params(transform_layers="all").transform(new)
            all_names = forest.get_feature_names_out().tolist()
            np.testing.assert_array_equal(
                features, everything[:, [all_names.index(m) for m in names]]
            )


@pytest.mark.parametrize("alpha", ["simplex", "stagewise"])
def test_boosted_features_are_sums_over_the_layers(data, alpha):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL, alpha=alpha, transform_forests="boosted")
    held_out = forest.fit_transform(X, y)
    np.testing.assert_allclose(held_out / forest.alphas_.sum(), forest.oof_probabilities_)
    np.testing.assert_allclose(forest.transform(new), forest.decision_function(new))
    forest.set_params(transform_layers="all")
    boosted = forest.transform(new)
    means = forest.set_params(transform_forests="mean").transform(new)
    first = forest.history_["alpha"][0] if alpha == "stagewise" else 1
    np.testing.assert_allclose(boosted[:, :3], first * means[:, :3])


# Importances
