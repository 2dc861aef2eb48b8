"""Out-of-bag predictions of forests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.messages import warn
from mddf._base.serialization import register_serializable
from mddf._trees.grower import GrowthResult

OTHER_ROWS = (
    "oob_score with warm_start=True needs the rows of the fit before, in their order: X or y has "
    "changed"
)


@register_serializable("sums out of bag")
@dataclass(frozen=True)
class OutOfBagSums:
    """Predictions of every training row by the trees that did not draw it."""

    sums: np.ndarray  # sum over these trees, (n_rows, n_values); see `GrowthResult.sums`
    n_trees: np.ndarray  # number of these trees, (n_rows,)
    fingerprint: str | None = None  # of codes and targets; None until a warm start may need it

    def means_of_parts(self) -> np.ndarray:
        """Mean of the coarse and fine parts, shape (n_rows, n_values / 2); NaN without a tree."""
        means = np.full((len(self.sums), self.sums.shape[1] // 2), np.nan)
        known = self.n_trees > 0
        totals = self.sums[known, ::2] + self.sums[known, 1::2]
        means[known] = totals / self.n_trees[known, None]
        return means


def add_to_rows(
    result: GrowthResult, rows: np.ndarray, n_rows: int, before: OutOfBagSums | None = None
) -> OutOfBagSums:
    """Assign sums of sampled rows to the rows of the table, and add earlier sums."""
    assert result.sums is not None
    assert result.n_trees is not None
    sums = np.zeros((n_rows, result.sums.shape[1]))
    n_trees = np.zeros(n_rows, np.int64)
    sums[rows] = result.sums
    n_trees[rows] = result.n_trees
    if before is not None:
        sums += before.sums
        n_trees += before.n_trees
    return OutOfBagSums(sums, n_trees)


def warn_of_rows_always_drawn(n_trees: np.ndarray, rows: np.ndarray) -> None:
    """Warn if some of the rows to draw from were drawn by every tree."""
    n_always = np.count_nonzero(n_trees[rows] == 0)
    if n_always == len(rows):
        warn(
            "oob_score_ is nan: every sample was drawn by every tree; more trees or a smaller "
            "max_samples leave some out",
            kind="no sample out of bag",
        )
    elif n_always:
        warn(
            f"{n_always} of {len(rows)} samples have no out-of-bag prediction, since every tree "
            "drew them. oob_score_ is the score of the other samples. With more trees or a "
            "smaller max_samples, some trees leave them out",
            kind="samples without out-of-bag prediction",
        )
