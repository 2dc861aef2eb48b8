"""When a cascade stops, and which of its layers it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mddf._base.memmap import put_aside
from mddf._ensemble.scoring import OneSEStopper


def _rank(record: dict[str, float]) -> tuple[float, float]:
    """By the score, and between equal ones, which small sets have often, by the margins."""
    return record["score"], record["margin_mean"]


@dataclass
class Stopper:
    """Early stopping by out-of-fold scores.

    Parameters
    ----------
    n_layers : int
        Most layers.
    patience : int or None
        Layers without a better score before the cascade stops; None grows all and keeps all.
    tol : callable
        From the best score so far to how much better that has to be.
    one_se : OneSEStopper or None
        What finds fewer layers that are about as good as those up to the best score.
    least : int, default=1
        Layers that are grown in any case.

    Attributes
    ----------
    records : list of dict
        Figures of all layers.
    """

    n_layers: int
    patience: int | None
    tol: Callable[[float], float]
    one_se: OneSEStopper | None
    least: int = 1
    records: list[dict[str, float]] = field(default_factory=list)
    _best: int = 0
    _improved: int = 0
    _probabilities: dict[int, np.ndarray] = field(default_factory=dict)  # of those to be kept

    def is_over(self, record: dict[str, float], probabilities: np.ndarray) -> bool:
        """Take a layer's figures and the probabilities up to it; whether it was the last one."""
        number = len(self.records)
        self.records.append(record)
        if self.patience is None or not number or _rank(record) > _rank(self.records[self._best]):
            self._best = number
            if self.one_se is None:
                self._probabilities.clear()
        if self._best == number or self.one_se is not None:
            self._probabilities[number] = put_aside(probabilities)
        if self.one_se is not None:
            self.one_se.add(probabilities, record["score"])
        before = self.records[self._improved]["score"]
        if record["score"] > before + self.tol(before):
            self._improved = number
        elif self.patience is not None and number - self._improved >= self.patience:
            return number + 1 >= self.least
        return False

    def kept(self) -> tuple[int, np.ndarray, str]:
        """The last layer that is kept, from 0, the probabilities up to it, and why, in a line."""
        last = self._best if self.one_se is None else self.one_se.below(self._best)
        return last, np.array(self._probabilities[last]), self._reason(last)

    def _reason(self, kept: int) -> str:
        n_grown, last = len(self.records), self.records[self._improved]
        kept_layers = f"kept {kept + 1} of {n_grown} layer{'s' * (n_grown > 1)}"
        if kept < self._best:
            kept_layers += f", within the error of the best score (layer {self._best + 1})"
        if self.patience is None:
            return (
                f"all n_layers={self.n_layers} were grown, without early stopping; {kept_layers}"
            )
        waited, tol = n_grown - 1 - self._improved, self.tol(last["score"])
        if waited == 0:
            return f"n_layers={self.n_layers} reached while the score still rose; {kept_layers}"
        reached = f"n_layers={self.n_layers} reached, " if waited < self.patience else ""
        return (
            f"{reached}no score above {last['score']:.4f} (layer {self._improved + 1}) by more "
            f"than tol={tol:.3g} in the {waited} layer{'s' * (waited > 1)} after it; {kept_layers}"
        )
