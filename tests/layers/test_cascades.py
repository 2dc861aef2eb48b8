"""The cascades MDDFClassifier and GCForestClassifier as estimators."""

import warnings

import numpy as np
import pytest
from cascade_cases import SMALL, both, small_data
from mddf.baselines import GCForestClassifier
from naive_votes import class_margins, margin_loss, reweight
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import MDDFClassifier, RandomForestClassifier
from mddf.rules import LayerRules, MarginRules, OwnClassReweighting

OPTIONS = [
    {},
    {"rules": MarginRules(alpha="stagewise")},
    {"rules": MarginRules(alpha="mean-margin")},
    {"rules": MarginRules(structure="stacking", augmentation="per-forest")},
    {"rules": MarginRules(structure="no-preconc", strength=0, augmentation="mean")},
    {"cv": "oob", "rules": MarginRules(depth_step=2), "class_weight": "balanced"},
    {
        "forests": ["random", LogisticRegression(max_iter=1000)],
        "rules": MarginRules(strength=0.5),
        "refit": True,
    },
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(o) or "default")


@pytest.fixture
def data():
    return small_data()


WHOLE_BOOTSTRAP = RandomForestClassifier(20, max_samples=1.0)
WEIGHING = {"forests": [WHOLE_BOOTSTRAP, "completely-random"], "n_layers": 2, "n_estimators": 10}


def failing_checks(cascade):
    """Checks that a cascade fails, with reasons."""
    if cascade.forests is not None:
        return {}
    failing = dict.fromkeys(WEIGHT_CHECKS, "bootstraps of as many rows as have weight")
    if isinstance(cascade, GCForestClassifier):
        # The vectors of eight forests of 30 trees differ by more than 0.01.
        for check in ("check_transformer_general", "check_transformer_data_not_an_array"):
            failing[check] = "features of training samples are out-of-fold"
    return failing


@sklearn_checks(
    [
        MDDFClassifier(n_layers=2, n_estimators=4),
        MDDFClassifier(rules=LayerRules(reweighting=OwnClassReweighting()), **WEIGHING),
        GCForestClassifier(n_layers=2, n_estimators=10, calibrate=True),
    ],
    failing_checks,
)
@pytest.mark.filterwarnings("ignore:transform was given the table:UserWarning")
def test_sklearn_checks(estimator, check):
    check(estimator)


# What they are


@every_option
def test_stages_probabilities_and_decisions_agree(options, data):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL | options).fit(X, y)
    stages = list(forest.staged_predict_proba(new))
    assert len(stages) == forest.n_layers_ == len(forest.alphas_) == 3
    np.testing.assert_array_equal(stages[-1], forest.predict_proba(new))
    for stage, labels in zip(stages, forest.staged_predict(new), strict=True):
        np.testing.assert_allclose(stage.sum(axis=1), 1, atol=1e-9)
        np.testing.assert_array_equal(forest.classes_[stage.argmax(axis=1)], labels)
    np.testing.assert_array_equal(forest.predict(new), forest.classes_[stages[-1].argmax(axis=1)])
    decision = forest.decision_function(new)
    np.testing.assert_allclose(decision, stages[-1] * forest.alphas_.sum())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(forest.predict_log_proba(new), np.log(stages[-1]))


@pytest.mark.parametrize("alpha", ["simplex", "stagewise", "mean-margin"])
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_probabilities_margins_and_weights_follow_from_the_layers_vectors(alpha, strength, data):
    """The formulas of the cascade, recomputed from the out-of-fold class vectors."""
    X, y, *_ = data
    forest = MDDFClassifier(**SMALL, rules=MarginRules(alpha=alpha, strength=strength))
    features = forest.fit_transform(X, y).reshape(200, 3, 4, 3)
    vectors = features.mean(axis=2).transpose(1, 0, 2)
    labels = np.unique(y, return_inverse=True)[1]
    total = sum(a * h for a, h in zip(forest.alphas_, vectors, strict=True))
    total /= forest.alphas_.sum()
    np.testing.assert_allclose(forest.oof_probabilities_, total, atol=1e-9)
    np.testing.assert_allclose(forest.margins_[-1], class_margins(total, labels), atol=1e-9)
    np.testing.assert_allclose(forest.weights_[0], 1 / 200)
    # The first layer's coefficient alone decides the weights of the second one.
    first = forest._fitted.stages[0].alphas[0]
    z = class_margins(vectors[0], labels) * (first if alpha == "stagewise" else 1)
    factors = reweight(margin_loss(z, forest.rules.target_margin, forest.rules.mu), strength)
    factors = np.rint(factors * 2**20) / 2**20
    np.testing.assert_allclose(forest.weights_[1], factors / factors.sum(), atol=1e-9)
    history = forest.history_
    np.testing.assert_allclose(history["margin_mean"], forest.margins_.mean(axis=1))
    np.testing.assert_allclose(history["margin_std"], forest.margins_.std(axis=1))
    np.testing.assert_allclose(
        history["effective_samples"], 1 / np.square(forest.weights_).sum(axis=1)
    )
    accuracy = np.mean(total.argmax(axis=1) == labels)
    assert history["accuracy"][-1] == pytest.approx(accuracy)
    ratio = history["margin_std"] / history["margin_mean"]
    np.testing.assert_allclose(history["margin_ratio"], ratio)
    np.testing.assert_allclose(history["score"], -ratio)


