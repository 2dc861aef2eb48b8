"""Report of a deep forest's decisions, with their evidence and cost."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np


def print_line(line: str) -> None:
    """Print a line of `verbose`, wrapped to 80 columns."""
    print(textwrap.fill(line, 80, subsequent_indent="    "))


@dataclass(frozen=True)
class Candidate:
    """A candidate of a decision, its loss (NaN if unknown) and the decision about it."""

    name: str
    loss: float = np.nan
    decision: str = ""

    def __str__(self) -> str:
        figures = [] if np.isnan(self.loss) else [f"{self.loss:.4f}"]
        if self.decision:
            figures.append(self.decision)
        return f"{self.name} ({', '.join(figures)})"


class FitReport:
    """List of the decisions of a fit."""

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        # "step"; "member" whose options are decided, or ""; "candidate"; its "loss", log-loss or
        # squared error, NaN if unknown; number of "rows" and "folds" of the evidence, 0 folds
        # for out-of-bag samples; "decision"; "cpu_seconds" of the process since the decision
        # before, in equal shares
        self.rows: list[dict[str, Any]] = []
        self._time_of_last_decision = process_time()

    def add(
        self,
        step: str,
        candidates: Sequence[Candidate],
        *,
        n_rows: int,
        n_folds: int = 0,
        member: str = "",
    ) -> None:
        """Add a decision; its candidates share the time since the decision before."""
        now = process_time()
        seconds = now - self._time_of_last_decision
        self._time_of_last_decision = now
        self.rows += [
            {
                "step": step,
                "member": member,
                "candidate": candidate.name,
                "loss": float(candidate.loss),
                "rows": int(n_rows),
                "folds": int(n_folds),
                "decision": candidate.decision,
                "cpu_seconds": seconds / len(candidates),
            }
            for candidate in candidates
        ]
        if self.verbose:
            subject = f"{step} of {member}" if member else step
            evidence = f"{n_rows} samples, {n_folds} folds" if n_folds else f"{n_rows} samples"
            outcomes = ", ".join(map(str, candidates))
            print_line(f"  {subject}: {outcomes}; {evidence}, {seconds:.1f} CPU s")

    def add_cut(self, work: str, decision: str, *, n_rows: int, member: str = "") -> None:
        """Add work that a limit of time ended or left out."""
        candidate = Candidate(work, decision=decision)
        self.add("time limit", [candidate], n_rows=n_rows, member=member)
