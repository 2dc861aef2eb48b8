"""Choice of depth, regularisation and number of trees by rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TypeVar

import numpy as np

from mddf._base.elementary import log
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import Labels, Target
from mddf._gradient.options import SYMMETRIC, BoostingParameters, is_auto, kernel_options, value_of
from mddf._gradient.target_encoding import Encoding
from mddf._gradient.training import Fold, Stopping, boost, boost_folds
from mddf._trees.grower import draw_seeds

Model = TypeVar("Model", bound=BoostingParameters)

# Fewest rows for a choice; with fewer, folds are too small to tell anything.
_FEW_ROWS = 30
# Up to so many rows, folds are worth their time; above, some rows are held out once.
MANY_ROWS = 10_000
# Above so many rows, the rows held out are not missed: the first trees are kept. Growing them
# again on all rows lowered the loss by 0.6 % on adult and 7 % on letter, which have fewer.
_MOST_ROWS = 100_000
# Classes have more folds if there are few different rows: this number over theirs, between the
# fewest and the most folds. Chosen on small sets such as zoo, flags, iris and the monks.
_ROWS_TIMES_FOLDS = 2000
_N_FOLDS = 3
_MOST_FOLDS = 10
# Depth that the race starts from. Over 21 sets, a race of depths 4, 6 and 8 lowered the loss by
# 2.7 % in the mean.
_FIRST_DEPTH = 4
# Values that race one after the other, and the share by which each must lower the loss of the best
# so far. Weak regularisation must win clearly: where classes follow from features it lowers the
# log-loss to 0.4 (car, tictactoe), elsewhere a small win is chance (pima, german and cmc stay).
_RACE = (
    ("max_depth", 6, 0.0),
    ("max_depth", 8, 0.0),
    ("max_features", 1.0, 0.01),
    ("max_features", 0.25, 0.0),
    ("l2_regularization", 0.3, 0.05),
    ("subsample", 1.0, 0.05),
    ("l2_regularization", 0.05, 0.1),
)
# Factor of the learning rate in the race, which saves trees, and the limit of the resulting rate.
_FASTER = 4
_FASTEST = 0.4
# Trees times learning rate expected where held-out classes tell nothing; chosen with the folds.
_EXPECTED = 7.5


def chooses(model: BoostingParameters, n_rows: int, target: Target) -> bool:
    """Whether rows are held out to choose parameters before all rows are trained on."""
    by_loss = isinstance(model.scoring, str) and model.scoring == "loss"
    return (
        isinstance(model.early_stopping, str)
        and by_loss
        and not model.warm_start
        and target.n_classes != 1
        and _FEW_ROWS <= n_rows <= _MOST_ROWS
        and (n_rows <= MANY_ROWS or model.validation_fraction is not None or model.cv is not None)
    )


@dataclass(frozen=True)
class Trials:
    """Trials of parameters on rows held out.

    Attributes
    ----------
    rows : BoostingRows
        Without rows held out.
    folds : list of (train, held out)
    target : Labels or Numbers
    categorical : ndarray of bool of shape (n_features,)
    encoding : Encoding or None
    entropy : list of int
        Of the seeds.
    """

    rows: BoostingRows
    folds: list[Fold]
    target: Target
    categorical: np.ndarray
    encoding: Encoding | None
    entropy: list[int]

    @classmethod
    def from_rows(
        cls,
        rows: BoostingRows,
        target: Target,
        model: BoostingParameters,
        *,
        categorical: np.ndarray,
        encoding: Encoding | None,
        entropy: list[int],
        folds: list[Fold] | None = None,
    ) -> Trials | None:
        """Choose the folds, unless they are given; None if the rows are too alike for folds."""
        if folds is not None:
            folds = folds[:1] if len(rows.train) > MANY_ROWS else folds
        elif len(rows.train) > MANY_ROWS:
            split = rows.split(target, model.validation_fraction, entropy)
            folds = [(split.train, split.held_out)]
        else:
            is_classification = isinstance(target, Labels)
            folds = rows.folds(_N_FOLDS, is_classification)
            n_different = len(np.unique(rows.row_keys[rows.train]))
            n_folds = min(_ROWS_TIMES_FOLDS // n_different, _MOST_FOLDS)
            if is_classification and n_folds > _N_FOLDS:
                folds = rows.folds(n_folds, True) or folds
        return None if folds is None else cls(rows, folds, target, categorical, encoding, entropy)

    def best(self, model: Model) -> Model:
        """Race the open parameters with few, fast trees; return the model with the winners."""
        race = [step for step in _RACE if _is_open(model, step[0])]
        if not race or model.grow_policy != SYMMETRIC:
            return model
        best = _changed(model, max_depth=model.max_depth or _FIRST_DEPTH)
        least = self._fast_loss(best)
        for name, value, share in race:
            candidate = _changed(best, **{name: value})
            loss = self._fast_loss(candidate)
            if loss < least - share * abs(least - self.least_loss):
                best = candidate
                least = loss
        return best

    def _fast_loss(self, model: BoostingParameters) -> float:
        """Least loss of a model with a larger learning rate and fewer trees."""
        rate = min(_FASTER * model.learning_rate, max(model.learning_rate, _FASTEST))
        faster = rate / model.learning_rate
        fast = _changed(
            model,
            learning_rate=rate,
            max_iter=ceil(model.max_iter / faster),
            n_iter_no_change=ceil(model.n_iter_no_change / faster),
        )
        return -float(self.judged(fast, self.scores(fast)).max())

    def judged(self, model: BoostingParameters, scores: np.ndarray) -> np.ndarray:
        """Scores with a penalty for very few or very many trees, if few rows are held out.

        The penalty is the logarithm of a prior of the number of trees: a log-normal density with a
        standard deviation of 1. Equal rows count as one, since a fold holds them out together.
        """
        if self.target.loss != "log_loss":
            return scores
        lengths = np.maximum(np.arange(len(scores)), 0.5) * model.learning_rate
        return scores - log(lengths / _EXPECTED) ** 2 / 2 / self.n_different

    @cached_property
    def least_loss(self) -> float:
        """Loss of the rows held out if they are predicted exactly."""
        held_out = np.concatenate([part for _, part in self.folds])
        weights = None if self.rows.weights is None else self.rows.weights[held_out]
        return float(self.target.least_loss(self.rows.y[held_out], weights))

    @cached_property
    def n_different(self) -> int:
        """Number of different rows held out."""
        return len(np.unique(self.rows.row_keys[np.concatenate([part for _, part in self.folds])]))

    def best_round(self, model: BoostingParameters, scores: np.ndarray) -> int:
        """Best number of trees, at least one."""
        return max(1, int(self.judged(model, scores).argmax()))

    def scores(self, model: BoostingParameters) -> np.ndarray:
        """Minus the loss of the rows held out, before the first tree and after each one."""
        rows = self.rows
        options = kernel_options(model, rows.table, self.target, self.categorical, self.encoding)
        seeds = draw_seeds(self.entropy, model.max_iter)
        patience = int(model.n_iter_no_change)
        draws_rows = value_of(model, "subsample") < 1
        if len(self.folds) == 1:  # a single model may have all threads
            train, held_out = self.folds[0]
            rows = replace(rows, train=train, held_out=held_out)
            if self.encoding is not None:
                rows, _ = rows.ordered(self.encoding)
            return boost(
                rows,
                options,
                seeds,
                stopping=Stopping(patience, float(model.tol)),
                keys=rows.keys if draws_rows else None,
                n_jobs=model.n_jobs,
            ).scores
        models = boost_folds(
            rows,
            self.folds,
            options,
            seeds,
            patience=patience,
            keys=rows.keys if draws_rows else None,
            encoding=self.encoding,
            n_jobs=model.n_jobs,
        )
        held_out_parts = [part for _, part in self.folds]
        shares = [
            len(part) if rows.weights is None else rows.weights[part].sum()
            for part in held_out_parts
        ]
        return np.average([model.scores for model in models], axis=0, weights=shares)


def _is_open(model: BoostingParameters, parameter: str) -> bool:
    """Whether a parameter is to be chosen."""
    return model.max_depth is None if parameter == "max_depth" else is_auto(model, parameter)


def _changed(model: Model, **parameters: object) -> Model:
    """Copy a model with other parameters; `clone` would drop the attributes of fit."""
    copy = object.__new__(type(model))
    copy.__dict__.update(model.__dict__ | parameters)
    return copy
