"""Unknown categories: their expected share of new rows, and when a warning is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import bdtrc

from mddf._base.messages import short, warn

# A warning needs a share that chance explains with less than this probability. With 0.02, a single
# row is reported if there were at least 50 training rows, none with a category of its own.
_LEAST_PROBABILITY = 0.02
# A warning also needs a share that matters, however many rows there are: twice the expected share,
# and 2 % of the rows more than expected.
_TIMES_EXPECTED = 2.0
_AT_LEAST = 0.02
# Examples in a warning.
_N_EXAMPLES = 3


@dataclass(frozen=True)
class UnknownColumn:
    """A column of new rows with a larger share of unknown categories than expected."""

    place: str
    share: float
    expected: float
    examples: Sequence[object]


@dataclass
class UnknownCounts:
    """Unknown categories in the predictions of a model since it was loaded.

    `unknown` maps each column to its number of rows with an unknown category; `warned` holds the
    columns that a warning has named.
    """

    n_rows: int = 0
    unknown: dict[int, int] = field(default_factory=dict)
    warned: set[int] = field(default_factory=set)

    def add(
        self, n_rows: int, unknown: Mapping[int, int], expected: Callable[[int], float]
    ) -> dict[int, float]:
        """Count the rows of a prediction; return the columns to warn of and their shares.

        The rows of all predictions so far are also tested together, for services that predict one
        row at a time. `expected` is a function from a column to its expected share.
        """
        self.n_rows += n_rows
        new_shares = {}
        for c, n_unknown in unknown.items():
            self.unknown[c] = self.unknown.get(c, 0) + n_unknown
            if c in self.warned:
                continue
            limit = expected(c)
            totals = ((n_unknown, n_rows), (self.unknown[c], self.n_rows))
            shares = [total / n for total, n in totals if is_far_above(total, n, limit)]
            if shares:
                new_shares[c] = shares[0]
                self.warned.add(c)
        return new_shares


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


def warn_of_unknown(columns: Sequence[UnknownColumn]) -> None:
    """Warn of columns with unknown categories, in one warning."""
    if not columns:
        return
    listed = [
        f"column {column.place}: {100 * column.share:.3g}% of the rows, such as "
        f"{', '.join(map(short, column.examples))} "
        f"(at most {100 * column.expected:.2g}% expected)"
        for column in columns
    ]
    warn(
        "rows hold categories that fit did not see, which are treated as missing; "
        + "; ".join(listed),
        kind="unknown categories in columns " + "; ".join(column.place for column in columns),
    )
