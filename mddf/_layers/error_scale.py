"""Size of a deep forest's errors for rows of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._core import TreeOptions
from mddf._layers.trainer import Trainer
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import plan_sampling
from mddf._targets.kernel_targets import Values
from mddf._trees import grower, predictor
from mddf._trees.arrays import ValueTrees

# Trees of all folds together. They predict one number, for which this is steady enough. Not tuned.
_N_TREES = 100
# Smallest leaves: single errors vary by more than their mean, which takes some samples to see.
# Not tuned.
_MIN_SAMPLES_LEAF = 10
# Leaves are larger in large tables, which bounds the memory of the trees. Not tuned.
_MAX_LEAVES = 500
# Share of the mean error that is added to predictions. Near 0, a ratio of errors
# would be arbitrary. Not tuned.
_FLOOR_SHARE = 0.1


@register_serializable("error scale")
@dataclass(frozen=True)
class ErrorScale:
    """Forests, one for each fold, that predict absolute out-of-fold errors from the features."""

    trees: list[ValueTrees]
    exponents: np.ndarray  # (n_outputs,): leaves hold multiples of 2 to this power
    floor: np.ndarray  # (n_outputs,): added to every prediction

    def scales_from_means(self, means: np.ndarray) -> np.ndarray:
        """Sizes of errors, from means over trees; 1 if there are no errors at all."""
        scales = np.ldexp(means, self.exponents) + self.floor
        return np.where(scales > 0, scales, 1.0)

    def predict(self, codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Sizes of the errors of new rows, shape (n_rows, n_outputs)."""
        sums = predictor.leaf_sums(self.trees, codes, n_jobs=n_jobs)
        return self.scales_from_means(predictor.means_over_trees(self.trees, sums))


def fit_error_scale(
    trainer: Trainer, errors: np.ndarray, entropy: Sequence[int]
) -> tuple[ErrorScale, np.ndarray]:
    """Fit forests to absolute errors of shape (n_samples, n_outputs).

    Also returns the out-of-fold predictions. They are NaN for the first rows in time order, since
    no row before them has a known error.
    """
    weight = trainer.task.weight
    n_samples = len(errors)
    target = Values.from_targets(errors, weight)
    folds = _folds_of_known_errors(trainer)
    growth = grower.grow(
        trainer.feature_table,
        target.kernel_target,
        _tree_jobs(trainer, folds, n_samples, entropy),
        n_jobs=trainer.n_jobs,
        until=trainer.clock.end,
        whole=trainer.clock.whole,
    )
    sums = np.zeros_like(errors)
    n_trees = np.zeros(n_samples)
    for (_, held_out), result in zip(folds, growth, strict=True):
        assert result.sums is not None
        sums[held_out] += result.sums[:, ::2] + result.sums[:, 1::2]
        n_trees[held_out] += np.asarray(result.n_trees)
    error_scale = ErrorScale(
        trees=[trees for result in growth for trees in result.trees],
        exponents=target.exponents,
        floor=_FLOOR_SHARE * np.average(errors, axis=0, weights=weight),
    )
    means = sums / np.maximum(n_trees, 1)[:, None]
    scales = error_scale.scales_from_means(means)
    return error_scale, np.where(n_trees[:, None] > 0, scales, np.nan)


def _folds_of_known_errors(trainer: Trainer) -> Folds:
    """Folds that train on rows with a known error.

    If no fold has such rows, there is one that trains on all of them and holds out none.
    """
    if not trainer.is_in_time_order:
        return trainer.folds
    evaluated = trainer.evaluated_rows
    folds = [
        (np.intersect1d(train, evaluated).astype(np.int32), held_out)
        for train, held_out in trainer.folds
    ]
    return [fold for fold in folds if len(fold[0])] or [(evaluated, np.empty(0, np.int32))]


def _tree_jobs(
    trainer: Trainer, folds: Folds, n_samples: int, entropy: Sequence[int]
) -> list[grower.TreeJob]:
    """Jobs of a forest for each fold."""
    options = TreeOptions(
        max_features=-(-trainer.n_features // 3),  # a third of the features, as usual
        min_samples_leaf=max(_MIN_SAMPLES_LEAF, n_samples // _MAX_LEAVES),
    )
    n_folds = len(folds)
    n_trees_per_fold = -(-_N_TREES // n_folds)
    seeds = grower.draw_seeds(entropy, n_trees_per_fold * n_folds)
    return [
        grower.TreeJob(
            seeds=seeds_of_fold,
            options=options,
            sampling=plan_sampling(trainer.order, trainer.weights, train=train, bootstrap=True),
            held_out=np.asarray(held_out, np.int32),
        )
        for seeds_of_fold, (train, held_out) in zip(
            seeds.reshape(n_folds, n_trees_per_fold), folds, strict=True
        )
    ]
