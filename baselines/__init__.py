"""Comparators: published algorithms that deep forests are compared with.

For practical use, `mddf.GradientBoostingClassifier` is better than the boosting algorithms here.
"""

from mddf._base.serialization import publish, share_modules

if __name__ != "mddf.baselines":  # the folder of a clone, imported by its own name
    share_modules(__name__, "mddf.baselines")

from .adaboost import AdaBoostClassifier
from .adaboost_rho import AdaBoostRhoClassifier
from .arc_gv import ArcGVClassifier
from .deepboost import DeepBoostClassifier
from .gcforest import GCForestClassifier
from .lpboost import LPBoostClassifier
from .mldf import MLDFClassifier
from .odm import ODMClassifier
from .quadboost import QuadBoostClassifier
from .scanning import MultiGrainedScanner

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRhoClassifier",
    "ArcGVClassifier",
    "DeepBoostClassifier",
    "GCForestClassifier",
    "LPBoostClassifier",
    "MLDFClassifier",
    "MultiGrainedScanner",
    "ODMClassifier",
    "QuadBoostClassifier",
]

publish(globals())
