"""Comparators: the algorithms that deep forests are measured against."""

from .adaboost import AdaBoostClassifier

__all__ = ["AdaBoostClassifier"]
