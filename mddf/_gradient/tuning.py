"""How trees are grown and how many, by rows held out, before they are grown on all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from mddf._base.elementary import log
from mddf._gradient.dataset import Rows
from mddf._gradient.losses import Labels
from mddf._gradient.options import SYMMETRIC, is_auto, kernel_options, value_of
from mddf._gradient.target_encoding import Encoding
from mddf._gradient.training import Stopping, boost, boost_folds
from mddf._trees.grower import draw_seeds

# From so few rows on there are folds, which are worth their time up to so many. Then some rows are
# held out once; of more rows than the last, those are not missed.
_FEW_ROWS, MANY_ROWS, _MOST_ROWS = 30, 10_000, 100_000
# Of classes there are more folds if different rows are few: this number over theirs, in limits.
_ROWS_TIMES_FOLDS, _N_FOLDS, _MOST_FOLDS = 2000, 3, 10
# What is tried in the race, one after the other, and by what share the loss must be less than that
# of the best so far. Weak regularisation must win clearly: it pays where classes follow from
# features, and there it pays much.
_FIRST_DEPTH = 4
_RACE = (
    ("max_depth", 6, 0.0),
    ("max_depth", 8, 0.0),
    ("max_features", 1.0, 0.01),
    ("max_features", 0.25, 0.0),
    ("l2_regularization", 0.3, 0.05),
    ("subsample", 1.0, 0.05),
    ("l2_regularization", 0.05, 0.1),
)
# By how much steps are larger in the race, unless they would be larger than the second number.
_FASTER, _FASTEST = 4, 0.4
# Trees times the learning rate that are as many as expected where held-out classes tell nothing.
_EXPECTED = 7.5


def chooses(model: Any, n_rows: int, target: Any) -> bool:
    """Whether gradient boosting chooses on rows that it is then trained on, too."""
    by_loss = isinstance(model.scoring, str) and model.scoring == "loss"
    return (
        isinstance(model.early_stopping, str)
        and by_loss
        and not model.warm_start
        and target.n_classes != 1
        and _FEW_ROWS <= n_rows <= _MOST_ROWS
        and (n_rows <= MANY_ROWS or model.validation_fraction is not None)
    )


@dataclass(frozen=True)
class Trials:
    """What is tried on rows held out.

    Attributes
    ----------
    rows : Rows
        None of which is held out.
    folds : list of (train, held out)
    target : Labels or Numbers
    categorical : ndarray of bool of shape (n_features,)
    encoding : Encoding or None
    entropy : list of int
        Of the seeds.
    """

    rows: Rows
    folds: list[tuple[np.ndarray, np.ndarray]]
    target: Any
    categorical: np.ndarray
    encoding: Encoding | None
    entropy: list[int]

    @classmethod
    def of(
        cls,
        model: Any,
        rows: Rows,
        target: Any,
        categorical: np.ndarray,
        encoding: Encoding | None,
        entropy: list[int],
    ) -> Trials | None:
        """Those of a model; None if its rows are too alike."""
        folds: Any
        if len(rows.train) > MANY_ROWS:
            split = rows.split(target, model.validation_fraction, entropy)
            folds = [(split.train, split.held_out)]
        else:
            folds = rows.folds(_N_FOLDS, isinstance(target, Labels))
            n_different = len(np.unique(rows.row_keys[rows.train]))
            n_folds = min(_ROWS_TIMES_FOLDS // n_different, _MOST_FOLDS)
            if isinstance(target, Labels) and n_folds > _N_FOLDS:
                folds = rows.folds(n_folds, True) or folds
        return None if folds is None else cls(rows, folds, target, categorical, encoding, entropy)

    def best(self, model: Any) -> Any:
        """The model with what wins by few, fast trees, of what it leaves open."""
        race = [step for step in _RACE if _is_open(model, step[0])]
        if not race or model.grow_policy != SYMMETRIC:
            return model
        rate = min(_FASTER * model.learning_rate, max(model.learning_rate, _FASTEST))
        faster = rate / model.learning_rate
        fast = {
            "learning_rate": rate,
            "max_iter": ceil(model.max_iter / faster),
            "n_iter_no_change": ceil(model.n_iter_no_change / faster),
        }

        def loss(of: Any) -> float:
            of = _changed(of, **fast)
            return -float(self.judged(of, self.scores(of)).max())

        best = _changed(model, max_depth=model.max_depth or _FIRST_DEPTH)
        least = loss(best)
        for name, value, share in race:
            other = _changed(best, **{name: value})
            found = loss(other)
            if found < least - share * abs(least):
                best, least = other, found
        return best

    def judged(self, model: Any, scores: np.ndarray) -> np.ndarray:
        """Scores, less what speaks against very few or many trees where rows held out are few.

        To the logarithms of the probabilities of classes comes that of a density of the number of
        trees: a log-normal one with a standard deviation of 1. Equal rows count as one, since a
        fold holds them out together.
        """
        if self.target.loss != "log_loss":
            return scores
        lengths = np.maximum(np.arange(len(scores)), 0.5) * model.learning_rate
        return scores - log(lengths / _EXPECTED) ** 2 / 2 / self.n_different

    @cached_property
    def n_different(self) -> int:
        """How many different rows are held out."""
        return len(np.unique(self.rows.row_keys[np.concatenate([part for _, part in self.folds])]))

    def best_round(self, model: Any, scores: np.ndarray) -> int:
        """How many trees are best, at least one."""
        return max(1, int(self.judged(model, scores).argmax()))

    def scores(self, model: Any) -> np.ndarray:
        """Minus the loss of rows held out, before the first tree and after each one."""
        rows, patience = self.rows, int(model.n_iter_no_change)
        options = kernel_options(model, rows.table, self.target, self.categorical, self.encoding)
        seeds = draw_seeds(self.entropy, model.max_iter)
        draws = value_of(model, "subsample") < 1
        if len(self.folds) == 1:  # whose one model may have all threads
            train, held_out = self.folds[0]
            rows = replace(rows, train=train, held_out=held_out)
            if self.encoding is not None:
                rows, _ = rows.ordered(self.encoding)
            return boost(
                *(rows.table, rows.y, rows.weights, rows.train, rows.held_out, options, seeds),
                stopping=Stopping(patience, float(model.tol)),
                keys=rows.keys if draws else None,
                n_jobs=model.n_jobs,
            ).scores
        models = boost_folds(
            *(rows.table, rows.y, rows.weights, self.folds, options, seeds),
            patience=patience,
            keys=rows.keys if draws else None,
            encoding=self.encoding,
            n_jobs=model.n_jobs,
        )
        parts = [part for _, part in self.folds]
        shares = [len(p) if rows.weights is None else rows.weights[p].sum() for p in parts]
        return np.average([model.scores for model in models], axis=0, weights=shares)


def _is_open(model: Any, parameter: str) -> bool:
    """Whether a parameter is to be chosen."""
    return model.max_depth is None if parameter == "max_depth" else is_auto(model, parameter)


def _changed(model: Any, **parameters: Any) -> Any:
    """A model that is like another one but for some parameters."""
    made = object.__new__(type(model))  # a fit before may have left a state that does not fit
    vars(made).update(vars(model) | parameters)
    return made
