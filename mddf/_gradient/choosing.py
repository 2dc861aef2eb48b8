"""The depth and the number of trees, by rows held out, before trees are grown on all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from mddf._gradient.growing import Stopping, boost, boost_folds
from mddf._gradient.losses import Labels
from mddf._gradient.options import SYMMETRIC, kernel_options
from mddf._gradient.rows import Rows
from mddf._gradient.statistics import Encoding
from mddf._trees.grower import draw_seeds

# From so few rows on there are folds, which are worth their time up to so many. Then some rows are
# held out once; of more rows than the last, those are not missed.
_FEW_ROWS, MANY_ROWS, _MOST_ROWS = 30, 10_000, 100_000
_N_FOLDS = 3
# Depths that race, and by how much their steps are larger, unless they would be larger than that.
_DEPTHS = (4, 6, 8)
_FASTER, _FASTEST = 4, 0.4


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
        return None if folds is None else cls(rows, folds, target, categorical, encoding, entropy)

    def of_best_depth(self, model: Any) -> Any:
        """The model with the depth that wins by few, fast trees, if symmetric ones have none."""
        if model.max_depth is not None or model.grow_policy != SYMMETRIC:
            return model
        rate = min(_FASTER * model.learning_rate, max(model.learning_rate, _FASTEST))
        faster = rate / model.learning_rate
        fast = {
            "learning_rate": rate,
            "max_iter": ceil(model.max_iter / faster),
            "n_iter_no_change": ceil(model.n_iter_no_change / faster),
        }
        best = [self.scores(_changed(model, max_depth=d, **fast)).max() for d in _DEPTHS]
        return _changed(model, max_depth=_DEPTHS[int(np.argmax(best))])

    def scores(self, model: Any) -> np.ndarray:
        """Minus the loss of rows held out, before the first tree and after each one."""
        rows, patience = self.rows, int(model.n_iter_no_change)
        options = kernel_options(model, rows.table, self.target, self.categorical, self.encoding)
        seeds = draw_seeds(self.entropy, model.max_iter)
        draws = model.subsample < 1
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


def _changed(model: Any, **parameters: Any) -> Any:
    """A model that is like another one but for some parameters."""
    made = object.__new__(type(model))  # a fit before may have left a state that does not fit
    vars(made).update(vars(model) | parameters)
    return made
