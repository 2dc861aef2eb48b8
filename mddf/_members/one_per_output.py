"""Models that each predict a part of a member's outputs or classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.serialization import register_serializable


@register_serializable("classifiers by output")
@dataclass(frozen=True)
class OnePerOutput:
    """Fitted classifiers or regressors, one for each output."""

    models: list[Any]
    widths: list[int]  # number of columns of each output's predictions: of its classes, or 1


@register_serializable("classifier of some classes")
@dataclass(frozen=True)
class SomeClassesClassifier:
    """A fitted classifier that was trained on rows without some of the classes.

    XGBoost requires that the labels of n classes are 0 to n - 1.
    """

    model: BaseEstimator  # its labels are positions in `classes`
    classes: np.ndarray  # codes of the classes of the training rows, in order
