"""Columns by which the rows are sorted."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    TimeOrder,
)

DEEP = {"members": ["random"], "n_estimators": 2, "random_state": 0}
SORTED = "the rows are sorted by column 1, .*TimeOrder"
RNG = np.random.default_rng(0)


def measured(dates=False):
    gaps = RNG.integers(1, 20, 90)
    week = np.cumsum(gaps)
    frame = pd.DataFrame({"x": RNG.normal(size=90), "week": week})
    if dates:
        frame["week"] = pd.date_range("2024-01-01", periods=90)
    return frame, RNG.integers(0, 2, 90)


def test_rows_in_order_are_named():
    for dates in [False, True]:
        for model in [
            DeepForestClassifier(1, cv=2, **DEEP),
            MDDFClassifier(1, n_estimators=2),
            GradientBoostingClassifier(max_iter=2),
        ]:
            X, y = measured(dates)
            with pytest.warns(UserWarning, match=SORTED):
                model.fit(X, y)
            shuffled = X.sample(frac=1, random_state=0)
            model.fit(shuffled, y)


def test_no_warning_if_rows_are_not_held_out_at_random():
    X, y = measured()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomForestClassifier(2).fit(X, y)
        GradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X, y)
        GradientBoostingClassifier(max_iter=2, cv=TimeOrder("week")).fit(X, y)
        DeepForestClassifier(1, cv=TimeOrder("week"), **DEEP).fit(X, y)
        DeepForestClassifier(1, **DEEP).fit(X, y, groups=np.arange(90) // 3)


def test_bytes_in_any_order_cause_no_warning():
    X = RNG.integers(0, 255, (100, 2), np.uint8)
    GradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > 100)
