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
    leaf_wise : dict or None
        Parameters of leaf-wise boosted trees that are one more member.
    boosting : dict
        Parameters of the named boosted trees.
    n_repeats : int
        How often rows are divided into folds, each time in another way.
    """

    n_layers: int = 2
    n_estimators: int = 100
    without: tuple[str, ...] = ()
    leaf_wise: dict[str, Any] | None = None
    boosting: dict[str, Any] = field(default_factory=dict)
    n_repeats: int = 1


PRESETS = {
    "default": Preset(),
    "fast": Preset(
        n_layers=1,
        n_estimators=50,
        without=("random-half", "completely-random", "kernel"),
        boosting={"learning_rate": 0.15, "max_iter": 400},
    ),
    "best": Preset(
        n_estimators=300,
        leaf_wise={
            "grow_policy": "leaf-wise",
            "learning_rate": 0.05,
            "max_iter": 4000,
            "min_samples_leaf": 5,
        },
        boosting={"learning_rate": 0.05, "max_iter": 4000},
        n_repeats=3,
    ),
}


def preset_named(name: Any) -> Preset:
    """The preset of a name."""
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    hint = nearest(name, PRESETS) if isinstance(name, str) else ""
    raise ValueError(f"preset must be one of {tuple(PRESETS)}, got {short(name)}{hint}")
