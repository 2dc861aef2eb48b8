"""Scores of held-out rows and their intervals."""

import numpy as np
import pytest

from mddf._command import scores


def probabilities(n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    predicted = rng.dirichlet(np.ones(n_classes), n)
    draws = rng.random((n, 1)) < predicted.cumsum(axis=1)
    return draws.argmax(axis=1), predicted


def test_intervals_from_many_rows_match_all_rows(monkeypatch):
    """Scaled intervals from small samples have the width of intervals from all rows."""
    y, predicted = probabilities(2000)
    classes = np.arange(3)
    monkeypatch.setattr(scores, "N_DRAWS", 60)
    monkeypatch.setattr(scores, "_MAX_DRAWN_ROWS", 2000)
    expected = scores.intervals(y, predicted, classes)
    monkeypatch.setattr(scores, "_MAX_DRAWN_ROWS", 500)
    limits = scores.intervals(y, predicted, classes)
    point = scores.evaluate(y, predicted, classes)
    for name, (low, high) in limits.items():
        low_of_all, high_of_all = expected[name]
        assert high - low == pytest.approx(high_of_all - low_of_all, rel=0.4)
        assert low < point[name] < high


def test_intervals_do_not_depend_on_names_of_classes(monkeypatch):
    y, predicted = probabilities(200)
    monkeypatch.setattr(scores, "N_DRAWS", 10)
    words = np.array(["a", "b", "c"], dtype=object)
    by_number = scores.intervals(y, predicted, np.arange(3))
    assert scores.intervals(words[y], predicted, words) == by_number


def test_the_width_is_that_of_the_formula():
    """The standard error of an accuracy p is sqrt(p (1 - p) / n)."""
    y, predicted = probabilities(40_000, n_classes=2)
    low, high = scores.intervals(y, predicted, np.arange(2))["accuracy"]
    p = np.mean(predicted.argmax(axis=1) == y)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(p * (1 - p) / len(y)), rel=0.15)
    rng = np.random.default_rng(0)
    errors = rng.normal(size=40_000)
    low, high = scores.intervals(errors, np.zeros(40_000))["MAE"]
    assert high - low == pytest.approx(2 * 1.96 * np.abs(errors).std() / 200, rel=0.15)


def test_groups_of_equal_rows_count_once():
    y, predicted = probabilities(40, n_classes=2)
    rows = np.repeat(np.arange(40), 5)
    expected = scores.intervals(y, predicted, np.arange(2))
    by_groups = scores.intervals(y[rows], predicted[rows], np.arange(2), groups=rows)
    for name, limits in expected.items():
        assert by_groups[name] == pytest.approx(limits)
