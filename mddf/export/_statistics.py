"""Target statistics of gradient boosting as operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._binning.bins import Bins, join_bins
from mddf._gradient.target_statistics import TargetStatistics, key_places

from ._graph import ML, Graph


@dataclass(frozen=True)
class LevelsInput:
    """The categories of a column that has target statistics."""

    # Value of int64 of shape (n_rows,): the numbers that `CategoryEncoder.levels` gives.
    value: str
    # Number of categories in fit. The next two numbers are for missing and new cells.
    n_levels: int


def add_statistics(
    graph: Graph,
    X: str,
    bins: Bins,
    levels: dict[int, LevelsInput],
    statistics: TargetStatistics,
) -> tuple[str, Bins]:
    """Append codes of target statistics on the right of a table; also return the joint bins."""
    columns = [X]
    for number, group in enumerate(statistics.groups):
        keys = statistics.keys[number]
        codes = statistics.codes[number]
        first, *rest = (levels[statistics.columns[place]] for place in group)
        key = first.value
        for column in rest:
            key = graph.add("Mul", key, graph.constant(column.n_levels + 2, np.int64))
            key = graph.add("Add", key, column.value)
        if rest:
            key = graph.add(
                "LabelEncoder", key, domain=ML, keys_int64s=keys.tolist(),
                values_int64s=list(range(len(keys))), default_int64=len(keys),
            )  # fmt: skip
        else:
            codes = codes[key_places(np.arange(first.n_levels + 2), keys)]
        columns.append(graph.add("Gather", codes, key, axis=0))
    n_bins = np.diff(statistics.bins.start)
    values = [np.arange(n, dtype=float) for n in n_bins]
    edges = [np.append(column[:-1] + 0.5, np.inf) for column in values]
    code_bins = Bins(
        np.concatenate(edges),
        np.concatenate(values),
        statistics.bins.start,
        statistics.bins.categorical,
    )
    return graph.concat(columns), join_bins(bins, code_bins)
