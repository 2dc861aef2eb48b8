"""Columns that hold the target, or a function of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.elementary import log
from mddf._input.target_copies import LOG_CHANCE, log_chance
from mddf._quality import texts
from mddf._quality.columns import DataColumn
from mddf._quality.findings import (
    CONTAINS_TARGET,
    DOMINATES,
    EQUALS_TARGET,
    MISSING_FOR_CLASS,
    PREDICTS_TARGET,
    PRESENT_FOR_CLASS,
    SHIFTED_TARGET,
    USUAL_FOR_CLASS,
    Finding,
)
from mddf._quality.target import CheckedTarget, mean_ranks

# With fewer rows, a column may predict both halves by chance.
_MIN_ROWS = 20
# A column that explains more of the target's variance by itself leaks, or little is left to learn.
_LEAK_SKILL = 0.95
# A column dominates if it explains half of the target, and the best of the columns that are not
# reported otherwise less than a quarter of that.
_DOMINANT_SKILL = 0.5
_DOMINANT_RATIO = 0.25
# Rounding to three digits, units and offsets leave the correlation this close to 1. Not tuned.
_MIN_CORRELATION = 1 - 1e-4
# Share of rows with the same class from which cells tell the class. A class that most rows have
# does not count.
_MIN_PURITY = 0.99
_MAX_SHARE_OF_CLASS = 0.9
# Share of the rows of a class that have another value than all other rows. From the larger one on,
# the column is reported. From the smaller one on, it is reported if no other column explains more:
# single pixels of digits and words of texts are often 0 for all classes but one.
_CERTAIN_SHARE_OF_CLASS = 0.5
_MIN_SHARE_OF_CLASS = 0.2
# Numbers of rows by which a column may be a shifted target. With fewer rows, it may equal one of
# the shifted targets by chance.
_SHIFTS = (1, -1, 2, -2, 3, -3)
_MIN_ROWS_OF_SHIFTS = 50
# Rows that refuse most columns that are no function of the target.
_HEAD = slice(None, 100)
# Share of the rows whose text contains their label, over the share by chance.
_MIN_LABELS_IN_TEXT = 0.5
# Rows of a table are drawn for the skills of columns so that no more cells are looked at: with 20
# columns, 50 000 rows are. A wide table still has enough rows for each column.
_MAX_CELLS = 1_000_000
_MIN_DRAWN_ROWS = 5000
# Numbers with more different values, or with fewer rows for each value, are binned. 64 bins
# explain at least 99.9 % of a monotone relation; a bin needs some rows in each half.
_MAX_VALUES = 256
_MIN_ROWS_OF_VALUE = 4
_N_BINS = 64
_MIN_ROWS_OF_BIN = 8
_MAX_ROWS_OF_COARSE_BINS = 2000
# Limits of bins are also quantiles of each class, so that a few rows of a rare class at the end of
# a column have bins of their own. More quantiles would split such rows into bins of too few rows.
_N_CLASS_QUANTILES = 4

_LEAVE_OUT = "leave the column out, unless its value is known when you predict"
_UNLESS_KNOWN = "leave the column out if that target is not known yet when you predict"


def leaks(columns: list[DataColumn], target: CheckedTarget) -> Iterator[Finding]:
    """Find columns that hold the target; at most one finding for each column."""
    n_rows = len(target.codes)
    if n_rows < _MIN_ROWS or target.codes.max() == 0:
        return
    rows = _drawn_rows(n_rows, len(columns))
    sample = target.take(rows)
    shifts = _shifts(target)
    suspects: dict[Finding, float] = {}
    skills: dict[str, tuple[float, str]] = {}
    for column in columns:
        finding = _function_of_target(column, shifts)
        if finding is None:
            drawn = column.take(rows)
            skill, present_skill, evidence = _skills(drawn, sample)
            if present_skill >= _LEAK_SKILL:
                finding = Finding(column.name, PREDICTS_TARGET, evidence, _LEAVE_OUT)
            else:
                finding = _telling_gaps(column, target) or _labels_in_text(drawn, sample)
        if finding is not None:
            yield finding
            continue
        suspicion, share = _for_one_class(column, target)
        if suspicion is not None and share >= _CERTAIN_SHARE_OF_CLASS:
            yield suspicion
        elif suspicion is not None:
            suspects[suspicion] = skill
        else:
            skills[column.name] = (skill, evidence)
    best = max((skill for skill, _ in skills.values()), default=0.0)
    yield from (suspicion for suspicion, skill in suspects.items() if skill >= best)
    yield from _dominant(skills)


def _drawn_rows(n_rows: int, n_columns: int) -> np.ndarray:
    n_drawn = max(_MIN_DRAWN_ROWS, _MAX_CELLS // n_columns)
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, n_drawn, replace=False))


def _dominant(skills: dict[str, tuple[float, str]]) -> Iterator[Finding]:
    """The best of the columns that are not reported otherwise, if no other one comes near it."""
    if len(skills) < 2:
        return
    name, other, *_ = sorted(skills, key=lambda name: -skills[name][0])
    skill, evidence = skills[name]
    next_skill = max(skills[other][0], 0.0)
    if skill >= _DOMINANT_SKILL and next_skill <= _DOMINANT_RATIO * skill:
        evidence = f"{evidence}; the next column explains {next_skill:.2f}"
        yield Finding(name, DOMINATES, evidence, _LEAVE_OUT)


# Relations of whole columns.


@dataclass(frozen=True)
class _Shift:
    """A target that rows of a column some rows before or after are compared with."""

    n_rows: int
    own_rows: slice
    target: CheckedTarget

    @property
    def text(self) -> str:
        if not self.n_rows:
            return ""
        plural = "s" if abs(self.n_rows) > 1 else ""
        direction = "earlier" if self.n_rows > 0 else "later"
        return f"the target {abs(self.n_rows)} row{plural} {direction}: "


def _shifts(target: CheckedTarget) -> list[_Shift]:
    """The target of the same row, and of rows nearby, which a smooth target is equal to anyway."""
    shifts = [_Shift(0, slice(None), target)]
    if len(target.codes) < _MIN_ROWS_OF_SHIFTS or target.is_smooth:
        return shifts
    for n in _SHIFTS:
        other_rows = slice(None, -n) if n > 0 else slice(-n, None)
        shifts.append(_Shift(n, slice(max(n, 0), min(n, 0) or None), target.take(other_rows)))
    return shifts


def _function_of_target(column: DataColumn, shifts: list[_Shift]) -> Finding | None:
    """Report a column that equals the target of the same row, or of a row nearby."""
    for shift in shifts:
        relation = _relation(column.take(shift.own_rows), shift.target)
        if relation is not None:
            kind = SHIFTED_TARGET if shift.n_rows else EQUALS_TARGET
            advice = _UNLESS_KNOWN if shift.n_rows else _LEAVE_OUT
            return Finding(column.name, kind, shift.text + relation, advice)
    return None


def _relation(column: DataColumn, target: CheckedTarget) -> str | None:
    """Say how the present cells of a column are a function of the target; None if they are not.

    Functions are a name for each class; a multiple of the numbers, perhaps shifted and rounded;
    and a name for each of some intervals of the numbers.
    """
    if column.n_present < _MIN_ROWS:
        return None
    if column.n_present < len(target.codes):
        present = ~column.missing
        column = column.take(present)
        target = target.take(present)
    if target.classes is None:
        numbers = column.as_numbers
        relation = None if numbers is None else _multiple(numbers, target)
        if relation is None and _are_intervals(column, target.labels, target):
            n_values = len(np.unique(column.value_codes))
            relation = f"{n_values} values for intervals of the target in {len(target.codes)} rows"
        return relation
    # A few rows nearly always decide.
    for part in (_HEAD, slice(None)):
        codes = column.take(part).value_codes
        classes = target.codes[part]
        n_classes = len(np.unique(classes))
        pairs = np.unique(codes * len(target.classes) + classes)
        if not len(pairs) == n_classes == len(np.unique(codes)):
            return None
    if n_classes < 2 or log_chance(target.n_independent(codes)) > LOG_CHANCE:
        return None
    return f"one value for each of the {n_classes} classes in {len(codes)} rows"


def _multiple(numbers: np.ndarray, target: CheckedTarget) -> str | None:
    if np.array_equal(numbers, target.labels):
        return f"the same numbers in {len(numbers)} rows"
    if abs(_correlation_of_numbers(numbers, target.labels)) < _MIN_CORRELATION:
        return None
    # A few rows of huge numbers would decide the correlation alone.
    if _correlation_of_numbers(mean_ranks(numbers), target.ranks) ** 2 < _LEAK_SKILL:
        return None
    return f"a multiple of the target, perhaps shifted or rounded, in {len(numbers)} rows"


def _correlation_of_numbers(x: np.ndarray, y: np.ndarray) -> float:
    # Scaled, so that squares of huge numbers do not overflow.
    x = x / (np.abs(x).max() or 1.0)
    y = y / (np.abs(y).max() or 1.0)
    x = x - x.mean()
    y = y - y.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > 0 else 0.0


def _are_intervals(column: DataColumn, numbers: np.ndarray, target: CheckedTarget) -> bool:
    """Whether each value stands for an interval of some numbers, and hardly by chance."""
    # A few rows nearly always decide.
    for part in (_HEAD, slice(None)):
        codes = column.take(part).value_codes
        n_values = len(np.unique(codes))
        # Values of one row each are intervals in any order.
        if 2 * n_values > len(codes):
            return False
        order = np.lexsort((codes, numbers[part]))
        is_change = np.diff(codes[order]) != 0
        is_tie = np.diff(numbers[part][order]) == 0
        if is_change.sum() >= n_values or np.any(is_change & is_tie):
            return False
    counts = target.n_independent(codes)
    counts = counts[counts > 0]
    # Intervals may have any order.
    return len(counts) > 1 and log_chance(counts) - log_chance(np.ones(len(counts))) < LOG_CHANCE


# Skills.


def _skills(column: DataColumn, target: CheckedTarget) -> tuple[float, float, str]:
    """Share of the target that a column explains, the share in present cells, and the evidence."""
    skill = _skill_of_values(column, target)
    present_skill = skill
    evidence = f"explains {skill:.2f} of the target by itself"
    present = ~column.missing
    if column.n_present < len(present) and _has_enough(present, target):
        of_present = _skill_of_values(column.take(present), target.take(present))
        if of_present > skill:
            present_skill = of_present
            evidence = f"explains {of_present:.2f} of the target where it is present"
    if column.has_many_texts:
        drawn = slice(None, None, -(-len(present) // texts.MAX_ROWS))
        words = texts.words_by_row(column.take(drawn))
        word, word_skill = texts.best_word(words, target.take(drawn))
        if word_skill > present_skill:
            skill = present_skill = word_skill
            evidence = f"the word {word!r} explains {skill:.2f} of the target by itself"
    return skill, present_skill, evidence


def _has_enough(rows: np.ndarray, target: CheckedTarget) -> bool:
    """Whether some rows have several labels that are too frequent for a coincidence."""
    if np.count_nonzero(rows) < _MIN_ROWS:
        return False
    chosen = target.take(rows)
    counts = chosen.n_independent(chosen.codes)
    return log_chance(counts[counts > 0]) <= LOG_CHANCE


def _skill_of_values(column: DataColumn, target: CheckedTarget) -> float:
    bins, n_bins = _bins(column, target)
    skill = target.skill(bins, n_bins)
    if column.numbers is None or column.missing.any() or target.groups is not None:
        return skill
    # With few rows, bins are coarse: the correlation of ranks, or limits between classes, may
    # explain more.
    n_rows = len(bins)
    if n_rows > _MAX_ROWS_OF_COARSE_BINS:
        return skill
    if target.classes is None:
        r2 = _correlation_of_numbers(mean_ranks(column.numbers), target.ranks) ** 2
        return max(skill, 1 - (1 - r2) * (n_rows - 1) / (n_rows - 2))
    classes = DataColumn("", "category", codes=target.codes)
    return 1.0 if _are_intervals(classes, column.numbers, target) else skill


def _bins(column: DataColumn, target: CheckedTarget) -> tuple[np.ndarray, int]:
    """Bins of the values; missing cells have a bin of their own."""
    if column.codes is not None:
        n_levels = len(column.levels)
        return np.where(column.missing, n_levels, column.codes), n_levels + 1
    assert column.numbers is not None
    values = column.numbers
    present = ~column.missing
    if not column.n_present:
        return np.zeros(len(values), np.int64), 1
    limits = np.sort(values[present])
    is_first = np.append(True, limits[1:] != limits[:-1])
    n_values = np.count_nonzero(is_first)
    if n_values <= _MAX_VALUES and n_values * _MIN_ROWS_OF_VALUE <= len(limits):
        limits = limits[is_first]
    else:
        n_bins = min(_N_BINS, len(limits) // _MIN_ROWS_OF_BIN)
        limits = limits[np.linspace(0, len(limits) - 1, n_bins + 1).astype(np.int64)]
        of_classes = target.take(present).class_quantiles(values[present], _N_CLASS_QUANTILES)
        limits = np.unique(np.append(limits, of_classes))
    bins = np.searchsorted(limits, values, side="right")
    # NaN is sorted to the end: it shares no bin with the largest number.
    bins[~present] = len(limits) + 1
    return bins, len(limits) + 2


# Leaks of columns that do not predict the target in most rows.


def _telling_gaps(column: DataColumn, target: CheckedTarget) -> Finding | None:
    """Report missing cells, or present ones, that nearly all have the same class."""
    present = ~column.missing
    if not 0 < column.n_present < len(present):
        return None
    for kind, state, mask in (
        (PRESENT_FOR_CLASS, "present cells", present),
        (MISSING_FOR_CLASS, "missing cells", ~present),
    ):
        evidence, _ = _purity(mask, target, state, _MIN_PURITY)
        if evidence:
            return Finding(column.name, kind, evidence, _LEAVE_OUT)
    return None


def _for_one_class(column: DataColumn, target: CheckedTarget) -> tuple[Finding | None, float]:
    """Report a column with one value, such as 0, in all rows of all classes but one.

    Returns the share of the rows of that class whose value differs.
    """
    present = ~column.missing
    is_usual = column.is_usual
    if not present.sum() > is_usual.sum() >= present.sum() / 2:
        return None, 0.0
    state = f"cells other than {column.value_at(int(is_usual.argmax()))}"
    evidence, share = _purity(present & ~is_usual, target, state, 1.0)
    if not evidence or share < _MIN_SHARE_OF_CLASS:
        return None, 0.0
    return Finding(column.name, USUAL_FOR_CLASS, evidence, _LEAVE_OUT), share


def _purity(
    mask: np.ndarray, target: CheckedTarget, cells: str, least: float
) -> tuple[str | None, float]:
    """Say of which class nearly all cells of a mask are, and the share of its rows that they are.

    None if they are of several classes, or by chance.
    """
    if target.classes is None:
        return None, 0.0
    of_class = np.bincount(target.codes, minlength=len(target.classes))
    counts = np.bincount(target.codes[mask], minlength=len(target.classes))
    code = int(counts.argmax())
    n_cells = int(mask.sum())
    share = float(of_class[code] / len(mask))
    n_independent = target.take(mask).n_independent(np.zeros(n_cells, np.int64)).sum()
    if (
        counts[code] < least * n_cells
        or share > _MAX_SHARE_OF_CLASS
        or n_independent * float(log(share)) > LOG_CHANCE
    ):
        return None, 0.0
    evidence = (
        f"{counts[code]} of {n_cells} {cells} are of {target.classes[code]}, {share:.0%} of all "
        "rows are"
    )
    return evidence, float(counts[code] / of_class[code])


def _labels_in_text(column: DataColumn, target: CheckedTarget) -> Finding | None:
    if not column.has_many_texts:
        return None
    drawn: Any = slice(None, None, -(-len(column.missing) // texts.MAX_ROWS))
    words = texts.words_by_row(column.take(drawn))
    share = texts.share_with_own_label(words, target.labels[drawn])
    if share < _MIN_LABELS_IN_TEXT:
        return None
    evidence = f"{share:.0%} more rows than by chance have their label in the text"
    return Finding(column.name, CONTAINS_TARGET, evidence, _LEAVE_OUT)
