"""History of a cascade that is being built: vectors, margins and coefficients of its layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mddf._base.memmap import mean_of, put_aside
from mddf._fitted.vector_layout import combine
from mddf._layers.cascade_plan import CascadePlan
from mddf._layers.coefficients import LastLayer, MarginHistory
from mddf._layers.layer_trainer import LayerTrainer
from mddf._layers.margin_loss import class_margins


class CascadeHistory:
    """Out-of-fold results of the layers so far, which decide about the next one."""

    def __init__(self, trainer: LayerTrainer, plan: CascadePlan) -> None:
        self.trainer = trainer
        self.plan = plan
        # (n_samples, n_layers): margins of each layer alone.
        self.margins = np.empty((trainer.n_samples, 0))
        self.alphas = np.empty(0)  # (n_layers,): coefficients of the layers
        # (n_samples,): factors of the samples' weights in the next layer.
        self.reweighting: np.ndarray | None = None
        # For each layer, its vectors in parts that lie side by side in the table: one for each
        # forest, or their mean. Nothing is kept of a layer that is not used again.
        self._vectors: list[list[np.ndarray]] = []

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self._vectors)

    def add(self, vectors: list[np.ndarray], entropy: tuple[int, ...]) -> np.ndarray:
        """Add the vectors of a layer's forests; returns their mean."""
        trainer = self.trainer
        kind = self.plan.kind
        mean = mean_of(vectors)
        self._vectors.append(vectors if self.plan.passes_all else [put_aside(mean)])
        margins = class_margins(mean, trainer.task.target)
        self.margins = np.column_stack([self.margins, margins])
        margin_history = MarginHistory(
            margins=self.margins,
            before=self.alphas,
            weight=trainer.task.weight,
            order=trainer.order,
            entropy=entropy,
        )
        self.alphas = kind.rule(margin_history)
        if kind.reweighting is not None:
            self.reweighting = kind.reweighting(margin_history, self.alphas)
            if trainer.without_past is not None:
                # Their margins are unknown: their weights stay.
                self.reweighting[trainer.without_past] = 1.0
        if self.n_layers > 1 and isinstance(kind.rule, LastLayer):
            # Only the last layer has a coefficient: the vectors before it can be freed.
            self._vectors[-2] = [np.empty(0)] * len(self._vectors[-1])
        return mean

    def sample_distribution(self, active: np.ndarray) -> np.ndarray:
        """Weights of the samples in the next layer, of sum 1; 0 for rows that are not active."""
        row_weight = self.trainer.weights.row
        weights = np.ones(self.trainer.n_samples) if row_weight is None else row_weight.copy()
        if self.reweighting is not None:
            weights *= self.reweighting
        weights[~active] = 0.0
        return weights / weights.sum()

    def augmented_features(self) -> Iterator[np.ndarray]:
        """Features that the layers so far add for the next one, in parts side by side."""
        for parts_of_layers in zip(*self._vectors, strict=True):
            yield combine(parts_of_layers, self.alphas)

    def probabilities(self) -> np.ndarray:
        """Out-of-fold probabilities of the layers together.

        A weighted mean of ones can exceed 1 by a bit, which metrics of scikit-learn refuse.
        """
        return np.minimum(mean_of(self.augmented_features()), 1.0)
