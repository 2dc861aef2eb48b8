"""Comparators: the algorithms that deep forests are measured against."""

from .adaboost import AdaBoostClassifier
from .deepboost import DeepBoostClassifier
from .lpboost import LPBoostClassifier
from .quadboost import QuadBoostClassifier

__all__ = [
    "AdaBoostClassifier",
    "DeepBoostClassifier",
    "LPBoostClassifier",
    "QuadBoostClassifier",
]
