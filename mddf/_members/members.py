"""The members of a deep forest's layer: forests of this package, and models of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._forest.base import Forest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._forest.regressors import CompletelyRandomForestRegressor, RandomForestRegressor
from mddf._gradient.base import GradientBoosting
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._members.composition import split_names
from mddf._members.external import blaming, check_external
from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.linear import LinearClassifier, LinearRegressor
from mddf._members.network import NetworkClassifier, NetworkRegressor
from mddf._members.spec import MemberSpec

# Of each kind of forest, one that looks at few columns for each split and one that looks at more.
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
)
# Leaf-wise trees beside symmetric ones lower log-losses, but not squared errors.
AUTO_REGRESSORS = ("random", "completely-random", "boosted", "kernel", "linear", "network")
# Of boosting in a layer, which finds out how many rounds are best.
_BOOSTING: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 2000,
    "max_depth": 6,
    "l2_regularization": 3.0,
    "max_features": 1.0,
    "subsample": 0.8,
}
# Small trees of few features for each node, at a low rate: their errors are unlike those of
# symmetric trees, so that both vote better together.
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
# What has to be at its default, since a layer has its own, or none.
_LEFT_TO_THE_LAYER = {
    "categorical_features": "from_dtype",
    "scoring": "loss",
    "tol": 0.0,
    "warm_start": False,
    "class_weight": None,
}

Makers = dict[str, Callable[[], Any]]


def named_classifiers(
    n_estimators: int, categorical: np.ndarray, widths: Sequence[int] | None = None
) -> Makers:
    """What makes the named members of a classifier; `widths` are classes of several outputs."""
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
    }


def named_regressors(n_estimators: int, categorical: np.ndarray) -> Makers:
    """What makes the named members of a regressor."""
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
    members: Any,
    makers: Makers,
    auto: Sequence[str],
    kind: str,
    *,
    n_features: int,
    max_bins: int,
    own_parameters: Sequence[str],
) -> list[MemberSpec]:
    """The members of a layer, from the parameter of that name.

    Parameters
    ----------
    members : "auto" or list
    makers : dict
        From names to functions that make a model.
    auto : sequence of str
        What "auto" means.
    kind : {"classifier", "regressor"}
        What members must be.
    n_features : int
        Columns that they will see.
    max_bins : int
        Of the table's columns.
    own_parameters : sequence of str
        Those of the estimator, which no member may be called.
    """
    if isinstance(members, str):
        if members != "auto":
            raise ValueError(f"members must be 'auto' or a list, got {short(members)}")
        members = list(auto)
    if not is_list(members) or len(members) == 0:
        raise ValueError(f"members must be 'auto' or a list of at least one, got {members!r}")
    split = split_names("members", members, own_parameters)
    taken = {name for name, _ in split if name is not None}
    resolved: list[MemberSpec] = []
    for given, member in split:
        by_default, model = _made(member, makers, kind, n_features)
        name, number = given or by_default, 2
        while given is None and name in taken:
            name, number = f"{by_default}-{number}", number + 1
        taken.add(name)
        if isinstance(model, Forest | GradientBoosting):
            with blaming(name, "be fitted"):
                _check_parameters(model)
        role = None
        if isinstance(member, str) and isinstance(model, Forest):
            role = "completely-random" if model._random_thresholds else "random"
        named_boosting = isinstance(member, str) and isinstance(model, GradientBoosting)
        if named_boosting:
            role = member
        boosts = named_boosting or grows_on_codes(model, max_bins)
        external = not (boosts or isinstance(member, str) or isinstance(model, Forest))
        resolved.append(MemberSpec(name, model, role, boosts, external))
    return resolved


def _made(member: Any, makers: Makers, kind: str, n_features: int) -> Any:
    """What a member is called by default, and its model."""
    if isinstance(member, str):
        if member not in makers:
            near = get_close_matches(member, makers, n=2, cutoff=0.51)
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(
                f"members must hold {kind}s or names out of {tuple(makers)}, got "
                f"{short(member)}{meant}"
            )
        return member, makers[member]()
    check_external("members", member, kind, n_features)
    return type(member).__name__, member


def _check_parameters(model: Any) -> None:
    """Refuse values that a fit of its own would refuse; in a layer it is not called."""
    model._validate_params()
    if isinstance(model, Forest):
        model._check_in_layer()


def grows_on_codes(model: Any, max_bins: int) -> bool:
    """Whether a model is gradient boosting that grows on a layer's binned table as it is set.

    Rounds are chosen on the folds of the layer, or all grown. What boosts another loss, stops by
    other rows or another score, or has other bins or categories is fitted as models of other
    packages are.
    """
    if not isinstance(model, GradientBoosting):
        return False
    given = vars(model)
    loss = "log_loss" if "class_weight" in given else "squared_error"
    stops_by_itself = given["early_stopping"] is True
    at_default = (
        isinstance(given[name], type(value)) and given[name] == value
        for name, value in _LEFT_TO_THE_LAYER.items()
        if name in given
    )
    return (
        given["loss"] == loss
        and given["max_bins"] == max_bins
        and not stops_by_itself
        and not isinstance(given["monotonic_cst"], dict)  # a binned table has no names
        and all(at_default)
    )
