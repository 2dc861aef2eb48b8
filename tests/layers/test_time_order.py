"""Later layers of a deep forest in time order."""

from dataclasses import replace

import numpy as np
import pytest

from mddf import DeepForestClassifier, TimeOrder
from mddf._layers import deep_forest as growth

MISSING = 255


@pytest.mark.parametrize("n_layers", [2, 3])
def test_later_layers_use_vectors_of_the_past(n_layers, monkeypatch):
    """All layers are kept in this test."""
    forests = []
    original_gain = growth._gain

    def large_gain(grown, *arguments):
        forests.append(grown)
        return replace(original_gain(grown, *arguments), value=1.0, error=0.0)

    monkeypatch.setattr(growth, "_gain", large_gain)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(480, 4))
    y = X[:, 0] + np.linspace(0, 2, 480) * X[:, 1] > 0
    model = DeepForestClassifier(
        n_layers, n_estimators=5, members=["random"], cv=TimeOrder(), random_state=0
    ).fit(X, y)
    layers = forests[-1].stack.layers
    assert len(layers) == n_layers
    for layer in layers[:-1]:
        # The first block has no past. All others have vectors, whose models saw their past only.
        assert (layer.features.codes[:80] == MISSING).all()
        assert (layer.features.codes[80:] != MISSING).all()
    assert np.isnan(model.oof_probabilities_[:80]).all()
    assert np.isfinite(model.oof_probabilities_[80:]).all()
