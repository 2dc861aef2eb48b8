"""How large a deep forest's errors are for rows of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._core import TreeOptions
from mddf._deep_forest.fold_trainer import Training
from mddf._resampling.sampling import plan_sampling
from mddf._targets.kernel_targets import Values
from mddf._trees import grower, predictor

# Trees of all folds together, and the fewest samples of their leaves.
_N_TREES, _FEWEST = 100, 10
# No more leaves than that, however many rows there are.
_MOST_LEAVES = 500
# Of the mean error, this share is added to what the trees predict: near 0 a ratio says little.
_FLOOR = 0.1


@register_serializable("error scale")
@dataclass(frozen=True)
class ErrorScale:
    """Forests, one for each fold, that predict absolute out-of-fold errors from the features.

    Attributes
    ----------
    trees : list of ValueTrees
    exponents : ndarray of int of shape (n_outputs,)
        Leaves hold multiples of 2 to that power.
    floor : ndarray of shape (n_outputs,)
        What is added.
    """

    trees: list[Any]
    exponents: np.ndarray
    floor: np.ndarray

    @classmethod
    def fit(
        cls, training: Training, errors: np.ndarray, entropy: Any
    ) -> tuple[ErrorScale, np.ndarray]:
        """Learn from errors of shape (n_samples, n_outputs); with what it says out-of-fold."""
        weight, n_rows = training.task.weight, len(errors)
        target = Values.of(errors, weight)
        floor = _FLOOR * np.average(errors, axis=0, weights=weight)
        options = TreeOptions(
            max_features=-(-training.n_raw // 3),
            min_samples_leaf=max(_FEWEST, n_rows // _MOST_LEAVES),
        )
        n_folds = len(training.folds)
        n_each = -(-_N_TREES // n_folds)
        seeds = grower.draw_seeds(entropy, n_each * n_folds).reshape(n_folds, n_each)
        blocks = [
            grower.TreeJob(
                seeds=of_fold,
                options=options,
                sampling=plan_sampling(
                    training.order, training.weights, train=train, bootstrap=True
                ),
                held_out=np.asarray(held_out, np.int32),
            )
            for of_fold, (train, held_out) in zip(seeds, training.folds, strict=True)
        ]
        grown = grower.grow(
            training.features, target.cells, blocks, n_jobs=training.n_jobs, **training.limits
        )
        sums, times = np.zeros_like(errors), np.zeros(n_rows)
        for (_, held_out), of_block in zip(training.folds, grown, strict=True):
            assert of_block.sums is not None
            sums[held_out] += of_block.sums[:, ::2] + of_block.sums[:, 1::2]
            times[held_out] += np.asarray(of_block.n_trees)
        trees = [tree for of_block in grown for tree in of_block.trees]
        made = cls(trees, target.exponents, floor)
        return made, made._scales(sums / np.maximum(times, 1)[:, None])

    def _scales(self, means: np.ndarray) -> np.ndarray:
        scales = np.ldexp(means, self.exponents) + self.floor
        return np.where(scales > 0, scales, 1.0)  # there are no errors at all

    def of_rows(self, codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """For new rows, of shape (n_rows, n_outputs)."""
        means = predictor.mean_vectors(self.trees, codes, len(self.floor), n_jobs=n_jobs)
        return self._scales(means)
