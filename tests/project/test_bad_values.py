"""The helper that judges refusals of parameters finds the faults it should."""

import warnings

import bad_values
import numpy as np
import pytest
from sklearn.base import BaseEstimator

X, y = np.zeros((4, 1)), np.arange(4) % 2


class Careless(BaseEstimator):
    """Handles its parameter in a configurable way."""

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y, sample_weight=None):
        if callable(self.depth):
            self.depth()
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan if str(self.depth) == "nan" else 0.5)


def fails(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, None),
        (fails(ValueError("depth must be whole, got 'x'")), None),
        (fails(TypeError("the 'depth' is of a wrong type")), None),
        (lambda: warnings.warn("do not", UserWarning, stacklevel=2), None),
        (fails(ValueError("in depths unknown")), "without the name"),
        (fails(OverflowError("depth")), "OverflowError"),
        (fails(RuntimeWarning("depth")), "RuntimeWarning"),
        ("nan", "probabilities are"),
    ],
)
def test_verdicts(depth, expected):
    result = bad_values.problem(Careless(depth), "depth", X, y)
    assert result is None if expected is None else expected in result


def test_problems_name_the_value():
    assert set(bad_values.problems(Careless(), "depth", X, y)) >= {repr(len), "nan"}
    assert bad_values.weight_problems(Careless(), X, y) == {}
    assert len(bad_values.weight_problems(Careless("nan"), X, y)) > 20
