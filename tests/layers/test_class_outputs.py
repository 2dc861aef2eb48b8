"""Deep forests for multi-label and multi-output classification."""

import numpy as np
import pandas as pd
import pytest
from made_outputs import mixed_outputs, six_labels
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from mddf import DeepForestClassifier, RandomForestClassifier, cost, explain

SMALL = {"n_estimators": 5, "cv": 2, "random_state": 0}
MEMBERS = ["random", "completely-random-sqrt", "boosted", "kernel", "linear", "network"]
MEMBERS += ["kernel-logistic"]


def mixed(n=200, missing=0.1):
    """A table, and outputs with two, one and three classes."""
    X, y = mixed_outputs(n, missing)
    return X, y[:, [0, 2, 1]]


def codes(y):
    """Class indices of each output."""
    return [np.unique(column, return_inverse=True)[1] for column in np.asarray(y).T]


def mean_log_loss(probabilities, y):
    by_output = zip(probabilities, codes(y), strict=True)
    own = [part[np.arange(len(part)), label] for part, label in by_output]
    return -np.log(np.maximum(own, 1e-4)).mean()


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed()
    return X, y, DeepForestClassifier(members=MEMBERS, **SMALL).fit(X, y)


def test_shapes_and_types_of_predictions(fitted):
    X, y, model = fitted
    assert model.n_outputs_ == 3
    assert model.n_classes_ == [2, 1, 3]
    assert [of_one.tolist() for of_one in model.classes_] == [[0, 1], [7], [0, 1, 2]]
    probabilities, logs = model.predict_proba(X), model.predict_log_proba(X)
    by_output = zip(probabilities, logs, model.oof_probabilities_, (2, 1, 3), strict=True)
    for part, log, held_out, n in by_output:
        assert part.shape == held_out.shape == (200, n)
        np.testing.assert_allclose(part.sum(axis=1), 1)
        np.testing.assert_allclose(np.exp(log), part)
    predicted = model.predict(X)
    assert predicted.shape == y.shape
    assert predicted.dtype == y.dtype
    assert np.mean(predicted == y) > 0.9
    best = [part.argmax(axis=1) for part in model.oof_probabilities_]
    assert np.mean(np.array(best) == codes(y), axis=1).min() > 0.75
    (*_, last) = model.staged_predict_proba(X)
    assert all(map(np.array_equal, last, probabilities))
    (*_, last) = model.staged_predict(X)
    assert np.array_equal(last, predicted)
    names = model.get_feature_names_out()
    assert names[1] == f"layer1_{model._fitted.stages[0].members[0].name}_output0_1"
    assert model.transform(X[:3]).shape == (3, len(names))
    single = [np.hstack(model.predict_proba(row)) for row in X[:5, None]]
    np.testing.assert_allclose(np.vstack(single), np.hstack(probabilities)[:5], atol=1e-12)
    assert {"log_loss", "accuracy"} <= set(model.leaderboard_[0])
    assert np.isclose(model.history_["log_loss"][0], -model.history_["score"][0])


def test_log_losses_are_per_output(fitted):
    """The figures of the first layer from its held-out vectors, output by output."""
    X, y = mixed()
    model = DeepForestClassifier(1, members=["random"], calibrate=False, **SMALL)
    vectors = model.fit_transform(X, y)
    parts = np.split(vectors, [2, 3], axis=1)
    (row,) = model.leaderboard_
    assert row["log_loss"] == pytest.approx(mean_log_loss(parts, y), rel=1e-6)
    right = np.all(np.array([part.argmax(axis=1) for part in parts]) == codes(y), axis=0)
    assert row["accuracy"] == pytest.approx(right.mean())


