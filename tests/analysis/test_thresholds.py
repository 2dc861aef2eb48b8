"""Decision thresholds, compared with a search over all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from mddf.analysis import Threshold, choose_threshold


def all_thresholds(labels, scores):
    """Precision, recall and F1 of each threshold that flags different rows."""
    for value in np.unique(scores):
        flagged = scores >= value
        yield (
            precision_score(labels, flagged, zero_division=0),
            recall_score(labels, flagged),
            f1_score(labels, flagged),
        )


@st.composite
def problems(draw):
    n = draw(st.integers(2, 30))
    labels = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    labels[0] = True
    labels[-1] = False
    scores = np.array(
        draw(st.lists(st.sampled_from([0, 0.1, 0.25, 0.5, 0.9]), min_size=n, max_size=n))
    )
    return labels, scores


@given(problems(), st.sampled_from([0.2, 0.5, 0.75, 1.0]))
def test_no_threshold_is_better(problem, limit):
    labels, scores = problem
    every = list(all_thresholds(labels, scores))
    best = choose_threshold(labels, scores)
    flagged = scores >= best.value
    assert best.f1 == pytest.approx(f1_score(labels, flagged))
    assert best.f1 == pytest.approx(max(f1 for _, _, f1 in every))
    best = choose_threshold(labels, scores, min_recall=limit)
    assert best.recall >= limit
    assert best.precision == pytest.approx(max(p for p, r, _ in every if r >= limit))
    allowed = [r for p, r, _ in every if p >= limit]
    if allowed:
        best = choose_threshold(labels, scores, min_precision=limit)
        assert best.recall == pytest.approx(max(allowed))
        assert precision_score(labels, scores >= best.value) == pytest.approx(best.precision)
    else:
        with pytest.raises(ValueError, match="min_precision must be at most"):
            choose_threshold(labels, scores, min_precision=limit)


def test_labels_and_weights():
    labels = np.array(["ham", "spam", "ham", "spam"])
    scores = np.array([0.1, 0.4, 0.5, 0.9])
    spam = choose_threshold(labels, scores)
    assert spam == choose_threshold(labels, scores, pos_label="spam")
    assert spam.value == 0.25
    ham = choose_threshold(labels, 1 - scores, pos_label="ham")
    assert ham == choose_threshold(labels == "ham", 1 - scores)
    twice = choose_threshold(np.tile(labels, 2), np.tile(scores, 2))
    assert choose_threshold(labels, scores, sample_weight=[2] * 4) == twice == spam
    high = choose_threshold(labels, scores, sample_weight=[1, 1, 100, 1])
    assert high.value == pytest.approx(0.7)
    padded = choose_threshold(
        np.append(labels, "ham"), np.append(scores, 0.89), sample_weight=[1, 1, 1, 1, 0]
    )
    assert padded == spam
    # Adjacent floats leave no room between them.
    close = np.array([0.5, np.nextafter(0.5, 1), 0.5, 0.9])
    assert choose_threshold(labels, close).value == np.nextafter(0.5, 1)
    assert Threshold(0.5, precision=0.0, recall=0.0).f1 == 0


def test_rows_without_a_probability_are_named():
    with pytest.raises(ValueError, match=r"must be finite.* got nan in row 1"):
        choose_threshold([0, 1], [0.5, np.nan])
