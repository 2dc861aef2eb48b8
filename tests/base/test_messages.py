"""Warnings point at the line of the user's code; values in errors take one line."""

import warnings

import numpy as np
import pandas as pd
import pytest
from mddf.baselines import AdaBoostClassifier, GCForestClassifier, MultiGrainedScanner
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [
    RandomForestClassifier(3, random_state=0),
    MDDFClassifier(1, n_estimators=2, cv=2, random_state=0),
    GCForestClassifier(1, n_estimators=2, cv=2, random_state=0),
    DeepForestClassifier(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
REGRESSORS = [
    RandomForestRegressor(3, random_state=0),
    DeepForestRegressor(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
Y = np.arange(120) % 2
MANY = pd.DataFrame({"n": np.arange(120.0), "name": [f"customer {i}" for i in range(120)]})
FEW = pd.DataFrame({"n": np.arange(120.0), "name": ["a", "b"] * 60})
NUMBERS = np.column_stack([np.arange(120.0), np.arange(120.0) + 1])


def model_id(model):
    return type(model).__name__


def warning_of(function, *args, **options):
    """The message of the only warning of a call, which must point at this file."""
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        function(*args, **options)
    assert {warning.filename for warning in result} == {__file__}
    return str(result[0].message)


def test_warnings_of_tables_point_at_the_call():
    for model in [*CLASSIFIERS, *REGRESSORS]:
        assert "120 categories in 120 rows" in warning_of(model.fit, MANY, Y)
        assert "categories that fit did not see" in warning_of(model.fit(FEW, Y).predict, MANY)
        assert "column-vector y" in warning_of(model.fit, FEW, Y[:, None])


def test_warnings_point_at_the_callers_line_through_wrappers():
    model = make_pipeline("passthrough", CLASSIFIERS[0])
    assert "120 categories in 120 rows" in warning_of(model.fit, MANY, Y)
    assert "categories in" in warning_of(
        cross_val_score, model, pd.concat([MANY] * 2), [*Y, *Y], cv=2
    )
    model = AdaBoostClassifier(2)
    assert "column-vector y" in warning_of(model.fit, NUMBERS, Y[:, None])
    scanner = MultiGrainedScanner([2], n_estimators=2, cv=2)
    assert "column-vector y" in warning_of(scanner.fit, NUMBERS, Y[:, None])
    assert "transform was given" in warning_of(scanner.fit(NUMBERS, Y).transform, NUMBERS)


@pytest.mark.parametrize("model", REGRESSORS, ids=model_id)
def test_too_small_targets_warn(model):
    y = np.where(Y, 1e300, 1e-300)
    message = (
        "60 of 120 targets are rounded to 0, since they are too small compared with the largest "
        "one, 1e+300"
    )
    assert message in warning_of(model.fit, FEW, y)
    model.fit(FEW, y, sample_weight=Y)  # what has no weight does not count
    model.fit(FEW, np.where(Y, 1.0, 1e-9))


# Values in errors


def folds(model, X):
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        cross_val_score(model, X, Y, cv=8)
    return [str(warning.message) for warning in result]


@pytest.mark.parametrize("model", [CLASSIFIERS[0], REGRESSORS[0]], ids=model_id)
def test_a_cross_validation_warns_once(model):
    X = MANY.assign(subject=np.repeat(np.arange(30), 4))
    for _ in range(2):  # who records warnings gets them again
        result = folds(model, X)
        assert len(result) == 2
        assert "'subject' looks like an identifier of subjects" in result[1]
