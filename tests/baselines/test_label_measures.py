"""Measures of several labels agree with scikit-learn, and confidences are expected values."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines._labels.measures import MEASURES, measure_value
from sklearn import metrics


@st.composite
def predictions(draw, min_labels=2, max_labels=5, max_rows=8):
    """Labels and probabilities, with ties, and with rows that have no label or all of them."""
    n_rows = draw(st.integers(1, max_rows))
    n_labels = draw(st.integers(min_labels, max_labels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = (rng.random((n_rows, n_labels)) < rng.random((n_rows, 1))).astype(float)
    return labels, rng.integers(0, 5, size=labels.shape) / 4


@settings(deadline=None, max_examples=100)
@given(predictions())
def test_measures_of_scikit_learn(case):
    labels, probabilities = case
    weight = np.arange(len(labels)) + 1.0
    expected = {
        "hamming-loss": metrics.hamming_loss(labels, probabilities > 0.5, sample_weight=weight),
        "coverage": (metrics.coverage_error(labels, probabilities, sample_weight=weight) - 1)
        / labels.shape[1],
        "ranking-loss": metrics.label_ranking_loss(labels, probabilities, sample_weight=weight),
        "average-precision": metrics.label_ranking_average_precision_score(
            labels, probabilities, sample_weight=weight
        ),
        "one-error": np.average(
            [row[p.argmax()] == 0 for row, p in zip(labels, probabilities, strict=True)],
            weights=weight,
        ),
    }
    for name, value in expected.items():
        assert measure_value(name, labels, probabilities, weight) == pytest.approx(value), name


def test_macro_auc_leaves_out_constant_labels():
    rng = np.random.default_rng(0)
    labels = (rng.random((40, 3)) < 0.5).astype(float)
    probabilities = rng.random((40, 3))
    weight = rng.integers(0, 3, size=40).astype(float)
    areas = metrics.roc_auc_score(labels, probabilities, average="macro", sample_weight=weight)
    assert measure_value("macro-auc", labels, probabilities, weight) == pytest.approx(areas)
    labels[weight > 0, 1] = 1
    areas = metrics.roc_auc_score(
        labels[:, [0, 2]], probabilities[:, [0, 2]], sample_weight=weight
    )
    assert measure_value("macro-auc", labels, probabilities, weight) == pytest.approx(areas)
    assert measure_value("macro-auc", np.ones((3, 2)), np.ones((3, 2))) == 1


def outcomes(probabilities):
    """All label vectors, with their probabilities if labels are independent."""
    for labels in product([0, 1], repeat=len(probabilities)):
        labels = np.array(labels)
        yield labels, np.prod(np.where(labels == 1, probabilities, 1 - probabilities))


def last_label(labels):
    """Rank of the last label, from 1; 0 without labels."""
    return max(np.flatnonzero(labels) + 1, default=0)


def is_first(labels):
    """Whether the labels come first in the ranking."""
    return last_label(labels) == labels.sum()


@settings(deadline=None, max_examples=60)
@given(predictions())
def test_confidences_are_expected_over_all_outcomes(case):
    _, probabilities = case
    n_labels = probabilities.shape[1]
    ranked = -np.sort(-probabilities, axis=1)
    exact = [sum(chance for labels, chance in outcomes(row) if is_first(labels)) for row in ranked]
    last = [sum(chance * last_label(labels) for labels, chance in outcomes(row)) for row in ranked]
    for name in ("ranking-loss", "average-precision"):
        np.testing.assert_allclose(MEASURES[name].confidence(probabilities), exact, atol=1e-12)
    coverage = MEASURES["coverage"].confidence(probabilities)
    np.testing.assert_allclose(coverage, 1 - np.array(last) / n_labels, atol=1e-12)
    np.testing.assert_array_equal(MEASURES["one-error"].confidence(probabilities), ranked[:, 0])
    # Of a label, the rows take the place of the labels of a row.
    of_labels = MEASURES["macro-auc"].log_confidence(probabilities.T, None)
    np.testing.assert_allclose(np.exp(of_labels), exact, atol=1e-12)
    right = np.mean(np.maximum(probabilities, 1 - probabilities), axis=0)
    of_labels = MEASURES["hamming-loss"].log_confidence(probabilities, None)
    np.testing.assert_allclose(np.exp(of_labels), right)


def test_confidence_in_a_ranking_of_many_rows_does_not_vanish():
    probabilities = np.full((5000, 2), 0.5)
    probabilities[:, 1] = 0.4
    half, less = MEASURES["macro-auc"].log_confidence(probabilities, None)
    # 5001 ways to cut the ranking, each with probability 2^-5000.
    assert half == pytest.approx(np.log(5001) - 5000 * np.log(2))
    # A geometric series, whose largest term has all rows lack the label.
    assert less == pytest.approx(5000 * np.log(0.6) - np.log(1 - 0.4 / 0.6))
