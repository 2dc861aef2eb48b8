"""Growing trees by the derivatives of a custom loss."""

from __future__ import annotations

import numpy as np

from mddf import _core
from mddf._core import BoostOptions, Cancel
from mddf._gradient.custom_loss import CustomLoss
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import TargetKind

# Derivatives are divided by the mean hessian before the first tree, unless it is in this range. It
# is 1 for squared errors, and above 0.01 for the log-loss of classes that are not rarer than 1 in
# 100: custom losses then grow the same trees as the built-in ones. Set by hand.
_USUAL_HESSIANS = (0.01, 100.0)


class CustomBooster:
    """A booster with the methods of `_core.GradientBooster`, for a custom loss.

    The kernel grows one tree at a time by derivatives that it gets, and does not compute losses.
    The derivatives are scaled, so that the penalty and the least sum of hessians in a leaf suit
    losses of any scale.
    """

    def __init__(
        self,
        rows: BoostingRows,
        options: BoostOptions,
        objective: TargetKind,
        cancel: Cancel,
        *,
        keys: np.ndarray | None,
        start: np.ndarray | None,
        positions: np.ndarray | None = None,
    ) -> None:
        assert isinstance(objective.loss, CustomLoss)
        self._loss = objective.loss
        self._y = objective.y_of_custom_loss(rows.y[rows.train])
        self._weights = rows.train_weights
        self._held_out_y = objective.y_of_custom_loss(rows.y[rows.held_out])
        self._held_out_weights = rows.held_out_weights
        self.start = np.zeros(objective.n_scores)
        first_scores = self._loss.start_scores(self._y, self._weights, objective.n_scores)
        self._unit: float | None = None
        if start is None:
            self.start = first_scores
            start = np.tile(self.start, (len(rows.y), 1))
        else:
            # A warm start has the unit of the fit before.
            raw = np.tile(first_scores, (len(self._y), 1))
            if rows.offset is not None:
                raw += rows.offset[rows.train]
            raw.flags.writeable = False
            self._unit = self._unit_of(self._loss.derivatives(self._y, raw, self._weights)[1])
        self._kernel = _core.GradientBooster(
            rows.table.cells,
            np.zeros(0),
            rows.weights,
            rows.train,
            rows.held_out,
            options=options,
            start=start,
            cancel=cancel,
            keys=keys,
            offset=rows.offset,
            positions=positions,
        )
        self._losses: list[float] = []
        self._train_losses: list[float] = []
        self._best_raw = self.raw(best=False)
        self.best_round = 0
        self.large_residual = np.inf  # state of Huber's loss, which continues in a warm start

    def grow(
        self,
        seeds: np.ndarray,
        *,
        patience: int = 0,
        tol: float = 0.0,
        watch_training: bool = False,
        team: _core.BoostTeam | None = None,
        cancel: Cancel | None = None,
        rates: np.ndarray | None = None,
    ) -> bool:
        """Grow one tree for each seed, as the kernel's booster does."""
        if self._kernel.n_rounds == 0 and not self._losses and not self._train_losses:
            self._note_losses(tol, watch_training=watch_training)
        for number in range(len(seeds)):
            if self._is_over(patience):
                break
            gradient, hessian = self._loss.derivatives(
                self._y, self._kernel.train_raw(), self._weights
            )
            if self._unit is None:
                self._unit = self._unit_of(hessian)
            self._kernel.set_gradients(gradient / self._unit, hessian / self._unit)
            rate = None if rates is None else rates[number : number + 1]
            self._kernel.grow(seeds[number : number + 1], team=team, cancel=cancel, rates=rate)
            self._note_losses(tol, watch_training=watch_training)
        return self._is_over(patience)

    def _unit_of(self, hessian: np.ndarray) -> float:
        """Mean hessian of the training rows, by which derivatives are divided, or 1."""
        total = len(self._y) if self._weights is None else float(self._weights.sum())
        mean = float(hessian.mean(axis=1).sum()) / total
        least, largest = _USUAL_HESSIANS
        return 1.0 if least <= mean <= largest or mean == 0 else mean

    def _is_over(self, patience: int) -> bool:
        return patience > 0 and self._kernel.n_rounds - self.best_round >= patience

    def _note_losses(self, tol: float, *, watch_training: bool) -> None:
        """Compute the losses after a round, and keep the best raw predictions."""
        if self._loss.loss is None:
            return
        if watch_training:
            raw = self._kernel.train_raw()
            self._train_losses.append(self._loss.mean(self._y, raw, self._weights))
        if not len(self._held_out_y):
            return
        raw = self._kernel.held_out_raw()
        loss = self._loss.mean(self._held_out_y, raw, self._held_out_weights)
        if self._losses and loss < self._losses[self.best_round] - tol:
            self.best_round = self._kernel.n_rounds
            self._best_raw = raw.copy()
        self._losses.append(loss)

    def trees(self) -> dict[str, np.ndarray]:
        return self._kernel.trees()

    def losses(self) -> np.ndarray:
        return np.array(self._losses)

    def train_losses(self) -> np.ndarray:
        return np.array(self._train_losses)

    def raw(self, best: bool = True) -> np.ndarray:
        """Raw predictions of the held-out rows: after the best round, or the last one."""
        return self._best_raw if best else self._kernel.raw(best=False)
