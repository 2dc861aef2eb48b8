"""The forests of a cascade's layers, from the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._forest.base_classifier import BaseForest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._members.composition import split_names
from mddf._members.external import check_external, check_takes_weights
from mddf._members.spec import MemberSpec

OUT_OF_BAG = "oob"
FOREST_NAMES = ("random", "completely-random")


def named_forest(name: str, n_estimators: int, out_of_bag: bool) -> BaseForest:
    """The forest that is meant by "random" or "completely-random"."""
    if name == "random":
        return RandomForestClassifier(n_estimators)
    return CompletelyRandomForestClassifier(n_estimators, bootstrap=out_of_bag)


def resolve_forests(
    forests: Any,
    n_estimators: int,
    *,
    out_of_bag: bool,
    weighted: bool,
    n_features: int,
    own_parameters: Sequence[str],
) -> list[MemberSpec]:
    """The forests of a layer, from the parameter of that name.

    Parameters
    ----------
    forests : list
        Names and classifiers.
    n_estimators : int
        Trees of those that are named.
    out_of_bag : bool
        Whether they are to predict what their trees did not draw.
    weighted : bool
        Whether samples have weights, which all must take.
    n_features : int
        Columns that the first layer sees.
    own_parameters : iterable of str
        Those of the cascade, which no forest may be called.
    """
    if not is_list(forests) or len(forests) == 0:
        raise ValueError(f"forests must be a list of at least one, got {short(forests)}")
    resolved = []
    for i, (name, forest) in enumerate(split_names("forests", forests, own_parameters)):
        if isinstance(forest, str):
            if forest not in FOREST_NAMES:
                raise ValueError(
                    f"forests must hold classifiers or names out of {FOREST_NAMES}, "
                    f"got {short(forest)}"
                )
            made = named_forest(forest, n_estimators, out_of_bag)
            resolved.append(MemberSpec(forest, made, None))
            continue
        check_external("forests", forest, "classifier", n_features)
        own = isinstance(forest, BaseForest)
        if out_of_bag and not (own and forest.bootstrap):
            raise ValueError(
                "cv='oob' needs forests of this package with bootstrap=True: others have no "
                f"out-of-bag predictions; got {short(forest)}"
            )
        if own:
            forest._validate_params()
            forest._check_in_layer()
        elif weighted:
            check_takes_weights("forests", name or type(forest).__name__, forest)
        called = f"{type(forest).__name__} of forests[{i}]"
        resolved.append(MemberSpec(called, forest, None))
    return resolved
