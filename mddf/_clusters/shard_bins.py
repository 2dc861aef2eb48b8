"""Learn the bins of a table whose rows are divided among several processes.

The bins have the same bits as bins of `Binner.fit_transform` on all rows in one process. Every
numeric column is sent to one process, which finds its bins from all rows, so that each process
needs memory for one whole column at a time. Categories are merged with their counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._binning.bins import Bins, find_bins, join_bins
from mddf._binning.categories import CategoryEncoder, encoder_with_largest
from mddf._binning.unknown_categories import expected_share_of_counts
from mddf._clusters.communication import Communicator, same_for_all
from mddf._clusters.shard_inputs import ShardInputs
from mddf._input.table import Column, Table
from mddf._targets.weights import summed_weights

# Bytes of the columns, as doubles, that a process holds of all rows at a time; at least one
# column. More columns at a time are read faster from tables that are stored by rows. Not tuned.
_SENT_BYTES = 2**26
# Doubles have eight bytes and codes have one, so that an eighth of the columns of a shard takes as
# much memory as the codes of the shard.
_SENT_SHARE = 1 / 8


@dataclass(frozen=True)
class CategoryCounts:
    """Distinct categories of a column in ascending order, without rows of weight 0.

    `n_rows` has the number of rows of each category. `missing` is the missing value of the column
    and `n_missing` the number of its rows; None and 0 if no cell is missing.
    """

    categories: np.ndarray
    n_rows: np.ndarray
    missing: object | None
    n_missing: int


def _count_categories(column: Column, weights: np.ndarray | None) -> CategoryCounts:
    """Count the categories of a column in a shard."""
    counted = slice(None) if weights is None else weights > 0
    values = column.values[counted]
    is_missing = column.missing[counted]
    try:
        categories, places = np.unique(values[~is_missing], return_inverse=True)
    except TypeError as error:
        raise TypeError(
            "the categories of a column must be all strings or all numbers; got "
            f"{column.kind} in column {column.place}"
        ) from error
    return CategoryCounts(
        categories,
        np.bincount(places, minlength=len(categories)),
        values[is_missing][0] if is_missing.any() else None,
        int(np.count_nonzero(is_missing)),
    )


def _merge_counts(shards: list[CategoryCounts], place: str) -> CategoryCounts:
    """Counts of the rows of all shards."""
    filled = [shard for shard in shards if len(shard.categories)] or shards[:1]
    try:
        categories, places = np.unique(
            np.concatenate([shard.categories for shard in filled]), return_inverse=True
        )
    except TypeError as error:
        raise TypeError(
            f"the categories of column {place} must be all strings or all numbers"
        ) from error
    n_rows = np.concatenate([shard.n_rows for shard in filled])
    missing = [shard.missing for shard in shards if shard.missing is not None]
    return CategoryCounts(
        categories,
        np.bincount(places, n_rows, minlength=len(categories)).astype(np.int64),
        missing[0] if missing else None,
        sum(shard.n_missing for shard in shards),
    )


def bin_shard(
    binner: Binner,
    shard: ShardInputs,
    weights: np.ndarray | None,
    communicator: Communicator,
) -> BinnedTable:
    """Learn the bins of the rows of all shards, and code the rows of this shard.

    `weights` are the weights of the rows of all shards.
    """
    table = shard.table
    if weights is not None and np.all(weights == weights[0]):
        weights = None
    same_for_all(communicator, table.shape[1], "X must have the same columns in all partitions")
    names = None if table.names is None else list(map(str, table.names))
    same_for_all(communicator, names, "X must have the same columns in all partitions")
    _learn_kinds(binner, shard, weights, communicator)
    bins = {
        c: find_bins(np.zeros((1, 1)), n_categories=[encoder.n_codes])
        for c, encoder in binner.encoders_.items()
    }
    numeric = np.flatnonzero(~binner.categorical_).tolist()
    n_of_shard = -(-len(numeric) // communicator.size) or 1
    n_each = max(
        1, min(_SENT_BYTES // (8 * shard.n_all_rows), math.ceil(_SENT_SHARE * n_of_shard))
    )
    n_together = n_each * communicator.size
    for first in range(0, len(numeric), n_together):
        columns = numeric[first : first + n_together]
        for part, part_bins, are_empty in _learn_bins(
            binner, table, columns, weights, communicator
        ):
            for place, c in enumerate(part):
                bins[c] = part_bins.columns(place, place + 1)
                if are_empty[place]:
                    binner.kinds_[c] = None
    binner.bins_ = join_bins(*(bins[c] for c in range(table.shape[1])))
    return binner.code(table)


def _learn_bins(
    binner: Binner,
    table: Table,
    columns: list[int],
    weights: np.ndarray | None,
    communicator: Communicator,
) -> list[tuple[list[int], Bins, np.ndarray]]:
    """Learn the bins of some numeric columns, of which each process takes a part.

    For each part: its columns, their bins, and whether all cells of a column are missing.
    """
    size = communicator.size
    parts = [slice(len(columns) * r // size, len(columns) * (r + 1) // size) for r in range(size)]
    cells = table.numbers(columns)
    shards = communicator.distribute([np.ascontiguousarray(cells[:, part]) for part in parts])
    own = columns[parts[communicator.rank]]
    learned = None
    if own:
        all_cells = shards[0] if size == 1 else np.concatenate(shards)
        bins = find_bins(
            all_cells, sample_weight=weights, max_bins=binner.max_bins, n_jobs=binner.n_jobs
        )
        are_empty = np.isnan(all_cells[0])
        for place in np.flatnonzero(are_empty):
            are_empty[place] = np.isnan(all_cells[:, place]).all()
        learned = own, bins, are_empty
    return [part for part in communicator.gather(learned) if part is not None]


def _learn_kinds(
    binner: Binner, shard: ShardInputs, weights: np.ndarray | None, communicator: Communicator
) -> None:
    """Do what `Binner.learn_kinds` does, for the rows of all shards."""
    table = shard.table
    own_weights = shard.own_part(weights)
    # The kind of a column, None without values, and whether it is categorical.
    shard_kinds = {
        c: (table.column(c).kind, bool(binner.categorical_[c])) for c in binner.start_kinds(table)
    }
    gathered = communicator.gather(shard_kinds)
    for c in sorted(set().union(*gathered)):
        kinds = {found[c] for found in gathered if c in found and found[c][0] is not None}
        if len(kinds) > 1 or not all(c in found for found in gathered):
            names = ", ".join(sorted({str(kind) for kind, _ in kinds} or {"no values"}))
            raise TypeError(
                f"column {table.place(c)} of X must have the same type in all partitions, got "
                f"{names}"
            )
        if kinds:
            ((binner.kinds_[c], binner.categorical_[c]),) = kinds
        else:
            binner.kinds_[c] = None
        if binner.categorical_[c]:
            _learn_categories(binner, c, table.column(c), own_weights, communicator)


def _learn_categories(
    binner: Binner,
    c: int,
    column: Column,
    weights: np.ndarray | None,
    communicator: Communicator,
) -> None:
    """Do what `CategoryEncoder.learn` does, for a column of this shard and its weights."""
    own_counts = _count_categories(column, weights)
    counts = _merge_counts(communicator.gather(own_counts), column.place)
    categories = counts.categories
    missing = [] if counts.missing is None else [counts.missing]
    encoder = CategoryEncoder(
        encoder_with_largest(categories, counts.n_rows, binner.max_bins, missing=missing)
    )
    if weights is not None and encoder.rare is not None:
        # Sums of weights are rounded, so that they are added up with those of all shards.
        is_counted = ~column.missing & (weights > 0)
        own_places = np.searchsorted(categories, column.values[is_counted]).astype(np.int32)
        places = communicator.gather_array(own_places)
        all_weights = communicator.gather_array(weights[is_counted])
        totals = summed_weights(places, all_weights, len(categories))
        encoder = CategoryEncoder(encoder_with_largest(categories, totals, binner.max_bins))
    if not len(categories):
        binner.kinds_[c] = None
    binner.encoders_[c] = encoder
    n_counted = int(counts.n_rows.sum()) + counts.n_missing
    binner.unknown_limits_[c] = expected_share_of_counts(counts.n_rows, n_counted)
