"""Deep forests guided by the margin distribution."""

from importlib import import_module

try:
    import_module("mddf._core")
except ImportError as error:
    raise ImportError(
        f"{error}: {__path__[0]} has no compiled core. If this is the source folder of mddf, "
        "start Python in another one, or install with: pip install -e ."
    ) from error

from mddf._cost import Cost, cost
from mddf._deep_forest import DeepForestClassifier
from mddf._deep_regressor import DeepForestRegressor
from mddf._forests import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._mddf import MDDFClassifier
from mddf._parts import by_columns
from mddf._regressors import CompletelyRandomForestRegressor, RandomForestRegressor
from mddf._state import from_state, publish

__version__ = "0.1.0"

__all__ = [
    "CompletelyRandomForestClassifier",
    "CompletelyRandomForestRegressor",
    "Cost",
    "DeepForestClassifier",
    "DeepForestRegressor",
    "MDDFClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "by_columns",
    "cost",
    "from_state",
]

publish(globals())
