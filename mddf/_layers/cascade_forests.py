"""Forests of a cascade's layers, from the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._forest.base_classifier import BaseForest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._layers.member import EstimatorMember, ForestMember, Member
from mddf._members.composition import split_names
from mddf._members.external import check_external, check_takes_weights

OUT_OF_BAG = "oob"
FOREST_NAMES = ("random", "completely-random")


def named_forest(name: str, n_estimators: int, out_of_bag: bool) -> BaseForest:
    """Forest with the name "random" or "completely-random"."""
    if name == "random":
        return RandomForestClassifier(n_estimators)
    return CompletelyRandomForestClassifier(n_estimators, bootstrap=out_of_bag)


def resolve_forests(
    forests: Any,  # names and classifiers
    *,
    n_estimators: int,  # trees of named forests
    out_of_bag: bool,  # whether forests have to predict the rows that their trees did not draw
    weighted: bool,  # whether samples have weights, which all members must take
    own_parameters: Sequence[str],  # parameters of the cascade, which are no names of members
) -> list[Member]:
    """Members of a layer, from the parameter `forests`."""
    if not is_list(forests) or len(forests) == 0:
        raise ValueError(f"forests must be a list of at least one, got {short(forests)}")
    resolved: list[Member] = []
    for i, (name, forest) in enumerate(split_names("forests", forests, own_parameters)):
        if isinstance(forest, str):
            if forest not in FOREST_NAMES:
                raise ValueError(
                    f"forests must hold classifiers or names out of {FOREST_NAMES}, "
                    f"got {short(forest)}"
                )
            model = named_forest(forest, n_estimators, out_of_bag)
            resolved.append(ForestMember(forest, model))
            continue
        check_external("forests", forest, "classifier")
        if out_of_bag and not (isinstance(forest, BaseForest) and forest.bootstrap):
            raise ValueError(
                "cv='oob' needs forests of this package with bootstrap=True: others have no "
                f"out-of-bag predictions; got {short(forest)}"
            )
        name_in_errors = f"{type(forest).__name__} of forests[{i}]"
        if isinstance(forest, BaseForest):
            forest._validate_params()
            forest._check_in_layer()
            resolved.append(ForestMember(name_in_errors, forest))
            continue
        if weighted:
            check_takes_weights("forests", name or type(forest).__name__, forest)
        resolved.append(EstimatorMember(name_in_errors, forest, is_rounded=True))
    return resolved
