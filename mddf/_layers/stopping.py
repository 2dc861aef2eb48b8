"""When a cascade stops, and which of its layers it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mddf._base.memmap import put_aside
from mddf._layers.scoring import OneSEStopper


@dataclass(frozen=True)
class KeptLayers:
    """Layers that are kept."""

    last_layer: int  # from 0
    probabilities: np.ndarray  # (n_samples, n_classes): out-of-fold probabilities up to it
    reason: str  # why the cascade stopped, and how many layers are kept


@dataclass
class Stopper:
    """Early stopping by out-of-fold scores."""

    n_layers: int
    # Layers without a better score before the cascade stops; None trains all and keeps all.
    patience: int | None
    tol: Callable[[float], float]  # from the best score so far to the gain that the next one needs
    # Finds fewer layers whose score is within the error of the best score.
    one_se: OneSEStopper | None
    min_layers: int = 1  # layers that are trained in any case
    # Whether the mean margin decides between layers of equal score, which small data sets often
    # have. If not, the first of them is kept.
    compares_margins: bool = True
    ended_by: str = ""  # why the cascade ended, if not by its scores
    records: list[dict[str, float]] = field(default_factory=list)  # figures of all layers
    _best: int = 0
    _improved: int = 0
    # Probabilities up to the layers that may be the last one.
    _probabilities: dict[int, np.ndarray] = field(default_factory=dict)

    def is_over(self, record: dict[str, float], probabilities: np.ndarray) -> bool:
        """Add a layer's figures and the probabilities up to it; return whether to stop."""
        number = len(self.records)
        self.records.append(record)
        if self.patience is None or not number or self._is_best(record):
            self._best = number
            if self.one_se is None:
                self._probabilities.clear()
        if self._best == number or self.one_se is not None:
            self._probabilities[number] = put_aside(probabilities)
        if self.one_se is not None:
            self.one_se.add(probabilities, record["score"])
        best_score = self.records[self._improved]["score"]
        if record["score"] > best_score + self.tol(best_score):
            self._improved = number
        elif self.patience is not None and number - self._improved >= self.patience:
            return number + 1 >= self.min_layers
        return False

    def _is_best(self, record: dict[str, float]) -> bool:
        best = self.records[self._best]
        if record["score"] == best["score"] and self.compares_margins:
            return record["margin_mean"] > best["margin_mean"]
        return record["score"] > best["score"]

    def history(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Named figures of all layers that were trained."""
        return {name: np.array([record[name] for record in self.records]) for name in names}

    def kept(self) -> KeptLayers:
        """The layers that are kept, after the last one was added."""
        last = self._best if self.one_se is None else self.one_se.below(self._best)
        return KeptLayers(last, np.array(self._probabilities[last]), self._reason(last))

    def _reason(self, kept: int) -> str:
        n_trained = len(self.records)
        last_gain = self.records[self._improved]
        kept_layers = f"kept {kept + 1} of {n_trained} layer{'s' * (n_trained > 1)}"
        if kept < self._best:
            kept_layers += f", within the error of the best score (layer {self._best + 1})"
        if self.ended_by:
            return f"{self.ended_by}; {kept_layers}"
        if self.patience is None:
            return (
                f"all n_layers={self.n_layers} were grown, without early stopping; {kept_layers}"
            )
        n_waited = n_trained - 1 - self._improved
        tol = self.tol(last_gain["score"])
        if n_waited == 0:
            return f"n_layers={self.n_layers} reached while the score still rose; {kept_layers}"
        reached = f"n_layers={self.n_layers} reached, " if n_waited < self.patience else ""
        return (
            f"{reached}no score above {last_gain['score']:.4f} (layer {self._improved + 1}) by "
            f"more than tol={tol:.3g} in the {n_waited} layer{'s' * (n_waited > 1)} after it; "
            f"{kept_layers}"
        )
