"""The deep forest that is guided by the margin distribution."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mddf.cascade_base import BaseCascade
from mddf.layers import Samples
from mddf.margin_loss import (
    BATCH_SIZE,
    N_STEPS,
    margin_loss,
    mean_margin_alpha,
    reweight,
    simplex_alphas,
    stagewise_alpha,
)


def draw_batches(samples: Samples, seeds) -> np.ndarray:
    """Samples of each step of the descent, in proportion to their weights."""
    random = np.random.default_rng(np.random.SeedSequence(seeds))
    weights = np.ones(len(samples.labels)) if samples.weights is None else samples.weights
    cumulative = np.cumsum(weights[samples.order])
    points = random.random((N_STEPS, BATCH_SIZE)) * cumulative[-1]
    last = np.flatnonzero(weights[samples.order])[-1]
    return samples.order[np.minimum(np.searchsorted(cumulative, points, side="right"), last)]


class MDDFClassifier(BaseCascade):
    """The margin distribution deep forest."""

    _parameter_constraints: ClassVar[dict] = {
        **BaseCascade._parameter_constraints,
        "structure": [StrOptions({"preconc", "stacking", "no-preconc"})],
        "augmentation": [StrOptions({"mean", "per-forest"})],
        "alpha": [StrOptions({"simplex", "stagewise", "mean-margin"})],
        "target_margin": [Interval(Real, 0, 1, closed="neither")],
        "mu": [Interval(Real, 0, None, closed="left")],
        "reweighting": [StrOptions({"weights", "resample"}), None],
        "strength": [Interval(Real, 0, 1, closed="both")],
        "depth_step": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_layers=10,
        *,
        n_estimators=100,
        forests=None,
        cv=5,
        structure="preconc",
        augmentation="mean",
        alpha="simplex",
        target_margin=0.9,
        mu=0.1,
        reweighting="weights",
        strength=0.25,
        depth_step=None,
        early_stopping=True,
        n_iter_no_change=2,
        scoring=None,
        transform_layers="last",
        transform_forests="mean",
        grains=None,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        max_bins=255,
        categorical_features="from_dtype",
    ):
        self.n_layers = n_layers
        self.n_estimators = n_estimators
        self.forests = forests
        self.cv = cv
        self.structure = structure
        self.augmentation = augmentation
        self.alpha = alpha
        self.target_margin = target_margin
        self.mu = mu
        self.reweighting = reweighting
        self.strength = strength
        self.depth_step = depth_step
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.transform_layers = transform_layers
        self.transform_forests = transform_forests
        self.grains = grains
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.categorical_features = categorical_features

    def _default_forests(self) -> list:
        return ["random", "random", "completely-random", "completely-random"]

    def _shape(self) -> dict:
        return {
            "sees_raw": self.structure != "stacking",
            "sees_augmented": self.structure != "no-preconc",
            "per_forest": self.augmentation == "per-forest",
            "resample": self.reweighting == "resample",
            "only_last": False,
        }

    def _depth(self, number: int) -> int | None:
        return None if self.depth_step is None else self.depth_step * (number + 2)

    def _rule(self, samples: Samples, entropy):
        options = {"target_margin": self.target_margin, "mu": self.mu}
        weights = samples.weights

        def coefficients(margins, before):
            if self.alpha == "mean-margin":
                return np.append(before, mean_margin_alpha(margins[:, -1], weights))
            batches = draw_batches(samples, (*entropy, 2, len(before)))
            if self.alpha == "simplex":
                return simplex_alphas(margins, batches, sample_weight=weights, **options)
            last = stagewise_alpha(
                margins[:, -1],
                margins[:, :-1] @ before,
                batches,
                sample_weight=weights,
                **options,
            )
            return np.append(before, last)

        def rule(margins, before):
            alphas = coefficients(margins, before)
            if alphas.sum() == 0:
                alphas[-1] = 1.0
            if self.reweighting is None:
                return alphas, None
            z = margins @ alphas
            if self.alpha == "mean-margin":
                z = z / alphas.sum()
            return alphas, reweight(margin_loss(z, **options), self.strength, weights)

        return rule
