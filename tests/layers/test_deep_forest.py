"""DeepForestClassifier: selection, weights, calibration and refit."""

import numpy as np
import pandas as pd
import pytest
from naive_votes import sharpened, smoothed
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import (
    DeepForestClassifier,
    RandomForestClassifier,
)

FORESTS = ["random", "completely-random"]
SMALL = {"n_estimators": 10, "members": [*FORESTS, "linear"], "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        500, 8, n_informative=5, n_classes=3, class_sep=1.2, flip_y=0.05, random_state=1
    )
    names = np.array(["red", "green", "blue"])[y]
    return X[:300], names[:300], X[300:], names[300:]


def draws_rows(model):
    return dict.fromkeys(WEIGHT_CHECKS, "bootstraps of as many rows as have weight, folds of rows")


@pytest.mark.filterwarnings("ignore:transform was given the table that the model")
@sklearn_checks(
    [
        DeepForestClassifier(n_estimators=5, members=FORESTS, cv=2),
        DeepForestClassifier(1, n_estimators=5, members=["random", "linear"], refit=False, cv=3),
    ],
    draws_rows,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# What it is


@pytest.mark.parametrize("options", [{}, {"refit": False}, {"calibrate": False}, {"cv": 3}])
def test_out_of_fold_probabilities_follow_from_the_vote(options, data):
    X, y, new, truth = data
    model = DeepForestClassifier(**SMALL | options).fit(X, y)
    weights = np.array([row["weight"] for row in model.leaderboard_])
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.oof_probabilities_.sum(axis=1), 1)
    of_new = model.predict_proba(new)
    np.testing.assert_allclose(of_new.sum(axis=1), 1)
    held_out = log_loss(y, model.oof_probabilities_)
    assert log_loss(truth, of_new) == pytest.approx(held_out, rel=0.35)
    assert (model.exponent_ == 1) == (not options.get("calibrate", True))
    share = 0.5 / (len(y) + 0.5) if options.get("calibrate", True) else 0
    assert model.label_smoothing_ == share


def test_predictions_follow_from_the_members(data):
    X, y, new, _ = data
    model = DeepForestClassifier(**SMALL).fit(X, y)
    features = model.transform(new)
    names = model.get_feature_names_out()
    assert features.shape == (200, len(names))
    members = [member for layer in model._fitted.stages for member in layer.members]
    vectors = features.reshape(200, len(members), 3)
    total = sum(
        member.weight * sharpened(vectors[:, i], member.exponent)
        for i, member in enumerate(members)
    )
    total /= sum(member.weight for member in members)
    probabilities = smoothed(sharpened(total, model.exponent_), model.label_smoothing_)
    np.testing.assert_allclose(probabilities, model.predict_proba(new))
    *_, last = model.staged_predict_proba(new)
    np.testing.assert_array_equal(last, model.predict_proba(new))
    expected = model.classes_[last.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(new), expected)
    assert names[0] == f"layer1_{members[0].name}_blue"


def test_members_that_do_not_help_are_dropped():
    X, y = load_breast_cancer(return_X_y=True)
    useless = DummyClassifier(strategy="prior")
    model = DeepForestClassifier(1, n_estimators=20, members=["random", useless], random_state=0)
    model.fit(X, y)
    assert [member.name for member in model._fitted.stages[0].members] == ["random"]
    assert model.feature_importances_.sum() == pytest.approx(1)
    # Of few samples that is not known: both vote, the useless one little.
    model.fit(X[:100], y[:100])
    weights = {member.name: member.weight for member in model._fitted.stages[0].members}
    assert weights["random"] > 3 * weights["DummyClassifier"] > 0


def test_duplicated_rows_do_not_leak_labels():
    """With duplicated rows, class vectors contain the labels of copies in other folds.

    A layer that also gets the features can subtract the mean and recover the label, which is not
    possible for new rows.
    """
    X = np.random.default_rng(0).integers(0, 3, (600, 3)).astype(float)
    y = np.random.default_rng(1).random(600) < X[:, 0] / 3
    model = DeepForestClassifier(**SMALL | {"members": FORESTS}).fit(X, y)
    assert model.n_layers_ == 1
    assert model.stop_reason_.startswith("layer 2 gained")
    losses = (
        log_loss(y, model.oof_probabilities_),
        log_loss(y, np.c_[1 - X[:, 0] / 3, X[:, 0] / 3]),
    )
    assert losses[0] > 0.97 * losses[1]


def test_layers_have_to_help(data):
    X, y, *_ = data
    rng = np.random.default_rng(0)
    model = DeepForestClassifier(3, **SMALL | {"members": FORESTS}).fit(X, rng.permutation(y))
    assert model.n_layers_ == 1
    assert "layer 2 gained" in model.stop_reason_
    assert len(model.history_["layer"]) == 2
    # A sum that one layer sees only in pieces, the next one has as class vectors.
    X = rng.integers(1, 6, (900, 4)).astype(float)
    y = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)
    model = DeepForestClassifier(2, **SMALL | {"members": ["random", "linear"]}).fit(X, y)
    assert model.n_layers_ == 2
    assert model.stop_reason_ == "n_layers=2 were grown"


