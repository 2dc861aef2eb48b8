"""Values of parameters that are left at "auto": by presets, and of boosted trees by the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mddf._base.messages import nearest, short
from mddf._binning.encoded_rows import CategoryLevels
from mddf._gradient.target_statistics import groups_of
from mddf._layers.member import Member
from mddf._layers.tasks import Task
from mddf._layers.trainer import Trainer


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
    # A fifth of the time of the default on eight tables of about 1000 rows: fewer trees, and
    # without the members that are slow or often get little weight.
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


# A table is small up to about a million cells of two classes. For more classes or outputs, cells
# are multiplied by the cost of a boosting round. Set by hand.
_MAX_CELLS_OF_SMALL_TABLE = 2**20
# Boosted trees with many classes or outputs have fewer rounds, since a round costs more, but at
# least this number. Set by hand.
_MIN_ROUNDS = 100
# Named boosted trees; forests are named for other options.
_ROLES = ("boosted", "boosted-leaf-wise")
# Parameters of the symmetric boosted trees of large tables of classes: half of the rounds at a
# higher rate save half of the time. Set by hand.
_PARAMETERS_OF_LARGE_TABLES = {"learning_rate": 0.15, "max_iter": 1000}


def is_small_table(task: Task, n_features: int, levels: CategoryLevels | None) -> bool:
    """Whether boosting takes little time: by cells, target statistics included, and classes."""
    n_columns = n_features
    if levels is not None:
        n_columns += len(groups_of(levels))
    n_cells = len(task.target) * n_columns
    return n_cells * task.boosting_cost <= _MAX_CELLS_OF_SMALL_TABLE


def set_boosting_parameters(members: Sequence[Member], preset: Preset, trainer: Trainer) -> None:
    """Set the parameters of the named boosted trees that depend on preset and table."""
    task = trainer.task
    is_small = is_small_table(task, trainer.n_features, trainer.levels)
    for member in members:
        if member.role not in _ROLES:
            continue
        model = member.model
        if member.role == "boosted":
            model.set_params(**preset.boosting)
            if task.has_margins and task.is_large and not preset.boosting:
                model.set_params(**_PARAMETERS_OF_LARGE_TABLES)
        max_iter = max(_MIN_ROUNDS, int(model.max_iter / task.boosting_cost))
        model.set_params(max_iter=min(model.max_iter, max_iter))
        if member.role == "boosted-leaf-wise" and not is_small:
            # Half as many rounds at twice the rate keep the models of large tables small.
            model.learning_rate *= 2
