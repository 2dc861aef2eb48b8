"""Rounds of boosting: their largest number, their seeds and their learning rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mddf._gradient.options import is_auto, learning_rate_of
from mddf._trees.grower import draw_seeds

if TYPE_CHECKING:
    from mddf._gradient.base import GradientBoosting

# Rounds of `max_iter="auto"` without held-out rows. On most tables held-out rows stop boosting
# before. On the others, learning rates rise after this round, since a constant rate needs several
# times as many rounds for the same loss.
N_ROUNDS = 1000
# Times as many rounds are grown at most while the held-out loss falls. The sum of their learning
# rates is then 15 to 20 times as large. Four tables with much signal (letter, kin8nm and two made
# ones) stopped between 1.7 and 2.9 times the rounds.
MOST_TIMES = 5
# After round n the rate has increased by this factor times n / N_ROUNDS - 1. On the same tables,
# the slopes 0.5, 1 and 2 and a constant rate of up to 6000 rounds had about the same losses (0.72
# to 0.95 times the loss of 1000 rounds), and the constant rate took up to 1.8 times the rounds.
_SLOPE = 2.0
# Rates do not rise above this value, which is also the largest rate of trials. Not tuned.
_MAX_RATE = 0.4


def most_rounds(model: GradientBoosting, *, any_held_out: bool) -> int:
    """Largest number of rounds; held-out rows may end boosting before."""
    if not is_auto(model, "max_iter"):
        return int(model.max_iter)
    return MOST_TIMES * N_ROUNDS if any_held_out else N_ROUNDS


@dataclass(frozen=True)
class Rounds:
    """Rounds to grow, each with a seed and a learning rate."""

    seeds: np.ndarray  # (n_rounds,), uint64
    rates: np.ndarray  # (n_rounds,), float64

    @classmethod
    def rising(cls, entropy: Sequence[int], n: int, rate: float, n_first: int) -> Rounds:
        """Draw seeds of rounds whose learning rates rise after the first `n_first` rounds."""
        factors = 1 + _SLOPE * np.maximum(0.0, np.arange(n) / n_first - 1)
        return cls(draw_seeds(entropy, n), np.minimum(rate * factors, max(rate, _MAX_RATE)))

    @classmethod
    def of_model(
        cls, model: GradientBoosting, entropy: Sequence[int], n: int, n_rows: int
    ) -> Rounds:
        """Draw the first `n` rounds of a model for a table with `n_rows` rows."""
        rate = learning_rate_of(model, n_rows)
        if is_auto(model, "learning_rate"):
            return cls.rising(entropy, n, rate, N_ROUNDS)
        return cls(draw_seeds(entropy, n), np.full(n, rate))

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, rounds: slice) -> Rounds:
        return Rounds(self.seeds[rounds], self.rates[rounds])
