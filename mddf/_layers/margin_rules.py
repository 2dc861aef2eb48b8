"""Rules of mdDF: coefficients of the layers and weights of the samples, from margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from mddf._base.messages import short
from mddf._base.validation import Within, naming, refuse_class
from mddf._layers.margin_loss import (
    MU,
    TARGET_MARGIN,
    MarginHistory,
    margin_factors,
    mean_margin_alpha,
    simplex_alphas,
    stagewise_alpha,
    weighted_sum,
)
from mddf._layers.rules import LayerRules, read_only


@dataclass
class MarginRules(LayerRules, BaseEstimator):
    """Rules of mdDF, and the hyperparameters of its paper.

    The loss of the out-of-fold margins determines the coefficients of the layers, and the weights
    of the samples in the next layer. All rules of `LayerRules` can be added. A cascade with these
    rules also has their parameters, such as ``rules__mu`` for a grid search.

    Parameters
    ----------
    screening, reweighting, redraw, columns, n_estimators, max_depth, stop
        As in `LayerRules`. A rule `reweighting` replaces the weights by the losses of margins.
    alpha : {"simplex", "stagewise", "mean-margin"} or callable, default="simplex"
        Rule for the coefficients. "simplex": stochastic gradient descent over the coefficients of
        all layers, which are not negative and have sum 1. "stagewise": descent over the last
        coefficient only, as in the algorithm of the paper. On four of five data sets measured,
        later layers then get coefficients near 0. "mean-margin": half the logarithm of
        (1 + g) / (1 - g) for the layer's mean margin g. A callable is called after each layer as
        ``alpha(margins, alphas, sample_weight)``, with the out-of-fold margins of each layer
        alone, of shape (n_samples, n_layers), and the coefficients before, of shape
        (n_layers - 1,). It returns the coefficients of all layers, which are not negative.
    target_margin : float, default=0.9
        r in the loss, between 0 and 1.
    mu : float, default=0.1
        Factor of squared distances above the target margin.
    strength : float, default=0.25
        Trees of the next layer draw samples in proportion to the losses of their margins. This is
        the share of the losses in the proportions; the rest is the same for all samples. 1 is the
        value of the paper, with which mislabelled samples dominate on noisy data; 0 draws all
        samples alike. Classifiers that are not forests of this package are weighted. If their fit
        takes no weights, they get drawn samples, and cannot be combined with sample and class
        weights.
    structure : {"preconc", "stacking", "no-preconc"}, default="preconc"
        Input of the layers after the first: the features and the class vectors of the layers
        before, or only the class vectors, or only the features.
    augmentation : {"auto", "mean", "per-forest"} or callable, default="auto"
        Class vectors that a layer passes on: their mean over its forests, or one of each forest.
        "auto" passes on one of each if together they have no more columns than the features. In
        both cases, they are averaged over the layers so far, weighted by the coefficients. A
        callable makes other columns of the last layer, such as `mddf.rules.mean_regions`: it is
        called as ``augmentation(regions)`` for each forest, and returns an array with a row for
        each sample. ``regions`` is an iterator over the trees, of pairs (lower, upper): bounds of
        each feature in the leaves of the samples, each of shape (n_samples, n_features), infinite
        where there is no bound. It gets the trees of one fold for the samples that these did not
        see, and the trees of all folds for new samples, so that its result should be a mean over
        trees. It needs folds, ``refit=False`` and forests of this package.
    depth_step : int, default=None
        c: random forests of layer t, counted from 1, grow to a depth of c (t + 1); None for no
        limit. Completely-random forests, and forests with a `max_depth`, are not limited by it.

    Notes
    -----
    The margin of a sample is the probability of its own class minus the largest one of another
    class. With g_t the out-of-fold margins of layer t, the loss of ``z = sum_t alpha_t g_t`` is
    ``(z - r)^2 / r^2`` up to r and ``mu (z - r)^2 / (1 - r)^2`` above. If `alpha` is "mean-margin"
    or a callable, the weights of the next layer use the loss of ``z / sum_t alpha_t``.

    Examples
    --------
    >>> from mddf import MDDFClassifier
    >>> from mddf.rules import MarginRules
    >>> forest = MDDFClassifier(rules=MarginRules(strength=1.0, depth_step=8))
    >>> forest.set_params(rules__mu=0.05).rules.mu
    0.05
    """

    alpha: str | Callable[..., Any] = "simplex"
    target_margin: float = TARGET_MARGIN
    mu: float = MU
    # Chosen on training rows of four data sets, like `alpha` and `augmentation`.
    strength: float = 0.25
    structure: str = "preconc"
    augmentation: str | Callable[..., Any] = "auto"
    depth_step: int | None = None

    last_layer_predicts: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [StrOptions({"simplex", "stagewise", "mean-margin"}), callable],
        "target_margin": [Within(Real, 1e-6, 1 - 1e-6, closed="both")],
        "mu": [Within(Real, 0, 1e9, closed="both")],
        "strength": [Within(Real, 0, 1, closed="both")],
        "structure": [StrOptions({"preconc", "stacking", "no-preconc"})],
        "augmentation": [StrOptions({"auto", "mean", "per-forest"}), callable],
        "depth_step": [Within(Integral, 1, None, closed="left"), None],
    }

    def check(self) -> None:
        super().check()
        self._validate_params()
        refuse_class("alpha", self.alpha)
        refuse_class("augmentation", self.augmentation)

    @property
    def redraws(self) -> bool:
        return self.reweighting is None or self.redraw

    @property
    def passes_features(self) -> bool:
        return self.structure != "stacking"

    @property
    def passes_vectors(self) -> bool:
        return self.structure != "no-preconc"

    def passes_all(self, n_vectors: int, n_features: int) -> bool:
        return self.augmentation == "per-forest" or (
            self.augmentation == "auto" and n_vectors <= n_features
        )

    @property
    def columns_of_regions(self) -> Callable[..., Any] | None:
        return None if isinstance(self.augmentation, str) else self.augmentation

    def depth_of_random_forests(self, number: int) -> int | None:
        return None if self.depth_step is None else int(self.depth_step) * (number + 2)

    def coefficients(self, history: MarginHistory) -> np.ndarray:
        if callable(self.alpha):
            return _coefficients_of_user(self.alpha, history)
        if self.alpha == "simplex":
            if history.margins.shape[1] == 1:
                return np.ones(1)
            return simplex_alphas(
                history.margins,
                history.draw_batches(),
                target_margin=self.target_margin,
                mu=self.mu,
                sample_weight=history.weight,
            )
        last_margins = history.margins[:, -1]
        if self.alpha == "mean-margin":
            last = mean_margin_alpha(last_margins, history.weight)
        else:
            last = stagewise_alpha(
                last_margins,
                weighted_sum(history.margins[:, :-1], history.before),
                history.draw_batches(),
                target_margin=self.target_margin,
                mu=self.mu,
                sample_weight=history.weight,
            )
        alphas = np.append(history.before, last)
        if alphas.sum() == 0:
            alphas[-1] = 1.0
        return alphas

    def weight_factors(self, history: MarginHistory, alphas: np.ndarray) -> np.ndarray | None:
        if self.reweighting is not None or self.strength == 0:
            return None
        z = weighted_sum(history.margins, alphas)
        if self.alpha not in ("simplex", "stagewise"):
            z = z / alphas.sum()
        return margin_factors(
            z, history.weight, self.strength, target_margin=self.target_margin, mu=self.mu
        )


def _coefficients_of_user(
    function: Callable[..., npt.ArrayLike], history: MarginHistory
) -> np.ndarray:
    """Coefficients by a user's function of margins, coefficients and weights, all read-only."""
    n_samples, n_layers = history.margins.shape
    weight = np.ones(n_samples) if history.weight is None else history.weight
    with naming("alpha"):
        returned = function(*map(read_only, (history.margins, history.before, weight)))
    try:
        coefficients = np.array(returned, np.float64)
    except (TypeError, ValueError, OverflowError):
        coefficients = np.empty(0)
    with np.errstate(over="ignore", invalid="ignore"):
        is_sound = np.isfinite(coefficients.sum()) and np.all(coefficients >= 0)
    if coefficients.shape != (n_layers,) or not is_sound:
        raise ValueError(
            f"alpha must give {n_layers} coefficients, one of each layer, not negative and of "
            f"finite sum, got {short(returned)}"
        )
    if not coefficients.any():
        raise ValueError(
            "alpha must give coefficients, one of each layer, of which one is above zero, got "
            "zeros"
        )
    return coefficients
