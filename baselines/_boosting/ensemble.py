"""A weighted vote and the rounds that made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mddf._base.serialization import register_serializable

from .voters import FloatArray, TreeVoters, Voters

History = dict[str, NDArray]

#: What histories count in integers.
_COUNTS = {"n_voters", "tree_size"}


@dataclass(frozen=True, eq=False)
class Round:
    """What one round of boosting does to the vote.

    Parameters
    ----------
    voter : TreeVoters or GivenVoters
        The voter that the round is about, one.
    index : int
        Its number, in the order in which voters come in.
    change : float or array of shape (n_voters,)
        What is added to its weight; or, where all weights are set anew, the weights of all voters
        that have come in, of which each round then brings a new one.
    notes : dict of str to float
        What the history says about the round.
    """

    voter: Voters
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

    Round t adds ``step[k]`` to the weight of voter ``voter[k]`` for every k from
    ``round_start[t]`` up to ``round_start[t + 1]``: one entry per round in coordinate descent,
    many where all weights are set anew.

    Parameters
    ----------
    voters : TreeVoters or GivenVoters
        The h_j.
    round_start : int64 array of shape (n_rounds + 1,)
        Where the entries of each round start.
    voter : int64 array of shape (n_entries,)
        Which voter an entry concerns.
    step : float64 array of shape (n_entries,)
        What the entry adds to its weight.
    """

    voters: Voters
    round_start: NDArray[np.int64]
    voter: NDArray[np.int64]
    step: FloatArray

    @classmethod
    def of_steps(cls, voters: Voters, voter, step) -> Ensemble:
        """Make an ensemble whose every round changes one weight."""
        voter = np.asarray(voter, dtype=np.int64)
        step = np.asarray(step, dtype=np.float64)
        return cls(voters, np.arange(len(voter) + 1), voter, step)

    @classmethod
    def of_rounds(cls, rounds: list[Round]) -> Ensemble:
        """Make an ensemble of all that the rounds have done."""
        if not rounds:
            return cls.of_steps(TreeVoters.joined([]), [], [])
        came_in: list[Any] = []  # all of one kind
        for made in rounds:
            if made.index == len(came_in):
                came_in.append(made.voter)
        voters = type(came_in[0]).joined(came_in)
        changes: list[Any] = [made.change for made in rounds]
        if isinstance(changes[0], np.ndarray):
            return cls.of_weights(voters, changes)
        return cls.of_steps(voters, [made.index for made in rounds], changes)

    @classmethod
    def of_weights(cls, voters: Voters, weights: list[FloatArray]) -> Ensemble:
        """Make an ensemble from the whole weight vector after each round, at least one.

        Parameters
        ----------
        voters : TreeVoters or GivenVoters
            The voters, in the order in which they came in.
        weights : list of arrays
            Weights of the first voters after each round; a voter that is not there yet has 0.
        """
        start, voter, step = [0], [], []
        last = np.zeros(len(voters))
        for now in weights:
            full = np.zeros(len(voters))
            full[: len(now)] = now
            changed = np.flatnonzero(full != last)
            voter.append(changed)
            step.append((full - last)[changed])
            start.append(start[-1] + len(changed))
            last = full
        return cls(voters, np.array(start), np.concatenate(voter), np.concatenate(step))

    @property
    def n_rounds(self) -> int:
        """Number of rounds made."""
        return len(self.round_start) - 1

    def weights(self, n_rounds: int | None = None) -> FloatArray:
        """Weights after some rounds (all by default), shape (n_voters,)."""
        end = self.round_start[self.n_rounds if n_rounds is None else n_rounds]
        weights = np.zeros(len(self.voters))
        np.add.at(weights, self.voter[:end], self.step[:end])
        return weights

    def decision(self, X: FloatArray, n_rounds: int | None = None) -> FloatArray:
        """Return f after some rounds (all by default) on the rows of X, shape (n_samples,)."""
        weights = self.weights(n_rounds)
        return _exact_ties(self.voters.votes(X, weights), weights)

    def staged_decision(self, X: FloatArray) -> Iterator[FloatArray]:
        """Yield f after every round; each array is a new one of shape (n_samples,)."""
        values = self.voters.values(X) if len(self.voters) else np.empty((0, len(X)))
        f = np.zeros(len(X))
        weights = np.zeros(len(self.voters))
        for first, last in zip(self.round_start[:-1], self.round_start[1:], strict=True):
            for k in range(first, last):
                f += self.step[k] * values[self.voter[k]]
                weights[self.voter[k]] += self.step[k]
            yield _exact_ties(f.copy(), weights)

    def first_rounds(self, n_rounds: int) -> Ensemble:
        """Return the same ensemble as it was after fewer rounds, with the voters of these."""
        end = self.round_start[n_rounds]
        kept, voter = np.unique(self.voter[:end], return_inverse=True)
        return replace(
            self,
            voters=self.voters.take(kept),
            round_start=self.round_start[: n_rounds + 1],
            voter=voter,
            step=self.step[:end],
        )


def _exact_ties(f: FloatArray, weights: FloatArray) -> FloatArray:
    """Set to 0 where the votes cancel but for rounding errors, so that these do not decide."""
    f[np.abs(f) <= 1e-13 * np.abs(weights).sum()] = 0.0
    return f
