"""What a deep forest decided while it grew, by which evidence, and what that cost."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np


def print_line(line: str) -> None:
    """Print what `verbose` asks for, in lines of at most 80 columns."""
    print(textwrap.fill(line, 80, subsequent_indent="    "))


class FitLog:
    """A list of decisions.

    Parameters
    ----------
    verbose : bool
        Whether they are printed as they are made.

    Attributes
    ----------
    rows : list of dict
        "step"; "member" that it is about, or ""; "candidate"; its "loss", log-loss or squared
        error, NaN if unknown; on how many "rows" and "folds", 0 for out-of-bag samples;
        "decision"; "cpu_seconds" of the process since the decision before, in equal shares.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self.rows: list[dict[str, Any]] = []
        self._noted = process_time()

    def note(
        self,
        step: str,
        member: str,
        found: Sequence[tuple[str, float, str]],
        n_rows: int,
        n_folds: int,
    ) -> None:
        """Keep candidates with their losses and decisions; they share the time since the last."""
        now = process_time()
        seconds, self._noted = now - self._noted, now
        for candidate, loss, decision in found:
            row = {"step": step, "member": member, "candidate": candidate, "loss": float(loss)}
            row |= {"rows": int(n_rows), "folds": int(n_folds), "decision": decision}
            self.rows.append(row | {"cpu_seconds": seconds / len(found)})
        if self.verbose:
            each = ", ".join(map(_shown, found))
            what = f"{step} of {member}" if member else step
            where = f"{n_rows} samples, {n_folds} folds" if n_folds else f"{n_rows} samples"
            print_line(f"  {what}: {each}; {where}, {seconds:.1f} CPU s")

    def cut(self, what: str, decision: str, n_rows: int, member: str = "") -> None:
        """Keep what a limit of time ended or left out."""
        self.note("time limit", member, [(what, np.nan, decision)], n_rows, 0)


def _shown(found: tuple[str, float, str]) -> str:
    candidate, loss, decision = found
    figures = [decision] if decision else []
    if not np.isnan(loss):
        figures.insert(0, f"{loss:.4f}")
    return f"{candidate} ({', '.join(figures)})"
