"""Deep forests, forests and boosted trees for tables."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

try:
    import_module("mddf._core")
except ImportError as error:
    raise ImportError(
        f"{error}: {__path__[0]} has no compiled core. If this is the source folder of mddf, "
        "start Python in another one, or install with: pip install -e ."
    ) from error

from mddf._base.model_file import fingerprint, load, save
from mddf._base.serialization import from_state, publish
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._forest.regressors import CompletelyRandomForestRegressor, RandomForestRegressor
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.custom_loss import CustomLoss
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._input.chunked import by_columns
from mddf._inspection.cost import Cost, cost
from mddf._inspection.records import read_records
from mddf._layers.deep_forest_classifier import DeepForestClassifier
from mddf._layers.deep_forest_regressor import DeepForestRegressor
from mddf._layers.mddf_classifier import MDDFClassifier
from mddf._members.encoding import with_encoder
from mddf._resampling.time_order import TimeOrder

if TYPE_CHECKING:
    from mddf._quality.check import check
    from mddf._quality.drift import ColumnDrift, DriftReference, DriftTable, drift
    from mddf._quality.findings import Finding, Findings

try:
    __version__ = version("mddf")
except PackageNotFoundError:  # copied sources with a kernel beside them
    __version__ = "0+unknown"

__all__ = [
    "ColumnDrift",
    "CompletelyRandomForestClassifier",
    "CompletelyRandomForestRegressor",
    "Cost",
    "CustomLoss",
    "DeepForestClassifier",
    "DeepForestRegressor",
    "DriftReference",
    "DriftTable",
    "Finding",
    "Findings",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "MDDFClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "TimeOrder",
    "by_columns",
    "check",
    "cost",
    "drift",
    "fingerprint",
    "from_state",
    "load",
    "read_records",
    "save",
    "with_encoder",
]

# Checks of data are imported when they are first used.
_CHECKS = {
    "ColumnDrift": "drift",
    "DriftReference": "drift",
    "DriftTable": "drift",
    "Finding": "findings",
    "Findings": "findings",
    "check": "check",
    "drift": "drift",
}

publish(globals())
import_module("mddf.rules")  # models that are stored hold rules under this name


def __getattr__(name: str) -> Any:
    """Packages and checks, imported when they are first used."""
    if name in _CHECKS:
        value = getattr(import_module(f"mddf._quality.{_CHECKS[name]}"), name)
        value.__module__ = __name__
        globals()[name] = value
        return value
    if name in (
        "analysis",
        "baselines",
        "batch",
        "datasets",
        "explain",
        "export",
        "representation",
    ):
        return import_module(f"mddf.{name}")
    raise AttributeError(f"module 'mddf' has no attribute {name!r}")
