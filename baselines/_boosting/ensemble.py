"""Weighted votes, and the rounds of boosting that they consist of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mddf._base.serialization import register_serializable

from .weak_learners import FloatArray, Learners, WeakTrees

History = dict[str, NDArray[Any]]

#: A vote below this share of the sum of all weights is a tie: it is within rounding errors.
NEAR_TIE = 1e-13

#: Entries of histories that are integers.
_COUNTS = {"n_learners", "tree_size"}


@dataclass(frozen=True, eq=False)
class Round:
    """Change of the vote by one round of boosting.

    Parameters
    ----------
    learner : WeakTrees or GivenLearners
        A single learner.
    index : int
        Its index in the order in which learners enter the vote.
    change : float or array of shape (n_learners,)
        Change of the learner's weight. An array replaces the weights of all learners so far; every
        round then adds a new learner.
    notes : dict of str to float
        Entries of the history for this round.
    """

    learner: Learners
    index: int
    change: float | FloatArray
    notes: dict[str, float]


def collect_history(rounds: list[Round], names: tuple[str, ...]) -> History:
    """Collect the notes of rounds in arrays of shape (n_rounds,)."""
    return {
        name: np.array(
            [boosting_round.notes[name] for boosting_round in rounds],
            dtype=np.int64 if name in _COUNTS else np.float64,
        )
        for name in names
    }


@register_serializable("weighted ensemble")
@dataclass(frozen=True, eq=False)
class Ensemble:
    """The vote f(x) = sum_j alpha_j h_j(x), round by round.

    Round t adds ``step[k]`` to the weight of learner ``learner[k]`` for every k from
    ``round_start[t]`` to ``round_start[t + 1] - 1``. In coordinate descent each round has one
    entry; rounds that replace all weights have many.

    Parameters
    ----------
    learners : WeakTrees or GivenLearners
        The h_j.
    round_start : int64 array of shape (n_rounds + 1,)
        First entry of each round.
    learner : int64 array of shape (n_entries,)
        Learner of each entry.
    step : float64 array of shape (n_entries,)
        Change of the learner's weight.
    """

    learners: Learners
    round_start: NDArray[np.int64]
    learner: NDArray[np.int64]
    step: FloatArray

    @classmethod
    def from_steps(
        cls, learners: Learners, learner: npt.ArrayLike, step: npt.ArrayLike
    ) -> Ensemble:
        """Make an ensemble from rounds that change one weight each."""
        learner = np.asarray(learner, dtype=np.int64)
        step = np.asarray(step, dtype=np.float64)
        return cls(learners, np.arange(len(learner) + 1), learner, step)

    @classmethod
    def from_rounds(cls, rounds: list[Round]) -> Ensemble:
        """Make an ensemble from rounds of boosting."""
        if not rounds:
            return cls.from_steps(WeakTrees.concatenate([]), [], [])
        # All learners are of the same type.
        distinct: list[Any] = []
        for boosting_round in rounds:
            if boosting_round.index == len(distinct):
                distinct.append(boosting_round.learner)
        learners = type(distinct[0]).concatenate(distinct)
        changes: list[Any] = [boosting_round.change for boosting_round in rounds]
        if isinstance(changes[0], np.ndarray):
            return cls.from_weights(learners, changes)
        return cls.from_steps(
            learners, [boosting_round.index for boosting_round in rounds], changes
        )

    @classmethod
    def from_weights(cls, learners: Learners, weights: list[FloatArray]) -> Ensemble:
        """Make an ensemble from the vectors of all weights after each round, at least one.

        Parameters
        ----------
        learners : WeakTrees or GivenLearners
            The learners, in the order in which they entered the vote.
        weights : list of arrays
            Weights of the learners so far, after each round.
        """
        round_start = [0]
        learner: list[NDArray[np.int64]] = []
        step: list[FloatArray] = []
        before = np.zeros(len(learners))
        for round_weights in weights:
            # Learners that enter later have weight 0.
            after = np.zeros(len(learners))
            after[: len(round_weights)] = round_weights
            changed = np.flatnonzero(after != before)
            learner.append(changed)
            step.append((after - before)[changed])
            round_start.append(round_start[-1] + len(changed))
            before = after
        return cls(learners, np.array(round_start), np.concatenate(learner), np.concatenate(step))

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.round_start) - 1

    def weights(self, n_rounds: int | None = None) -> FloatArray:
        """Weights after some rounds (all by default), shape (n_learners,)."""
        end = self.round_start[self.n_rounds if n_rounds is None else n_rounds]
        weights = np.zeros(len(self.learners))
        np.add.at(weights, self.learner[:end], self.step[:end])
        return weights

    def decision(self, X: FloatArray, n_rounds: int | None = None) -> FloatArray:
        """Return f after some rounds (all by default) on the rows of X, shape (n_samples,)."""
        weights = self.weights(n_rounds)
        return _exact_ties(self.learners.votes(X, weights), weights)

    def staged_decision(self, X: FloatArray) -> Iterator[FloatArray]:
        """Yield f after every round; each array is a new one of shape (n_samples,)."""
        values = self.learners.values(X) if len(self.learners) else np.empty((0, len(X)))
        f = np.zeros(len(X))
        weights = np.zeros(len(self.learners))
        for first, last in zip(self.round_start[:-1], self.round_start[1:], strict=True):
            for k in range(first, last):
                f += self.step[k] * values[self.learner[k]]
                weights[self.learner[k]] += self.step[k]
            yield _exact_ties(f.copy(), weights)

    def first_rounds(self, n_rounds: int) -> Ensemble:
        """Return the ensemble after fewer rounds, without learners that entered later."""
        end = self.round_start[n_rounds]
        kept, learner = np.unique(self.learner[:end], return_inverse=True)
        return replace(
            self,
            learners=self.learners.take(kept),
            round_start=self.round_start[: n_rounds + 1],
            learner=learner,
            step=self.step[:end],
        )


def _exact_ties(f: FloatArray, weights: FloatArray) -> FloatArray:
    """Set votes that cancel to 0, which rounding errors would decide otherwise."""
    f[np.abs(f) <= NEAR_TIE * np.abs(weights).sum()] = 0.0
    return f
