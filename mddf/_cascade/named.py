"""Settings of cascades with names of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mddf._base.messages import short

_PAPER: dict[str, Any] = {
    "strength": 1.0,
    "reweighting": "resample",
    "augmentation": "mean",
    "structure": "preconc",
    "forests": None,
    "alpha": "simplex",
}
_RANDOM_FORESTS = ["random", "random", "random", "random"]
# Settings that make an mdDF the named one.
NAMED_MDDF: dict[str, dict[str, Any]] = {
    "paper": _PAPER,
    "paper-stagewise": _PAPER | {"alpha": "stagewise"},
    "paper-mean-margin": _PAPER | {"alpha": "mean-margin"},
    "SF": _PAPER | {"forests": _RANDOM_FORESTS},
    "ST": _PAPER | {"structure": "stacking"},
    "NP": _PAPER | {"structure": "no-preconc"},
}
# Choices that the paper leaves to the user. 8 is the middle of its grid of depth steps on a
# logarithmic scale, rounded up; it was not tuned.
NAMED_MDDF_DEFAULTS: dict[str, Any] = {"depth_step": 8, "scoring": None, "tol": 0.0}


def resolve_named(
    name: str,
    settings: Mapping[str, Mapping[str, Any]],
    defaults: Mapping[str, Any],
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """Parameters of a named cascade; ValueError if a parameter contradicts the name."""
    if name not in settings:
        raise ValueError(f"name must be one of {sorted(settings)}, got {short(name)}")
    fixed = settings[name]
    for key, value in fixed.items():
        if key in params and params[key] != value:
            raise ValueError(f"{name} means {key}={value!r}, got {short(params[key])}")
    return {**defaults, **params, **fixed}
