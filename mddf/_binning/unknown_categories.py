"""Categories that fit did not see: how many are expected of new rows, and when to warn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from mddf._base.messages import short, warn

# A warning needs a share that chance explains with less than this probability. With 0.02, a single
# row is reported if fit saw at least 50 rows, none of them with a category of its own.
_LEAST_PROBABILITY = 0.02
# It also needs a share that matters, however many rows there are: twice what is expected and 2 %.
_TIMES_EXPECTED, _AT_LEAST = 2.0, 0.02
# Examples in a warning.
_N_EXAMPLES = 3


@dataclass(frozen=True)
class UnknownColumn:
    """A column of new rows with more unknown categories than expected.

    Attributes
    ----------
    place : str
        How the column is called in messages.
    share : float
        Of the rows.
    expected : float
        The largest share that rows like those of fit have.
    examples : list of object
    """

    place: str
    share: float
    expected: float
    examples: Sequence[object]


def expected_share(levels: np.ndarray, n_levels: int) -> float:
    """The largest share of rows like those of fit whose category is new.

    Leaving out one row of fit at a time, its category is new if no other row has it. The share of
    such rows estimates that of new rows (Good, 1953). Two standard errors are added, and one row,
    since a share of 0 in a few rows does not promise that nothing new comes.

    Parameters
    ----------
    levels : ndarray of int
        The category of each row of fit; numbers from `n_levels` on mark missing values.
    n_levels : int
    """
    counts = np.bincount(levels, minlength=n_levels)[:n_levels]
    n_alone = np.count_nonzero(counts == 1)
    return min(1.0, float(n_alone + 2 * np.sqrt(n_alone) + 1) / (len(levels) + 2))


def is_far_above(n_unknown: int, n_rows: int, expected: float) -> bool:
    """Whether chance does not explain so many unknown categories among so many rows."""
    least = min(1.0, max(_TIMES_EXPECTED * expected, expected + _AT_LEAST))
    if n_unknown < least * n_rows:
        return False
    return bool(bdtrc(n_unknown - 1, n_rows, expected) < _LEAST_PROBABILITY)


def first_different(values: np.ndarray) -> list[object]:
    """Some different values, in the order in which they come."""
    different: dict[object, None] = {}
    for value in values.tolist():
        different.setdefault(value)
        if len(different) == _N_EXAMPLES:
            break
    return list(different)


def warn_of_unknown(columns: Sequence[UnknownColumn]) -> None:
    """Warn of columns of unknown categories, all in one warning."""
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
