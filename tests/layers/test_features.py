"""Layer features and importances of the cascades."""

import numpy as np
import pytest
from cascade_cases import SMALL, small_data
from mddf.baselines import GCForestClassifier

from mddf import DeepForestClassifier, MDDFClassifier


@pytest.fixture
def data():
    return small_data()


# Layer features


@pytest.mark.parametrize(
    ("Model", "options"),
    [
        (MDDFClassifier, SMALL),
        (GCForestClassifier, SMALL),
        (DeepForestClassifier, {"members": ["random"], "calibrate": False, "random_state": 0}),
    ],
)
def test_features_of_training_samples_are_out_of_fold(Model, options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    forest = Model(**options | {"n_layers": 1, "n_estimators": 10})
    held_out = forest.fit_transform(X, y)
    with pytest.warns(UserWarning, match="not out-of-fold.*use fit_transform") as warned:
        refitted = forest.transform(X)
    assert warned[0].filename == __file__
    assert held_out.shape == refitted.shape == (300, len(forest.get_feature_names_out()))
    held_out, refitted = (of.reshape(300, -1, 2).mean(axis=1) for of in (held_out, refitted))
    np.testing.assert_allclose(held_out, forest.oof_probabilities_, atol=1e-9)
    # Labels are noise: trees memorise their training labels and cannot predict the others.
    known = np.mean(refitted.argmax(axis=1) == y)
    guessed = np.mean(held_out.argmax(axis=1) == y)
    assert 0.4 < guessed < 0.6
    assert known > guessed + 0.3
    with pytest.warns(UserWarning, match="not out-of-fold"):
        features = forest.fit(X, y).transform(X)
    np.testing.assert_array_equal(forest.transform(X[1:]), features[1:])  # another table


def test_names_of_features(data):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL)
    held_out = forest.fit_transform(X, y)
    names = forest.get_feature_names_out()
    assert held_out.shape == (200, len(names))
    assert forest.transform(new).shape == (100, len(names))
    assert len(set(names)) == len(names) == 3 * 4 * 3
    assert names[[0, -1]].tolist() == ["layer1_forest1_blue", "layer3_forest4_red"]
    means = held_out.reshape(200, 3, 4, 3).mean(axis=2)
    expected = np.average(means, axis=1, weights=forest.alphas_)
    np.testing.assert_allclose(forest.oof_probabilities_, expected, atol=1e-9)
