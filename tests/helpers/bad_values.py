"""Unsuitable parameter values: each must work, or be refused by the parameter's name."""

import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
from sklearn.base import clone, is_regressor

VALUES = [
    *(None, True, False, ..., NotImplemented, object(), int, float, len, max, lambda: None),
    *(0, 1, -1, 2, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**70, 10**400),
    *(0.0, 1.0, -0.5, 0.5, 1.5, 1e20, 1e308, 5e-324, float("nan"), float("inf"), -float("inf")),
    *(1j, Decimal("0.5"), Decimal("NaN"), Fraction(1, 3), range(3), slice(1), iter([1])),
    *("", "x", "\0", "auto", b"x", bytearray(b"x")),
    *([], [[]], [None], ["x"], [0.5], [[1, 2], [3]], [[1.0, 2.0]], [[[1]]], [object()]),
    *((), ("x", 1), {}, {"x": 1}, {0: "x"}, {0: float("nan"), 1: -1}, {None: None}, set(), {"x"}),
    *(np.float64("nan"), np.int64(-3), np.uint8(3), np.bool_(True)),
    *(np.float32(0.5), np.longdouble(0.5)),
    *(np.array(3), np.array(0.5), np.array("x"), np.array(None), np.datetime64("NaT", "D")),
    *(np.empty(0), np.empty((2, 0)), np.arange(3), np.ones((2, 2)), np.array([None, 1])),
    np.ma.masked,
]  # fmt: skip


def sample_weights(n):
    """Weights of n rows that are wrong or at the limits of floating point."""
    ones = np.ones(n)

    def but_one(value):
        return np.where(np.arange(n) == 1, value, ones)

    scalars = [
        float("nan"),
        float("inf"),
        -1,
        0,
        1,
        1e308,
        5e-324,
        10**400,
        1j,
        "x",
        {},
        int,
        [],
        [[]],
    ]
    rows = [but_one(value) for value in (np.nan, np.inf, -1.0, 0.0, 1e308, 5e-324, 1e-300)]
    rows += [ones * value for value in (0.0, 1e308, 5e-324, 1e-310, 1e300, np.nan)]
    other = [ones[:-1], ones[:, None], np.ones((n, 2)), np.array(2.0), ones > 0, ones.astype("U3")]
    other += [ones.astype(complex), np.full(n, None)]
    other += [[[1.0]] * n, [1.0] * (n - 1) + [[1.0, 2.0]], dict.fromkeys(range(n), 1.0)]
    return scalars + rows + other  # fmt: skip


def answers(estimator, X):
    """Return probabilities, means or features of rows."""
    if is_regressor(estimator):
        return estimator.predict(X)
    classifies = hasattr(estimator, "predict_proba")
    # Of the very rows of fit, scanners warn.
    return estimator.predict_proba(X) if classifies else estimator.transform(X[1:])


def problem(estimator, name, X, y=None, **fit_params):
    """Return the fault of a fit with a value of the parameter `name`; None without a fault.

    Right is a fit after which probabilities are finite and sum to 1 (those of a transformer:
    are between 0 and 1; means are between the least and the largest target, or not far beyond if
    there are linear members), or a ValueError or TypeError that has the name of the parameter.
    Warnings meant for users are fine, others not.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            estimator.fit(X, **{"y": y} | fit_params)
        except (ValueError, TypeError) as error:
            if re.search(rf"\b{name.removeprefix('rules__')}\b", str(error)):
                return None
            return f"{type(error).__name__} without the name: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        try:
            p = answers(estimator, X)
        except Exception as error:
            return f"fits, but does not predict: {type(error).__name__}: {error}"
    if is_regressor(estimator):
        least, most = float(np.min(y)), float(np.max(y))
        p = (p - least) / (most - least)
    beyond = 1 if is_regressor(estimator) and hasattr(estimator, "members") else 0
    if np.all((p >= -beyond) & (p <= 1 + beyond)) and (
        not hasattr(estimator, "predict_proba") or np.allclose(p.sum(axis=1), 1)
    ):
        return None
    return f"fits, but the probabilities are {p[0]}, ..."


def problems(estimator, name, X, y):
    """Problems of an estimator with the values of one of its parameters."""
    results = {
        repr(value): problem(clone(estimator).set_params(**{name: value}), name, X, y)
        for value in VALUES
    }
    return {value: text for value, text in results.items() if text is not None}


def fit_problems(estimator, name, values, *data):
    """Problems of an estimator with values of the argument `name` of `fit`."""
    results = {
        repr(value): problem(clone(estimator), name, *data, **{name: value}) for value in values
    }
    return {value: text for value, text in results.items() if text is not None}


def weight_problems(estimator, X, y):
    """Problems of an estimator with sample weights."""
    return fit_problems(estimator, "sample_weight", sample_weights(len(X)), X, y)