def test_dependent_labels_improve_each_other():
    """The joint model is better than forests and than one deep forest per label."""
    X, y = six_labels(700)
    train, test = slice(300), slice(300, None)
    options = {"n_estimators": 10, "members": ["random", "boosted", "linear"], "random_state": 0}
    joint = DeepForestClassifier(**options).fit(X[train], y[train])
    forest = RandomForestClassifier(100, random_state=0).fit(X[train], y[train])
    probabilities = joint.predict_proba(X[test])
    loss = mean_log_loss(probabilities, y[test])
    assert loss < 0.95 * mean_log_loss(forest.predict_proba(X[test]), y[test])
    alone = [
        DeepForestClassifier(**options).fit(X[train], column).predict_proba(X[test])
        for column in y[train, :2].T
    ]
    assert mean_log_loss(probabilities[:2], y[test, :2]) < 1.01 * mean_log_loss(alone, y[test, :2])
    assert mean_log_loss(joint.oof_probabilities_, y[train]) == pytest.approx(loss, abs=0.04)


@pytest.mark.parametrize(
    "weights", [None, "copies", "balanced", [{0: 1, 1: 3}, {7: 1}, {0: 2, 1: 1, 2: 1}]], ids=str
)
def test_weights(weights):
    X, y = mixed()
    fit_arguments = {}
    options = {**SMALL, "members": MEMBERS}
    if weights == "copies":
        fit_arguments["sample_weight"] = (
            np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
        )
    elif weights is not None:
        options["class_weight"] = weights
    model = DeepForestClassifier(**options).fit(X, y, **fit_arguments)
    assert np.mean(model.predict(X) == y) > 0.85
    if isinstance(weights, list):
        plain = DeepForestClassifier(**{**options, "class_weight": None}).fit(X, y)
        probabilities, before = model.predict_proba(X)[0], plain.predict_proba(X)[0]
        assert probabilities[:, 1].mean() > before[:, 1].mean()


def test_members_of_other_packages_learn_one_output_each():
    X, y = mixed(missing=0.0)
    rows = np.arange(len(y))
    folds = [(rows[rows % 2 != i], rows[rows % 2 == i]) for i in range(2)]
    member = LogisticRegression()
    model = DeepForestClassifier(1, members=[member], cv=folds, calibrate=False)
    vectors = np.split(model.fit_transform(X, y), [2, 3], axis=1)
    for train, held_out in folds:
        for j in (0, 2):
            alone = LogisticRegression().fit(X[train], y[train, j])
            np.testing.assert_allclose(
                vectors[j][held_out], alone.predict_proba(X[held_out]), atol=1e-6
            )
    assert np.all(vectors[1] == 1)
    frame = pd.DataFrame(X, columns=list("abcde"))
    neighbours = DeepForestClassifier(members=[KNeighborsClassifier(), "random"], **SMALL)
    assert np.mean(neighbours.fit(frame, y).predict(frame) == y) > 0.85


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_of_each_output(by_class):
    X, y = mixed(900, missing=0.0)
    model = DeepForestClassifier(1, members=["random", "linear"], **SMALL).fit(X[:500], y[:500])
    result = model.predict_set(X[500:], coverage=0.9, by_class=by_class)
    for j, (sets, label) in enumerate(zip(result, codes(y[500:]), strict=True)):
        assert sets.shape == (400, model.n_classes_[j])
        covered = sets[np.arange(400), label]
        assert covered.mean() > 0.85
        if by_class:
            assert min(covered[label == c].mean() for c in range(sets.shape[1])) > 0.8


def test_unsupported_inputs_are_refused(fitted):
    X, y, model = fitted
    balanced = {"members": [RandomForestClassifier(2, bootstrap="balanced")]}
    for options, target, message in [
        ({}, sparse.csr_matrix(y), "y must be dense"),
        ({"class_weight": {0: 1}}, y, "class_weight of several outputs"),
        ({"scoring": "margin-ratio"}, y, "scoring='margin-ratio' is for classes of one output"),
        (balanced, y, "'balanced' is for the classes of one output, got the member 'RandomFo"),
    ]:
        parameters = {**SMALL, "members": ["random"], **options}
        with pytest.raises(ValueError, match=message):
            DeepForestClassifier(**parameters).fit(X, target)
    for ask in (cost, lambda model: explain.importances(model, X, y, kind="held-out")):
        with pytest.raises(ValueError, match="must have classes of one output"):
            ask(model)
