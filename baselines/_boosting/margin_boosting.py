"""Base class of boosting algorithms that aim at a target margin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from mddf._base.elementary import exp, log
from mddf._base.validation import Within

from .base import BaseBoostingClassifier
from .early_stopping import Monitor
from .ensemble import Ensemble, History, Round
from .fixed_learners import UsesWeakLearners
from .search import LEAST_ERROR
from .sources import FixedSource, LearnerSource, TreeSource
from .weak_learners import TIE, FloatArray, Learner, WeakTrees


class BaseMarginBoosting(UsesWeakLearners, BaseBoostingClassifier):
    """AdaBoost with steps that aim at a margin rho_t.

    In each round, the learner with the largest edge gamma_t under the weights
    D_t(i) ~ w_i exp(-y_i f(x_i)) enters with the step
    1/2 ln((1 + gamma_t) / (1 - gamma_t)) - 1/2 ln((1 + rho_t) / (1 - rho_t)).
    A subclass decides about rho_t. `_notes` are the names of the notes in the history.
    """

    _notes: tuple[str, ...] = (
        "objective",
        "weighted_error",
        "edge",
        "target_margin",
        "minimum_margin",
        "step",
        "n_learners",
    )
    learning_rate: float = 1.0

    _parameter_constraints: dict[str, Any] = {
        **BaseBoostingClassifier._parameter_constraints,
        "max_depth": [Within(Integral, 1, None, closed="left")],
        "weak_learners": [None, StrOptions({"stumps"}), callable, list, tuple],
        "n_thresholds": [Within(Integral, 1, 65535, closed="both")],
    }

    max_depth: int
    weak_learners: str | Learner | Sequence[Learner] | None
    n_thresholds: int

    @abstractmethod
    def _target_margin(self, minimum_margin: float) -> float:
        """Return rho_t, given the smallest normalised margin of the vote so far."""

    def _loss(self, margin: FloatArray) -> FloatArray:
        return exp(-margin)

    def _link(self) -> str:
        return "exponential"

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        weight = sample_weight / sample_weight.sum()
        source: LearnerSource
        if self.weak_learners is None:
            source = TreeSource(X, self.max_depth)
        else:
            source = FixedSource.from_parameter(self.weak_learners, X, self.n_thresholds)
        # Only searched trees have a size.
        notes = self._notes if self.weak_learners is not None else (*self._notes, "tree_size")
        return self._collect_rounds(self._rounds(source, y, weight), monitor, notes)

    def _rounds(self, source: LearnerSource, y: FloatArray, weight: FloatArray) -> Iterator[Round]:
        """Yield rounds with the learners of a source."""
        margin = np.zeros(len(y))
        alpha = np.zeros(0)
        minimum_margin = 0.0
        is_perfect = False
        while not is_perfect:
            # The smallest margin is subtracted, so that weights do not underflow.
            distribution = weight * exp(margin.min() - margin)
            distribution /= distribution.sum()
            candidate = source.best(distribution, y)
            if candidate is None:
                return
            # A learner that is worse than chance votes with the opposite sign.
            sign = 1 if (distribution * y) @ candidate.votes > 0 else -1
            votes = sign * candidate.votes
            error = distribution[votes != y].sum()
            target = self._target_margin(minimum_margin)
            # No step raises margins up to the target if no edge is above it.
            if 1 - 2 * error <= target + TIE:
                return
            is_perfect = error < LEAST_ERROR
            error = max(error, LEAST_ERROR)
            step = self.learning_rate * 0.5 * float(log((1 - error) / error))
            step -= 0.5 * float(log((1 + target) / (1 - target)))
            # A learner without error has a finite weight, which may be too small for the target.
            if step <= 0:
                return
            margin += step * y * votes
            if candidate.index == len(alpha):
                alpha = np.append(alpha, 0.0)
            alpha[candidate.index] += sign * step
            norm = float(np.abs(alpha).sum())
            minimum_margin = float(margin.min()) / norm if norm > 0 else 0.0
            notes = {
                "objective": weight @ exp(-margin),
                "weighted_error": error,
                "edge": 1 - 2 * error,
                "target_margin": target,
                "minimum_margin": minimum_margin,
                "normalizer": normalizer(error, self.learning_rate, step),
                "step": step,
                "n_learners": np.count_nonzero(alpha),
            }
            if isinstance(candidate.learner, WeakTrees):
                notes["tree_size"] = candidate.learner.size
            yield Round(candidate.learner, candidate.index, sign * step, notes)


def normalizer(error: Any, learning_rate: float = 1.0, step: float = 0.0) -> Any:
    """Sum of the weights after a step of AdaBoost, for a sum of 1 before."""
    if learning_rate != 1:
        return (1 - error) * exp(-step) + error * exp(step)
    return 2 * np.sqrt(error * (1 - error))
