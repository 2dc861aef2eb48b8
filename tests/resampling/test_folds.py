"""Folds of layers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import MultiGrainedScanner
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier, by_columns
from mddf._resampling.folds import make_folds


def table(labels):
    return np.zeros((len(labels), 2))


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=2, max_size=60),
    n_folds=st.integers(2, 8),
    seed=st.integers(0, 1000),
)
def test_every_sample_is_held_out_once_and_folds_are_of_even_size(labels, n_folds, seed):
    labels = np.array(labels)
    folds = make_folds(n_folds, table(labels), labels, labels, seed)
    assert len(folds) == min(n_folds, len(labels))
    held_out = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(held_out), np.arange(len(labels)))
    for train, test in folds:
        assert len(train)
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(labels)


def test_folds_are_stratified_and_rare_classes_spread():
    labels = np.repeat([0, 1, 2, 3, 4], [50, 30, 3, 2, 1])
    folds = make_folds(5, table(labels), labels, labels, 0)
    for _, test in folds:
        counts = np.bincount(labels[test], minlength=5)
        assert counts[0] == 10
        assert counts[1] == 6
        assert 1 <= counts[2:].sum() <= 2


def test_seed_decides():
    labels = np.arange(40) % 2
    first, again, other = (
        make_folds(4, table(labels), labels, labels, seed) for seed in (1, 1, 2)
    )
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


def test_splitters_and_splits():
    labels = np.arange(12) % 3
    repeated = make_folds(
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        table(labels),
        labels,
        labels,
        0,
    )
    assert len(repeated) == 6
    halves = [(range(6), range(6, 12)), (np.arange(12) >= 6, np.arange(12) < 6)]
    (first, _), (_, last) = make_folds(iter(halves), table(labels), labels, labels, 0)
    np.testing.assert_array_equal(first, np.arange(6))
    np.testing.assert_array_equal(last, np.arange(6))


def test_splits_that_do_not_do():
    for cv, message in [
        (ShuffleSplit(2, test_size=2, random_state=0), "at least once"),
        ([([0, 1], [2, 3])], "never hold out 4 of 6"),
        ([([0, 1, 2, 3], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])], "row 3"),
        ([([0, 1], [2, 9])], "from 0 to 5"),
        ([([], [2, 3])], "at least one"),
        ([([0.5, 1], [2, 3])], "float64"),
        ([1, 2], "got 1 as split 0"),
    ]:
        labels = np.zeros(6, int)
        with pytest.raises(ValueError, match=message):
            make_folds(cv, table(labels), labels, labels, 0)


class Shown(KFold):
    """A splitter that stores its arguments."""

    def split(self, X, y=None, groups=None):
        self.seen = X, y
        return super().split(X, y, groups)


@pytest.mark.parametrize(
    "model",
    [
        MDDFClassifier(1, n_estimators=2),
        DeepForestClassifier(1, n_estimators=2, members=["random"]),
        DeepForestRegressor(1, n_estimators=2, members=["random"]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_splitters_get_the_users_data(model):
    X = pd.DataFrame({"a": np.arange(40.0), "b": pd.Categorical(["x", "y"] * 20)})
    y = 1000 + np.arange(40) % 3
    words = [["low", "mid", "high"][label - 1000] for label in y]
    for target in (y, words) if is_classifier(model) else (y, y[:, None], np.column_stack([y, y])):
        splitter = Shown(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a column vector
            model.set_params(cv=splitter).fit(X, target)
        assert splitter.seen[0] is X
        assert np.array_equal(splitter.seen[1], np.squeeze(target))
    model.set_params(cv=splitter).fit(by_columns(np.arange(80.0).reshape(40, 2)), y)
    assert np.array_equal(splitter.seen[0], np.arange(80.0).reshape(40, 2))
    model.set_params(cv=StratifiedKFold(3)).fit(X, y)


def test_splitters_of_scanners_get_the_users_labels():
    splitter, y = Shown(3), np.array(["x", "y"] * 20)
    MultiGrainedScanner([1], n_estimators=2, cv=splitter).fit(np.ones((40, 3)), y)
    assert np.array_equal(splitter.seen[1], y)


FITTED_ON: list = []


class Counting:
    """Records the number of its training rows."""

    def fit(self, X, y, sample_weight=None):
        FITTED_ON.append(len(X))
        return super().fit(X, y, sample_weight)


class CountingClassifier(Counting, DummyClassifier):
    pass


class CountingRegressor(Counting, DummyRegressor):
    pass


@pytest.mark.parametrize(
    ("make", "n_samples", "expected"),
    [
        (DeepForestClassifier, 49, 10 + 10),  # and figures without each pair of five parts
        (DeepForestClassifier, 50, 5 + 10),
        (DeepForestRegressor, 1999, 10),
        (DeepForestRegressor, 2000, 5),
    ],
)
def test_few_samples_have_more_folds(make, n_samples, expected):
    FITTED_ON.clear()
    counting = CountingClassifier if make is DeepForestClassifier else CountingRegressor
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    model = make(n_layers=1, n_estimators=2, members=["random", counting()], n_jobs=1)
    model.fit(X, np.arange(n_samples) % 2)
    assert sum(n < n_samples for n in FITTED_ON) == expected
