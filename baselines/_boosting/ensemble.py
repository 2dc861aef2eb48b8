"""A weighted vote and the rounds that made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mddf._base.serialization import register_serializable

from .weak_learners import FloatArray, Learners, WeakTrees

History = dict[str, NDArray[Any]]

#: A vote of less than this share of all weights is a tie.
NEAR_TIE = 1e-13

#: What histories count in integers.
_COUNTS = {"n_learners", "tree_size"}


@dataclass(frozen=True, eq=False)
class Round:
    """What one round of boosting does to the vote.

    Parameters
    ----------
    learner : WeakTrees or GivenLearners
        The learner that the round is about, one.
    index : int
        Its number, in the order in which learners come in.
    change : float or array of shape (n_learners,)
        What is added to its weight; or, where all weights are set anew, the weights of all
        learners that have come in, of which each round then brings a new one.
    notes : dict of str to float
        What the history says about the round.
    """

    learner: Learners
    index: int
    change: float | FloatArray
    notes: dict[str, float]


def history_of(rounds: list[Round], names: tuple[str, ...]) -> History:
    """Collect the notes of rounds in arrays of shape (n_rounds,)."""
    return {
        name: np.array(
            [made.notes[name] for made in rounds],
            dtype=np.int64 if name in _COUNTS else np.float64,
        )
        for name in names
    }


@register_serializable("weighted ensemble")
@dataclass(frozen=True, eq=False)
class Ensemble:
    """The vote f(x) = sum_j alpha_j h_j(x), round by round.

    Round t adds ``step[k]`` to the weight of learner ``learner[k]`` for every k from
    ``round_start[t]`` up to ``round_start[t + 1]``: one entry per round in coordinate descent,
    many where all weights are set anew.

    Parameters
    ----------
    learners : WeakTrees or GivenLearners
        The h_j.
    round_start : int64 array of shape (n_rounds + 1,)
        Where the entries of each round start.
    learner : int64 array of shape (n_entries,)
        Which learner an entry concerns.
    step : float64 array of shape (n_entries,)
        What the entry adds to its weight.
    """

    learners: Learners
    round_start: NDArray[np.int64]
    learner: NDArray[np.int64]
    step: FloatArray

    @classmethod
    def of_steps(cls, learners: Learners, learner: Any, step: Any) -> Ensemble:
        """Make an ensemble whose every round changes one weight."""
        learner = np.asarray(learner, dtype=np.int64)
        step = np.asarray(step, dtype=np.float64)
        return cls(learners, np.arange(len(learner) + 1), learner, step)

    @classmethod
    def of_rounds(cls, rounds: list[Round]) -> Ensemble:
        """Make an ensemble of all that the rounds have done."""
        if not rounds:
            return cls.of_steps(WeakTrees.joined([]), [], [])
        came_in: list[Any] = []  # all of one kind
        for made in rounds:
            if made.index == len(came_in):
                came_in.append(made.learner)
        learners = type(came_in[0]).joined(came_in)
        changes: list[Any] = [made.change for made in rounds]
        if isinstance(changes[0], np.ndarray):
            return cls.of_weights(learners, changes)
        return cls.of_steps(learners, [made.index for made in rounds], changes)

    @classmethod
    def of_weights(cls, learners: Learners, weights: list[FloatArray]) -> Ensemble:
        """Make an ensemble from the whole weight vector after each round, at least one.

        Parameters
        ----------
        learners : WeakTrees or GivenLearners
            The learners, in the order in which they came in.
        weights : list of arrays
            Weights of the first learners after each round; a learner that is not there yet has 0.
        """
        start, learner, step = [0], [], []
        last = np.zeros(len(learners))
        for now in weights:
            full = np.zeros(len(learners))
            full[: len(now)] = now
            changed = np.flatnonzero(full != last)
            learner.append(changed)
            step.append((full - last)[changed])
            start.append(start[-1] + len(changed))
            last = full
        return cls(learners, np.array(start), np.concatenate(learner), np.concatenate(step))

    @property
    def n_rounds(self) -> int:
        """Number of rounds made."""
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
        """Return the same ensemble as it was after fewer rounds, with the learners of these."""
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
    """Set to 0 where the votes cancel but for rounding errors, so that these do not decide."""
    f[np.abs(f) <= NEAR_TIE * np.abs(weights).sum()] = 0.0
    return f
