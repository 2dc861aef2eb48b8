"""Learning tasks of layers: their base class, classification, regression and several labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from mddf._core import ClassTarget, ValueTarget
from mddf._fitted.calibration import (
    UNCALIBRATED,
    Calibration,
    by_output,
    fit_calibration,
    fit_exponent,
    log_losses,
    own_probabilities,
    sharpened,
)
from mddf._layers.blending import error_weights, greedy_weights, squared_errors
from mddf._layers.margin_loss import class_margins, margin_moments, margin_ratio
from mddf._layers.scores import score_on_rows
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Values
from mddf._targets.weights import n_counted
from mddf._trees.arrays import shares

# From forecasts to a number, larger if better; a second argument may name their rows.
Score = Callable[..., float]

# Leaf sizes that are compared for the named forests. Noisy targets favour larger leaves; the three
# values were set by hand.
_FOREST_OPTIONS: dict[str, list[dict[str, int]]] = {
    "random": [{"min_samples_leaf": leaf} for leaf in (1, 2, 5)],
    "completely-random": [{"min_samples_leaf": leaf} for leaf in (1, 2, 5)],
}
# The logarithm of a member's exponent is multiplied by n / (n + 500) for n samples: an exponent
# that was fitted on few samples overfits them. Set by hand.
_EXPONENT_SHRINKAGE = 500
# Below this number of samples, out-of-fold losses cannot rank members reliably, so that every
# member keeps a small weight.
_MIN_SAMPLES_FOR_ZERO_WEIGHTS = 400
# With this number of samples, half of the weight is spread evenly over the members. The share
# falls as 30 / (n + 30). Set by hand.
_SAMPLES_FOR_HALF_EVEN_WEIGHTS = 30
# Members with a smaller weight are dropped. They hardly change the average, but cost memory and
# prediction time. Set by hand.
MIN_WEIGHT = 0.05
# Tables with more rows are large: members race before they are grown in full, and trials and races
# have fewer trees. Set by hand.
_MAX_ROWS_OF_MEDIUM_TABLE = 100_000
# Combinations of classes with fewer samples are merged into one stratum: with at most ten folds,
# they could not be spread evenly.
_MIN_SAMPLES_OF_STRATUM = 10


class Task(ABC):
    """Learning task of a layer: targets, and how forecasts of them are evaluated and combined.

    A forecast is an array of shape (n_samples, n_columns): class probabilities, or standardised
    numbers. Its values for one sample are called a vector. The methods that are not abstract suit
    a task without calibration and margins.
    """

    target: np.ndarray  # (n_samples,) or (n_samples, n_outputs): class numbers, or numbers
    n_columns: int  # length of a vector: classes or outputs
    weight: np.ndarray | None  # weights of the samples
    n_classes_per_output: list[int] | None = None  # for classification with several outputs
    leaf_values: Values | ClassOutputs | None = None  # None if leaves hold class shares
    # Units of the numbers in the leaves, as powers of two; None: they are 1.
    leaf_exponents: np.ndarray | None = None
    score: Score | None = None  # decides about members and layers; None for the loss
    score_name: str
    printed_metrics: tuple[str, ...]  # metrics that `verbose` prints for each layer
    # Options that are compared for each kind of named forest.
    forest_options: ClassVar[dict[str, list[dict[str, int]]]] = _FOREST_OPTIONS
    min_samples_for_five_folds: int  # with fewer samples, ten folds are used by default
    has_margins = False  # whether margins can reweight the samples
    # Number of models as which boosted trees are fitted again on all samples; 0 keeps the models
    # of the folds.
    n_refitted_boosting = 0
    # Whether each split of the named forests looks at all columns.
    named_forests_search_all_columns = False

    @property
    def is_large(self) -> bool:
        """Whether members take so long that losers must be found early."""
        return len(self.target) > _MAX_ROWS_OF_MEDIUM_TABLE

    @property
    @abstractmethod
    def prior(self) -> float | np.ndarray:
        """Forecast of a sample for which there is no tree."""

    @property
    @abstractmethod
    def kernel_target(self) -> ClassTarget | ValueTarget:
        """Target on which the kernel grows trees."""

    @property
    def estimator_target(self) -> np.ndarray:
        """Target to which members that are not forests are fitted."""
        return self.target

    @property
    @abstractmethod
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        """Target and number of classes of each output, for boosting; 0 classes in regression."""

    @property
    @abstractmethod
    def order_key(self) -> np.ndarray:
        """Whole numbers of each sample that take part in the canonical order of rows."""

    @property
    @abstractmethod
    def strata(self) -> np.ndarray:
        """Stratum of each sample, of which all folds get equal shares."""

    @property
    def refit_tree_factor(self) -> int:
        """Trees of a forest that is refitted on all samples, relative to a forest of one fold."""
        return 1

    @property
    @abstractmethod
    def boosting_cost(self) -> float:
        """Cost of a boosting round, relative to two classes or one output of a regression."""

    @abstractmethod
    def for_rows(self, rows: np.ndarray) -> Task:
        """Task of some samples, without the user's score."""

    def evaluated_on(self, rows: np.ndarray) -> Self:
        """Return the same task, with losses, weights and calibration from some rows only."""
        weight = np.zeros(len(self.target))
        weight[rows] = 1.0 if self.weight is None else self.weight[rows]
        task = copy(self)
        task.weight = weight
        if self.score is not None:
            task.score = score_on_rows(self.score, rows, len(self.target))
        return task

    def scored_on(self, rows: np.ndarray) -> Task:
        """Task of some samples, with the user's score of them."""
        task = self.for_rows(rows)
        score = self.score
        if score is not None:
            task.score = lambda forecast: score(forecast, rows)
        return task

    @abstractmethod
    def forecast_from_sums(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        """Mean over trees from sums over trees; see `grower.GrowthResult`."""

    @abstractmethod
    def losses(self, forecast: np.ndarray) -> np.ndarray:
        """Loss of each sample."""

    @abstractmethod
    def errors(self, forecast: np.ndarray) -> np.ndarray:
        """Errors of each sample, shape (n_samples,) or (n_samples, n_outputs)."""

    def mean_loss(self, forecast: np.ndarray) -> float:
        """Weighted mean of the losses."""
        return float(np.average(self.losses(forecast), weights=self.weight))

    def decision_loss(self, forecast: np.ndarray) -> float:
        """Loss that decides about members and layers: minus the user's score, if there is one."""
        return self.mean_loss(forecast) if self.score is None else -float(self.score(forecast))

    def calibrated_losses(self, forecast: np.ndarray) -> np.ndarray:
        """Loss of each sample after the forecast got the exponent of least mean loss."""
        return self.losses(forecast)

    def sharpened(self, forecast: np.ndarray, exponent: float) -> np.ndarray:
        """Forecast raised to the power of an exponent; numbers are returned as they are."""
        return forecast

    def member_exponent(self, forecast: np.ndarray) -> float:
        """Exponent of a member's forecast in the average; near 1 with few samples."""
        return 1.0

    def fit_calibration(self, forecast: np.ndarray) -> Calibration:
        """Fit the calibration of an averaged forecast."""
        return UNCALIBRATED

    @abstractmethod
    def member_weights(self, forecasts: Sequence[np.ndarray]) -> np.ndarray:
        """Weights of members in the average."""

    @abstractmethod
    def trial_weights(
        self, forecasts: Sequence[np.ndarray], rows: np.ndarray, n_steps: int
    ) -> np.ndarray:
        """Weights of members by the loss of some samples, found in a few steps."""

    def margins(self, forecast: np.ndarray) -> np.ndarray | None:
        """Margins of a forecast; None if the task has none."""
        return None

    @abstractmethod
    def metrics(self, forecast: np.ndarray) -> dict[str, float]:
        """Metrics of a member's forecast."""

    @abstractmethod
    def ensemble_metrics(self, forecast: np.ndarray) -> dict[str, float]:
        """Metrics of an averaged forecast, with its "score", larger if better."""


def weights_for_rows(rows: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
    """Weights of some rows; None if all rows count alike or none of them has weight."""
    return None if weight is None or not weight[rows].any() else weight[rows]


def _without_small_weights(weights: np.ndarray) -> np.ndarray:
    kept = np.where(weights < min(MIN_WEIGHT, weights.max()), 0.0, weights)
    return kept / kept.sum()


class ClassificationTask(Task):
    """Classification: forecasts are probabilities, evaluated by their log-loss."""

    printed_metrics: tuple[str, ...] = ("log_loss", "accuracy", "margin_ratio")
    # From 50 samples on, ten folds gained nothing over five on 31 data sets.
    min_samples_for_five_folds = 50
    has_margins = True

    def __init__(
        self,
        labels: np.ndarray,  # (n_samples,)
        n_columns: int,
        weight: np.ndarray | None,  # (n_samples,)
        *,
        calibrate: bool,  # whether forecasts get exponents
        # From probabilities to a number, larger if better; None for the log-loss.
        score: Score | None = None,
        score_name: str = "log-loss",
    ) -> None:
        self.target = labels
        self.n_columns = n_columns
        self.weight = weight
        self.calibrate = calibrate
        self.score = score
        self.score_name = score_name

    @property
    def n_samples(self) -> int:
        """Number of samples, of which one with a whole weight counts that many times."""
        return n_counted(len(self.target), self.weight)

    @cached_property
    def kernel_target(self) -> ClassTarget | ValueTarget:
        return ClassTarget(self.target, self.n_columns)

    def for_rows(self, rows: np.ndarray) -> ClassificationTask:
        weight = weights_for_rows(rows, self.weight)
        labels = self.target[rows]
        return ClassificationTask(labels, self.n_columns, weight, calibrate=self.calibrate)

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        return [(self.target, self.n_columns)]

    @property
    def order_key(self) -> np.ndarray:
        return self.target

    @property
    def strata(self) -> np.ndarray:
        return self.target

    @property
    def prior(self) -> float | np.ndarray:
        return 1 / self.n_columns

    @property
    def refit_tree_factor(self) -> int:
        """The mean over five folds has five times the trees of one fold.

        More than two probabilities are steadier means of more trees, hence three times as many.
        """
        return 3 if self.n_columns > 2 else 1

    @property
    def boosting_cost(self) -> float:
        """Leaves hold a number for each class, of two classes one."""
        return max(1.0, self.n_columns / 2)

    def forecast_from_sums(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        return shares(sums)

    def losses(self, forecast: np.ndarray) -> np.ndarray:
        return log_losses(forecast, self.target)

    def errors(self, forecast: np.ndarray) -> np.ndarray:
        """One minus the probabilities of the samples' own classes."""
        return 1 - own_probabilities(forecast, self.target)

    def sharpened(self, forecast: np.ndarray, exponent: float) -> np.ndarray:
        return sharpened(forecast, exponent, self.n_classes_per_output)

    def calibrated_losses(self, forecast: np.ndarray) -> np.ndarray:
        exponent = fit_exponent(
            forecast, self.target, self.weight, widths=self.n_classes_per_output
        )
        return log_losses(self.sharpened(forecast, exponent), self.target)

    def member_exponent(self, forecast: np.ndarray) -> float:
        if not self.calibrate:
            return 1.0
        return fit_exponent(
            forecast,
            self.target,
            self.weight,
            shrinkage=_EXPONENT_SHRINKAGE,
            widths=self.n_classes_per_output,
        )

    def fit_calibration(self, forecast: np.ndarray) -> Calibration:
        if not self.calibrate:
            return UNCALIBRATED
        return fit_calibration(forecast, self.target, self.weight, self.n_classes_per_output)

    def member_weights(self, forecasts: Sequence[np.ndarray]) -> np.ndarray:
        """With few samples, part of the weight is spread evenly."""
        weights = greedy_weights(forecasts, self.target, self.score, self.weight)
        weights = _without_small_weights(weights)
        n_samples = self.n_samples
        if n_samples >= _MIN_SAMPLES_FOR_ZERO_WEIGHTS:
            return weights
        even_share = _SAMPLES_FOR_HALF_EVEN_WEIGHTS / (n_samples + _SAMPLES_FOR_HALF_EVEN_WEIGHTS)
        return (1 - even_share) * weights + even_share / len(weights)

    def trial_weights(
        self, forecasts: Sequence[np.ndarray], rows: np.ndarray, n_steps: int
    ) -> np.ndarray:
        return greedy_weights(
            [forecast[rows] for forecast in forecasts],
            self.target[rows],
            weight=weights_for_rows(rows, self.weight),
            n_steps=n_steps,
        )

    def margins(self, forecast: np.ndarray) -> np.ndarray | None:
        return class_margins(forecast, self.target) if self.has_margins else None

    def _is_correct(self, forecast: np.ndarray) -> np.ndarray:
        """Whether the most probable class is the sample's own."""
        return forecast.argmax(axis=1) == self.target

    def metrics(self, forecast: np.ndarray) -> dict[str, float]:
        return {
            "log_loss": self.mean_loss(forecast),
            "accuracy": float(np.average(self._is_correct(forecast), weights=self.weight)),
        }

    def ensemble_metrics(self, forecast: np.ndarray) -> dict[str, float]:
        metrics = self.metrics(forecast)
        metrics["score"] = -metrics["log_loss"] if self.score is None else self.score(forecast)
        margins = self.margins(forecast)
        if margins is not None:
            metrics["margin_mean"], metrics["margin_std"] = margin_moments(margins, self.weight)
            metrics["margin_ratio"] = margin_ratio(margins, self.weight)
        return metrics


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
            outputs.joint_labels,
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
        return self.leaf_values.kernel_target

    def for_rows(self, rows: np.ndarray) -> ClassOutputsTask:
        weight = weights_for_rows(rows, self.weight)
        outputs = self.leaf_values.take(rows)
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
        return strata_of_combinations(self.leaf_values.labels)

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


def strata_of_combinations(labels: np.ndarray) -> np.ndarray:
    """Stratum of each row's combination of labels; rare combinations share one."""
    _, strata, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    strata = strata.reshape(-1)
    return np.where(counts[strata] < _MIN_SAMPLES_OF_STRATUM, 0, strata + 1)


class RegressionTask(Task):
    """Regression: forecasts are means, evaluated by their squared error, summed over outputs."""

    score_name = "squared error"
    printed_metrics: tuple[str, ...] = ("rmse", "r2")
    # With fewer samples, the additional training rows of ten folds matter. Set by hand.
    min_samples_for_five_folds = 2000
    # Three models, so that chance between seeds matters less: with 6000 rows of miami_housing, one
    # model of two seeds differed by 1.7 %. On 14 small development sets, the error of the deep
    # forest relative to that with the models of the folds was 0.998 with three models, and 0.996
    # to 0.999 with one, two or five. On four sets of 6000 to 10 000 rows it was 0.991 to 0.997.
    n_refitted_boosting = 3
    named_forests_search_all_columns = True
    leaf_values: Values | ClassOutputs
    prior = 0.0

    def __init__(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        self.target = y
        self.n_columns = y.shape[1]
        self.weight = weight  # (n_samples,)
        values = Values.from_targets(y, weight)
        self.leaf_values = values
        self.leaf_exponents = values.exponents

    def for_rows(self, rows: np.ndarray) -> RegressionTask:
        return RegressionTask(self.target[rows], weights_for_rows(rows, self.weight))

    @property
    def kernel_target(self) -> ClassTarget | ValueTarget:
        return self.leaf_values.kernel_target

    @property
    def outputs(self) -> list[tuple[np.ndarray, int]]:
        return [(output, 0) for output in self.target.T]

    @property
    def order_key(self) -> np.ndarray:
        return self.leaf_values.key

    @property
    def strata(self) -> np.ndarray:
        """All samples are in one stratum."""
        return np.zeros(len(self.target), np.uint16)

    @property
    def boosting_cost(self) -> float:
        """Each output has trees of its own."""
        return float(self.n_columns)

    def forecast_from_sums(self, sums: np.ndarray, n_trees: np.ndarray) -> np.ndarray:
        means = (sums[:, ::2] + sums[:, 1::2]) / n_trees[:, None]
        return means if self.leaf_exponents is None else np.ldexp(means, self.leaf_exponents)

    def losses(self, forecast: np.ndarray) -> np.ndarray:
        return squared_errors(forecast, self.target)

    def errors(self, forecast: np.ndarray) -> np.ndarray:
        """Forecasts minus targets."""
        return forecast - self.target

    def member_weights(self, forecasts: Sequence[np.ndarray]) -> np.ndarray:
        return _without_small_weights(error_weights(forecasts, self.target, self.weight))

    def trial_weights(
        self, forecasts: Sequence[np.ndarray], rows: np.ndarray, n_steps: int
    ) -> np.ndarray:
        return error_weights(
            [forecast[rows] for forecast in forecasts],
            self.target[rows],
            weight=weights_for_rows(rows, self.weight),
            n_steps=n_steps,
        )

    def metrics(self, forecast: np.ndarray) -> dict[str, float]:
        """Errors are in units of the targets' standard deviation."""
        mean_error = self.mean_loss(forecast) / self.n_columns
        return {"rmse": float(np.sqrt(mean_error)), "r2": 1 - mean_error}

    def ensemble_metrics(self, forecast: np.ndarray) -> dict[str, float]:
        metrics = self.metrics(forecast)
        return metrics | {"score": metrics["r2"]}
