"""Target statistics of gradient boosting as operators."""

from __future__ import annotations

import numpy as np

from mddf._binning.bins import Bins, join_bins
from mddf._gradient.target_encoding import TargetStatistics, places_of

from ._graph import ML, Graph

# For each column that has target statistics, its levels, as int64 of shape (n_rows,), and how many
# there are.
CategoryLevels = dict[int, tuple[str, int]]


def add_statistics(
    graph: Graph, X: str, bins: Bins, levels: CategoryLevels, statistics: TargetStatistics
) -> tuple[str, Bins]:
    """Append codes of target statistics: a table with these on the right, and its bins."""
    columns = [X]
    for number, group in enumerate(statistics.groups):
        keys, codes = statistics.keys[number], statistics.codes[number]
        key, *n_levels = levels[statistics.columns[group[0]]]
        for place in group[1:]:
            level, n = levels[statistics.columns[place]]
            key = graph.add("Mul", key, graph.constant(n + 2, np.int64))
            key = graph.add("Add", key, level)
        if len(group) == 1:
            codes = codes[places_of(np.arange(n_levels[0] + 2), keys)]
        else:
            key = graph.add(
                "LabelEncoder", key, domain=ML, keys_int64s=keys.tolist(),
                values_int64s=list(range(len(keys))), default_int64=len(keys),
            )  # fmt: skip
        columns.append(graph.add("Gather", graph.constant(codes), key, axis=0))
    n_bins = np.diff(statistics.bins.start)
    values = [np.arange(n, dtype=float) for n in n_bins]
    edges = [np.append(of_column[:-1] + 0.5, np.inf) for of_column in values]
    more = Bins(
        np.concatenate(edges),
        np.concatenate(values),
        statistics.bins.start,
        statistics.bins.categorical,
    )
    return graph.add("Concat", *columns, axis=1), join_bins(bins, more)
