"""Check a table for leakage and for columns of poor quality: `mddf.check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._input.subjects import Key, find_subjects
from mddf._quality import copies, texts
from mddf._quality.columns import DataColumn, read_columns, read_tables
from mddf._quality.findings import Finding, Findings
from mddf._quality.leaks import leaks
from mddf._quality.target import read_target

# Share of missing cells from which a column is mostly missing.
_MOSTLY = 0.5
_ADVICE_FOR_TEXT = (
    "leave the column out; or keep a part of it, such as a prefix; or reduce it to numbers in a "
    "pipeline, by HashingVectorizer or TfidfVectorizer with TruncatedSVD"
)


def check(
    X: Any,
    y: npt.ArrayLike | None = None,
    *,
    groups: npt.ArrayLike | None = None,
    X_test: Any = None,
    task: str = "auto",
) -> Findings:
    """Check a table for leakage and for columns of poor quality before a fit.

    Looks for columns that are a function of the target, predict it nearly alone, dominate all
    other columns or contain it as text, for identifiers, constant and mostly missing columns, for
    columns of many different texts, for several spellings of a category, and for copies of rows.
    A check of 100 000 rows and 20 columns takes less than a second.

    A finding is a reason to look at a column, not a proof. Leakage that is spread over several
    columns, or that is weak, is not found.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_columns)
        Features. Columns may hold numbers, text, categories, booleans or dates.
    y : array of shape (n_rows,), optional
        Target, without missing labels. Without it, nothing about leakage is checked.
    groups : array of shape (n_rows,), optional
        Groups of rows that belong together, such as the rows of a patient. A column is a leak only
        if it predicts the target of other groups.
    X_test : array or data frame, optional
        Rows that will be predicted, with the columns of `X`; data frames may have further ones.
        They are compared with the rows of `X`: rows in both tables make test scores too good.
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
    means of the target by category or numeric bin are computed on one half of the rows, or of the
    groups, and applied to the other half. With few rows, the correlation of the ranks, or limits
    that separate all classes, may explain more. For classes, the variance is the Brier score of
    the shares of the classes; for regression, it is the variance of the ranks of the target. Of
    tables with more than a million cells, some rows are drawn for this.

    A column is a function of the target if it has one value for each class; if it is a multiple of
    the numbers, perhaps shifted and rounded; or if each of its values stands for an interval of
    the numbers. Only its present cells count. The same functions of the targets of one to three
    rows before or after are found.

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
    target = None if y is None else read_target(y, table.shape[0], task, groups)
    columns = list(read_columns(table))
    findings: list[Finding] = []
    if target is not None:
        findings.extend(leaks(columns, target))
    features = [column for column in columns if not column.identifies_rows]
    if test_table is not None:
        names = {column.name for column in features}
        test = [column for column in read_columns(test_table) if column.name in names]
        findings.extend(copies.rows_in_training(features, test))
    findings.extend(copies.repeated_rows(features))
    subjects = [] if groups is not None else list(_subjects(columns))
    names_of_subjects = {finding.column for finding in subjects}
    for column in columns:
        findings.extend(_quality(column))
        if column.name not in names_of_subjects:
            findings.extend(_many_values(column))
            findings.extend(_spellings(column))
    findings.extend(subjects)
    return Findings(findings)


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


def _spellings(column: DataColumn) -> Iterator[Finding]:
    if column.identifies_rows or column.has_many_texts:
        return
    groups = texts.spellings(column.levels)
    if groups:
        n_values = len(column.levels)
        n_different = n_values - sum(map(len, groups)) + len(groups)
        one, other, *_ = groups[0]
        yield Finding(
            column.name,
            "several spellings",
            f"{n_values} values are {n_different} if blanks and upper case are ignored, such as "
            f"{short(one)} and {short(other)}",
            "write each value in one way; each spelling is a category of its own",
        )


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


def _subjects(columns: list[DataColumn]) -> Iterator[Finding]:
    """Columns of repeated subjects, by their names, counts and the other columns."""
    keys = {
        c: Key.from_codes(column.codes)
        if column.codes is not None
        else Key.from_numbers(np.asarray(column.numbers), column.name)
        for c, column in enumerate(columns)
        if column.kind != "date" and not column.identifies_rows
    }
    if not any(keys.values()):
        return
    block = np.column_stack([column.as_block for column in columns])
    for c, key in find_subjects(block, keys, [column.name for column in columns]).items():
        yield Finding(
            columns[c].name,
            "identifier of subjects",
            f"{len(key.counts)} values with about {key.mean:.0f} rows each",
            "if new rows are of other values, leave the column out and pass it as groups, so that "
            "these rows share a fold; else keep it",
        )
