"""Comparators: published algorithms that deep forests are compared with.

For practical use, `mddf.GradientBoostingClassifier` is better than the boosting algorithms here.
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
