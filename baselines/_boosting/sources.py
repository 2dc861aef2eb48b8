"""Sources of the learner of each round: trees that are searched, and finite sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mddf import _core

from .fixed_learners import fixed_learners
from .search import TreeSearch, UsedTrees
from .weak_learners import TIE, FloatArray, Learners


@dataclass(frozen=True)
class Candidate:
    """Learner with the largest edge in a round."""

    index: int  # in the order in which learners enter the vote
    learner: Learners  # alone
    votes: NDArray[Any]  # (n_samples,): on the training rows


class LearnerSource(Protocol):
    """Finds the learner with the largest absolute edge."""

    def best(self, distribution: FloatArray, y: FloatArray) -> Candidate | None:
        """Return the best learner for the weights of the rows; None if there is no learner."""


class TreeSource:
    """Trees that are searched in every round, and those already in the vote."""

    def __init__(self, X: FloatArray, max_depth: int) -> None:
        self._search = TreeSearch(X, max_depth)
        self._used = UsedTrees()
        # The search finds the best stump, but a deeper tree in the vote may beat the new one.
        self._used_compete = max_depth > 1

    def best(self, distribution: FloatArray, y: FloatArray) -> Candidate | None:
        """Search a tree, and compare it with the trees in the vote."""
        signed_weight = distribution * y
        edges = self._used.edges(signed_weight) if self._used_compete else np.empty(0)
        k = self._used.choose(*self._search.best(signed_weight), np.abs(edges))
        if k is None:
            return None
        return Candidate(k, self._used.trees[k], self._used.prediction(k))


class FixedSource:
    """A finite set of learners with their votes on the training rows."""

    def __init__(self, learners: Learners, votes: NDArray[np.int8]) -> None:
        self.learners = learners
        self.votes = votes
        # Positions in the vote, by position in the set.
        self._entry: dict[int, int] = {}

    @classmethod
    def from_parameter(cls, weak_learners: Any, X: FloatArray, n_thresholds: int) -> FixedSource:
        """Make the set of the parameter `weak_learners`; its values must be -1 or +1."""
        learners, values = fixed_learners(weak_learners, X, n_thresholds)
        wrong = values[np.abs(values) != 1]
        if len(wrong):
            raise ValueError(f"weak_learners must have values in {{-1, +1}}; got {wrong[0]!s}")
        return cls(learners, np.ascontiguousarray(values, dtype=np.int8))

    def best(self, distribution: FloatArray, y: FloatArray) -> Candidate | None:
        """Choose the learner with the largest edge of the set."""
        if len(self.votes) == 0:
            return None
        size = np.abs(_core.learner_edges(self.votes, distribution * y))
        # Edges that differ by rounding errors are ties, which the first learner wins.
        j = int(np.flatnonzero(size >= size.max() - TIE)[0])
        index = self._entry.setdefault(j, len(self._entry))
        return Candidate(index, self.learners.take(np.array([j])), self.votes[j])
