"""Presets of deep forests: parameters that are left at "auto"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mddf._base.messages import nearest, short


@dataclass(frozen=True)
class Preset:
    """Values of parameters that are left at "auto"."""

    n_layers: int = 2
    n_estimators: int = 100
    without: tuple[str, ...] = ()  # names that "auto" leaves out of the members
    # Parameters of the named symmetric boosted trees.
    boosting: dict[str, Any] = field(default_factory=dict)
    # Depths of these trees that are compared, for classification and for regression. Depth 8 has
    # 0.996 times the loss in regression, and 0.999 times in classification.
    depths: tuple[int, ...] = (6, 4, 2)
    number_depths: tuple[int, ...] = (8, 6, 4, 2)
    # Number of times that ten folds of their own are drawn for the named boosted trees of small
    # tables; 0: they have the folds of the layer. Folds of their own lower the loss in
    # classification by about 1 %, and have no effect in regression.
    repeats: int = 1
    number_repeats: int = 0


PRESETS = {
    "default": Preset(),
    # About a third of the time of the default: fewer trees, and without the members that are slow
    # or often get little weight.
    "fast": Preset(
        n_layers=1,
        n_estimators=50,
        without=(
            "random-half",
            "completely-random",
            "boosted-leaf-wise",
            "kernel",
            "kernel-logistic",
            "network",
        ),
        boosting={"learning_rate": 0.15, "max_iter": 400},
        number_depths=(6, 4, 2),
        repeats=0,
    ),
}


def preset_named(name: Any) -> Preset:
    """Preset by its name."""
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    hint = nearest(name, PRESETS) if isinstance(name, str) else ""
    raise ValueError(f"preset must be one of {tuple(PRESETS)}, got {short(name)}{hint}")
