"""The tasks of a deep forest: classification and regression."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mddf._core import ClassTarget, ValueTarget
from mddf._ensemble.blending import (
    UNCALIBRATED,
    Calibration,
    Widths,
    calibration,
    error_weights,
    fit_exponent,
    greedy_weights,
    log_losses,
    sharpened,
    squared_errors,
)
from mddf._ensemble.margin_loss import class_margins, margin_moments, margin_ratio
from mddf._targets.kernel_targets import Values
from mddf._targets.weights import n_counted
from mddf._trees.arrays import shares

_LEAVES: list[dict[str, Any]] = [{"min_samples_leaf": leaf} for leaf in (1, 2, 5)]
_TRIALS = {"random": _LEAVES, "completely-random": _LEAVES}
# So many samples make a member's own exponent count half.
_SHRINKAGE = 500
# Below so many samples no member gets weight 0.
_FEW_SAMPLES = 400
# With so many samples, half of the weight is spread evenly.
_BY_CHANCE = 30
# Members with less weight are dropped: they hardly change the average, but cost bytes and time.
_LEAST_WEIGHT = 0.05


def weights_of(rows: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
    """Weights of some rows; None where all count alike or none has any."""
    return None if weight is None or not weight[rows].any() else weight[rows]


def _without_small(weights: np.ndarray) -> np.ndarray:
    """The weights without those below `_LEAST_WEIGHT`."""
    kept = np.where(weights < min(_LEAST_WEIGHT, weights.max()), 0.0, weights)
    return kept / kept.sum()


class ClassificationTask:
    """Classes: forecasts are probabilities, judged by their log-loss.

    Parameters
    ----------
    labels : ndarray of uint16 of shape (n_samples,)
    n_columns : int
        Classes, which is how many numbers a forecast has.
    weight : ndarray of shape (n_samples,) or None
    calibrate : bool
        Whether forecasts are sharpened.
    score : callable or None
        From probabilities to a number, larger if better, by which members are weighed; None means
        log-loss.
    measure : str or callable, default="log-loss"
        What that is called.
    """

    shown: tuple[str, ...] = ("log_loss", "accuracy", "margin_ratio")
    trials: ClassVar[dict[str, list[dict[str, Any]]]] = _TRIALS
    enough = 50  # samples for which 5 folds are as good as 10
    unit = 1.0
    has_margins = True
    values: Any = None  # that are learnt: classes are not numbers
    widths: Widths = None  # of several outputs

    def __init__(
        self,
        labels: np.ndarray,
        n_columns: int,
        weight: np.ndarray | None,
        *,
        calibrate: bool,
        score: Any = None,
        measure: Any = "log-loss",
    ) -> None:
        self.target, self.n_columns, self.weight = labels, n_columns, weight
        self.calibrate, self.score, self.measure = calibrate, score, measure

    @cached_property
    def n_samples(self) -> int:
        """Samples that were seen, of which a whole weight counts as so many."""
        return n_counted(len(self.target), self.weight)

    @cached_property
    def cells(self) -> ClassTarget:
        """What the kernel grows on."""
        return ClassTarget(self.target, self.n_columns)

    def of_rows(self, rows: np.ndarray) -> ClassificationTask:
        """The same of some samples, judged by log-loss."""
        weight = weights_of(rows, self.weight)
        labels = self.target[rows]
        return ClassificationTask(labels, self.n_columns, weight, calibrate=self.calibrate)

    @property
    def y(self) -> np.ndarray:
        """What estimators are fitted to that are no forests."""
        return self.target

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        """Of each output, what boosting learns, and the number of classes."""
        return [(self.target, self.n_columns)]

    @property
    def key(self) -> np.ndarray:
        """What the order of rows goes by."""
        return self.target

    @property
    def strata(self) -> np.ndarray:
        """What folds are to have equal shares of."""
        return self.target

    @property
    def ignorance(self) -> float:
        """The forecast of a sample that no tree predicts."""
        return 1 / self.n_columns

    @property
    def n_times(self) -> int:
        """How many times as many trees a forest of all samples has as that of a fold.

        More than two probabilities are steadier means of more trees.
        """
        return 3 if self.n_columns > 2 else 1

    @property
    def numbers_of_a_round(self) -> float:
        """What a round of boosting costs: numbers in a leaf, over those of two classes."""
        return max(1.0, self.n_columns / 2)

    def means(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        """Forecasts from sums over trees; see `grower.GrowthResult`."""
        return shares(sums)

    def losses(self, forecasts: np.ndarray) -> np.ndarray:
        """Of each sample."""
        return log_losses(forecasts, self.target)

    def sharpened(self, forecasts: np.ndarray, exponent: float) -> np.ndarray:
        """Forecasts to the power of an exponent."""
        return sharpened(forecasts, exponent, self.widths)

    def least_losses(self, forecasts: np.ndarray) -> np.ndarray:
        """Those of forecasts that are made as sharp as is best."""
        exponent = fit_exponent(forecasts, self.target, self.weight, widths=self.widths)
        return log_losses(self.sharpened(forecasts, exponent), self.target)

    def own_exponent(self, forecasts: np.ndarray) -> float:
        """The exponent of a member's forecasts in the average; near 1 with few samples."""
        if not self.calibrate:
            return 1.0
        return fit_exponent(forecasts, self.target, self.weight, _SHRINKAGE, self.widths)

    def calibration(self, forecasts: np.ndarray) -> Calibration:
        """Of averaged forecasts."""
        if not self.calibrate:
            return UNCALIBRATED
        return calibration(forecasts, self.target, self.weight, self.widths)

    def weigh(self, forecasts: Any) -> np.ndarray:
        """Weights of members in the average: with few samples, chosen by chance in part."""
        weights = greedy_weights(forecasts, self.target, self.score, self.weight)
        weights = _without_small(weights)
        if self.n_samples >= _FEW_SAMPLES:
            return weights
        share = _BY_CHANCE / (self.n_samples + _BY_CHANCE)
        return (1 - share) * weights + share / len(weights)

    def drawn_weights(self, forecasts: Any, rows: np.ndarray, n_steps: int) -> np.ndarray:
        """Weights by the log-loss of some samples, in a few steps."""
        drawn, weight = [of_one[rows] for of_one in forecasts], weights_of(rows, self.weight)
        return greedy_weights(drawn, self.target[rows], None, weight, n_steps)

    def _scored(self, forecasts: np.ndarray) -> float:
        if self.score is not None:
            return self.score(forecasts)
        return -float(np.average(self.losses(forecasts), weights=self.weight))

    def _right(self, forecasts: np.ndarray) -> np.ndarray:
        """Whether the most probable class is a sample's own."""
        return forecasts.argmax(axis=1) == self.target

    def figures(self, forecasts: np.ndarray) -> dict[str, float]:
        """Scores of a member's forecasts."""
        return {
            "log_loss": float(np.average(self.losses(forecasts), weights=self.weight)),
            "accuracy": float(np.average(self._right(forecasts), weights=self.weight)),
        }

    def vote_figures(self, forecasts: np.ndarray) -> dict[str, float]:
        """Scores of a weighted average of members; of "score", larger is better."""
        found = self.figures(forecasts) | {"score": self._scored(forecasts)}
        if not self.has_margins:
            return found
        margins = class_margins(forecasts, self.target)
        mean, spread = margin_moments(margins, self.weight)
        ratio = margin_ratio(margins, self.weight)
        return found | {"margin_mean": mean, "margin_std": spread, "margin_ratio": ratio}


