"""Later layers are evaluated on rows whose labels did not influence their input."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    StratifiedKFold,
)

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._layers import deep_forest as growth
from mddf._layers.nested_folds import NestedInputs

MEMBERS = ["random", "completely-random", "linear"]


def near_copies(n_pairs: int, seed: int):
    """Pairs of nearly equal rows; their labels are independent."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n_pairs, 3)), 2, axis=0)
    return X + 1e-3 * rng.normal(size=X.shape), rng.random(2 * n_pairs) < 0.3


def test_out_of_fold_losses_match_losses_of_new_rows():
    """Random labels: a layer that reads labels from its input would be too confident."""
    for seed in range(3):
        X, y = near_copies(300, seed)
        model = DeepForestClassifier(n_estimators=20, members=MEMBERS, random_state=seed).fit(X, y)
        new, truth = near_copies(300, seed + 10)
        for labels, probabilities in (
            (y, model.oof_probabilities_),
            (truth, model.predict_proba(new)),
        ):
            nothing_known = log_loss(labels, np.full(len(labels), labels.mean()))
            assert log_loss(labels, probabilities) == pytest.approx(nothing_known, rel=0.03)


def inputs_of_later_layers(model, X, y):
    """The codes that later layers get in the first outer fold, and the outer folds."""
    codes, folds = [], []
    layer_input = NestedInputs.layer_input

    def spy(nested, outer, *rest):
        if outer == 0:
            codes.append(nested._codes[0].copy())
            folds[:] = nested.folds
        return layer_input(nested, outer, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NestedInputs, "layer_input", spy)
        # What is chosen by all rows, such as leaves, is set; features are coded by ranks of all.
        patch.setattr(growth, "choose_forest_options", lambda _, trials, *__, **___: trials[0])
        model.fit(X, y)
    return codes, folds


@pytest.mark.parametrize("Deep", [DeepForestClassifier, DeepForestRegressor])
@pytest.mark.parametrize("n_layers", [2, 3])
def test_labels_of_an_outer_fold_change_nothing_that_its_layer_is_trained_on(
    Deep, n_layers, every_layer_helps
):
    """The inputs of training rows do not depend on the labels of held-out rows."""
    X, y = make_classification(120, 5, random_state=0)
    splits = [*StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)]
    held_out = splits[0][1]
    other = y.copy()
    other[held_out] = np.random.default_rng(0).permutation(other[held_out])
    assert (other != y).any()
    # Which of several members have weights depends on all labels.
    model = Deep(n_layers, n_estimators=4, members=["random"], cv=splits, random_state=1)
    (inputs, folds), (other_inputs, _) = (
        inputs_of_later_layers(model, X, labels) for labels in (y, other)
    )
    train, rows = folds[0]
    np.testing.assert_array_equal(rows, held_out)
    assert len(inputs) == len(other_inputs) >= n_layers - 1
    changes = []
    for codes, other_codes in zip(inputs, other_inputs, strict=True):
        for column, other_column in zip(codes.T, other_codes.T, strict=True):
            # Bins are found on the vectors of all rows, so codes may differ slightly.
            ranks = (
                np.unique(values[train], return_inverse=True)[1]
                for values in (column, other_column)
            )
            changes.append(np.corrcoef(*ranks)[0, 1])
    assert min(changes) > 0.99


def test_too_few_folds_to_nest():
    X, y = make_classification(80, 4, random_state=0)
    splits = [*StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)]
    model = DeepForestClassifier(n_estimators=4, members=["random"], cv=splits, random_state=0)
    assert model.fit(X, y).n_layers_ == 1
    assert model.stop_reason_ == "a later layer needs at least 3 folds, got 2"
    weight = np.zeros(80)
    weight[[splits[0][1][0], splits[1][1][0]]] = 1.0
    thirds = [(np.flatnonzero(np.arange(80) % 3 != i), np.arange(i, 80, 3)) for i in range(3)]
    weight = (np.arange(80) % 3 < 2).astype(float)
    model.set_params(cv=thirds).fit(X, y, sample_weight=weight)
    assert "any two of the folds" in model.stop_reason_
