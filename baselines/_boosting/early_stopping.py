"""Early stopping on a validation share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .ensemble import Ensemble, Round
from .weak_learners import FloatArray


class Monitor:
    """Record the loss of an ensemble on a validation set, and find the best round.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
        Validation rows.
    y : array of shape (n_samples,)
        Their labels in {-1, +1}.
    weight : array of shape (n_samples,)
        Their weights.
    loss : callable
        Loss of an array of margins y f(x).
    patience : int
        Number of rounds without a new lowest loss after which to stop.

    Attributes
    ----------
    losses : list of float
        Weighted mean loss after every round.
    best_round : int
        Number of rounds with the lowest loss, the smallest one in case of ties; at least 1.
    """

    def __init__(
        self,
        X: FloatArray,
        y: FloatArray,
        weight: FloatArray,
        *,
        loss: Callable[[FloatArray], FloatArray],
        patience: int,
    ) -> None:
        self._X = X
        self._y = y
        self._weight = weight
        self._loss = loss
        self._patience = patience
        self._f = np.zeros(len(X))
        self.losses: list[float] = []
        self.best_round = 0

    def stops(self, rounds: list[Round]) -> bool:
        """Record the loss after the last of the rounds so far; return whether to stop."""
        last = rounds[-1]
        if isinstance(last.change, np.ndarray):
            self._f = Ensemble.from_rounds(rounds).decision(self._X)
        else:
            self._f += last.change * last.learner.values(self._X)[0]
        return self._record(self._f)

    def replay(self, ensemble: Ensemble) -> None:
        """Record the losses of all rounds of an ensemble, unless they have been recorded."""
        if self.losses:
            return
        for f in ensemble.staged_decision(self._X):
            if self._record(f):
                break

    def _record(self, f: FloatArray) -> bool:
        loss = float(np.average(self._loss(self._y * f), weights=self._weight))
        if not self.losses or loss < self.losses[self.best_round - 1]:
            self.best_round = len(self.losses) + 1
        self.losses.append(loss)
        return len(self.losses) - self.best_round >= self._patience
