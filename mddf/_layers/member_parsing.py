"""Members of a layer, from the parameters `members` of deep forests and `forests` of cascades.

To add a member by name, write its estimators in a module of `mddf._members`, and add a line to
`named_classifiers` or `named_regressors` here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._forest.base import Forest
from mddf._forest.classifiers import (
    BaseForestClassifier,
    CompletelyRandomForestClassifier,
    RandomForestClassifier,
)
from mddf._forest.regressors import CompletelyRandomForestRegressor, RandomForestRegressor
from mddf._gradient.base import GradientBoosting
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._layers.member import BoostedMember, EstimatorMember, ForestMember, Member
from mddf._members.composition import split_names
from mddf._members.external import blaming, check_external, check_takes_weights
from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.linear import LinearClassifier, LinearRegressor
from mddf._members.network import NetworkClassifier, NetworkRegressor

# Default members. The two forests of each kind differ in the number of columns drawn for each
# split.
AUTO = (
    "random",
    "random-half",
    "completely-random",
    "completely-random-sqrt",
    "boosted",
    "boosted-leaf-wise",
    "kernel",
    "linear",
    "network",
    "kernel-logistic",
)
# Leaf-wise trees in addition to symmetric trees lower the loss of classification (to 0.993 times
# on 21 sets), but not of regression (0.9997 to 1.001 times on 9 sets).
AUTO_REGRESSORS = ("random", "completely-random", "boosted", "kernel", "linear", "network")
# Parameters of symmetric trees. A layer chooses their number on held-out rows, up to `max_iter`. A
# learning rate of 0.05 with up to 4000 rounds had 1.001 times the loss of classification, and
# 1.002 times the loss of regression.
_BOOSTING: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 2000,
    "max_depth": 6,
    "l2_regularization": 3.0,
    "max_features": 1.0,
    "subsample": 0.8,
}
# Parameters of leaf-wise trees. The errors of small trees with few features at each node and a low
# rate differ from those of symmetric trees. Both together had 0.993 times the loss of symmetric
# trees alone. It was 1.002 with 31 leaves and half of the features, 0.998 with 16 leaves, and
# 0.990 with 4 leaves.
_LEAF_WISE: dict[str, Any] = {
    "grow_policy": "leaf-wise",
    "learning_rate": 0.05,
    "max_iter": 4000,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 5,
    "l2_regularization": 1.0,
    "max_features": 0.3,
    "subsample": 0.8,
}
# Parameters that must have their defaults for boosting on the layer's table: the layer sets them
# itself or does not support them.
_LAYER_DEFAULTS = {
    "categorical_features": "from_dtype",
    "scoring": "loss",
    "tol": 0.0,
    "warm_start": False,
    "class_weight": None,
}

# A member as users write it: a name from the functions below; an estimator; or a pair of a chosen
# name and one of these.
GivenMember: TypeAlias = str | BaseEstimator | tuple[str, str | BaseEstimator]
Makers = dict[str, Callable[[], BaseEstimator]]


def named_classifiers(
    n_estimators: int, categorical: np.ndarray, widths: Sequence[int] | None = None
) -> Makers:
    """Functions that make the named members; `widths` are the classes of several outputs."""
    n_classes = None if widths is None else list(widths)
    return {
        "random": lambda: RandomForestClassifier(n_estimators),
        "random-half": lambda: RandomForestClassifier(n_estimators, max_features=0.5),
        "completely-random": lambda: CompletelyRandomForestClassifier(n_estimators),
        "completely-random-sqrt": lambda: CompletelyRandomForestClassifier(
            n_estimators, max_features="sqrt"
        ),
        "boosted": lambda: GradientBoostingClassifier(**_BOOSTING),
        "boosted-leaf-wise": lambda: GradientBoostingClassifier(**_LEAF_WISE),
        "kernel": lambda: KernelClassifier(categorical, n_classes=n_classes),
        "linear": lambda: LinearClassifier(categorical),
        "network": lambda: NetworkClassifier(categorical),
        "kernel-logistic": lambda: KernelLogisticClassifier(categorical),
    }


def named_regressors(n_estimators: int, categorical: np.ndarray) -> Makers:
    """Functions that make the named members of a regressor."""
    return {
        "random": lambda: RandomForestRegressor(n_estimators),
        "completely-random": lambda: CompletelyRandomForestRegressor(
            n_estimators, max_features=1.0
        ),
        "boosted": lambda: GradientBoostingRegressor(**_BOOSTING),
        "boosted-leaf-wise": lambda: GradientBoostingRegressor(**_LEAF_WISE),
        "kernel": lambda: KernelRegressor(categorical),
        "linear": lambda: LinearRegressor(categorical),
        "network": lambda: NetworkRegressor(categorical),
    }


def resolve_members(
    members: str | Sequence[GivenMember],
    makers: Makers,
    auto: Sequence[str],
    kind: str,
    *,
    max_bins: int,
    own_parameters: Sequence[str],
) -> list[Member]:
    """Resolve the parameter `members` of a deep forest to the members of a layer.

    Parameters
    ----------
    members : "auto" or list
        "auto" within a list stands for all members of "auto".
    makers : dict
        Functions that make a model, by name.
    auto : sequence of str
        Names of the members of "auto".
    kind : {"classifier", "regressor"}
    max_bins : int
        Most bins of a column of the layer's table.
    own_parameters : sequence of str
        Parameters of the estimator, which must not be names of members.
    """
    if isinstance(members, str):
        if members != "auto":
            raise ValueError(f"members must be 'auto' or a list, got {short(members)}")
        members = ["auto"]
    if not is_list(members) or len(members) == 0:
        raise ValueError(f"members must be 'auto' or a list of at least one, got {members!r}")
    members = [
        name
        for member in members
        for name in (auto if isinstance(member, str) and member == "auto" else [member])
    ]
    named_members = split_names("members", members, own_parameters)
    taken = {name for name, _ in named_members if name is not None}
    resolved: list[Member] = []
    for name, member in named_members:
        default_name, model = _make("members", member, makers, ["auto", *makers], kind)
        if name is None:
            name = _unused(default_name, taken)
            taken.add(name)
        if isinstance(model, Forest | GradientBoosting):
            # Parameters are checked here, because layers do not call `fit` of these estimators.
            with blaming(name, "be fitted"):
                model._validate_params()
                if isinstance(model, Forest):
                    model._check_in_layer()
        is_named = isinstance(member, str)
        if isinstance(model, Forest):
            role = "completely-random" if model._random_thresholds else "random"
            resolved.append(ForestMember(name, model, role if is_named else None))
        elif isinstance(model, GradientBoosting) and (is_named or grows_on_codes(model, max_bins)):
            resolved.append(BoostedMember(name, model, member if is_named else None))
        else:
            resolved.append(EstimatorMember(name, model, is_external=not is_named))
    return resolved


def _unused(name: str, taken: set[str]) -> str:
    """Append a number from 2 to a name that is taken."""
    candidate = name
    number = 2
    while candidate in taken:
        candidate = f"{name}-{number}"
        number += 1
    return candidate


def _make(
    parameter: str, member: GivenMember, makers: Makers, names: Sequence[str], kind: str
) -> tuple[str, BaseEstimator]:
    """Default name and estimator of a member of a parameter, which allows some names."""
    if isinstance(member, str):
        if member not in makers:
            similar = get_close_matches(member, names, n=2, cutoff=0.51)
            hint = f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
            raise ValueError(
                f"{parameter} must hold {kind}s or names out of {tuple(names)}, got "
                f"{short(member)}{hint}"
            )
        return member, makers[member]()
    check_external(parameter, member, kind)
    return type(member).__name__, member


def grows_on_codes(model: BaseEstimator, max_bins: int) -> bool:
    """Whether a model is gradient boosting that can grow on a layer's binned table.

    The layer chooses the rounds on its folds, or grows all. Models with another loss, early
    stopping, bins or categories are fitted as external estimators.
    """
    if not isinstance(model, GradientBoosting):
        return False
    parameters = vars(model)
    loss = "log_loss" if "class_weight" in parameters else "squared_error"
    return (
        parameters["loss"] == loss
        and parameters["max_bins"] == max_bins
        and parameters["early_stopping"] is not True
        and not isinstance(parameters["monotonic_cst"], dict)  # a binned table has no names
        and all(
            isinstance(parameters[name], type(default)) and parameters[name] == default
            for name, default in _LAYER_DEFAULTS.items()
            if name in parameters
        )
    )


OUT_OF_BAG = "oob"


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
    makers: Makers = {
        "random": lambda: RandomForestClassifier(n_estimators),
        "completely-random": lambda: CompletelyRandomForestClassifier(
            n_estimators, bootstrap=out_of_bag
        ),
    }
    resolved: list[Member] = []
    for i, (name, forest) in enumerate(split_names("forests", forests, own_parameters)):
        default_name, model = _make("forests", forest, makers, tuple(makers), "classifier")
        if isinstance(forest, str):
            resolved.append(ForestMember(default_name, model))
            continue
        if out_of_bag and not (isinstance(forest, BaseForestClassifier) and forest.bootstrap):
            raise ValueError(
                "cv='oob' needs forests of this package with bootstrap=True: others have no "
                f"out-of-bag predictions; got {short(forest)}"
            )
        name_in_errors = f"{default_name} of forests[{i}]"
        if isinstance(forest, BaseForestClassifier):
            forest._validate_params()
            forest._check_in_layer()
            resolved.append(ForestMember(name_in_errors, forest))
            continue
        if weighted:
            check_takes_weights("forests", name or default_name, forest)
        resolved.append(EstimatorMember(name_in_errors, forest, is_rounded=True))
    return resolved
