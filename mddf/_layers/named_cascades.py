"""Settings of cascades with names of their own."""

from __future__ import annotations

from typing import Any

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
