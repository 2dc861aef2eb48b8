"""Later layers are evaluated on rows whose labels did not influence their input."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    check_cv,
)

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._layers import deep_forest as growth
from mddf._layers.nested_folds import NestedFolds, make_outer_folds

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


class Spy:
    """Stores the input of later layers in each outer fold."""

    def __init__(self, monkeypatch):
        self.shown = {}
        grow = NestedFolds.grow

        def spy(nested, outer, members, *rest, **options):
            grown = grow(nested, outer, members, *rest, **options)
            self.shown[outer, len(members)] = nested._codes[outer].copy()
            self.folds = nested.folds
            return grown

        monkeypatch.setattr(NestedFolds, "grow", spy)


@pytest.mark.parametrize("Deep", [DeepForestClassifier, DeepForestRegressor])
@pytest.mark.parametrize("n_layers", [2, 3])
def test_labels_of_an_outer_fold_change_nothing_that_its_layer_is_trained_on(
    Deep, n_layers, every_layer_helps, monkeypatch
):
    """The inputs of training rows do not depend on the labels of held-out rows."""
    X, y = make_classification(120, 5, random_state=0)
    splits = [*StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)]
    held_out = splits[0][1]
    other = y.copy()
    other[held_out] = np.random.default_rng(0).permutation(other[held_out])
    assert (other != y).any()
    output = []
    for labels in (y, other):
        spy = Spy(monkeypatch)
        model = Deep(n_layers, n_estimators=4, members=MEMBERS, cv=splits, random_state=1)
        # What is chosen by all rows, such as leaves, is set; features are coded by ranks of all.
        choose = "choose_forest_options"
        monkeypatch.setattr(growth, choose, lambda _, trials, *__, **___: trials[0])
        model.fit(X, labels)
        output.append(spy)
    np.testing.assert_array_equal(output[0].folds[0][1], held_out)
    rows = output[0].folds[0][0]
    vectors = [layer.shown[0, 2][rows] for layer in output]
    assert vectors[0].shape == vectors[1].shape
    # Bins are found on the vectors of all rows, so codes may differ slightly.
    ranks = [[np.unique(column, return_inverse=True)[1] for column in v.T] for v in vectors]
    for layer, two in zip(*ranks, strict=True):
        assert np.corrcoef(layer, two)[0, 1] > 0.99


def test_outer_folds_hold_out_each_row_once():
    X = np.zeros((60, 1))
    y = np.arange(60) % 2
    groups = np.arange(60) // 3
    for cv in (
        2,
        5,
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        [*ShuffleSplit(60, random_state=0).split(X)],
        [(np.delete(np.arange(60), i), [i]) for i in range(60)],
    ):
        folds = [(a, np.asarray(b)) for a, b in check_cv(cv, y, classifier=True).split(X, y)]
        outer = make_outer_folds(cv, folds, X=X, y=y, strata=y, seed=1, groups=None)
        assert 2 <= len(outer) <= 4
        np.testing.assert_array_equal(np.sort(np.concatenate([h for _, h in outer])), range(60))
        for train, held_out in outer:
            assert not np.intersect1d(train, held_out).size
    folds = [*GroupKFold(6).split(X, y, groups)]
    for train, held_out in make_outer_folds(
        GroupKFold(6), folds, X=X, y=y, strata=y, seed=1, groups=groups
    ):
        assert not np.intersect1d(groups[train], groups[held_out]).size


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


def test_later_layers_are_judged_by_groups(monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 4))[groups] + 0.01 * rng.normal(size=(200, 4))
    y = (np.arange(40) % 2)[groups]
    calls, whole = [], growth.mean_error

    def error(values, weights, n, units=None):
        calls.append((n, units))
        return whole(values, weights, n, units)

    monkeypatch.setattr(growth, "mean_error", error)
    model = DeepForestClassifier(
        2, n_estimators=10, members=["random", "completely-random"], cv=4, random_state=0
    ).fit(X, y, groups=groups)
    assert model.n_layers_ == 1
    assert "layer 2 gained" in model.stop_reason_
    everyone = set(np.unique(groups, return_inverse=True)[1])
    for n, units in calls:
        assert len(units) == n
        assert set(units) <= everyone
    # Nobody is in two of the outer folds.
    folds = make_outer_folds(4, [], X=X, y=y, strata=y, seed=0, groups=groups)
    held_out = [set(groups[rows]) for _, rows in folds]
    assert sum(map(len, held_out)) == len(set().union(*held_out)) == len(everyone)
