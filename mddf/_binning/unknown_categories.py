"""Unknown categories: their expected share of new rows, and when a warning is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import bdtrc

from mddf._base.messages import short, warn
from mddf._input.table import Table

# A warning needs a share that chance explains with less than this probability. With 0.02, a single
# row is reported if there were at least 50 training rows, none with a category of its own.
_LEAST_PROBABILITY = 0.02
# A warning also needs a share that matters, however many rows there are: twice the expected share,
# and 2 % of the rows more than expected.
_TIMES_EXPECTED = 2.0
_AT_LEAST = 0.02
# Examples in a warning.
_N_EXAMPLES = 3


class UnknownCategories:
    """Unknown categories in the predictions of a model since it was loaded."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._counts: dict[int, int] = {}  # rows with an unknown category, by column
        self._warned: set[int] = set()

    def see(
        self,
        table: Table,
        unknown: Mapping[int, int],
        expected: Mapping[int, float],
        values_of: Callable[[int], np.ndarray],
    ) -> None:
        """Warn of columns with far more unknown categories than expected, once for each column.

        The rows of all predictions so far are also tested together, for services that predict one
        row at a time. `unknown` has the number of rows of the table with an unknown category, for
        some columns; `expected` has the largest expected share of these rows, and `values_of`
        returns the unknown values of a column.
        """
        n_rows = table.shape[0]
        self._n_rows += n_rows
        places = []
        texts = []
        for c, n_unknown in unknown.items():
            self._counts[c] = self._counts.get(c, 0) + n_unknown
            totals = ((n_unknown, n_rows), (self._counts[c], self._n_rows))
            shares = [total / n for total, n in totals if is_far_above(total, n, expected[c])]
            if c in self._warned or not shares:
                continue
            self._warned.add(c)
            place = table.place(c)
            places.append(place)
            texts.append(
                f"column {place}: {100 * shares[0]:.3g}% of the rows, such as "
                f"{', '.join(map(short, first_different(values_of(c))))} "
                f"(at most {100 * expected[c]:.2g}% expected)"
            )
        if texts:
            warn(
                "rows hold categories that fit did not see, which are treated as missing; "
                + "; ".join(texts),
                kind="unknown categories in columns " + "; ".join(places),
            )


def expected_share(levels: np.ndarray, n_levels: int) -> float:
    """Estimate the largest share of unknown categories in rows like the training rows.

    If one training row is left out, its category is unknown if no other row has it. The share of
    such rows estimates the share of new rows (Good, 1953). Two standard errors and one row are
    added, since a share of 0 in a few rows does not exclude unknown categories. Levels from
    `n_levels` on mark missing values.
    """
    counts = np.bincount(levels, minlength=n_levels)[:n_levels]
    return expected_share_of_counts(counts, len(levels))


def expected_share_of_counts(counts: np.ndarray, n_rows: int) -> float:
    """Estimate the share of `expected_share` from the number of rows of each level."""
    n_alone = np.count_nonzero(counts == 1)
    return min(1.0, float(n_alone + 2 * np.sqrt(n_alone) + 1) / (n_rows + 2))


def is_far_above(n_unknown: int, n_rows: int, expected: float) -> bool:
    """Whether there are more unknown categories than chance explains, and enough to matter."""
    least = min(1.0, max(_TIMES_EXPECTED * expected, expected + _AT_LEAST))
    if n_unknown < least * n_rows:
        return False
    return bool(bdtrc(n_unknown - 1, n_rows, expected) < _LEAST_PROBABILITY)


def first_different(values: np.ndarray) -> list[object]:
    """First few distinct values, in the order of the rows."""
    different: dict[object, None] = {}
    for value in values.tolist():
        different.setdefault(value)
        if len(different) == _N_EXAMPLES:
            break
    return list(different)