class RegressionTask:
    """Numbers: forecasts are means, judged by their squared error, summed over outputs.

    Parameters
    ----------
    y : ndarray of float64 of shape (n_samples, n_outputs)
        Of mean 0 and variance 1.
    weight : ndarray of shape (n_samples,) or None
    """

    measure = "squared error"
    shown = ("rmse", "r2")
    trials: ClassVar[dict[str, list[dict[str, Any]]]] = _TRIALS
    enough = 2000
    score = None
    ignorance = 0.0
    n_times = 1
    has_margins = False
    widths: Widths = None  # numbers are not classes

    def __init__(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        self.target, self.n_columns, self.weight = y, y.shape[1], weight
        self.values = Values.of(y, weight)
        self.unit: Any = np.ldexp(1.0, self.values.exponents)

    def of_rows(self, rows: np.ndarray) -> RegressionTask:
        """The same of some samples."""
        return RegressionTask(self.target[rows], weights_of(rows, self.weight))

    @property
    def y(self) -> np.ndarray:
        """What estimators are fitted to that are no forests."""
        return self.target

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        """Of each output, what boosting learns; no classes."""
        return [(output, 0) for output in self.target.T]

    @property
    def key(self) -> np.ndarray:
        """What the order of rows goes by."""
        return self.values.key

    @property
    def strata(self) -> np.ndarray:
        """What folds are to have equal shares of: nothing."""
        return np.zeros(len(self.target), np.uint16)

    @property
    def numbers_of_a_round(self) -> float:
        """What a round of boosting costs: a tree for each output."""
        return float(self.n_columns)

    @property
    def cells(self) -> ValueTarget:
        """What the kernel grows on."""
        return self.values.cells

    def means(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        """Forecasts from sums over trees; see `grower.GrowthResult`."""
        return (sums[:, ::2] + sums[:, 1::2]) / n_trees[:, None] * self.unit

    def losses(self, forecasts: np.ndarray) -> np.ndarray:
        """Of each sample."""
        return squared_errors(forecasts, self.target)

    def sharpened(self, forecasts: np.ndarray, exponent: float) -> np.ndarray:
        """There is nothing to sharpen."""
        return forecasts

    def least_losses(self, forecasts: np.ndarray) -> np.ndarray:
        """Of each sample: there is nothing to sharpen."""
        return self.losses(forecasts)

    def own_exponent(self, forecasts: np.ndarray) -> float:
        """There is nothing to sharpen."""
        return 1.0

    def calibration(self, forecasts: np.ndarray) -> Calibration:
        """There is nothing to calibrate."""
        return UNCALIBRATED

    def weigh(self, forecasts: Any) -> np.ndarray:
        """Weights of members in the average."""
        return _without_small(error_weights(forecasts, self.target, self.weight))

    def drawn_weights(self, forecasts: Any, rows: np.ndarray, n_steps: int) -> np.ndarray:
        """Weights by the squared error of some samples, in a few steps."""
        drawn, weight = [of_one[rows] for of_one in forecasts], weights_of(rows, self.weight)
        return error_weights(drawn, self.target[rows], weight, n_steps)

    def figures(self, forecasts: np.ndarray) -> dict[str, float]:
        """Scores of a member's forecasts, in units of the targets' standard deviation."""
        error = float(np.average(self.losses(forecasts), weights=self.weight)) / self.n_columns
        return {"rmse": float(np.sqrt(error)), "r2": 1 - error}

    def vote_figures(self, forecasts: np.ndarray) -> dict[str, float]:
        """Scores of a weighted average of members; of "score", larger is better."""
        found = self.figures(forecasts)
        return found | {"score": found["r2"]}
