"""Rows that are copies or near-copies of rows of the same table or of a training table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mddf._quality.columns import DataColumn
from mddf._quality.findings import COPIES_IN_TEST, NEAR_COPIES_IN_TEST, Finding

# Binary digits by which numbers are compared, about four decimal ones: copies often went through
# rounding.
_DIGITS = 13
# With more columns, near-copies are not searched, since the time grows with rows times columns.
_MAX_COLUMNS_OF_NEAR_COPIES = 50
# With fewer columns, rows that are equal in all but one are common.
_MIN_COLUMNS_OF_NEAR_COPIES = 4
# Shares of rows with copies from which they are told. Single copies occur in measured data: iris
# has one in 150 rows. Copies in test rows matter more.
_MIN_COPIES = 0.01
_MIN_COPIES_IN_TEST = 0.005
# Expected number of rows that equal a given row by chance, above which copies mean nothing.
_MAX_CHANCE = 0.01
# Largest share of the rows in a group of copies. Larger groups come from columns that determine
# each other rather than from copies. Not tuned.
_MAX_SHARE_OF_GROUP = 0.1


def rows_in_training(train: Sequence[DataColumn], test: Sequence[DataColumn]) -> Iterator[Finding]:
    """Report test rows that are copies of training rows, or near-copies.

    The columns of both tables correspond.
    """
    hashes_train, hashes_test, repeat_chances = _hash_columns(train, test)
    if _are_expected(hashes_train, repeat_chances):
        return
    sums_train = _total(hashes_train)
    sums_test = _total(hashes_test)
    is_copy = _occurs(sums_test, sums_train)
    is_near = is_copy.copy()
    # With many columns, or columns of few values, rows without one column are equal by chance.
    if len(hashes_train) >= _MIN_COLUMNS_OF_NEAR_COPIES:
        for c in _columns_to_leave_out(repeat_chances, len(sums_train)):
            is_near |= _occurs(sums_test - hashes_test[c], sums_train - hashes_train[c])
    advice = "leave these rows out of one of the tables; scores on them are too good"
    for kind, mask, difference in (
        (COPIES_IN_TEST, is_copy, ""),
        (NEAR_COPIES_IN_TEST, is_near & ~is_copy, " in all columns but one"),
    ):
        if mask.mean() >= _MIN_COPIES_IN_TEST:
            evidence = f"{_share_text(mask)} test rows equal a training row{difference}"
            yield Finding("(rows)", kind, evidence, advice)


def repeated_rows(columns: Sequence[DataColumn]) -> Iterator[Finding]:
    """Report rows that are equal to an earlier row."""
    hashes, _, repeat_chances = _hash_columns(columns, ())
    if _are_expected(hashes, repeat_chances):
        return
    is_copy = np.ones(len(hashes[0]), bool)
    is_copy[np.unique(_total(hashes), return_index=True)[1]] = False
    if is_copy.mean() >= _MIN_COPIES:
        evidence = f"{_share_text(is_copy)} rows equal an earlier row"
        advice = "drop the copies, or keep them in one fold by groups"
        yield Finding("(rows)", "copies of rows", evidence, advice)


def _are_expected(hashes: Sequence[np.ndarray], repeat_chances: np.ndarray) -> bool:
    """Whether copies mean nothing, because rows have so few different values."""
    return not hashes or len(hashes[0]) * float(np.prod(repeat_chances)) > _MAX_CHANCE


def _columns_to_leave_out(repeat_chances: np.ndarray, n_rows: int) -> Iterator[int]:
    """Columns without which equal rows are near-copies, because few are equal by chance."""
    n_columns = len(repeat_chances)
    if n_columns > _MAX_COLUMNS_OF_NEAR_COPIES:
        return
    for c in range(n_columns):
        chance = float(np.prod(np.delete(repeat_chances, c)))
        if n_columns * n_rows * chance <= _MAX_CHANCE:
            yield c


def _share_text(mask: np.ndarray) -> str:
    return f"{mask.sum()} ({mask.mean():.2%}) of {len(mask)}"


def groups_of_copies(columns: Sequence[DataColumn]) -> np.ndarray | None:
    """Group of each row, with a row's copies and near-copies in its group.

    None if fewer than 1 % of the rows have an earlier one in their group, if copies mean nothing,
    or if chains of near-copies join many rows.
    """
    hashes, _, repeat_chances = _hash_columns(columns, ())
    if _are_expected(hashes, repeat_chances):
        return None
    n_rows = len(hashes[0])
    total = _total(hashes)
    keys = [total, *(total - hashes[c] for c in _columns_to_leave_out(repeat_chances, n_rows))]
    firsts = []
    for key in keys:
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        firsts.append(first[number])
    rows = np.tile(np.arange(n_rows), len(firsts))
    links = coo_array(
        (np.ones(len(rows), bool), (rows, np.concatenate(firsts))), shape=(n_rows, n_rows)
    )
    n_groups, groups = connected_components(links, directed=False)
    if n_rows - n_groups < _MIN_COPIES * n_rows:
        return None
    if np.bincount(groups).max() > max(2, _MAX_SHARE_OF_GROUP * n_rows):
        return None
    return groups


def _occurs(hashes: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Mark hashes that are in a pool of hashes; this takes half of the time of `numpy.isin`."""
    pool = np.sort(pool)
    places = np.minimum(np.searchsorted(pool, hashes), len(pool) - 1)
    return np.asarray(pool[places] == hashes)


