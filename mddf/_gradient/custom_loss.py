"""Losses that users write for gradient boosting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mddf._base.messages import short
from mddf._base.validation import naming

# Derivatives must be smaller than this, so that sums over rows are finite.
_MAX_DERIVATIVE = 1e100

GradientHessian = Callable[
    [np.ndarray, np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray]
]
RowLosses = Callable[[np.ndarray, np.ndarray], np.ndarray]
Start = float | np.ndarray | Callable[[np.ndarray, np.ndarray | None], float | np.ndarray]


@dataclass(frozen=True)
class CustomLoss:
    """Loss of gradient boosting that consists of functions.

    A function in place of a `CustomLoss` stands for its `gradient_hessian`.

    Parameters
    ----------
    gradient_hessian : callable
        Called before each tree as ``gradient_hessian(y_true, raw_prediction, sample_weight)``;
        returns the first and second derivatives of the loss of each sample by its raw prediction,
        both in the shape of `raw_prediction`. It multiplies them by `sample_weight`, which is
        None if all samples have the weight 1. Second derivatives must not be negative.
    loss : callable or None, default=None
        Called as ``loss(y_true, raw_prediction)``; returns the loss of each sample, not multiplied
        by its weight. Early stopping by the loss and `train_score_` need it.
    start : float, array of shape (n_scores,) or callable, default=0.0
        Raw prediction before the first tree. A callable is called as
        ``start(y_true, sample_weight)`` with the training samples.
    inverse_link : callable or None, default=None
        Called as ``inverse_link(raw_prediction)``. For a regressor, it returns the predictions, of
        shape (n_samples,); None stands for the raw predictions. For a classifier, it returns class
        probabilities: of the second class, of shape (n_samples,), or of all classes if there are
        more than two. Numbers that are no probabilities are refused. None stands for the logistic
        function or the softmax.

    Notes
    -----
    `y_true` has the targets of the training samples with a weight above 0; for classifiers, these
    are positions in `classes_`. `raw_prediction` has the shape (n_samples,), or
    (n_samples, n_scores) if there are more than two classes, or several targets for each sample.
    Both are arrays that must not be changed, and `raw_prediction` is only valid during the call.
    Held-out samples are not among them; `loss` is also called with the held-out samples alone.
    If a feature has many categories, all samples are repeated up to four times: the functions must
    not rely on the order or number of the samples.

    Weights that are not whole numbers are divided by their mean, as for all losses.

    The functions may be called by several threads at a time if `n_jobs` is not 1. An error in a
    function ends the fit, and leaves the estimator as it was.

    The scale of the loss may be any: if the mean hessian before the first tree is below 0.01 or
    above 100, all derivatives are divided by it. `l2_regularization` is then added to sums of the
    divided hessians.

    The values of leaves are Newton steps. In contrast to other losses, they are neither bounded
    nor reduced if they increase the loss: choose a smaller `learning_rate` if the loss rises.
    A pickle of a fitted model contains the functions by their names, which must therefore be
    functions of a module.

    Examples
    --------
    Squared errors that count twice where the prediction is too low:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import CustomLoss, GradientBoostingRegressor
    >>> def gradient_hessian(y_true, raw_prediction, sample_weight):
    ...     weight = np.where(y_true > raw_prediction, 2.0, 1.0)
    ...     if sample_weight is not None:
    ...         weight = weight * sample_weight
    ...     return weight * (raw_prediction - y_true), weight
    >>> X, y = load_diabetes(return_X_y=True)
    >>> loss = CustomLoss(gradient_hessian, start=np.mean(y))
    >>> model = GradientBoostingRegressor(loss, max_iter=100, random_state=0).fit(X, y)
    >>> bool(np.mean(model.predict(X)) > np.mean(y))
    True
    """

    gradient_hessian: GradientHessian
    loss: RowLosses | None = None
    start: Start = 0.0
    inverse_link: Callable[[np.ndarray], np.ndarray] | None = None

    def __repr__(self) -> str:
        """Names of the functions, without their addresses."""
        values = [f"{name}={_named(value)}" for name, value in vars(self).items()]
        return f"CustomLoss({', '.join(values)})"

    def derivatives(
        self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians of shape (n_rows, n_scores), checked."""
        with naming("loss"):
            result = self.gradient_hessian(y, _without_column(raw), weights)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise ValueError(f"loss must return a gradient and a hessian, got {short(result)}")
        gradient = _numbers_of_rows("gradient", result[0], raw)
        hessian = _numbers_of_rows("hessian", result[1], raw)
        if hessian.min() < 0:
            row = int(np.argmax((hessian < 0).any(axis=1)))
            raise ValueError(
                "loss must return a hessian without negative numbers, got "
                f"{hessian[row].min():g} in row {row}"
            )
        return gradient, hessian

    def mean(self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray | None) -> float:
        """Weighted mean of the losses of rows."""
        assert self.loss is not None
        with naming("loss"):
            losses = np.asarray(self.loss(y, _without_column(raw)), np.float64)
        if losses.shape != (len(raw),):
            raise ValueError(
                f"the function `loss` of CustomLoss must return an array of shape ({len(raw)},), "
                f"got the shape {losses.shape}"
            )
        mean = float(np.average(losses, weights=weights))
        if not np.isfinite(mean):
            row = int(np.argmax(~np.isfinite(losses)))
            raise ValueError(
                "the function `loss` of CustomLoss must return finite numbers, got "
                f"{losses[row]:g} in row {row}"
            )
        return mean

    def start_scores(self, y: np.ndarray, weights: np.ndarray | None, n_scores: int) -> np.ndarray:
        """Raw prediction before the first tree: shape (n_scores,)."""
        with naming("start"):
            start = self.start(y, weights) if callable(self.start) else self.start
        try:
            scores = np.asarray(start, np.float64)
        except (TypeError, ValueError):
            scores = np.full((), np.nan)
        is_valid = scores.shape in ((), (n_scores,)) and np.all(np.abs(scores) < _MAX_DERIVATIVE)
        if not is_valid or isinstance(start, bool):
            raise ValueError(
                f"start of CustomLoss must be a finite number or an array of shape ({n_scores},), "
                f"got {short(start)}"
            )
        return np.array(np.broadcast_to(scores, n_scores))

    def linked(self, raw: np.ndarray) -> np.ndarray:
        """Result of `inverse_link`, in the shape of `raw`, which is (n_rows, n_scores)."""
        assert self.inverse_link is not None
        with naming("inverse_link"):
            values = self.inverse_link(_without_column(raw))
        return _numbers_of_rows("inverse_link", values, raw)


