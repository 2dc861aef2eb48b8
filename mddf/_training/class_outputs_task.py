"""The task of a deep forest whose samples have a class of each of several outputs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mddf._core import ValueTarget
from mddf._ensemble.blending import by_output
from mddf._targets.class_outputs import ClassOutputs
from mddf._training.tasks import ClassificationTask, weights_of

# Samples whose classes together are those of fewer others count as of one stratum.
_LEAST_STRATUM = 10


class ClassOutputsTask(ClassificationTask):
    """Classes of several outputs, judged by the mean of their log-losses.

    Forecasts hold the probabilities of the classes of all outputs side by side. Targets are the
    places of a sample's classes among these, of shape (n_samples, n_outputs).

    Parameters
    ----------
    outputs : ClassOutputs
        With a number for each class.
    weight, calibrate, score, measure
        As `ClassificationTask` has them. Exponents are common to all outputs.
    """

    shown = ("log_loss", "accuracy")
    has_margins = False

    def __init__(
        self,
        outputs: ClassOutputs,
        weight: np.ndarray | None,
        *,
        calibrate: bool,
        score: Any = None,
        measure: Any = "log-loss",
    ) -> None:
        super().__init__(
            outputs.places,
            sum(outputs.n_classes),
            weight,
            calibrate=calibrate,
            score=score,
            measure=measure,
        )
        self.values, self.widths = outputs, outputs.n_classes

    @cached_property
    def cells(self) -> ValueTarget:  # type: ignore[override]
        """What the kernel grows on."""
        return self.values.cells

    def of_rows(self, rows: np.ndarray) -> ClassOutputsTask:
        """The same of some samples, judged by log-loss."""
        weight = weights_of(rows, self.weight)
        return ClassOutputsTask(self.values.of_rows(rows), weight, calibrate=self.calibrate)

    @property
    def y(self) -> np.ndarray:
        """What estimators are fitted to that are no forests."""
        return self.values.labels

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        """Of each output, what boosting learns, and the number of classes."""
        return list(zip(self.values.labels.T, self.values.n_classes, strict=True))

    @property
    def key(self) -> np.ndarray:
        """What the order of rows goes by."""
        return self.values.key

    @cached_property
    def strata(self) -> np.ndarray:
        """What folds are to have equal shares of: classes of all outputs together."""
        _, strata, counts = np.unique(
            self.values.labels, axis=0, return_inverse=True, return_counts=True
        )
        strata = strata.reshape(-1)
        return np.where(counts[strata] < _LEAST_STRATUM, 0, strata + 1)

    @property
    def ignorance(self) -> Any:
        """The forecast of a sample that no tree predicts."""
        return np.repeat(1 / np.array(self.values.n_classes), self.values.n_classes)

    @property
    def n_times(self) -> int:
        """How many times as many trees a forest of all samples has as that of a fold."""
        return 1

    @property
    def numbers_of_a_round(self) -> float:
        """What a round of boosting costs: numbers in leaves, over those of two classes."""
        return float(sum(max(1.0, n / 2) for n in self.values.n_classes))

    def means(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        """Forecasts from sums over trees; see `grower.GrowthResult`."""
        return (sums[:, ::2] + sums[:, 1::2]) / n_trees[:, None]

    def _right(self, forecasts: np.ndarray) -> np.ndarray:
        """Whether the most probable classes are a sample's own, of all outputs together."""
        said = [part.argmax(axis=1) for part in by_output(forecasts, self.values.n_classes)]
        return np.all(np.stack(said, axis=1) == self.values.labels, axis=1)
