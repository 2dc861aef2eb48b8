"""Out-of-bag sums of forests, also for trees that an earlier fit grew without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mddf import _core
from mddf._base.array_hash import hash_of_arrays
from mddf._base.messages import short, warn
from mddf._base.parallel import stopped_on_error
from mddf._base.serialization import register_serializable
from mddf._binning.binned_table import BinnedTable
from mddf._core import ClassTarget, Sampling, TreeOptions, ValueTarget
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock, Trees
from mddf._trees.grower import OUT_OF_BAG, GrowthResult, TreeJob

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


@register_serializable("draws of a forest")
@dataclass(frozen=True)
class DrawFingerprints:
    """Fingerprints that tell whether trees of the same seeds leave out the same rows."""

    rows: str  # of codes and targets
    draws: str  # of the way in which rows are drawn


def draw_fingerprints(table: BinnedTable, key: np.ndarray, sampling: Sampling) -> DrawFingerprints:
    """Compute the fingerprints of a table, the keys of its targets, and a sampling."""
    draws = [sampling.rows, np.array(sampling.n_draws)]
    draws += [part for part in (sampling.cumulative, sampling.parts) if part is not None]
    return DrawFingerprints(rows=hash_of_arrays(table.codes, key), draws=hash_of_arrays(*draws))


def check_unchanged(
    before: DrawFingerprints | None,
    now: DrawFingerprints,
    n_trees: int,
    oob_score: bool | Callable[..., float],
) -> None:
    """Refuse to compute sums of earlier trees that may have left out other rows."""
    if before is None:
        raise ValueError(
            f"oob_score with warm_start=True needs to know which rows the {n_trees} trees grown "
            "so far left out: all must have been grown with warm_start=True and bootstrap=True, "
            "on the same rows and weights and with one max_samples; got "
            f"oob_score={short(oob_score)}"
        )
    if before.rows != now.rows:
        raise ValueError(OTHER_ROWS)
    if before.draws != now.draws:
        raise ValueError(
            f"oob_score with warm_start=True needs the draws of the {n_trees} trees grown so far: "
            "sample_weight, class_weight or max_samples has changed"
        )


def predict_out_of_bag(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    job: TreeJob,
    trees: Sequence[TreeBlock],
    n_jobs: int | None = None,
) -> GrowthResult:
    """Compute the out-of-bag sums of trees that grew without them on the table.

    The job has the seeds and sampling of the trees. The result is as from `grow` with
    ``held_out=OUT_OF_BAG``.
    """
    rows = job.sampling.rows
    has_parts = not isinstance(trees[0], Trees)
    sums = np.zeros((len(rows), (2 if has_parts else 1) * trees[0].width))
    n_trees = np.zeros(len(rows), np.int32)
    # Rows are drawn before a tree grows, so a tree with a single leaf draws the same rows.
    one_leaf = TreeOptions(max_depth=0)
    with stopped_on_error() as cancel:
        single_trees = (tree for block in trees for tree in block.single_trees())
        for seed, tree in zip(job.seeds, single_trees, strict=True):
            _, _, left_out, _ = _core.grow(
                table.cells,
                target,
                job.sampling,
                one_leaf,
                np.array([seed]),
                held_out=OUT_OF_BAG,
                cancel=cancel,
            )
            assert left_out is not None
            positions = np.flatnonzero(left_out)
            values = predictor.leaf_sums([tree], table.codes[rows[positions]], n_jobs=n_jobs)
            sums[positions] += _split_in_parts(values) if has_parts else values
            n_trees[positions] += 1
    return GrowthResult(sums=sums, n_trees=n_trees)


def _split_in_parts(values: np.ndarray) -> np.ndarray:
    """Split each value into a coarse and a fine part, whose sums are exact in any order.

    `add_leaf_exactly` in the kernel has the same units, 2^-33 and 2^-66.
    """
    coarse = np.ldexp(np.rint(np.ldexp(values, 33)), -33)
    fine = np.ldexp(np.rint(np.ldexp(values - coarse, 66)), -66)
    return np.stack([coarse, fine], axis=2).reshape(len(values), -1)


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
