"""Detection of columns that identify repeated subjects, whose rows depend on each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtr

from mddf._base.elementary import log
from mddf._base.messages import warn

# With fewer rows or values, subjects cannot be distinguished from measured numbers.
_MIN_ROWS = 40
_MIN_SUBJECTS = 10
# Mean number of rows of a subject. A column with about one row per value is an identifier of rows;
# a column with more than a handful is an ordinary category unless its name says otherwise.
_MIN_REPEATS = 2.0
_MIN_REPEATS_WITH_EVIDENCE = 1.2
_MAX_REPEATS = 10.0
# Counts of the values of a measured number vary at least as much as counts of random events.
# Counts of subjects who were measured equally often vary less. This is the largest probability
# that counts vary so little by chance. With 0.001, none of 64 benchmark data sets has a column
# that is reported.
_MAX_PROBABILITY = 1e-3
# Whole numbers in this range are taken as years, which may also have a few rows each.
_YEARS = (1900, 2100)
# Names of columns, perhaps with a word before or after. Their values are subjects however many
# rows they have; an "id" is only if it has a handful of rows, since an id of a shop or product is
# an ordinary category.
_SUBJECTS = frozenset(
    {
        "account", "animal", "client", "customer", "donor", "employee", "household", "individual",
        "member", "participant", "patient", "person", "respondent", "student", "subject", "user",
        "worker",
    }
)  # fmt: skip
_SUFFIXES = frozenset(("id", "ids", "no", "nr", "num", "number", "code", "key", "name"))
_PREFIXES = frozenset(("id", "code", "key"))
_IDS = frozenset(("id", "pid", "sid", "uid", "identifier"))
# Pairs of rows of a subject that refuse most columns that are no properties of subjects.
_N_FIRST_PAIRS = 64
_MIN_PAIRS = 15
# Chance, if the rows had random order, below which columns are constant within subjects.
_LOG_CHANCE = float(log(1e-8))


def nearly_all(mask: np.ndarray) -> bool:
    """Whether a mask is true but for an odd cell or 1 % of them."""
    return bool(len(mask) - np.count_nonzero(mask) <= max(1, len(mask) // 100))


@dataclass(frozen=True)
class Key:
    """A column whose values may be subjects: the code of each row, -1 where missing."""

    codes: np.ndarray
    counts: np.ndarray

    @classmethod
    def from_codes(cls, codes: np.ndarray) -> Key | None:
        """Make a key of codes of texts; None if values do not repeat."""
        counts = np.bincount(codes[codes >= 0])
        key = cls(codes, counts[counts > 0])
        is_long = len(codes) >= _MIN_ROWS
        return key if is_long and key.mean >= _MIN_REPEATS_WITH_EVIDENCE else None

    @classmethod
    def from_numbers(cls, column: np.ndarray, name: Any) -> Key | None:
        """Make a key of whole numbers; None for other numbers and for years."""
        # The first cells nearly always decide.
        if len(column) < _MIN_ROWS or not _are_whole(column[:_MIN_ROWS]):
            return None
        present = ~np.isnan(column)
        values = column[present].astype(np.float64)
        if not len(values):
            return None
        least = float(values.min())
        largest = float(values.max())
        # The range bounds the number of values.
        has_handfuls = (largest - least + 1) * _MAX_REPEATS >= len(values)
        if not (has_handfuls or names_subjects(name)) or not _are_whole(values):
            return None
        if _YEARS[0] <= least and largest <= _YEARS[1]:
            return None
        codes = np.full(len(column), -1)
        codes[present] = np.unique(values, return_inverse=True)[1]
        return cls.from_codes(codes)

    @property
    def mean(self) -> float:
        return float(self.counts.sum() / max(1, len(self.counts)))

    def is_subject(self, name: Any, block: np.ndarray, c: int) -> bool:
        """Whether the counts, the name or the other columns of a block tell subjects."""
        if len(self.counts) < _MIN_SUBJECTS:
            return False
        is_handful = self.mean <= _MAX_REPEATS
        if names_subjects(name) or (is_handful and _subject_of_name(name) in _IDS):
            return True
        return is_handful and (looks_like_subjects(self.counts) or self._has_properties(block, c))

    def _has_properties(self, block: np.ndarray, c: int) -> bool:
        """Whether other columns are constant within the values, as the age of a subject is.

        A conversion of the key to another unit or a coarser one, such as decades of years, rises
        or falls with it, and is no property of subjects. Nor is a code of each value.
        """
        first, second = self._pairs()
        if len(first) < _MIN_PAIRS:
            return False
        sample = slice(None, _N_FIRST_PAIRS)
        is_equal = _equal_or_missing(block[first[sample]], block[second[sample]])
        log_chance = 0.0
        n_properties = 0
        for i in np.flatnonzero([nearly_all(mask) for mask in is_equal.T]).tolist():
            column = block[:, i]
            if i == c or not nearly_all(_equal_or_missing(column[first], column[second])):
                continue
            counts = np.unique(column, return_counts=True)[1]
            # A pair of rows is equal by chance if it has the same value; one pair may be odd.
            p = float(np.square(counts / counts.sum()).sum())
            by_key = np.diff(column[np.unique(self.codes, return_index=True)[1]])
            is_code = len(counts) >= len(self.counts) - 1 and _are_whole(column)
            if is_code or nearly_all(by_key >= 0) or nearly_all(by_key <= 0):
                continue
            log_chance += (len(first) - 2) * float(log(p))
            n_properties += 1 + (len(counts) >= _MIN_SUBJECTS)
        return n_properties >= 2 and log_chance < _LOG_CHANCE

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.codes, kind="stable")
        codes = self.codes[order]
        is_pair = (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
        return order[:-1][is_pair], order[1:][is_pair]

    def determines(self, other: Key) -> bool:
        """Whether rows with the same value also have the same value of another key."""
        first, second = self._pairs()
        return nearly_all(other.codes[first] == other.codes[second])


def names_subjects(name: Any) -> bool:
    """Whether the name of a column is one of subjects, such as "patient" or "user_id"."""
    return _subject_of_name(name) in _SUBJECTS


def _are_whole(column: np.ndarray) -> bool:
    return nearly_all((column == np.rint(column)) | np.isnan(column))


def _equal_or_missing(cells: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray((cells == others) | (np.isnan(cells) & np.isnan(others)))


def _subject_of_name(name: Any) -> str:
    """The word of a name apart from "id", "number" or the like; empty if it has several."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", str(name))]
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    while len(words) > 1 and words[0] in _PREFIXES:
        words.pop(0)
    if len(words) != 1:
        return ""
    return words[0] if words[0] in _IDS else words[0].removesuffix("id")


