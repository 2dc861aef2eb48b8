"""Class probabilities from the votes f."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mddf._base.elementary import exp, expit, log, softmax
from mddf._layers.margin_loss import project_to_simplex

from .losses import loss_of
from .weak_learners import FloatArray

#: Votes that differ by less than this share of their size are within rounding errors of a tie: the
#: first of these classes is predicted.
NEAR_TOP = 1e-12


def probabilities(f: FloatArray, link: Any) -> FloatArray:
    """Convert votes to class probabilities, shape (n_samples, n_classes).

    `f` has the shape (n_samples,) for the second of two classes, or (n_samples, n_classes). `link`
    is the loss whose minimiser f is: "exponential", "logistic", "linear" for the quadratic loss
    and the soft margin, or an object with the methods of a loss of DeepBoost.
    """
    if isinstance(link, str) and link == "linear":
        return linear_probabilities(f)
    return logistic_probabilities(loss_of(link).log_odds(f))


def logistic_probabilities(log_odds: FloatArray) -> FloatArray:
    """Convert log-odds of the second of two classes, or of each class against the rest.

    Probabilities of several classes are divided by their sum, in the log domain, where they do not
    vanish.
    """
    if log_odds.ndim == 1:
        return np.column_stack([expit(-log_odds), expit(log_odds)])
    # ln(1 / (1 + e^-x)) without overflow.
    return softmax(np.minimum(log_odds, 0) - log(1 + exp(-np.abs(log_odds))))


def linear_probabilities(f: FloatArray) -> FloatArray:
    """Convert votes that estimate the mean of labels in {-1, +1} to probabilities.

    (1 + f) / 2, clipped to [0, 1], is the probability of the second of two classes. For several
    classes, these values are projected to the nearest point of the simplex.
    """
    if f.ndim == 1:
        return np.clip(np.column_stack([1 - f, 1 + f]) / 2, 0.0, 1.0)
    return project_to_simplex((1 + f) / 2)


def put_ahead(p: FloatArray, codes: NDArray[np.integer]) -> FloatArray:
    """Make sure that the predicted class of each row has the largest probability.

    Rounding may make it a tie. `p` is changed in place, by the smallest step of floating point.
    """
    rows = np.flatnonzero(p.argmax(axis=1) != codes)
    p[rows, codes[rows]] = np.nextafter(p[rows].max(axis=1), np.inf)
    return p