def test_noise_gives_large_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    noisy = (X[:, 0] + rng.normal(size=2000)) > 0
    clean = X[:, 0] + X[:, 1] > 0
    leaves = [
        DeepForestClassifier(1, n_estimators=40, members=FORESTS, random_state=0)
        .fit(X, y)
        .min_samples_leaf_
        for y in (noisy, clean)
    ]
    assert leaves[0]["random"] > 1
    assert leaves[1]["random"] == 1


# Tables of every kind


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [4, 20, 60])
def test_few_rows_and_rare_classes(n):
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(n, 3)), np.ones(n)])
    y = (X[:, 0] > 0).astype(int)
    y[0] = 7  # a class of one row
    y[1:3] = 0, 1
    model = DeepForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (n, 3)
    assert np.isfinite(model.predict_proba(X)).all()


def test_weights_and_classes(data):
    X, y, *_ = data
    weights = np.where(y == "red", 20.0, 1.0)
    plain, leaning = (
        DeepForestClassifier(1, **SMALL).fit(X, y, w).predict_proba(X)[:, 2].mean()
        for w in (None, weights)
    )
    assert leaning > plain + 0.1
    by_class = DeepForestClassifier(1, **SMALL, class_weight={"red": 20, "green": 1, "blue": 1})
    assert by_class.fit(X, y).predict_proba(X)[:, 2].mean() > plain + 0.1


def test_wrong_options_are_refused_by_name(data):
    for options, message in [
        ({"members": []}, "members must be 'auto' or a list of at least one"),
        ({"members": {"random"}}, "members must be 'auto' or a list of at least one"),
        ({"members": ["forest"]}, "members must hold classifiers or names out of"),
        ({"members": [RandomForestClassifier]}, "members must hold names or classifiers"),
        ({"members": [RandomForestClassifier(0)]}, "n_estimators"),
        ({"cv": "oob"}, "cv"),
        ({"scoring": "acuracy"}, "scoring"),
        ({"scoring": int}, "scoring must not be a class"),
        ({"n_layers": 0}, "n_layers"),
    ]:
        X, y, *_ = data
        with pytest.raises(ValueError, match=message):
            DeepForestClassifier(**SMALL | options).fit(X, y)


def test_the_leaderboard_has_all_that_were_tried(data):
    X, y, *_ = data
    X, y = np.tile(X, (4, 1)), np.tile(y, 4)  # enough rows for a race on one fold
    useless = DummyClassifier(strategy="uniform")
    model = DeepForestClassifier(n_estimators=10, members=["random", useless], random_state=0)
    table = pd.DataFrame(model.fit(X, y).leaderboard_)
    first = table[table.layer == 1].set_index("member")
    assert set(first.index) == {"random", "DummyClassifier"}
    assert np.isnan(first.log_loss["DummyClassifier"])
    assert table.weight.sum() == pytest.approx(1)
    assert (table.bytes[table.weight > 0] > 0).all()
    assert first.bytes["DummyClassifier"] == 0
    assert model.n_layers_ == 2 or model.strength_ == 0


def test_the_report_of_a_fit_has_decisions_with_evidence_and_cost(data):
    X, y, *_ = data
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    members = ["random", "boosted", DummyClassifier(strategy="uniform")]
    model = DeepForestClassifier(n_estimators=10, members=members, random_state=0).fit(X, y)
    table = pd.DataFrame(model.fit_report_)
    assert set(table.step) >= {"options", "race", "layer 1", "kept"}
    leaves = table[(table.step == "options") & (table.member == "random")]
    chosen = leaves[leaves.decision == "chosen"].candidate.tolist()
    assert chosen == [f"min_samples_leaf={model.min_samples_leaf_['random']}"]
    boosted = table[table.member == "boosted"]
    assert set(boosted.folds) == {2}
    depths, halved = boosted.iloc[:3], boosted.iloc[3]
    best = depths.candidate[depths.loss.idxmin()]
    assert halved.candidate == f"{best}, max_features=0.5"
    best = boosted.candidate[boosted.iloc[:4].loss.idxmin()]
    assert boosted.iloc[4].candidate == f"{best}, split_score=gradient"
    assert boosted[boosted.decision == "chosen"].loss.tolist() == [boosted.loss.min()]
    race = table[table.step == "race"].set_index("candidate")
    assert race.folds.tolist() == [1, 1, 1]
    assert race.decision["DummyClassifier"] == "weight 0.00, left out"
    assert race.loss["DummyClassifier"] == pytest.approx(np.log(3), abs=1e-3)
    assert "DummyClassifier" not in table[table.step == "layer 1"].candidate.tolist()
    assert (table.cpu_seconds >= 0).all()
    again = DeepForestClassifier(n_estimators=10, members=members, random_state=0, n_jobs=2)
    other = pd.DataFrame(again.fit(X, y).fit_report_)
    pd.testing.assert_frame_equal(
        table.drop(columns="cpu_seconds"), other.drop(columns="cpu_seconds")
    )
