"""What the parameter `preset` of deep forests stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mddf._base.messages import nearest, short


@dataclass(frozen=True)
class Preset:
    """What parameters are that were left at "auto".

    Attributes
    ----------
    n_layers, n_estimators : int
    without : tuple of str
        Names that "auto" leaves out of the members.
    boosting : dict
        Parameters of the named boosted trees.
    depths, number_depths : tuple of int
        Of these, which race, for classes and for numbers.
    repeats, number_repeats : int
        How often other folds are drawn, on which all named boosted trees of small tables are
        grown; 0: they are grown on those of the layer.
    """

    n_layers: int = 2
    n_estimators: int = 100
    without: tuple[str, ...] = ()
    boosting: dict[str, Any] = field(default_factory=dict)
    depths: tuple[int, ...] = (6, 4, 2)
    number_depths: tuple[int, ...] = (8, 6, 4, 2)
    repeats: int = 1
    number_repeats: int = 0


PRESETS = {
    "default": Preset(),
    "fast": Preset(
        n_layers=1,
        n_estimators=50,
        without=("random-half", "completely-random", "boosted-leaf-wise", "kernel", "network"),
        boosting={"learning_rate": 0.15, "max_iter": 400},
        number_depths=(6, 4, 2),
        repeats=0,
    ),
    "best": Preset(
        n_estimators=300,
        boosting={"learning_rate": 0.05, "max_iter": 4000},
        depths=(8, 6, 4, 2),
        repeats=3,
        number_repeats=3,
    ),
}


def preset_named(name: Any) -> Preset:
    """The preset of a name."""
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    hint = nearest(name, PRESETS) if isinstance(name, str) else ""
    raise ValueError(f"preset must be one of {tuple(PRESETS)}, got {short(name)}{hint}")