def _total(hashes: Sequence[np.ndarray]) -> np.ndarray:
    total = np.zeros_like(hashes[0])
    for column_hashes in hashes:
        total += column_hashes
    return total


def _hash_columns(
    train: Sequence[DataColumn], test: Sequence[DataColumn]
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Hash the cells of both tables, and get the chance that two cells of a column are equal."""
    hashes_train: list[np.ndarray] = []
    hashes_test: list[np.ndarray] = []
    repeat_chances = []
    pairs = zip(train, test, strict=True) if test else ((column, None) for column in train)
    for number, (column, later) in enumerate(pairs):
        keys, later_keys = _keys(column, later)
        counts = np.unique(keys, return_counts=True)[1]
        # Without bias: the share of equal pairs among the pairs of different rows.
        n_pairs = max(1, len(keys) * (len(keys) - 1))
        repeat_chances.append(float((counts * (counts - 1.0)).sum()) / n_pairs)
        hashes_train.append(_mixed(keys, number))
        if later_keys is not None:
            hashes_test.append(_mixed(later_keys, number))
    return hashes_train, hashes_test, np.array(repeat_chances)


def _keys(column: DataColumn, later: DataColumn | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Whole numbers that are equal for equal cells of both tables."""
    if column.numbers is not None and (later is None or later.numbers is not None):
        keys = _rounded_numbers(column.numbers)
        if later is None or later.numbers is None:
            return keys, None
        return keys, _rounded_numbers(later.numbers)
    code_of = {str(level): code for code, level in enumerate(column.levels)}
    own = _shared_codes(column, code_of)
    return own, None if later is None else _shared_codes(later, code_of)


def _shared_codes(column: DataColumn, code_of: dict[str, int]) -> np.ndarray:
    if column.codes is None:
        return np.full(len(column.missing), -1)
    # A level that is not in training gets a new code.
    codes = [code_of.setdefault(str(level), len(code_of)) for level in column.levels]
    return np.array([*codes, -1], dtype=np.int64)[column.codes]


def _rounded_numbers(numbers: np.ndarray) -> np.ndarray:
    """Round numbers, and return their bits; missing cells are equal."""
    mantissa, exponent = np.frexp(numbers)
    # Adding 0 makes -0 to 0.
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS) + 0.0
    return np.where(np.isnan(rounded), np.nan, rounded).view(np.int64)


def _mixed(keys: np.ndarray, column_number: int) -> np.ndarray:
    """Hashes of 64 bits whose sums over the columns differ for different rows."""
    # The finalizer of splitmix64, a well-known mixing function; each column has its own offset.
    hashes = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (column_number + 1) % 2**64)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