def test_gcforest_is_the_last_layer_of_a_cascade_without_weights(data):
    X, y, new, _ = data
    forest = GCForestClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(forest.alphas_, [0, 0, 1])
    np.testing.assert_allclose(forest.weights_, 1 / 200)
    layers = forest.transform(new).reshape(100, 3, 8, 3).mean(axis=2)
    for number, stage in enumerate(forest.staged_predict_proba(new)):
        np.testing.assert_allclose(stage, layers[:, number], atol=1e-12)
    assert len(forest._fitted.stages[0].members) == 8


# When to stop


def test_out_of_fold_accuracy_of_noise():
    """The accuracy of the first layer is chance. Later layers look better (see Notes)."""
    random = np.random.default_rng(0)
    result = []
    for seed in range(8):
        X, y = random.random((300, 4)), random.integers(0, 2, 300)
        forest = MDDFClassifier(**SMALL | {"random_state": seed}).fit(X, y)
        result.append(forest.history_["accuracy"])
    first, *_, last = np.mean(result, axis=0)
    assert first == pytest.approx(0.5, abs=0.03)
    assert first < last < 0.6


@both
def test_early_stopping_keeps_the_best_prefix(Cascade, data):
    X, y, new, _ = data
    options = SMALL | {"early_stopping": True, "n_layers": 8}
    forest = Cascade(**options).fit(X, y)
    scores, means = forest.history_["score"], forest.history_["margin_mean"]
    best = max(range(len(scores)), key=lambda i: (scores[i], means[i]))
    assert forest.n_layers_ == best + 1
    n_waited = 2 if Cascade is MDDFClassifier else 4
    assert len(scores) == 8 or np.all(scores[-n_waited:] <= scores[:-n_waited].max() + 0.01)
    assert len(list(forest.staged_predict(new))) == best + 1
    labels = np.unique(y, return_inverse=True)[1]
    accuracy = np.mean(forest.oof_probabilities_.argmax(axis=1) == labels)
    assert accuracy == pytest.approx(forest.history_["accuracy"][best])


# Data of all kinds


@pytest.mark.parametrize("options", [{}, {"cv": "oob"}, {"forests": ["random"]}])
def test_classes_rarer_than_the_folds(options):
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) == 75, 7, y)
    y[[10, 20]] = 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = MDDFClassifier(**SMALL | options).fit(X, y)
    assert forest.predict_proba(X).shape == (150, 5)
    assert np.isfinite(forest.margins_).all()


# What is refused


def test_wrong_options_are_refused_by_name(data):
    for options, message in [
        ({"forests": []}, "forests"),
        ({"forests": ["rotation"]}, "'rotation'"),
        ({"forests": [3]}, "got 3"),
        ({"forests": [LogisticRegression()], "cv": "oob"}, "bootstrap=True"),
        ({"forests": [RandomForestClassifier(bootstrap=False)], "cv": "oob"}, "bootstrap=True"),
        ({"cv": "none"}, "cv"),
        ({"cv": 1}, "cv"),
        ({"scoring": "accurracy"}, "scoring"),
        ({"scoring": lambda estimator, X, y: float("nan")}, "scoring must give .* got nan"),
        ({"scoring": print}, "scoring must give a finite number, got None"),
        ({"forests": [RandomForestClassifier]}, "classifiers with fit and predict_proba"),
        ({"forests": [RandomForestClassifier(criterion="foo")]}, "'criterion' parameter"),
        ({"forests": [RandomForestClassifier(0)]}, "'n_estimators' parameter"),
        ({"forests": [RandomForestClassifier(bootstrap=False, max_samples=9)]}, "max_samples"),
        ({"rules": MarginRules(target_margin=1.0)}, "target_margin"),
        ({"rules": MarginRules(strength=1.5)}, "strength"),
        ({"class_weight": {"red": 0, "green": 0, "blue": 0}}, "above zero"),
    ]:
        X, y, *_ = data
        with pytest.raises(ValueError, match=message):
            MDDFClassifier(**SMALL | options).fit(X, y)


def test_a_fit_that_fails_leaves_no_trace(data):
    X, y, new, _ = data
    forest = MDDFClassifier(**SMALL).fit(X, y)
    before = forest.predict_proba(new)
    forest.set_params(forests=["rotation"])
    with pytest.raises(ValueError, match="rotation"):
        forest.fit(X, y)
    np.testing.assert_array_equal(forest.predict_proba(new), before)


def test_grains_that_cannot_be_are_refused(data):
    X, y, *_ = data
    for grains, message in [
        ([], "grains"),
        ([[]], "grains"),
        ([[0, 99]], r"below 8.*got \[0, 99\]"),
        ([slice("a", "b")], "grains must be.*got slice"),
        ([[[0], [1, 2]]], "grains must be.*got "),
        ([["size"]], r"grains must be.*got \['size'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            GCForestClassifier(**SMALL, grains=grains).fit(X, y)
