"""Evidence about members: models of splits, and predictions of the rows that these hold out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mddf._layers.trainer import Job, Trainer
from mddf._members.fit import Fit

if TYPE_CHECKING:
    from mddf._layers.member import Member


@dataclass
class Evidence:
    """A member that was trained on splits, and its predictions of the rows held out."""

    member: Member  # with the choices that its first fits made for later ones
    models: list[Any]  # models of the splits that are kept; growth results of forests
    vectors: np.ndarray  # (n_samples, n_columns): predictions of the held-out rows
    # The same of boosted trees whose numbers of rounds are chosen without the held-out rows.
    # Figures are made from them.
    blind_vectors: np.ndarray | None = None
    seconds: float = 0.0
    cut: str = ""  # what a limit of time has left of the rounds
    # Exponent of the vectors in the average, and the vectors raised to it.
    exponent: float = 1.0
    vote: np.ndarray | None = None

    @classmethod
    def from_fits(cls, member: Member, fits: Iterable[Fit], trainer: Trainer, job: Job) -> Self:
        """Add up the predictions of the splits, which are freed before the next split is fitted.

        Models of splits that are not kept are dropped, unless their importances are needed.
        """
        aggregator = job.aggregator or trainer.mean_of_folds
        models = []
        total = np.zeros((trainer.n_samples, trainer.task.n_columns))
        blind_total = None
        for fit, split in zip(fits, job.splits, strict=True):
            total[fit.held_out] += fit.vectors
            if fit.blind_vectors is not None:
                if blind_total is None:
                    blind_total = np.zeros(total.shape)
                blind_total[fit.held_out] += fit.blind_vectors
            if split.keep or job.importances:
                models.append(fit.model)
            del fit
        blind_vectors = None if blind_total is None else aggregator.combined(blind_total)
        return cls(member, models, aggregator.combined(total), blind_vectors)

    def joined(self, other: Self) -> Self:
        """Evidence after training on further splits."""
        return replace(
            self,
            member=other.member,
            models=self.models + other.models,
            vectors=self.vectors + other.vectors,
            seconds=self.seconds + other.seconds,
        )

    @property
    def figure_vectors(self) -> np.ndarray:
        """Vectors from which figures are made."""
        return self.vectors if self.blind_vectors is None else self.blind_vectors
