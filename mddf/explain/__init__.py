"""Explanations: contributions and importances of features, trees as arrays, plots."""

from mddf._base.serialization import publish
from mddf.explain._arrays import TreeArrays, category_codes, tree_arrays
from mddf.explain._displays import ImportancesDisplay, LayersDisplay
from mddf.explain._importances import importances
from mddf.explain._shap_interactions import shap_interaction_values
from mddf.explain._shap_values import shap_values

__all__ = [
    "ImportancesDisplay",
    "LayersDisplay",
    "TreeArrays",
    "category_codes",
    "importances",
    "shap_interaction_values",
    "shap_values",
    "tree_arrays",
]

publish(globals())
