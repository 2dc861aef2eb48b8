"""Out-of-bag sums of forests, also of trees that an earlier fit grew without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.fingerprint import fingerprint
from mddf._base.messages import short, warn
from mddf._base.parallel import stopped_on_error
from mddf._binning.binned_table import BinnedTable
from mddf._core import ClassTarget, Sampling, TreeOptions, ValueTarget
from mddf._trees import predictor
from mddf._trees.arrays import Trees
from mddf._trees.grower import OUT_OF_BAG, GrowthResult, TreeJob

OTHER_ROWS = (
    "oob_score with warm_start=True needs the rows of the fit before, in their order: X or y has "
    "changed"
)


def fingerprints(table: Any, target: Any, sampling: Sampling) -> tuple[str, str]:
    """Of the rows, and of how they are drawn: trees of the same seeds then leave out the same."""
    draws = [sampling.rows, np.array(sampling.n_draws)]
    draws += [part for part in (sampling.cumulative, sampling.parts) if part is not None]
    return fingerprint(table.codes, target.key), fingerprint(*draws)


def check_unchanged(
    before: tuple[str, str] | None, now: tuple[str, str], n_trees: int, oob_score: Any
) -> None:
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


def sums_of(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    block: TreeJob,
    trees: Sequence[Any],
    n_jobs: int | None = None,
) -> GrowthResult:
    """The out-of-bag sums of trees that were grown without them.

    Parameters
    ----------
    table : BinnedTable
        What the trees were grown on.
    target : ClassTarget or ValueTarget
    block : TreeJob
        Seeds and sampling of the trees, as they were grown.
    trees : list of Trees or of ValueTrees
    n_jobs : int, default=None

    Returns
    -------
    GrowthResult
        The sums and numbers of trees that `grow` gives with ``held_out=OUT_OF_BAG``.
    """
    rows, one_leaf = block.sampling.rows, TreeOptions(max_depth=0)
    parts = 1 if isinstance(trees[0], Trees) else 2
    sums = np.zeros((len(rows), parts * trees[0].width))
    n_trees = np.zeros(len(rows), np.int32)
    with stopped_on_error() as cancel:
        every_tree = (tree for some in trees for tree in some.each())
        for seed, tree in zip(block.seeds, every_tree, strict=True):
            # Rows are drawn before a tree grows: one of a single leaf has the same sample.
            _, _, left_out, _ = _core.grow(
                table.cells,
                target,
                block.sampling,
                one_leaf,
                np.array([seed]),
                held_out=OUT_OF_BAG,
                cancel=cancel,
            )
            assert left_out is not None
            seen = np.flatnonzero(left_out)
            found = np.zeros((len(seen), tree.width))
            add = predictor.add_probabilities if parts == 1 else predictor.add_values
            add([tree], table.codes[rows[seen]], found, n_jobs=n_jobs)
            sums[seen] += found if parts == 1 else _in_two_parts(found)
            n_trees[seen] += 1
    return GrowthResult(sums=sums, n_trees=n_trees)


def _in_two_parts(values: np.ndarray) -> np.ndarray:
    """Two columns for each, whose sums are exact, as `add_leaf_exactly` of the kernel has them."""
    coarse = np.ldexp(np.rint(np.ldexp(values, 33)), -33)
    fine = np.ldexp(np.rint(np.ldexp(values - coarse, 66)), -66)
    return np.stack([coarse, fine], axis=2).reshape(len(values), -1)


def by_rows(grown: GrowthResult, rows: np.ndarray, n_rows: int, before: Any) -> tuple[Any, ...]:
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
            kind="samples without out-of-bag prediction",
        )
