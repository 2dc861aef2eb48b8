"""Columns that look like repeated subjects."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold

from mddf import DeepForestClassifier, GradientBoostingRegressor, RandomForestRegressor
from mddf._input.subjects import counts_of_whole_numbers, looks_like_subjects

REPEATED = "column 0, 'subject' looks like an identifier of subjects: 20 values .* 4 rows each"
DEEP = {"members": ["random"], "n_estimators": 2, "cv": 2, "random_state": 0}


def studied(text=False, n_subjects=20, n_repeats=4):
    rng = np.random.default_rng(0)
    subjects = np.repeat(1 + np.arange(n_subjects), n_repeats)
    X = pd.DataFrame({"subject": subjects, "age": rng.normal(size=len(subjects))})
    if text:
        X["subject"] = [f"person {number}" for number in subjects]
    return X, rng.integers(0, 2, len(X))


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(2),
        GradientBoostingRegressor(max_iter=2, early_stopping=False),
        DeepForestClassifier(1, **DEEP),
    ],
    ids=lambda model: type(model).__name__,
)
def test_repeated_subjects_are_named(model, text):
    X, y = studied(text)
    with pytest.warns(UserWarning, match=REPEATED):
        model.fit(X, y)


def test_groups_and_splitters_are_an_answer():
    X, y = studied()
    subjects = X["subject"].to_numpy()
    RandomForestRegressor(2).fit(X, y, groups=subjects)
    DeepForestClassifier(1, **DEEP).fit(X, y, groups=subjects)
    splits = list(GroupKFold(2).split(X, y, subjects))
    DeepForestClassifier(1, **DEEP | {"cv": splits}).fit(X, y)
    model = GradientBoostingRegressor(max_iter=2)
    model.fit(X, X["age"], X_val=X, y_val=X["age"])


def counts(column):
    result = counts_of_whole_numbers(np.asarray(column, float))
    return np.zeros(0, int) if result is None else result


@pytest.mark.parametrize(
    "column",
    [
        np.repeat(np.arange(1980, 2000), 4),  # years
        np.arange(80),  # an identifier of rows
        np.arange(80) % 4,  # a category
        np.repeat(np.arange(20), 4) + 0.5,
        np.r_[np.nan, np.repeat(np.arange(20), 4)],
        np.full(80, np.nan),
        np.repeat(np.arange(5), 4),  # too few
        np.repeat([1e300, 1.0], 40),
    ],
)
def test_other_columns_are_not_subjects(column):
    assert not looks_like_subjects(counts(column))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(10, 60), st.integers(2, 8))
def test_random_numbers_are_no_subjects(seed, n_values, n_repeats):
    rng = np.random.default_rng(seed)
    if n_values * n_repeats >= 40:
        assert looks_like_subjects(counts(np.repeat(np.arange(n_values), n_repeats)))
    # Chance makes one column in a thousand look like subjects.
    columns = rng.integers(0, n_values, (3, n_values * n_repeats))
    assert sum(looks_like_subjects(counts(column)) for column in columns) < 2


def test_rows_without_weight_do_not_count():
    X, y = studied()
    weights = np.tile([1.0, 0, 0, 0], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomForestRegressor(2).fit(X, y, sample_weight=weights)
