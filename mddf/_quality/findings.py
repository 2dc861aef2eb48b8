"""Findings of a check of data, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from mddf._quality.table_text import RecordTable

EQUALS_TARGET = "equals the target"
PREDICTS_TARGET = "predicts the target nearly alone"
DOMINATES = "dominates all other columns"
CONTAINS_TARGET = "contains the target as text"
SHIFTED_TARGET = "equals the target of another row"
PRESENT_FOR_CLASS = "is present for one class only"
MISSING_FOR_CLASS = "is missing for one class only"
USUAL_FOR_CLASS = "has one value for all classes but one"
COPIES_IN_TEST = "copies in training and test"
NEAR_COPIES_IN_TEST = "near-copies in training and test"
NEARLY_PERFECT = "are nearly perfect"
_LEAKS = frozenset(
    {
        EQUALS_TARGET, PREDICTS_TARGET, DOMINATES, CONTAINS_TARGET, SHIFTED_TARGET,
        PRESENT_FOR_CLASS, MISSING_FOR_CLASS, USUAL_FOR_CLASS, COPIES_IN_TEST, NEAR_COPIES_IN_TEST,
        NEARLY_PERFECT,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A possible fault of a table.

    Attributes
    ----------
    column : str
        Name of the column, "(rows)" for a finding about whole rows, or "(scores)" of a fit.
    finding : str
        Kind of the fault, such as "equals the target" or "constant".
    evidence : str
        Numbers that show it.
    advice : str
        What to do about it.

    Examples
    --------
    >>> from mddf import Finding
    >>> Finding("flag", "constant", "one value in all rows", "leave the column out").finding
    'constant'
    """

    column: str
    finding: str
    evidence: str
    advice: str

    @property
    def is_leak(self) -> bool:
        """Whether the finding makes test scores too good, rather than the model worse."""
        return self.finding in _LEAKS


class Findings(RecordTable[Finding]):
    """Findings about a table, the most serious ones first.

    A sequence of :class:`Finding`. ``print`` shows it as a table.

    Parameters
    ----------
    findings : sequence of Finding

    Examples
    --------
    >>> from mddf import Finding, Findings
    >>> constant = Finding("flag", "constant", "one value", "leave the column out")
    >>> print(Findings([constant]))
    column  finding   evidence   advice
    flag    constant  one value  leave the column out
    """

    _record_type = Finding
    _empty_text = "nothing found"
