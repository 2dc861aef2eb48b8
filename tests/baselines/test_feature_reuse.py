"""The rule by which rows or labels reuse the vectors of the previous layer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines._labels.measures import MEASURES
from mddf.baselines._labels.reuse import FeatureReuse, LabelledPredictions
from naive_labels import mask_of_reuse


def drawn(seed, n_rows=30, n_labels=4, weighted=False):
    """Random labels and predictions of two layers."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((n_rows, n_labels)) < 0.4).astype(float)
    weight = rng.integers(0, 3, size=n_rows).astype(float) if weighted else None
    return LabelledPredictions(
        labels, rng.random(labels.shape), before=rng.random(labels.shape), weight=weight
    )


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_twin(name, seed, weighted):
    predictions = drawn(seed, weighted=weighted)
    rule = FeatureReuse.from_training(name, predictions)
    mask = mask_of_reuse(
        name,
        predictions.labels,
        predictions.probabilities,
        predictions.before,
        predictions.weight,
    )
    np.testing.assert_array_equal(rule.reused(predictions.probabilities), mask)
    vectors, before = np.random.default_rng(seed).random((2, 3, 30, 4))
    expected = np.where(rule.reused(vectors.mean(axis=0)), before, vectors)
    np.testing.assert_array_equal(rule.apply(vectors, before), expected)


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_is_reused_if_no_prediction_got_worse(name):
    predictions = drawn(0)
    same = LabelledPredictions(
        predictions.labels, predictions.before, before=predictions.before, weight=None
    )
    rule = FeatureReuse.from_training(name, same)
    assert rule.threshold == 0
    assert not rule.reused(predictions.probabilities).any()


def test_a_single_worse_label_is_not_below_its_own_confidence():
    labels = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    now = np.array([[0.9, 0.6], [0.9, 0.7], [0.6, 0.6]])
    rule = FeatureReuse.from_training(
        "hamming-loss", LabelledPredictions(labels, now, before=labels, weight=None)
    )
    # Both labels have one error more: the first has the confidence 0.8, the second 0.63.
    assert rule.labels.tolist() == [False, True]
    before = np.column_stack([now[:, 0], labels[:, 1]])
    rule = FeatureReuse.from_training(
        "hamming-loss", LabelledPredictions(labels, now, before=before, weight=None)
    )
    assert rule.labels.tolist() == [False, False]
