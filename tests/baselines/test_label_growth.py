"""Growth of a multi-label deep forest with random layers, against a plain twin."""

import naive_labels
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import MLDFClassifier
from mddf.baselines._labels import growth as module
from mddf.baselines._labels.growth import LabelForests
from mddf.baselines._labels.measures import MEASURES


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_growth_like_the_twin(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    y = (rng.random((24, 4)) < 0.5).astype(int)
    # Layers that get better at first.
    quality = np.array([0.3, 0.5, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6])
    drawn = [q * y + (1 - q) * rng.random((2, 24, 4)) for q in quality]
    inputs = []

    def grow_layer(trainer, members, job):
        layer, _ = real_grow_layer(trainer, members, job)
        inputs.append(job.layer_input.columns)
        return layer, list(drawn[len(inputs) - 1])

    real_grow_layer = module.grow_layer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "grow_layer", grow_layer)
        model = MLDFClassifier(
            8, measure=name, n_estimators=1, n_more_estimators=0, cv=2, random_state=0
        )
        features = model.fit_transform(X, y)
    expected = naive_labels.grow(name, y.astype(float), drawn, patience=3)
    kept = expected.vectors[expected.n_kept - 1]
    assert model.n_layers_ == expected.n_kept
    np.testing.assert_allclose(model.history_["score"], -np.array(expected.losses))
    np.testing.assert_array_equal(model.oof_probabilities_, kept.mean(axis=0))
    np.testing.assert_array_equal(features, np.hstack(list(kept)))
    assert [len(columns) for columns in inputs] == [3] + [3 + 8] * (len(inputs) - 1)


def test_sizes_of_the_published_layers():
    forests = LabelForests.from_names(
        ["random", "extremely-random"], n_estimators=40, n_more=20, most=100, depth_step=3
    )
    models = [forests.members(number)[0].model for number in range(5)]
    sizes = [(model.n_estimators, model.max_depth) for model in models]
    assert sizes == [(40, 3), (60, 6), (80, 9), (100, 12), (100, 15)]
    unlimited = LabelForests.from_names(
        ["completely-random"], n_estimators=200, n_more=20, most=100, depth_step=None
    )
    model = unlimited.members(4)[0].model
    assert model.n_estimators == 200
    assert model.max_depth is None
