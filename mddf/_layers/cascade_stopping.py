"""Early stopping of cascades by the scores of their layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mddf._fitted.scoring import Scoring
from mddf._layers.memmap import put_aside
from mddf._layers.scores import MARGIN_RATIO

# Smaller gains in the margin ratio do not count; of other scores, all gains do. Not tuned.
_GAIN_OF_RATIO = 0.01


def needed_gain(scoring: Scoring) -> float:
    """Gain over the best score so far that a layer needs, for a cascade not to stop soon."""
    return _GAIN_OF_RATIO if isinstance(scoring, str) and scoring == MARGIN_RATIO else 0.0


@dataclass
class Stopper:
    """Early stopping by out-of-fold scores."""

    n_layers: int
    # Layers without a better score before the cascade stops; None trains all and keeps all.
    patience: int | None
    tol: float = 0.0  # gain over the best score so far after which layers are counted anew
    min_layers: int = 1  # layers that are trained in any case
    # Whether the mean margin decides between layers of equal score, which small data sets often
    # have. If not, the first of them is kept.
    compares_margins: bool = True
    ended_by: str = ""  # why the cascade ended, if not by its scores
    records: list[dict[str, float]] = field(default_factory=list)  # figures of all layers
    last_kept: int = 0  # number of the last layer that is kept
    # (n_samples, n_classes): out-of-fold probabilities up to it
    probabilities: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    _improved: int = 0

    def is_over(self, record: dict[str, float], probabilities: np.ndarray) -> bool:
        """Add a layer's figures and the probabilities up to it; return whether to stop."""
        number = len(self.records)
        self.records.append(record)
        if self.patience is None or not number or self._is_best(record):
            self.last_kept = number
            self.probabilities = put_aside(probabilities)
        if record["score"] > self.records[self._improved]["score"] + self.tol:
            self._improved = number
        elif self.patience is not None and number - self._improved >= self.patience:
            return number + 1 >= self.min_layers
        return False

    def _is_best(self, record: dict[str, float]) -> bool:
        best = self.records[self.last_kept]
        if record["score"] == best["score"] and self.compares_margins:
            return record["margin_mean"] > best["margin_mean"]
        return record["score"] > best["score"]

    def history(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Named figures of all layers that were trained."""
        return {name: np.array([record[name] for record in self.records]) for name in names}

    def reason(self) -> str:
        """Why the cascade stopped, and how many layers are kept."""
        n_trained = len(self.records)
        last_gain = self.records[self._improved]
        kept_layers = f"kept {self.last_kept + 1} of {n_trained} layer{'s' * (n_trained > 1)}"
        if self.ended_by:
            return f"{self.ended_by}; {kept_layers}"
        if self.patience is None:
            return (
                f"all n_layers={self.n_layers} were grown, without early stopping; {kept_layers}"
            )
        n_waited = n_trained - 1 - self._improved
        if n_waited == 0:
            return f"n_layers={self.n_layers} reached while the score still rose; {kept_layers}"
        more_than = f", by more than {self.tol:.3g}" if self.tol else ""
        reached = f"n_layers={self.n_layers} reached, " if n_waited < self.patience else ""
        return (
            f"{reached}no layer was better than layer {self._improved + 1}, with the score "
            f"{last_gain['score']:.4f}{more_than}, among the {n_waited} after it; {kept_layers}"
        )
