"""Out-of-bag sums of forests, also of trees that an earlier fit grew without them."""

from __future__ import annotations

import numpy as np

from mddf._base.fingerprint import fingerprint
from mddf._base.messages import short, warn
from mddf._trees import grower

OTHER_ROWS = (
    "oob_score with warm_start=True needs the rows of the fit before, in their order: X or y has "
    "changed"
)


def fingerprints(table, target, sampling: grower.Sampling) -> tuple[str, str]:
    """Of the rows, and of how they are drawn: trees of the same seeds then leave out the same."""
    draws = [sampling.rows, np.array(sampling.n_draws)]
    if sampling.cumulative is not None:
        draws.append(sampling.cumulative)
    return fingerprint(table.codes, target.key), fingerprint(*draws)


def check_unchanged(before: tuple[str, str] | None, now: tuple[str, str], n_trees: int, oob_score):
    """Refuse to make up for the sums of trees that may have left out other rows."""
    if before is None:
        raise ValueError(
            f"oob_score with warm_start=True needs to know which rows the {n_trees} trees grown "
            "so far left out: all must have been grown with warm_start=True and bootstrap=True, "
            "on the same rows and weights and with one max_samples; got "
            f"oob_score={short(oob_score)}"
        )
    if before[0] != now[0]:
        raise ValueError(OTHER_ROWS)
    if before[1] != now[1]:
        raise ValueError(
            f"oob_score with warm_start=True needs the draws of the {n_trees} trees grown so far: "
            "sample_weight, class_weight or max_samples has changed"
        )


def by_rows(grown: grower.Grown, rows: np.ndarray, n_rows: int, before) -> tuple:
    """Sums and numbers of trees by rows of the table, with those of before if there are any."""
    assert grown.sums is not None
    assert grown.n_trees is not None
    sums = np.zeros((n_rows, grown.sums.shape[1]))
    n_trees = np.zeros(n_rows, np.int64)
    sums[rows], n_trees[rows] = grown.sums, grown.n_trees
    if before is not None:
        sums += before[0]
        n_trees += before[1]
    return sums, n_trees


def warn_of_rows_always_drawn(n_trees: np.ndarray, rows: np.ndarray) -> None:
    """Warn of rows, among those that are drawn from, that no tree left out."""
    n_always = np.count_nonzero(n_trees[rows] == 0)
    if n_always == len(rows):
        warn(
            "oob_score_ is nan: every sample was drawn by every tree; more trees or a smaller "
            "max_samples leave some out",
        )
    elif n_always:
        warn(
            f"{n_always} of {len(rows)} samples have no out-of-bag prediction, since every tree "
            "drew them, and oob_score_ does without them: more trees or a smaller max_samples "
            "leave them out",
        )
