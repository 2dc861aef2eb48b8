"""Required improvements of scores."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import get_scorer, log_loss, make_scorer

from mddf import MDDFClassifier
from mddf._layers.scoring import OneSEStopper, layer_score


def test_default_tolerance_follows_the_scale_of_the_score():
    X, y = load_wine(return_X_y=True)
    options = {"n_estimators": 5, "n_layers": 4, "n_iter_no_change": 1, "random_state": 0}
    forest = MDDFClassifier(**options, scoring="accuracy").fit(X, y)
    scores = forest.history_["score"]
    rises = [b > a + 0.01 * (1 - a) for a, b in pairwise(scores)]
    assert all(rises[:-1])
    assert len(scores) == 4 or not rises[-1]
    same = MDDFClassifier(**options).fit(X, y)
    assert same.stop_reason_ == MDDFClassifier(**options, tol=0.01).fit(X, y).stop_reason_
    with pytest.raises(ValueError, match="tol"):
        MDDFClassifier(tol="automatic").fit(X, y)


def fewest_of(scoring, labels, layers, units, weight=None):
    classes = np.unique(labels)
    score = layer_score(scoring, classes, np.searchsorted(classes, labels), weight)
    fewest = OneSEStopper(score, units)
    scores = [score(of_layer) for of_layer in layers]
    for of_layer, result in zip(layers, scores, strict=True):
        fewest.add(of_layer, result)
    return fewest.below(int(np.argmax(scores)))


def test_accuracy_is_that_of_scikit_learn():
    """The results are equal to the last bit."""
    for weighted in [False, True]:
        for scoring in [None, "accuracy"]:
            rng = np.random.default_rng(0)
            classes, labels = np.array(["a", "b", "c"]), rng.integers(0, 3, 101)
            weight = rng.random(101) * 1e3 if weighted else None
            probabilities = rng.dirichlet(np.ones(3), 101).round(1)  # some are equal
            arguments = (classes, labels, weight)
            result, expected = (
                layer_score(of, *arguments) for of in (scoring, get_scorer("accuracy"))
            )
            for rows in (slice(None), rng.integers(0, 101, 57)):
                score = result(probabilities[rows], rows)
                assert score == expected(probabilities[rows], rows)
                assert isinstance(score, float)


def own_probability(estimator, X, y):
    return np.mean(estimator.predict_proba(X)[np.arange(len(y)), y])


def test_fewest_layers_match_a_slow_twin():
    """The error of a mean over samples is the error of the mean difference of blocks."""
    for seed in range(8):
        n_blocks, n_rows = 20, 400
        random = np.random.default_rng(seed)
        labels = random.integers(0, 2, n_rows)
        own = [
            share + 0.2 * random.normal(size=n_rows) for share in (0.5, 0.58, 0.585, 0.59, 0.58)
        ]
        best = int(np.argmax([of_layer.mean() for of_layer in own]))
        within = []
        for of_layer in own:
            gains = own[best] - of_layer
            blocks = [gains[first::n_blocks].mean() for first in range(n_blocks)]
            within.append(gains.mean() <= np.std(blocks, ddof=1) / np.sqrt(n_blocks))
        layers = [np.where(labels[:, None] == [0, 1], p[:, None], 1 - p[:, None]) for p in own]
        result = fewest_of(own_probability, labels, layers, np.arange(n_rows))
        assert result == within.index(True)


def test_groups_are_blocks_and_equal_scores_need_no_more_layers():
    alone = np.arange(400)
    labels = np.random.default_rng(0).integers(0, 2, 400)
    right = np.eye(2)[labels]
    # No difference is significant if one of ten groups gains and another loses a little.
    first = np.where(alone < 40, 1 - labels, labels)
    second = np.where((alone >= 40) & (alone < 44), 1 - labels, labels)
    layers = [np.eye(2)[first], np.eye(2)[second]]
    assert fewest_of(None, labels, layers, alone) == 1
    assert fewest_of(None, labels, layers, alone // 40) == 0
    assert fewest_of(None, labels, [right, right], alone) == 0
    # Mean margins below 0, whose ratio is infinite.
    assert fewest_of("margin-ratio", labels, [1 - right, 1 - right], alone) == 0
    assert fewest_of("margin-ratio", labels, [1 - right, layers[0], right], alone) == 2


def test_no_class_is_missed_by_a_scorer():
    for scoring in ["neg_log_loss", "roc_auc_ovr", "margin-ratio"]:
        labels = np.array(["a", "b"] * 20 + ["c"])
        random = np.random.default_rng(0)
        layers = [random.dirichlet(np.ones(3), 41) for _ in range(3)]
        assert 0 <= fewest_of(scoring, labels, layers, np.arange(41), np.arange(41) + 1.0) <= 2


def test_probability_scorers_refuse_several_outputs():
    for scoring in ["neg_log_loss", "neg_brier_score"]:
        classes = [np.arange(2), np.arange(3)]
        labels = np.zeros((4, 2), int)
        with pytest.raises(ValueError, match="is for classes of one output, got 2 outputs"):
            layer_score(scoring, classes, labels, None)
        of_function = make_scorer(log_loss, response_method="predict_proba")
        with pytest.raises(ValueError, match="is for classes of one output"):
            layer_score(of_function, classes, labels, None)


def test_accuracy_of_several_outputs_is_that_of_all():
    for weighted in [False, True]:
        for scoring in [None, "accuracy"]:
            classes = [np.array(["a", "b"]), np.array([1, 2, 3])]
            labels = np.array([[0, 0], [1, 2], [1, 1], [0, 2]])
            probabilities = np.zeros((4, 5))
            probabilities[np.arange(4), labels[:, 0]] = 1
            probabilities[np.arange(4), 2 + np.array([0, 2, 0, 2])] = 1
            weights = np.array([1.0, 2, 3, 4]) if weighted else None
            score = layer_score(scoring, classes, labels, weights)
            assert score(probabilities) == pytest.approx(0.7 if weighted else 0.75)
            assert score(probabilities[2:], np.array([2, 3])) == pytest.approx(
                4 / 7 if weighted else 0.5
            )
