"""Losses of gradient boosting, and conversions between targets and values in the kernel.

The gradients of the losses are in the kernel, in ``gradient_boosting/loss.hpp``. To add a loss,
write its gradients there, its name in `REGRESSION` or `CLASSIFICATION` here, and its least loss
and inverse link in the target class.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt
from typing import ClassVar, Self

import numpy as np

from mddf._base.elementary import class_probabilities, exp, expit, log
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._gradient.custom_loss import CustomLoss
from mddf._gradient.weights import boosting_weights
from mddf._targets.weights import row_weights

REGRESSION = (
    "squared_error",
    "absolute_error",
    "quantile",
    "huber",
    "poisson",
    "gamma",
    "tweedie",
)
CLASSIFICATION = ("log_loss", "exponential")
# Losses whose raw predictions are logarithms of predictions.
LOGARITHMIC = ("poisson", "gamma", "tweedie")
# Name of custom losses in the kernel.
_CUSTOM = "custom"
# Losses whose leaf values are quantiles of residuals.
QUANTILE_LEAVES = ("absolute_error", "quantile")
# Losses whose initial predictions, leaf values or thresholds are quantiles of residuals.
QUANTILE_LOSSES = ("absolute_error", "quantile", "huber")
# Losses that trees with a value for each output can minimise. Quantiles are of one output.
TAKES_OUTPUTS = tuple(loss for loss in REGRESSION if loss not in QUANTILE_LOSSES)
# Most outputs of a tree; the kernel has the same limit.
MOST_OUTPUTS = 1024
# Binary digits of the sizes of several targets. The last digits of a standard deviation differ
# between weights and copies of rows.
_SIZE_DIGITS = 20
# Losses with a logarithmic link whose targets may be 0.
TAKES_ZEROS = ("poisson", "tweedie")
# Powers of the variance of losses with a logarithmic link.
_VARIANCE_POWERS = {"poisson": 1.0, "gamma": 2.0}
# Targets are scaled if the largest absolute value is above 2**100 or below 2**-100. Otherwise sums
# of squares could overflow (doubles end at 2**1024) or underflow to 0.
_MAX_EXPONENT = 100
# The largest scaled target is near 2**40 or 2**-40. The factor that undoes the scaling is then far
# enough from the limits of doubles to be multiplied by the number of trees.
_SCALED_EXPONENT = 40
# Bound of scaled targets. Only targets of samples without weight can reach it; they are not
# learnt, but must be finite.
_MAX_SCALED = 1e99
# Largest error of probabilities of an inverse link, which may compute in single precision.
_ROUNDING = 1e-5


def takes_outputs(loss: object) -> bool:
    """Whether a loss can be minimised for several targets of each sample by the same trees."""
    return not isinstance(loss, str) or loss in TAKES_OUTPUTS


def check_targets(loss: str | CustomLoss, y: np.ndarray) -> None:
    """Refuse targets outside the domain of a loss; `y` has only samples with weight."""
    if y.ndim == 2 and not takes_outputs(loss):
        raise ValueError(
            f"loss must be one of {', '.join(TAKES_OUTPUTS)}, or a custom loss, for "
            f"{y.shape[1]} targets of each sample, got {loss!r}. scikit-learn's "
            "MultiOutputRegressor fits a model for each target"
        )
    if y.ndim == 2 and y.shape[1] > MOST_OUTPUTS:
        raise ValueError(
            f"y must have at most {MOST_OUTPUTS} targets for each sample, got {y.shape[1]}"
        )
    if loss in TAKES_ZEROS:
        columns = np.atleast_2d(y.T)
        for number, column in enumerate(columns):
            if np.all(column >= 0) and column.any():
                continue
            place = f" in column {number}" if len(columns) > 1 else ""
            raise ValueError(
                f"y must not be negative, and not all 0, for loss={loss!r}, got values from "
                f"{column.min():g} to {column.max():g}{place}"
            )
    if loss == "gamma" and not np.all(y > 0):
        raise ValueError(f"y must be positive for loss='gamma', got {y.min():g}")


class _Target:
    """Base class of the kinds of targets, with the loss of each."""

    loss: str | CustomLoss
    _type_for_custom_loss: ClassVar[type]

    @property
    def objective(self) -> Self | None:
        """The target, if its loss is custom; None for a loss of the kernel."""
        return self if isinstance(self.loss, CustomLoss) else None

    @property
    def has_loss(self) -> bool:
        """Whether losses of rows can be computed."""
        return not isinstance(self.loss, CustomLoss) or self.loss.loss is not None

    @property
    def has_custom_link(self) -> bool:
        """Whether a function of the user converts raw predictions."""
        return isinstance(self.loss, CustomLoss) and self.loss.inverse_link is not None

    def y_of_custom_loss(self, y: np.ndarray) -> np.ndarray:
        """Targets for the functions of a custom loss, which cannot change them."""
        y = y.astype(self._type_for_custom_loss)
        y.flags.writeable = False
        return y


@register_serializable("boosting target of numbers")
@dataclass(frozen=True)
class RegressionTarget(_Target):
    """Numeric targets, which the kernel gets divided by 2**exponent.

    The exponent is 0 unless the targets are very large or very small. If samples have several
    targets, they are divided by their `sizes` instead.
    """

    loss: str | CustomLoss
    exponent: int
    tweedie_power: float = 1.5
    sizes: np.ndarray | None = None
    n_classes = 0
    _type_for_custom_loss = float

    @classmethod
    def from_targets(
        cls,
        loss: str | CustomLoss,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        tweedie_power: float = 1.5,
    ) -> RegressionTarget:
        """Choose the exponent from the targets of samples with weight.

        The targets of a custom loss are not scaled, as its functions see them. If there are
        several targets, `weights` has the weights of the samples or is None.
        """
        if y.ndim == 2:
            sizes = np.ones(y.shape[1])
            if not isinstance(loss, CustomLoss):
                sizes = target_sizes(y, weights, is_logarithmic=loss in LOGARITHMIC)
            return cls(loss, 0, tweedie_power, sizes)
        if isinstance(loss, CustomLoss):
            return cls(loss, 0, tweedie_power)
        exponent = int(np.frexp(np.abs(y).max())[1])
        if abs(exponent) <= _MAX_EXPONENT or not y.any():
            return cls(loss, 0, tweedie_power)
        exponent -= int(np.copysign(_SCALED_EXPONENT, exponent))
        return cls(loss, exponent, tweedie_power)

    @property
    def kernel_loss(self) -> str:
        return _CUSTOM if isinstance(self.loss, CustomLoss) else self.loss

    @property
    def n_scores(self) -> int:
        return 1 if self.sizes is None else len(self.sizes)

    @property
    def is_logarithmic(self) -> bool:
        return self.loss in LOGARITHMIC

    @property
    def has_exponentials(self) -> bool:
        return self.is_logarithmic

    @property
    def unit(self) -> float | np.ndarray:
        """Factor that converts raw predictions to the scale of the targets."""
        if self.is_logarithmic:
            return 1.0
        if self.sizes is not None:
            return self.sizes
        return float(np.ldexp(1.0, self.exponent))

    @property
    def link(self) -> RegressionTarget | None:
        """Inverse link, which converts raw predictions; None for the identity."""
        return self if self.is_logarithmic or self.has_custom_link else None

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """Targets divided by 2**exponent or their sizes, as the kernel gets them."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(y, -self.exponent) if self.sizes is None else y / self.sizes
            return np.clip(scaled, -_MAX_SCALED, _MAX_SCALED)

    def unscaled(self, y: np.ndarray) -> np.ndarray:
        """Undo `scaled`; values that overflow become the largest double."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            unscaled = np.ldexp(y, self.exponent) if self.sizes is None else y * self.sizes
            return np.clip(unscaled, -most, most)

    def without_offset(
        self, y: np.ndarray, offset: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Values and sizes of rows, such that sums of values over sums of sizes estimate means.

        The estimates are means at offset 0, by which target statistics encode categories. For the
        Poisson loss, they are sums of counts over sums of exposures.
        """
        if isinstance(self.loss, CustomLoss):
            return y, None  # the link between the two is not known
        if self.sizes is not None:
            # Sizes of rows would have to differ between the outputs: rates count equally instead.
            return (y * exp(-offset) if self.is_logarithmic else y - offset), None
        column = offset[:, 0]
        if not self.is_logarithmic:
            return y - column, None
        # A constant that is added to all offsets only changes the unit of the estimates.
        column = column - column.max()
        power = self._variance_power
        return y * exp((1 - power) * column), exp((2 - power) * column)

    @property
    def _variance_power(self) -> float:
        """Power of the mean to which the variance is proportional."""
        return _VARIANCE_POWERS.get(str(self.loss), self.tweedie_power)

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Mean loss in the kernel if every target is predicted exactly.

        The kernel omits terms that do not depend on predictions, so that the Poisson and gamma
        losses may be negative. A loss minus this least loss is half of the mean deviance. The
        least value of a custom loss is not known; 0 stands for it.
        """
        if not self.is_logarithmic:
            return 0.0
        logs = log(np.where(y > 0, y, 1.0))
        if self.loss == "tweedie":
            # The kernel's loss is e^((2-p) f) / (2 - p) - y e^((1-p) f) / (1 - p), less its value
            # at f = 0 and y = 1.
            first = 1 - self.tweedie_power
            second = 2 - self.tweedie_power
            powers = np.where(y > 0, exp(second * logs), 0.0)
            losses = (powers - 1) / second - (powers - y) / first
        else:
            losses = y - y * logs if self.loss == "poisson" else 1 + logs
        if losses.ndim == 2:
            losses = losses.sum(axis=1)
        return float(np.average(losses, weights=weights))

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """Convert raw predictions of shape (n_samples, n_scores) to predictions.

        They have the shape (n_samples,) if fit had one target for each sample.
        """
        if self.has_custom_link:
            assert isinstance(self.loss, CustomLoss)
            raw = self.loss.linked(raw)
        if self.sizes is None:
            raw = raw[:, 0]
        return self.unscaled(exp(raw) if self.is_logarithmic else raw)


def target_sizes(y: np.ndarray, weights: np.ndarray | None, *, is_logarithmic: bool) -> np.ndarray:
    """Sizes of several targets, of shape (n_outputs,): standard deviations or means.

    Trees are grown for all targets together. Without a common scale, the target with the largest
    unit would decide about the splits.
    """
    sizes = np.ones(y.shape[1])
    for output, column in enumerate(y.T):
        # Sums of squares of numbers up to 1 cannot overflow.
        exponent = int(np.frexp(np.abs(column).max())[1])
        scaled = np.ldexp(column, -exponent)
        size = _exact_mean(scaled, weights)
        if not is_logarithmic:
            size = sqrt(_exact_mean((scaled - size) ** 2, weights))
        if not size > 0:
            size = 1.0  # the targets are constant: their size does not matter
        digits, size_exponent = np.frexp(size)
        rounded = np.rint(np.ldexp(digits, _SIZE_DIGITS))
        sizes[output] = np.ldexp(rounded, int(size_exponent) - _SIZE_DIGITS + exponent)
    return np.where(sizes > 0, sizes, 1.0)


def _exact_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean that does not depend on the order of the values, since its sums are exact."""
    if weights is None:
        return fsum(values) / len(values)
    return fsum(values * weights) / fsum(weights)


