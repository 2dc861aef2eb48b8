"""Comparators: the algorithms that deep forests are measured against.

For practice, take `mddf.GradientBoostingClassifier` rather than the boosting of papers.
"""

from mddf._base.serialization import publish

from .adaboost import AdaBoostClassifier
from .deepboost import DeepBoostClassifier
from .gcforest import GCForestClassifier
from .lpboost import LPBoostClassifier
from .quadboost import QuadBoostClassifier
from .scanning import MultiGrainedScanner

__all__ = [
    "AdaBoostClassifier",
    "DeepBoostClassifier",
    "GCForestClassifier",
    "LPBoostClassifier",
    "MultiGrainedScanner",
    "QuadBoostClassifier",
]

publish(globals())
