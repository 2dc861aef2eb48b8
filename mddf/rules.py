"""Rules of cascades: rows that leave, weights, columns, trees and stopping, layer by layer."""

from mddf._base.serialization import publish
from mddf._layers.rules import (
    AccuracyScreening,
    BinnedScreening,
    LayerRules,
    LayerView,
    OwnClassReweighting,
    single_split,
    trees_by_rows,
)

__all__ = [
    "AccuracyScreening",
    "BinnedScreening",
    "LayerRules",
    "LayerView",
    "OwnClassReweighting",
    "single_split",
    "trees_by_rows",
]

publish(globals())
