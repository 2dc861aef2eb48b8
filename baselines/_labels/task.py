"""The task of several labels."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mddf._layers.tasks import RegressionTask, strata_of_combinations, weights_for_rows
from mddf._targets.class_outputs import ClassOutputs


class LabelsTask(RegressionTask):
    """Several labels that a sample has (1) or lacks (0).

    Forecasts are probabilities of the labels, and their squared error is the Brier score.
    """

    score_name = "Brier score"

    def __init__(self, labels: np.ndarray, weight: np.ndarray | None) -> None:
        self.target = labels  # (n_samples, n_labels): 0 or 1
        self.n_columns = labels.shape[1]
        self.weight = weight
        # The squared error of one indicator is half of the Gini impurity of two classes.
        classes = [np.array([0, 1])] * self.n_columns
        self.leaf_values = ClassOutputs(classes, labels.astype(np.uint16), every_class=False)

    def for_rows(self, rows: np.ndarray) -> LabelsTask:
        return LabelsTask(self.target[rows], weights_for_rows(rows, self.weight))

    @cached_property
    def strata(self) -> np.ndarray:
        """A stratum is a combination of labels."""
        return strata_of_combinations(self.target)