def _named(value: object) -> str:
    return getattr(value, "__name__", None) or repr(value)


def _without_column(raw: np.ndarray) -> np.ndarray:
    """Raw predictions of one score in one dimension."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def _numbers_of_rows(name: str, values: object, raw: np.ndarray) -> np.ndarray:
    """Check an array that a user's function returned, and convert it to the shape of `raw`."""
    expected = _without_column(raw).shape
    source = f"the {name} of loss"
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source} must be an array of numbers, got {short(values)}") from error
    if numbers.shape != expected:
        raise ValueError(f"{source} must have the shape {expected}, got {numbers.shape}")
    numbers = np.ascontiguousarray(numbers.reshape(raw.shape))
    # NaN and infinities make this comparison false.
    if not max(numbers.max(initial=0), -numbers.min(initial=0)) < _MAX_DERIVATIVE:
        is_valid = np.abs(numbers) < _MAX_DERIVATIVE
        row = int(np.argmin(is_valid.all(axis=1)))
        value = numbers[row][~is_valid[row]][0]
        raise ValueError(
            f"{source} must be finite and below {_MAX_DERIVATIVE:g}, got {value:g} in row {row}"
        )
    return numbers


def as_custom_loss(loss: GradientHessian | CustomLoss) -> CustomLoss:
    """Custom loss of a parameter `loss` that is not the name of a loss."""
    custom = loss if isinstance(loss, CustomLoss) else CustomLoss(loss)
    functions = {"loss": custom.loss, "inverse_link": custom.inverse_link}
    for name, function in {"gradient_hessian": custom.gradient_hessian, **functions}.items():
        if not callable(function) and not (name in functions and function is None):
            raise ValueError(f"{name} of CustomLoss must be a function, got {short(function)}")
    return custom
