"""Trials of layers after the first, on samples whose labels nothing in their input has seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mddf._layers.member import ForestMember
from mddf._layers.member_options import (
    STRENGTHS,
    choose_strength,
    reweighting_factors,
    reweighting_trial_member,
)
from mddf._layers.nested_folds import NestedFolds
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Layer, Stack
from mddf._layers.trainer import Fit


class LaterLayers:
    """Grows a layer on more and more of the samples.

    A trial has three steps, of which the cheap ones come first: on the first outer fold with
    out-of-fold vectors as inputs, which make the loss too small; on this fold with nested
    vectors; and on all outer folds. A layer that does not help in one step is given up.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        keep_fold_models: bool,  # whether they predict, not models of all samples
    ) -> None:
        self.trainer = stack.trainer
        self.stack = stack
        self.keep_fold_models = keep_fold_models
        self.nested = NestedFolds(stack)
        self._strength = 0.0
        self._results: list[list[Fit]] = []  # for each outer fold, for each member

    @property
    def first_fold_rows(self) -> np.ndarray:
        """Rows on which the first two steps evaluate a layer."""
        return self.nested.folds[0][1]

    def optimistic_layer(self, number: int, members: list[ForestMember]) -> Layer:
        """First step: the first outer fold, with inputs that know labels of the held-out rows."""
        entropy = self.trainer.seeds.entropy_for(Purpose.OPTIMISTIC_LAYER, number)
        return self.nested.grow_optimistic(members, self.stack.features_for(number), entropy)

    def layer_of_first_fold(self, number: int, members: list[ForestMember]) -> Layer:
        """Second step: the first outer fold, with nested inputs."""
        self.nested.prepare(number, [0])
        if number == 1 and self.trainer.task.has_margins:
            self._strength = self._chosen_strength(members)
        self._results = [self._grow(number, members, 0)]
        return self.nested.layer_from_fits(members, self._results[0])

    def layer_of_all_folds(self, number: int, members: list[ForestMember]) -> Layer:
        """Third step: all outer folds."""
        other_folds = range(1, len(self.nested.folds))
        self.nested.prepare(number, other_folds)
        self._results += [self._grow(number, members, outer) for outer in other_folds]
        return self.nested.layer_from_all_fits(members, self._results, self._strength)

    def _chosen_strength(self, members: Sequence[ForestMember]) -> float:
        """Strength of reweighting with the least loss of a small forest on the first fold."""
        trial = [reweighting_trial_member(members)]
        task = self.trainer.task.for_rows(self.first_fold_rows)
        entropy = self.trainer.seeds.entropy_for(Purpose.REWEIGHTING, 1, 0)
        losses = []
        for strength in STRENGTHS:
            (fit,) = self.nested.grow(0, trial, self._factors(0, strength), entropy)
            losses.append(task.calibrated_losses(fit.vectors))
        return choose_strength(losses, task, self.stack.report)

    def _grow(self, number: int, members: list[ForestMember], outer: int) -> list[Fit]:
        """Grow the forests of a layer without an outer fold."""
        # Only the second layer reweights samples: margins are those of the first layer.
        factors = self._factors(outer, self._strength) if number == 1 else None
        entropy = self.trainer.seeds.entropy_for(Purpose.NESTED_LAYER, number, outer)
        return self.nested.grow(outer, members, factors, entropy, keep=self.keep_fold_models)

    def _factors(self, outer: int, strength: float) -> np.ndarray | None:
        """Factors of the weights of the samples on which an outer fold trains."""
        if not strength:
            return None
        train, _ = self.nested.folds[outer]
        return reweighting_factors(self.nested.margins(outer), self.trainer, strength, train)
