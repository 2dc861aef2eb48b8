"""Choice of the depth, the regularisation and the number of trees on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from mddf._base.elementary import log
from mddf._gradient.dataset import BoostingRows, Units
from mddf._gradient.losses import ClassificationTarget, TargetKind
from mddf._gradient.options import (
    GRADIENT,
    SYMMETRIC,
    is_auto,
    kernel_options,
    learning_rate_of,
    may_have_gradient_scores,
    may_have_linear_leaves,
    scores_by_loss,
    value_of,
)
from mddf._gradient.rounds import Rounds, most_rounds
from mddf._gradient.target_statistics import Encoding
from mddf._gradient.training import Fold, boost, boost_folds, held_out_sums

if TYPE_CHECKING:
    from mddf._gradient.base import GradientBoosting


# Fewest rows for a choice: with fewer, the loss of three folds is mostly noise. Not tuned.
_MIN_ROWS = 30
# Up to this number of rows, the trials use folds. Above, they save time by one split into training
# rows and held-out rows. Not tuned.
MAX_ROWS_WITH_FOLDS = 10_000
# Above this number of rows, the trees that were grown without the held-out rows are kept. Below,
# growing as many trees again on all rows lowered the loss by 0.6 % on adult and 7 % on letter.
_MAX_ROWS_TO_REGROW = 100_000
# Small classification data sets have more than three folds: 2000 divided by the number of
# different rows, but at most ten. Chosen on small sets such as zoo, flags, iris and the monks.
_FOLDS_TIMES_ROWS = 2000
N_FOLDS = 3
_MAX_FOLDS = 10
# Depth of the first candidate of the race. A race of depths 4, 6 and 8 lowered the loss by 2.7 %
# in the mean of 21 sets.
_FIRST_DEPTH = 4
# Candidate values in their order, and the share by which each must lower the loss of the best
# candidate so far. Weaker regularisation must win clearly. Where classes follow from the features
# (car, tictactoe) it multiplies the log-loss by 0.4. Elsewhere a small win is chance, and these
# shares keep the strong regularisation (pima, german, cmc).
_RACE = (
    ("max_depth", 6, 0.0),
    ("max_depth", 8, 0.0),
    ("max_features", 1.0, 0.01),
    ("max_features", 0.25, 0.0),
    ("l2_regularization", 0.3, 0.05),
    ("subsample", 1.0, 0.05),
    ("l2_regularization", 0.05, 0.1),
    ("split_score", GRADIENT, 0.0),
    ("linear_leaves", True, 0.0),
)
# Parameters that leaf-wise trees choose.
_LEAF_WISE_RACE = ("split_score", "linear_leaves")
# To save trees, the race multiplies the learning rate by 4, up to a rate of 0.4. Not tuned.
_RACE_RATE_FACTOR = 4
_MAX_RACE_RATE = 0.4
# Regressors try all features only if the best candidate so far has at least this number of trees
# times its learning rate: a fifth of the trees of the race. Tables that stop before save the time.
# Of 13 real tables, only some of the eight with more gained (bike 2 %, kin8nm 6 %, energy 10 %).
# The share 0.25 of the features is not tried: it won on none of 17 tables.
_MIN_TREES_TIMES_RATE = 10.0
# Median of the prior of the number of trees times the learning rate. Chosen together with the
# number of folds, on the same small sets.
_PRIOR_MEDIAN = 7.5


def uses_trials(model: GradientBoosting, n_rows: int, target: TargetKind) -> bool:
    """Whether fit first chooses parameters on held-out rows, then trains on all rows."""
    by_loss = scores_by_loss(model) and target.has_loss
    return (
        isinstance(model.early_stopping, str)
        and by_loss
        and not model.warm_start
        and target.n_classes != 1
        and _MIN_ROWS <= n_rows <= _MAX_ROWS_TO_REGROW
        and (
            n_rows <= MAX_ROWS_WITH_FOLDS
            or model.validation_fraction is not None
            or model.cv is not None
        )
    )


@dataclass(frozen=True)
class Trials:
    """Trials of candidate parameters on held-out rows.

    `rows` holds no rows out yet. `entropy` is of the seeds of the trees. Without `folds`, the
    table has too few different rows for a choice.
    """

    rows: BoostingRows
    units: Units
    folds: list[Fold] | None
    target: TargetKind
    categorical: np.ndarray
    encoding: Encoding | None
    entropy: list[int]

    @classmethod
    def from_rows(
        cls,
        rows: BoostingRows,
        target: TargetKind,
        model: GradientBoosting,
        units: Units,
        folds: list[Fold] | None,
        *,
        categorical: np.ndarray,
        encoding: Encoding | None,
    ) -> Trials:
        """Choose the folds, unless the user passed some."""
        has_one_fold = len(rows.train) > MAX_ROWS_WITH_FOLDS
        if folds is not None:
            folds = folds[:1] if has_one_fold else folds
        elif has_one_fold:
            split = rows.split(target, model.validation_fraction, model._entropy)
            folds = [(split.train, split.held_out)]
        else:
            is_classification = isinstance(target, ClassificationTarget)
            folds = units.folds(N_FOLDS, is_classification)
            n_folds = min(_FOLDS_TIMES_ROWS // units.n_units, _MAX_FOLDS)
            if is_classification and n_folds > N_FOLDS:
                folds = units.folds(n_folds, True) or folds
        return cls(rows, units, folds, target, categorical, encoding, model._entropy)

    def race(self, model: GradientBoosting) -> tuple[Trials, GradientBoosting]:
        """Choose the encoding, the depth and the parameters at "auto".

        Returns the trials with the chosen encoding, and a model with the chosen values.
        """
        candidates = [candidate for candidate in _RACE if _is_open(model, candidate[0])]
        best = model
        if model.grow_policy == SYMMETRIC:
            best = with_parameters(model, max_depth=model.max_depth or _FIRST_DEPTH)
        else:
            candidates = [candidate for candidate in candidates if candidate[0] in _LEAF_WISE_RACE]
        alternatives = self._with_each_encoding(model)
        if not candidates and len(alternatives) == 1:
            return self, model
        heats = [trials._heat(best) for trials in alternatives]
        position = int(np.argmin([loss for loss, _ in heats]))
        trials = alternatives[position]
        least_loss, trees_times_rate = heats[position]
        for name, value, share in candidates:
            if name == "max_features" and not self._tries_features(value, trees_times_rate):
                continue
            challenger = with_parameters(best, **{name: value})
            loss, new_trees_times_rate = trials._heat(challenger)
            if loss < least_loss - share * abs(least_loss - self.loss_of_exact_predictions):
                best = challenger
                least_loss = loss
                trees_times_rate = new_trees_times_rate
        return trials, best

    def _tries_features(self, value: object, trees_times_rate: float) -> bool:
        """Whether the race tries a value of `max_features`, given the best candidate so far."""
        if isinstance(self.target, ClassificationTarget):
            return True
        return value == 1.0 and trees_times_rate >= _MIN_TREES_TIMES_RATE

    def _with_each_encoding(self, model: GradientBoosting) -> list[Trials]:
        """Trials with statistics of all columns of many levels, and with as few as possible."""
        if self.encoding is None:
            return [self]
        by_sets = self.encoding.without_coded(model.max_bins)
        if by_sets is not None and by_sets.n_columns == self.encoding.n_columns:
            return [self]
        return [self, replace(self, encoding=by_sets)]

    def learning_rate(self, model: GradientBoosting) -> float:
        return learning_rate_of(model, self.rows.n_rows_of_table)

    def _heat(self, model: GradientBoosting) -> tuple[float, float]:
        """Try a model with a larger learning rate and fewer trees.

        Returns the least held-out loss, and the number of its trees times the learning rate.
        """
        slow_rate = self.learning_rate(model)
        rate = min(_RACE_RATE_FACTOR * slow_rate, max(slow_rate, _MAX_RACE_RATE))
        factor = rate / slow_rate
        fast_model = with_parameters(
            model,
            learning_rate=rate,
            max_iter=ceil(most_rounds(model, any_held_out=False) / factor),
            n_iter_no_change=ceil(model.n_iter_no_change / factor),
        )
        scores = self.with_prior(fast_model, self.scores(fast_model))
        return -float(scores.max()), rate * int(scores.argmax())

    def with_prior(self, model: GradientBoosting, scores: np.ndarray) -> np.ndarray:
        """Add the logarithm of a prior of the number of trees to minus the log-loss.

        Few held-out rows determine the number of trees only roughly. The prior of trees times
        learning rate is log-normal with a standard deviation of 1. It has the weight of one
        held-out row. Rows that are held out together count as one.
        """
        if self.target.loss != "log_loss":
            return scores
        # No tree counts as half a tree, because the logarithm of 0 is not finite.
        n_trees = np.maximum(np.arange(len(scores)), 0.5)
        log_ratios = log(n_trees * self.learning_rate(model) / _PRIOR_MEDIAN)
        return scores - log_ratios**2 / 2 / self.n_held_out

    @cached_property
    def _held_out(self) -> np.ndarray:
        """Rows that the folds hold out, one fold after the other."""
        assert self.folds is not None
        return np.concatenate([part for _, part in self.folds])

    @cached_property
    def loss_of_exact_predictions(self) -> float:
        held_out = self._held_out
        weights = None if self.rows.weights is None else self.rows.weights[held_out]
        return float(self.target.least_loss(self.rows.y[held_out], weights))

    @cached_property
    def n_held_out(self) -> int:
        held_out = self._held_out
        if self.units.rows.table is self.rows.table:
            return self.units.n_among(held_out)
        # The user's folds, in which rows of whole weights are not repeated.
        assert self.rows.weights is not None
        return int(self.rows.weights[held_out].sum())

    def best_round(self, model: GradientBoosting, scores: np.ndarray) -> int:
        """Number of trees with the best score, at least one."""
        return max(1, int(self.with_prior(model, scores).argmax()))

    def scores(self, model: GradientBoosting) -> np.ndarray:
        """Minus the held-out loss, before the first tree and after each tree."""
        assert self.folds is not None
        rows = self.rows
        options = kernel_options(model, rows.table, self.target, self.categorical, self.encoding)
        n_rows = rows.n_rows_of_table
        n_rounds = most_rounds(model, any_held_out=True)
        rounds = Rounds.of_model(model, self.entropy, n_rounds, n_rows)
        patience = int(model.n_iter_no_change)
        draws_rows = value_of(model, "subsample", n_rows) < 1
        if len(self.folds) == 1:  # a single model may have all threads
            train, held_out = self.folds[0]
            rows = replace(rows, train=train, held_out=held_out)
            if self.encoding is not None:
                rows, _ = rows.ordered(self.encoding)
            return boost(
                rows,
                options,
                rounds,
                patience=patience,
                tol=float(model.tol),
                keys=rows.draw_keys if draws_rows else None,
                objective=self.target.objective,
                n_jobs=model.n_jobs,
            ).scores
        models = boost_folds(
            rows,
            self.folds,
            options,
            rounds,
            patience=patience,
            keys=rows.draw_keys if draws_rows else None,
            encoding=self.encoding,
            objective=self.target.objective,
            n_jobs=model.n_jobs,
        )
        sums = held_out_sums(self.folds, rows.weights)
        return np.average([model.scores for model in models], axis=0, weights=sums)


def _is_open(model: GradientBoosting, parameter: str) -> bool:
    """Whether the user left the choice of a parameter to fit."""
    if parameter == "linear_leaves" and not may_have_linear_leaves(model):
        return False
    if parameter == "split_score" and not may_have_gradient_scores(model):
        return False
    return model.max_depth is None if parameter == "max_depth" else is_auto(model, parameter)


def with_parameters(model: GradientBoosting, **parameters: object) -> GradientBoosting:
    """Copy a model with other parameters; `clone` would drop attributes such as `_entropy`."""
    copy = object.__new__(type(model))
    copy.__dict__.update(model.__dict__ | parameters)
    return copy