@register_serializable("boosting target of classes")
@dataclass(frozen=True)
class ClassificationTarget(_Target):
    """Classes as targets.

    A raw prediction has a score for each class. With two classes, it has only the score of the
    second class.
    """

    loss: str | CustomLoss
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def kernel_loss(self) -> str:
        if isinstance(self.loss, CustomLoss):
            return _CUSTOM
        return "softmax" if self.n_classes > 2 else self.loss

    @property
    def n_scores(self) -> int:
        return self.n_classes if self.n_classes > 2 else 1

    unit = 1.0
    tweedie_power = 1.5  # which other losses ignore
    has_exponentials = True
    _type_for_custom_loss = int

    def without_offset(
        self, y: np.ndarray, offset: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Labels, which an offset does not change."""
        return y, None

    @property
    def link(self) -> ClassificationTarget:
        """Inverse link: converts raw predictions to class probabilities."""
        return self

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Mean loss if every class is predicted with probability 1."""
        return 0.0

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        if self.n_classes == 1:
            return np.ones((len(raw), 1))
        if self.has_custom_link:
            assert isinstance(self.loss, CustomLoss)
            linked = self.loss.linked(raw)
            check_probabilities(linked)
            return linked if self.n_scores > 1 else np.hstack([1 - linked, linked])
        if self.loss == "exponential":
            second = expit(2 * raw)
            return np.hstack([1 - second, second])
        return class_probabilities(raw)


def check_probabilities(linked: np.ndarray) -> None:
    """Refuse results of an inverse link that are no class probabilities.

    They have a column for each class, or one for the second of two classes.
    """
    is_outside = np.any((linked < -_ROUNDING) | (linked > 1 + _ROUNDING), axis=1)
    if is_outside.any():
        row = int(is_outside.argmax())
        raise ValueError(
            "inverse_link of a classifier's loss must return probabilities from 0 to 1, got "
            f"{short(linked[row].tolist())} in row {row}"
        )
    if linked.shape[1] == 1:
        return
    totals = linked.sum(axis=1)
    is_wrong = np.abs(totals - 1) > _ROUNDING
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise ValueError(
            "inverse_link of a classifier's loss must return probabilities with sum 1 in each "
            f"row, got the sum {totals[row]:g} in row {row}"
        )


TargetKind = ClassificationTarget | RegressionTarget


@dataclass(frozen=True)
class BoostingTarget:
    """Target of a fit: its kind, the values that the kernel gets, and the weights in the loss.

    `class_factors` are the factors of the classes in the weights, which also hold for a validation
    set.
    """

    kind: TargetKind
    values: np.ndarray
    weights: np.ndarray | None
    class_factors: np.ndarray | None = None

    def validation_weights(
        self, sample_weight: np.ndarray | None, values: np.ndarray
    ) -> np.ndarray | None:
        """Weights of validation rows with these target values in the loss."""
        weights = sample_weight
        if self.class_factors is not None:
            weights = row_weights(sample_weight, self.class_factors, values.astype(int)).row
        return boosting_weights(weights, sample_weight)
