"""Small fits with checkpoints."""

import numpy as np
from forest_cases import three_classes

from mddf import DeepForestClassifier, MDDFClassifier
from mddf._layers.checkpoints import Checkpoint

N_LAYERS = 4
DAMAGED = r"checkpoint: '.*layer-00{}\.npz' cannot be read \("


def cascade(folder, Cascade=MDDFClassifier, **parameters):
    """A small cascade with a checkpoint folder."""
    parameters = {"n_layers": N_LAYERS, "n_estimators": 4, "cv": 2, **parameters}
    parameters = {"early_stopping": False, "random_state": 0, **parameters}
    return Cascade(checkpoint=folder, **parameters)


def deep(folder, Deep=DeepForestClassifier, **parameters):
    """A small deep forest with a checkpoint folder."""
    parameters = {"n_estimators": 4, "cv": 2, "random_state": 0, **parameters}
    return Deep(checkpoint=folder, **parameters)


def layers(folder):
    """Names of the files of layers."""
    return sorted(path.name for path in folder.glob("*.npz"))


def assert_equal(model, expected):
    """Check that two cascades have equal predictions and equal histories."""
    X, _ = three_classes()
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.oof_probabilities_, expected.oof_probabilities_)
    np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)
    for name, of_layers in expected.history_.items():
        if name != "time":
            np.testing.assert_array_equal(model.history_[name], of_layers)
    for name in ("margins_", "weights_", "member_scores_", "alphas_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


def parts(*objects):
    """Return the parts of a layer as they are stored."""
    return objects


def small_file(folder):
    """A checkpoint with a layer of all types, and the bytes of its file."""
    checkpoint = Checkpoint(folder, {"seed": "0"})
    checkpoint.save(0, {"a": [np.arange(3.0), None, "text"]}, 0.5)
    return checkpoint, (folder / "layer-001.npz").read_bytes()
