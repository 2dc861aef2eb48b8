"""Base class of boosting algorithms that aim at a target margin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from mddf import _core
from mddf._base.elementary import exp, log
from mddf._base.validation import Within

from .base import BaseBoostingClassifier
from .early_stopping import Monitor
from .ensemble import Ensemble, History, Round
from .fixed_learners import fixed_learners
from .search import LEAST_ERROR, TreeSearch, UsedTrees
from .weak_learners import TIE, FloatArray, Learner, Learners, WeakTrees

# Names of the notes of a round; only searched trees have a size.
_NOTES = (
    "objective",
    "weighted_error",
    "edge",
    "target_margin",
    "minimum_margin",
    "step",
    "n_learners",
)


@dataclass(frozen=True)
class Candidate:
    """Learner with the largest edge in a round.

    Attributes
    ----------
    index : int
        Its index in the order in which learners enter the vote.
    learner : Learners
        The learner alone.
    votes : int8 array of shape (n_samples,)
        Its votes on the training rows.
    """

    index: int
    learner: Learners
    votes: NDArray[np.int8]


class LearnerSource(Protocol):
    """Finds the learner with the largest absolute edge."""

    def best(self, signed_weight: FloatArray) -> Candidate | None:
        """Return the best learner for weights times labels; None if there is no learner."""


class TreeSource:
    """Trees that are searched in every round, and those already in the vote."""

    def __init__(self, X: FloatArray, max_depth: int) -> None:
        self._search = TreeSearch(X, max_depth)
        self._used = UsedTrees()
        # The search finds the best stump, but a deeper tree in the vote may beat the new one.
        self._used_compete = max_depth > 1

    def best(self, signed_weight: FloatArray) -> Candidate | None:
        """Return the best learner for weights times labels."""
        edges = self._used.edges(signed_weight) if self._used_compete else np.empty(0)
        k = self._used.choose(*self._search.best(signed_weight), np.abs(edges))
        if k is None:
            return None
        return Candidate(k, self._used.trees[k], self._used.prediction(k))


class FixedSource:
    """A finite set of learners with their votes on the training rows."""

    def __init__(self, learners: Learners, votes: NDArray[np.int8]) -> None:
        self._learners = learners
        self._votes = votes
        # Positions in the vote, by position in the set.
        self._entry: dict[int, int] = {}

    def best(self, signed_weight: FloatArray) -> Candidate | None:
        """Return the best learner for weights times labels."""
        if len(self._votes) == 0:
            return None
        size = np.abs(_core.learner_edges(self._votes, signed_weight))
        # Edges that differ by rounding errors are ties, which the first learner wins.
        j = int(np.flatnonzero(size >= size.max() - TIE)[0])
        index = self._entry.setdefault(j, len(self._entry))
        return Candidate(index, self._learners.take(np.array([j])), self._votes[j])


class BaseMarginBoosting(BaseBoostingClassifier):
    """AdaBoost with steps that aim at a margin rho_t.

    In each round, the learner with the largest edge gamma_t under the weights
    D_t(i) ~ w_i exp(-y_i f(x_i)) enters with the step
    1/2 ln((1 + gamma_t) / (1 - gamma_t)) - 1/2 ln((1 + rho_t) / (1 - rho_t)).
    A subclass decides about rho_t.
    """

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

    def _grows_trees(self) -> bool:
        return self.weak_learners is None or isinstance(self.weak_learners, str)

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        weight = sample_weight / sample_weight.sum()
        source: LearnerSource
        if self.weak_learners is None:
            source = TreeSource(X, self.max_depth)
            return self._collect_rounds(
                self._rounds(source, y, weight), monitor, (*_NOTES, "tree_size")
            )
        learners, values = fixed_learners(self.weak_learners, X, self.n_thresholds)
        wrong = values[np.abs(values) != 1]
        if len(wrong):
            raise ValueError(f"weak_learners must have values in {{-1, +1}}; got {wrong[0]!s}")
        source = FixedSource(learners, np.ascontiguousarray(values, dtype=np.int8))
        return self._collect_rounds(self._rounds(source, y, weight), monitor, _NOTES)

    def _rounds(self, source: LearnerSource, y: FloatArray, weight: FloatArray) -> Iterator[Round]:
        margin = np.zeros(len(y))
        alpha = np.zeros(0)
        minimum_margin = 0.0
        is_perfect = False
        while not is_perfect:
            # The smallest margin is subtracted, so that weights do not underflow.
            distribution = weight * exp(margin.min() - margin)
            distribution /= distribution.sum()
            candidate = source.best(distribution * y)
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
            step = 0.5 * float(log((1 - error) / error))
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
                "step": step,
                "n_learners": np.count_nonzero(alpha),
            }
            if isinstance(candidate.learner, WeakTrees):
                notes["tree_size"] = candidate.learner.size
            yield Round(candidate.learner, candidate.index, sign * step, notes)
