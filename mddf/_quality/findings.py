"""Findings of a check of data, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from mddf._quality.table_text import as_frame, as_text

if TYPE_CHECKING:
    import pandas


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
_LEAKS = frozenset(
    {
        EQUALS_TARGET, PREDICTS_TARGET, DOMINATES, CONTAINS_TARGET, SHIFTED_TARGET,
        PRESENT_FOR_CLASS, MISSING_FOR_CLASS, USUAL_FOR_CLASS, COPIES_IN_TEST, NEAR_COPIES_IN_TEST,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A possible fault of a table.

    Attributes
    ----------
    column : str
        Name of the column, or "(rows)" for a finding about whole rows.
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


class Findings(Sequence[Finding]):
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

    def __init__(self, findings: Sequence[Finding] = ()) -> None:
        self._findings = tuple(findings)

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self._findings)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        """Return a finding, or some of them for a slice."""
        if isinstance(place, slice):
            return Findings(self._findings[place])
        return self._findings[place]

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the findings."""
        return iter(self._findings)

    def __repr__(self) -> str:
        """Show the findings as a table."""
        return str(self)

    def __str__(self) -> str:
        """Show the findings as a table."""
        return as_text(self.to_dicts()) if self._findings else "nothing found"

    def to_dicts(self) -> list[dict[str, object]]:
        """Convert the findings to dictionaries, one for each row of the table."""
        return [asdict(finding) for finding in self._findings]

    def to_frame(self) -> pandas.DataFrame:
        """Convert the findings to a data frame of pandas."""
        return as_frame(self.to_dicts(), [field.name for field in fields(Finding)])