def looks_like_subjects(counts: np.ndarray) -> bool:
    """Whether values with these counts look like subjects that were measured equally often."""
    # A value with a single row may be an odd cell, or one whose other row is an odd cell.
    if np.count_nonzero(counts == 1) <= 2:
        counts = counts[counts > 1]
    if not len(counts):
        return False
    mean = float(counts.mean())
    if not _MIN_REPEATS <= mean <= _MAX_REPEATS:
        return False
    squares = float(np.square(counts - mean).sum())
    return bool(chdtr(len(counts) - 1, squares / _random_variance(mean)) < _MAX_PROBABILITY)


def _random_variance(mean: float) -> float:
    """Variance of the counts of values of random events, without values that never occur.

    The counts have a Poisson distribution without zeros, whose mean is rate / (1 - exp(-rate)).
    """
    rate = mean
    # For means from 2 on, this converges within a few rounds.
    for _ in range(50):
        rate = mean * -np.expm1(-rate)
    return float(mean * (1 + rate - mean))


def find_subjects(
    block: np.ndarray, keys: Mapping[int, Key | None], names: Sequence[Any]
) -> dict[int, Key]:
    """Columns of a block of numbers that look like subjects.

    `keys` are the columns that may be subjects. A column that follows from an earlier one, such
    as a name of the patient with a number, is left out.
    """
    subjects: dict[int, Key] = {}
    for c in sorted(keys, key=lambda c: (not names_subjects(names[c]), c)):
        key = keys[c]
        if key is None or any(subject.determines(key) for subject in subjects.values()):
            continue
        if key.is_subject(names[c], block, c):
            subjects[c] = key
    return dict(sorted(subjects.items()))


def warn_of_subjects(place: str, key: Key) -> None:
    warn(
        f"column {place} looks like an identifier of subjects: {len(key.counts)} values with "
        f"about {key.mean:.0f} rows each. If new rows are of other subjects, leave the column "
        "out and pass it as groups, here or to a GroupKFold, so that the rows of a subject are "
        "held out together",
        kind=f"subjects in column {place}",
    )
