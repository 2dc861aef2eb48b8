"""Sets of classes, by coverage and by a slow twin."""

import numpy as np
import pytest

from mddf import DeepForestClassifier


def blobs(n=1500, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2))
    X = rng.normal(size=(n, 4)) * 1.2
    X[:, 0] += 1.3 * y
    X[:, 1] += y % 2
    return X, np.array(["ash", "beech", "cedar", "dogwood"])[y]


@pytest.fixture(scope="module")
def fitted():
    X, y = blobs()
    model = DeepForestClassifier(1, n_estimators=30, members=["random", "linear"], random_state=0)
    return model.fit(X[:500], y[:500]), X[:500], y[:500], X[500:], y[500:]


def slow_bound(values, coverage):
    """The lowest score that is at least this share of the scores, counting one more."""
    for value in sorted(values):
        if sum(v <= value for v in values) >= coverage * (len(values) + 1) - 1e-9:
            return value
    return np.inf


def test_prediction_sets_match_the_definition(fitted):
    for by_class in [False, True]:
        for coverage in [0.5, 0.8, 0.9, 0.95]:
            model, _, y, new, _ = fitted
            own = 1 - model.oof_probabilities_[np.arange(500), np.searchsorted(model.classes_, y)]
            for label, name in enumerate(model.classes_):
                bound = slow_bound(own[y == name] if by_class else own, coverage)
                expected = 1 - model.predict_proba(new)[:, label] <= bound
                result = model.predict_set(new, coverage, by_class=by_class)[:, label]
                np.testing.assert_array_equal(result, expected)


def test_prediction_sets_have_the_stated_coverage(fitted):
    for coverage in [0.5, 0.8, 0.9, 0.95]:
        model, *_, new, truth = fitted
        place = np.searchsorted(model.classes_, truth)
        sets = model.predict_set(new, coverage)
        assert sets.dtype == bool
        assert sets.shape == (1000, 4)
        inside = sets[np.arange(1000), place]
        assert inside.mean() == pytest.approx(coverage, abs=0.04)
        by_class = model.predict_set(new, coverage, by_class=True)[np.arange(1000), place]
        for label in range(4):
            assert by_class[place == label].mean() == pytest.approx(coverage, abs=0.09)
        larger = model.predict_set(new, min(0.99, coverage + 0.03))
        assert not (sets & ~larger).any()


def test_weights_count_as_rows():
    X, y = blobs(300)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    model = DeepForestClassifier(1, n_estimators=5, members=["random"], random_state=0)
    model.fit(X, y, weight)
    assert sum(part.n for part in model._scores) == 200
    assert sum(part.n for part in model.fit(X, y, 7 * weight)._scores) == 1400
    assert sum(part.n for part in model.fit(X, y, weight / 3)._scores) == pytest.approx(200)


def test_a_single_class_is_in_every_set():
    """Out-of-fold averages of ones and those of new samples differ in their last bits."""
    X, _ = blobs(60)
    y = np.full(len(X), "elm")
    for parameters in ({}, {"calibrate": False}):
        model = DeepForestClassifier(1, n_estimators=3, random_state=0, **parameters).fit(X, y)
        assert model.oof_probabilities_.max() <= 1
        assert model.predict_set(X).all()
        assert model.predict_set(X, by_class=True).all()
    outputs = np.column_stack([y, np.where(X[:, 0] > 0, "ash", "oak")])
    first, second = model.fit(X, outputs).predict_set(X)
    assert first.all()
    assert second.any()
    assert max(probabilities.max() for probabilities in model.oof_probabilities_) <= 1


def test_too_few_samples_are_warned_of():
    X, y = blobs(60)
    X, y = np.vstack([X, X[:3]]), np.append(y, ["elm"] * 3)
    model = DeepForestClassifier(1, n_estimators=5, members=["random"], cv=3, random_state=0)
    model.fit(X, y)
    with pytest.warns(UserWarning, match="coverage=0.99 needs at least 99 samples, got 63: all"):
        assert model.predict_set(X, 0.99).all()
    few = r"coverage=0.9 needs at least 9 samples of class 'elm', got 3: \d of 5 classes"
    with pytest.warns(UserWarning, match=few):
        sets = model.predict_set(X, by_class=True)
    assert sets[:, -1].all()
    assert not sets.all()


def test_coverages_that_do_not_do(fitted):
    for coverage in [0, 1, 1.5, np.nan, "0.9", None]:
        model, X, *_ = fitted
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got"):
            model.predict_set(X, coverage)
