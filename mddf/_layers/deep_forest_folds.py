"""Number of folds of a deep forest, and folds of its boosted trees."""

from __future__ import annotations

from mddf._binning.encoded_rows import CategoryLevels
from mddf._layers.presets import Preset, is_small_table
from mddf._layers.seeds import Purpose, Seeds
from mddf._layers.tasks import Task
from mddf._resampling.folds import Folds, make_folds

# Named boosted trees of small tables have ten folds of their own. With leaf-wise trees, their loss
# was 0.986 times that on the five folds of the layer, over 21 data sets of classes.
_N_BOOSTING_FOLDS = 10
# Large tables have fewer folds of boosted trees, which take most of the time. With 200 000 rows,
# three models of two thirds of them are better than one model of all rows.
_N_BOOSTING_FOLDS_OF_LARGE_TABLE = 3


def number_of_folds(task: Task) -> int:
    """Number of folds of the layers for ``cv="auto"``."""
    return 5 if len(task.target) >= task.min_samples_for_five_folds else 10


def make_boosting_folds(
    task: Task,
    preset: Preset,
    seeds: Seeds,
    *,
    n_features: int,
    levels: CategoryLevels | None,
    n_layer_folds: int,
) -> Folds | None:
    """Folds of the named boosted trees; None if they have the folds of the layer."""
    if task.is_large:
        n_repeats = 1
        n_folds = _N_BOOSTING_FOLDS_OF_LARGE_TABLE
    else:
        n_repeats = preset.repeats if task.has_margins else preset.number_repeats
        n_folds = _N_BOOSTING_FOLDS
        is_small = is_small_table(task, n_features, levels)
        if not is_small or n_layer_folds >= n_repeats * n_folds:
            return None
    return [
        fold
        for seed in seeds.integers(Purpose.BOOSTING_FOLDS, size=n_repeats)
        for fold in make_folds(n_folds, None, None, task.strata, seed)
    ]
