"""Task of samples that have a class of each of several outputs."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mddf._core import ClassTarget, ValueTarget
from mddf._ensemble.blending import by_output
from mddf._targets.class_outputs import ClassOutputs
from mddf._training.tasks import ClassificationTask, Score, weights_for_rows

# Combinations of classes with fewer samples are merged into one stratum: with at most ten folds,
# they could not be spread evenly.
_MIN_SAMPLES_OF_STRATUM = 10


class ClassOutputsTask(ClassificationTask):
    """Classification of several outputs, evaluated by the mean of their log-losses.

    Forecasts hold the probabilities of the classes of all outputs side by side. The target holds
    the positions of a sample's classes among these, of shape (n_samples, n_outputs).
    """

    printed_metrics = ("log_loss", "accuracy")
    has_margins = False
    leaf_values: ClassOutputs

    def __init__(
        self,
        outputs: ClassOutputs,  # with ``every_class=True``
        # As in `ClassificationTask`. All outputs have the same exponents.
        weight: np.ndarray | None,
        *,
        calibrate: bool,
        score: Score | None = None,
        score_name: str = "log-loss",
    ) -> None:
        super().__init__(
            outputs.places,
            sum(outputs.n_classes),
            weight,
            calibrate=calibrate,
            score=score,
            score_name=score_name,
        )
        self.leaf_values = outputs
        self.n_classes_per_output = outputs.n_classes

    @cached_property
    def kernel_target(self) -> ClassTarget | ValueTarget:
        return self.leaf_values.cells

    def for_rows(self, rows: np.ndarray) -> ClassOutputsTask:
        weight = weights_for_rows(rows, self.weight)
        outputs = self.leaf_values.of_rows(rows)
        return ClassOutputsTask(outputs, weight, calibrate=self.calibrate)

    @property
    def estimator_target(self) -> np.ndarray:
        return self.leaf_values.labels

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        return list(zip(self.leaf_values.labels.T, self.leaf_values.n_classes, strict=True))

    @property
    def order_key(self) -> np.ndarray:
        return self.leaf_values.key

    @cached_property
    def strata(self) -> np.ndarray:
        """A stratum is a combination of classes of all outputs."""
        _, strata, counts = np.unique(
            self.leaf_values.labels, axis=0, return_inverse=True, return_counts=True
        )
        strata = strata.reshape(-1)
        return np.where(counts[strata] < _MIN_SAMPLES_OF_STRATUM, 0, strata + 1)

    @property
    def prior(self) -> float | np.ndarray:
        return np.repeat(1 / np.array(self.leaf_values.n_classes), self.leaf_values.n_classes)

    @property
    def refit_tree_factor(self) -> int:
        return 1

    @property
    def boosting_cost(self) -> float:
        """Each output has trees of its own."""
        return float(sum(max(1.0, n / 2) for n in self.leaf_values.n_classes))

    def forecast_from_sums(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        return (sums[:, ::2] + sums[:, 1::2]) / n_trees[:, None]

    def _is_correct(self, forecast: np.ndarray) -> np.ndarray:
        """Whether the most probable classes of all outputs are the sample's own."""
        predicted = [
            probabilities.argmax(axis=1)
            for probabilities in by_output(forecast, self.leaf_values.n_classes)
        ]
        return np.all(np.stack(predicted, axis=1) == self.leaf_values.labels, axis=1)
