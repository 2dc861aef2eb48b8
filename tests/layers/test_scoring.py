"""Scores of layers."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer, log_loss, make_scorer

from mddf._layers.stopping import layer_score


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_accuracy_is_that_of_scikit_learn(scoring, weighted):
    """The results are equal to the last bit."""
    rng = np.random.default_rng(0)
    classes, labels = np.array(["a", "b", "c"]), rng.integers(0, 3, 101)
    weight = rng.random(101) * 1e3 if weighted else None
    probabilities = rng.dirichlet(np.ones(3), 101).round(1)  # some are equal
    arguments = (classes, labels, weight)
    result, expected = (layer_score(of, *arguments) for of in (scoring, get_scorer("accuracy")))
    for rows in (slice(None), rng.integers(0, 101, 57)):
        score = result(probabilities[rows], rows)
        assert score == expected(probabilities[rows], rows)
        assert isinstance(score, float)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_probability_scorers_refuse_several_outputs(scoring):
    classes = [np.arange(2), np.arange(3)]
    labels = np.zeros((4, 2), int)
    with pytest.raises(ValueError, match="is for classes of one output, got 2 outputs"):
        layer_score(scoring, classes, labels, None)
    of_function = make_scorer(log_loss, response_method="predict_proba")
    with pytest.raises(ValueError, match="is for classes of one output"):
        layer_score(of_function, classes, labels, None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_accuracy_of_several_outputs_is_that_of_all(scoring, weighted):
    classes = [np.array(["a", "b"]), np.array([1, 2, 3])]
    labels = np.array([[0, 0], [1, 2], [1, 1], [0, 2]])
    probabilities = np.zeros((4, 5))
    probabilities[np.arange(4), labels[:, 0]] = 1
    probabilities[np.arange(4), 2 + np.array([0, 2, 0, 2])] = 1
    weights = np.array([1.0, 2, 3, 4]) if weighted else None
    score = layer_score(scoring, classes, labels, weights)
    assert score(probabilities) == pytest.approx(0.7 if weighted else 0.75)
    assert score(probabilities[2:], np.array([2, 3])) == pytest.approx(4 / 7 if weighted else 0.5)
