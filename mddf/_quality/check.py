"""Check a table for leakage and for columns of poor quality: `mddf.check`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._input.subjects import counts_of_whole_numbers, looks_like_subjects
from mddf._quality import copies, texts
from mddf._quality.columns import DataColumn, read_columns, read_tables
from mddf._quality.findings import (
    CONTAINS_TARGET,
    COPIES_IN_TEST,
    DOMINATES,
    EQUALS_TARGET,
    MISSING_FOR_CLASS,
    NEAR_COPIES_IN_TEST,
    PREDICTS_TARGET,
    PRESENT_FOR_CLASS,
    SHIFTED_TARGET,
    Finding,
    Findings,
)
from mddf._quality.single_columns import MIN_ROWS, HalvedTarget, column_skill
from mddf._quality.target import Target, read_target

# A column that explains more of the target's variance by itself leaks, or little is left to learn.
_LEAK_SKILL = 0.95
# A column dominates if it explains half of the target, and the second-best column less than a
# quarter of that.
_DOMINANT_SKILL = 0.5
_DOMINANT_RATIO = 0.25
# Rows of a table are drawn for the skills of columns so that no more cells are looked at: with 20
# columns, 50 000 rows are. A wide table still has enough rows for each column.
_MAX_CELLS = 1_000_000
_MIN_DRAWN_ROWS = 5000
# Share of rows with the same class, and the probability of such a share by chance, from which
# missing cells tell the class. A class that most rows have does not count.
_MIN_PURITY = 0.99
_MAX_CHANCE = 1e-6
_MAX_SHARE_OF_CLASS = 0.9
# Share of equal cells from which a column is a shifted target, and numbers of rows that it may be
# shifted by.
_MIN_EQUAL = 0.99
_SHIFTS = (1, 2, 3)
# Share of the rows whose text contains their label, over the share by chance.
_MIN_LABELS_IN_TEXT = 0.5
# Share of missing cells from which a column is mostly missing.
_MOSTLY = 0.5
# With fewer rows, a column may equal a shifted target by chance.
_MIN_ROWS_OF_SHIFTS = 50

# Shares of rows with copies from which they are told. Single copies occur in measured data: iris
# has one in 150 rows. Copies in test rows matter more.
_MIN_COPIES = 0.01
_MIN_COPIES_IN_TEST = 0.005

_LEAVE_OUT = "leave the column out, unless its value is known when you predict"
_ADVICE_FOR_TEXT = (
    "leave the column out; or keep a part of it, such as a prefix; or reduce it to numbers in a "
    "pipeline, by HashingVectorizer or TfidfVectorizer with TruncatedSVD"
)


@dataclass(frozen=True)
class _SkilledColumn:
    """A column, the share of the target that it explains, and the evidence."""

    name: str
    skill: float
    evidence: str
    equals_target: bool = False


def check(
    X: Any,
    y: npt.ArrayLike | None = None,
    *,
    X_test: Any = None,
    task: str = "auto",
) -> Findings:
    """Check a table for leakage and for columns of poor quality before a fit.

    Looks for columns that equal the target, predict it nearly alone, dominate all other columns or
    contain the target as text, for identifiers, constant and mostly missing columns, for columns
    of many different texts, and for copies of rows. A check of 100 000 rows and 20 columns takes
    less than a second.

    A finding is a reason to look at a column, not a proof. Leakage that is spread over several
    columns, or that is weak, is not found.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_columns)
        Features. Columns may hold numbers, text, categories, booleans or dates.
    y : array of shape (n_rows,), optional
        Target, without missing labels. Without it, nothing about leakage is checked.
    X_test : array or data frame, optional
        Rows that will be predicted, with the columns of `X`. They are compared with the rows of
        `X`: rows in both tables make test scores too good.
    task : {"auto", "classification", "regression"}, default="auto"
        Meaning of `y`. By default, it is classification if the labels are text or booleans, or at
        most 20 different whole numbers.

    Returns
    -------
    Findings
        The most serious ones first. ``print`` shows them as a table, and ``to_frame()`` returns
        it.

    Notes
    -----
    The skill of a column is the share of the target's variance that the column explains by itself:
    means of the target by category, or by one of at least 64 numeric bins, are computed on one
    half of the rows and applied to the other half. For classes, the variance is the Brier score of
    the shares of the classes; for regression, it is the variance of the ranks of the target. Of
    tables with more than a million cells, some rows are drawn for this.

    With fewer than 20 rows, a column may predict the target by chance, and nothing about leakage
    is checked.

    Numbers of two rows count as equal if they agree to 13 binary digits, about four decimal ones.
    Near-copies are equal in all columns but one, and are searched in tables of 4 to 50 columns.
    Copies are not reported if rows have so few different values that equal rows are expected.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mddf import check
    >>> rng = np.random.default_rng(0)
    >>> churned = rng.random(200) < 0.3
    >>> X = pd.DataFrame({"age": rng.normal(40, 9, 200), "letter": np.where(churned, "sent", "")})
    >>> for finding in check(X, churned):
    ...     print(f"{finding.column}: {finding.finding}, {finding.evidence}")
    letter: equals the target, one value for each of the 2 classes in 200 rows
    """
    table, test_table = read_tables(X, X_test)
    target = None if y is None else read_target(y, table.shape[0], task)
    columns = list(read_columns(table))
    findings: list[Finding] = []
    if target is not None:
        findings.extend(_leaks(columns, target))
    features = [column for column in columns if not column.identifies_rows]
    if test_table is not None:
        names = {column.name for column in features}
        test = [column for column in read_columns(test_table) if column.name in names]
        findings.extend(_copies_in_training(features, test))
    findings.extend(_repeated_rows(features))
    for column in columns:
        findings.extend(_quality(column))
    return Findings(findings)


def _leaks(columns: list[DataColumn], target: Target) -> Iterator[Finding]:
    n_rows = len(target.labels)
    if n_rows < MIN_ROWS or len(np.unique(target.codes)) < 2:
        return
    rows = _drawn_rows(n_rows, len(columns))
    halved = HalvedTarget.from_target(target, rows)
    skilled = []
    for column in columns:
        skilled.append(_skill_of(column, target, rows, halved))
    best = sorted((column.skill for column in skilled), reverse=True)
    for column, result in zip(columns, skilled, strict=True):
        if result.equals_target:
            yield Finding(result.name, EQUALS_TARGET, result.evidence, _LEAVE_OUT)
        elif result.skill >= _LEAK_SKILL:
            yield Finding(result.name, PREDICTS_TARGET, result.evidence, _LEAVE_OUT)
        elif (
            len(best) > 1
            and result.skill == best[0] >= _DOMINANT_SKILL
            and best[1] <= _DOMINANT_RATIO * best[0]
        ):
            evidence = f"{result.evidence}; the next column explains {max(best[1], 0):.2f}"
            yield Finding(result.name, DOMINATES, evidence, _LEAVE_OUT)
        else:
            yield from _hidden_leaks(column, target, rows)


def _drawn_rows(n_rows: int, n_columns: int) -> np.ndarray:
    n_drawn = max(_MIN_DRAWN_ROWS, _MAX_CELLS // n_columns)
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, n_drawn, replace=False))


def _skill_of(
    column: DataColumn, target: Target, rows: np.ndarray, halved: HalvedTarget
) -> _SkilledColumn:
    skill = column_skill(column, rows, halved)
    evidence = f"explains {skill:.2f} of the target by itself"
    if skill >= _LEAK_SKILL and (equality := _equality(column, target)):
        return _SkilledColumn(column.name, skill, equality, equals_target=True)
    if column.has_many_texts:
        word_rows = rows[:: -(-len(rows) // texts.MAX_ROWS)]
        words = _words(column, word_rows)
        word, word_skill = texts.best_word(words, HalvedTarget.from_target(target, word_rows))
        if word_skill > skill:
            evidence = f"the word {word!r} explains {word_skill:.2f} of the target by itself"
            skill = word_skill
    return _SkilledColumn(column.name, skill, evidence)


def _equality(column: DataColumn, target: Target) -> str | None:
    """Say how a column equals the target; None if it does not."""
    present = ~column.missing
    if target.class_codes is not None:
        assert target.classes is not None
        n_classes = len(target.classes)
        values = column.codes if column.numbers is None else column.numbers
        assert values is not None
        distinct, codes = np.unique(values[present], return_inverse=True)
        if len(distinct) != n_classes:
            return None
        pairs = np.unique(codes * n_classes + target.class_codes[present])
        if len(pairs) != n_classes:
            return None
        return f"one value for each of the {n_classes} classes in {present.sum()} rows"
    if column.numbers is None:
        return None
    x = column.numbers[present]
    y = np.asarray(target.labels, dtype=float)[present]
    if np.array_equal(x, y):
        return f"the same numbers in {present.sum()} rows"
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        correlation = np.corrcoef(x, y)[0, 1]
    # Rounding and a change of the unit leave the correlation this close to 1.
    if abs(correlation) > 1 - 1e-6:
        return f"a multiple of the target, perhaps shifted, in {present.sum()} rows"
    return None


def _hidden_leaks(column: DataColumn, target: Target, rows: np.ndarray) -> Iterator[Finding]:
    """Leaks of columns that do not predict the target in most rows."""
    yield from _telling_gaps(column, target)
    yield from _shifted_target(column, target)
    if column.has_many_texts:
        rows = rows[:: -(-len(rows) // texts.MAX_ROWS)]
        share = texts.share_with_own_label(_words(column, rows), rows, target)
        if share >= _MIN_LABELS_IN_TEXT:
            evidence = f"{share:.0%} more rows than by chance have their label in the text"
            yield Finding(column.name, CONTAINS_TARGET, evidence, _LEAVE_OUT)


def _words(column: DataColumn, rows: np.ndarray) -> list[set[str]]:
    assert column.codes is not None
    return [
        texts.words_of(str(column.levels[code])) if code >= 0 else set()
        for code in column.codes[rows]
    ]


def _telling_gaps(column: DataColumn, target: Target) -> Iterator[Finding]:
    """Missing cells, or present ones, that nearly all have the same class."""
    missing = column.missing
    if target.class_codes is None or missing.all() or not missing.any():
        return
    assert target.classes is not None
    shares = np.bincount(target.class_codes) / len(missing)
    for state, finding, mask in (
        ("present", PRESENT_FOR_CLASS, ~missing),
        ("missing", MISSING_FOR_CLASS, missing),
    ):
        counts = np.bincount(target.class_codes[mask], minlength=len(shares))
        code = int(counts.argmax())
        n_cells = int(mask.sum())
        is_pure = counts[code] >= _MIN_PURITY * n_cells
        by_chance = float(shares[code]) ** n_cells > _MAX_CHANCE
        if is_pure and not by_chance and shares[code] <= _MAX_SHARE_OF_CLASS:
            evidence = (
                f"{counts[code]} of {n_cells} {state} cells are of {target.classes[code]}, "
                f"{shares[code]:.0%} of all rows are"
            )
            yield Finding(column.name, finding, evidence, _LEAVE_OUT)
            return


def _shifted_target(column: DataColumn, target: Target) -> Iterator[Finding]:
    """A column that has the target of an earlier or later row."""
    if column.numbers is None or target.labels.dtype.kind not in "biuf":
        return
    y = target.labels.astype(float)
    counts = np.bincount(target.codes) / len(y)
    if len(y) < _MIN_ROWS_OF_SHIFTS or np.square(counts).sum() > _DOMINANT_SKILL:
        return
    # Long constant stretches equal their own shift.
    is_smooth = np.mean(y[1:] == y[:-1]) > _DOMINANT_SKILL
    if is_smooth:
        return
    for shift in _SHIFTS:
        for direction, x_part, y_part in (
            ("earlier", column.numbers[shift:], y[:-shift]),
            ("later", column.numbers[:-shift], y[shift:]),
        ):
            if np.mean(x_part == y_part) >= _MIN_EQUAL:
                plural = "s" if shift > 1 else ""
                yield Finding(
                    column.name,
                    SHIFTED_TARGET,
                    f"the target {shift} row{plural} {direction}",
                    "leave the column out if that target is not known yet when you predict",
                )
                return


def _copies_in_training(train: list[DataColumn], test: list[DataColumn]) -> Iterator[Finding]:
    repeats = copies.rows_in_training(train, test)
    if repeats is None:
        return
    advice = "leave these rows out of one of the tables; scores on them are too good"
    if repeats.n_copies >= _MIN_COPIES_IN_TEST * repeats.n_rows:
        evidence = (
            f"{_share_text(repeats.n_copies, repeats.n_rows)} test rows equal a training row"
        )
        yield Finding("(rows)", COPIES_IN_TEST, evidence, advice)
    if repeats.n_near_copies >= _MIN_COPIES_IN_TEST * repeats.n_rows:
        share = _share_text(repeats.n_near_copies, repeats.n_rows)
        evidence = f"{share} test rows equal a training row in all columns but one"
        yield Finding("(rows)", NEAR_COPIES_IN_TEST, evidence, advice)


def _repeated_rows(columns: list[DataColumn]) -> Iterator[Finding]:
    repeats = copies.repeated_rows(columns)
    if repeats is None or repeats.n_copies < _MIN_COPIES * repeats.n_rows:
        return
    evidence = f"{_share_text(repeats.n_copies, repeats.n_rows)} rows equal an earlier row"
    advice = "drop the copies, or keep them in one fold by groups"
    yield Finding("(rows)", "copies of rows", evidence, advice)


def _share_text(n: int, n_rows: int) -> str:
    return f"{n} ({n / n_rows:.2%}) of {n_rows}"


def _quality(column: DataColumn) -> Iterator[Finding]:
    """Findings about a column that need no target."""
    missing = column.missing
    n_rows = len(missing)
    n_missing = n_rows - column.n_present
    if n_missing == n_rows:
        yield Finding(column.name, "empty", "all cells are missing", "leave the column out")
        return
    if _is_constant(column, missing):
        evidence = f"one value in {n_rows - n_missing} of {n_rows} rows"
        advice = "leave the column out"
        if n_missing:
            evidence += ", all others are missing"
            advice = "replace the column by whether the cell is missing"
        yield Finding(column.name, "constant", evidence, advice)
    elif n_missing > _MOSTLY * n_rows:
        yield Finding(
            column.name,
            "mostly missing",
            f"{n_missing / n_rows:.1%} of the cells are missing",
            "make sure that cells are missing for the same reason when you predict",
        )
    yield from _many_values(column)


def _is_constant(column: DataColumn, missing: np.ndarray) -> bool:
    if column.codes is not None:
        return len(column.levels) == 1
    assert column.numbers is not None
    present = column.numbers[~missing]
    return bool(present.min() == present.max())


def _many_values(column: DataColumn) -> Iterator[Finding]:
    if column.has_many_texts:
        evidence = f"{len(column.levels)} different texts in {column.n_present} rows"
        if texts.are_sentences(column):
            yield Finding(column.name, "free text", evidence, _ADVICE_FOR_TEXT)
            return
        if not column.identifies_rows:
            yield Finding(column.name, "many different texts", evidence, _ADVICE_FOR_TEXT)
            return
    if column.identifies_rows:
        kind = "values" if column.kind == "category" else "whole numbers"
        yield Finding(
            column.name,
            "identifier",
            f"{column.n_present} rows with {kind} that are nearly all different",
            "leave the column out; use it to name rows",
        )
        return
    counts = None
    if column.codes is not None:
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    elif column.kind == "number":
        assert column.numbers is not None
        counts = counts_of_whole_numbers(column.numbers)
    if counts is not None and looks_like_subjects(counts):
        yield Finding(
            column.name,
            "identifier of subjects",
            f"{len(counts)} values with about {counts.mean():.0f} rows each",
            "leave the column out and pass it as groups, so that these rows share a fold",
        )
