"""Columns that look like repeated subjects."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold

from mddf import DeepForestClassifier, GradientBoostingRegressor, RandomForestRegressor, check

REPEATED = "column 0, 'subject' looks like an identifier of subjects: 20 values .* 4 rows each"
DEEP = {"members": ["random"], "n_estimators": 2, "cv": 2, "random_state": 0}


def studied(text=False, n_subjects=20, n_repeats=4):
    rng = np.random.default_rng(0)
    subjects = np.repeat(1 + np.arange(n_subjects), n_repeats)
    X = pd.DataFrame({"subject": subjects, "age": rng.normal(size=len(subjects))})
    if text:
        X["subject"] = [f"person {number}" for number in subjects]
    return X, rng.integers(0, 2, len(X))


def test_repeated_subjects_are_named():
    for text in [False, True]:
        for model in [
            RandomForestRegressor(2),
            GradientBoostingRegressor(max_iter=2, early_stopping=False),
            DeepForestClassifier(1, **DEEP),
        ]:
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
    model.fit(X, 2 * X["age"], X_val=X, y_val=2 * X["age"])


def visits(seed=0, n_subjects=40):
    """Subjects with 1 to 5 rows each, in the order of their numbers."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(n_subjects), rng.integers(1, 6, n_subjects))
    X = pd.DataFrame({"subject": subject, "x": rng.normal(size=len(subject))})
    return X, rng.integers(20, 80, n_subjects)[subject]


def subjects(X):
    """Columns that a fit and a check name, which are the same ones."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GradientBoostingRegressor(max_iter=2).fit(X, np.random.default_rng(1).normal(size=len(X)))
    texts = [str(warning.message) for warning in caught]
    matches = {re.match("column .*'(.*)' looks like an identifier", text) for text in texts}
    assert len(texts) <= 1 or not any("TimeOrder" in text for text in texts)
    in_check = {f.column for f in check(X) if f.finding == "identifier of subjects"}
    assert in_check == {match[1] for match in matches if match}
    return in_check


def test_names_of_subjects():
    for name in [
        "id",
        "patient",
        "PatientID",
        "subject_no",
        "Customer Number",
        "user_id",
        "userid",
    ]:
        for kind in ["sorted", "shuffled", "text", "gap", "odd"]:
            X, _ = visits()
            X = X.rename(columns={"subject": name})
            if kind == "shuffled":
                X = X.sample(frac=1, random_state=0)
            elif kind == "text":
                X[name] = [f"s{number}" for number in X[name]]
            elif kind in ("gap", "odd"):
                X[name] = X[name].astype(float)
                X.loc[0, name] = np.nan if kind == "gap" else 0.5
            assert subjects(X) == {name}


def test_other_names():
    for name in ["shop_id", "customer_age", "users", "zip", "grid", "customer_date"]:
        X, _ = visits()
        assert (
            subjects(X.rename(columns={"subject": name}).sample(frac=1, random_state=0)) == set()
        )


def test_columns_that_are_constant_within_subjects():
    for kind in ["sorted", "shuffled", "text", "gap"]:
        X, age = visits()
        X = X.rename(columns={"subject": "k"}).assign(age=age.astype(float))
        if kind == "shuffled":
            X = X.sample(frac=1, random_state=0)
        elif kind == "text":
            X["k"] = [f"s{number}" for number in X["k"]]
        elif kind == "gap":
            X.loc[0, ["k", "age"]] = np.nan
        assert subjects(X) == {"k"}


def test_other_columns_are_not_subjects():
    for column in [
        np.repeat(np.arange(1980, 2000), 4),  # years
        np.arange(80),  # an identifier of rows
        np.arange(80) % 4,  # a category
        np.repeat(np.arange(20), 4) + 0.5,
        np.full(80, np.nan),
        np.repeat(np.arange(5), 4),  # too few
        np.repeat([1e300, 1.0], 40),
    ]:
        rows = np.random.default_rng(0).permutation(len(column))
        assert subjects(pd.DataFrame({"x": np.asarray(column, float)[rows]})) == set()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(10, 60), st.integers(2, 8))
def test_random_numbers_are_no_subjects(seed, n_values, n_repeats):
    rng = np.random.default_rng(seed)
    n_rows = n_values * n_repeats
    if n_rows >= 40:
        column = np.repeat(np.arange(n_values), n_repeats)
        odd = column.astype(float)
        odd[rng.integers(n_rows)] = rng.choice([np.nan, 0.5, 1e9])
        for values in (column, odd):
            (finding,) = check(rng.permutation(values)[:, np.newaxis])
            assert finding.finding == "identifier of subjects"
    # Chance makes one column in a thousand look like subjects.
    columns = rng.integers(0, n_values, (n_rows, 3))
    assert sum(f.finding == "identifier of subjects" for f in check(columns)) < 2


def test_rows_without_weight_do_not_count():
    X, y = studied()
    weights = np.tile([1.0, 0, 0, 0], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomForestRegressor(2).fit(X, y, sample_weight=weights)
