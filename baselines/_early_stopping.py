"""Early stopping on a validation share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._ensemble import Ensemble
from ._voters import FloatArray, Tree, TreeVoters


class Monitor:
    """Follows the loss of an ensemble on rows held back from it.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features) or None
        Rows held back; None watches nothing and never stops.
    y : array of shape (n_samples,) or None
        Their labels in {-1, +1}.
    weight : array of shape (n_samples,) or None
        Their weights.
    loss : callable
        Loss of an array of margins y f(x).
    patience : int
        Stop after so many rounds in a row without a new least loss.

    Attributes
    ----------
    losses : list of float
        Weighted mean loss after every round.
    best_round : int
        Number of rounds with the least loss, the fewest among equals; at least 1.
    """

    def __init__(
        self,
        X: FloatArray | None,
        y: FloatArray | None,
        weight: FloatArray | None,
        loss: Callable[[FloatArray], FloatArray],
        patience: int,
    ):
        self._X, self._y, self._weight = X, y, weight
        self._loss = loss
        self._patience = patience
        self._f = None if X is None else np.zeros(len(X))
        self.losses: list[float] = []
        self.best_round = 0

    @property
    def watching(self) -> bool:
        """Whether there are rows to watch."""
        return self._X is not None

    def step(self, tree: Tree, step: float) -> bool:
        """Add ``step`` times a tree to f; return whether to stop."""
        if self._f is None:
            return False
        assert self._X is not None
        self._f += step * TreeVoters([tree]).values(self._X)[0]
        return self._record(self._f)

    def whole(self, ensemble: Ensemble) -> bool:
        """Take the f of an ensemble whose weights were all set anew; return whether to stop."""
        if self._X is None:
            return False
        return self._record(ensemble.decision(self._X))

    def replay(self, ensemble: Ensemble) -> None:
        """Watch, after the fact, the rounds of an ensemble that were not watched."""
        if self._X is None or self.losses:
            return
        for f in ensemble.staged_decision(self._X):
            if self._record(f):
                break

    def _record(self, f: FloatArray) -> bool:
        assert self._y is not None
        assert self._weight is not None
        loss = float(np.average(self._loss(self._y * f), weights=self._weight))
        if not self.losses or loss < self.losses[self.best_round - 1]:
            self.best_round = len(self.losses) + 1
        self.losses.append(loss)
        return len(self.losses) - self.best_round >= self._patience
