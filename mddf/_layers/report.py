"""Report of a deep forest's decisions, leaderboard of its members, history of its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from mddf._base.progress import is_told, tell_line
from mddf._layers.tasks import Task

if TYPE_CHECKING:
    from mddf._layers.stack import Layer

# Lines of `verbose` are wrapped to this number of columns.
LINE_WIDTH = 80


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
        if is_told(self.verbose):
            subject = f"{step} of {member}" if member else step
            evidence = f"{n_rows} samples, {n_folds} folds" if n_folds else f"{n_rows} samples"
            outcomes = ", ".join(map(str, candidates))
            line = f"  {subject}: {outcomes}; {evidence}, {seconds:.1f} CPU s"
            tell_line(line, verbose=self.verbose, width=LINE_WIDTH)

    def add_cut(self, work: str, decision: str, *, n_rows: int, member: str = "") -> None:
        """Add work that a limit of time ended or left out."""
        candidate = Candidate(work, decision=decision)
        self.add("time limit", [candidate], n_rows=n_rows, member=member)


def leaderboard_row(
    number: int, name: str, metrics: dict[str, float], seconds: float
) -> dict[str, Any]:
    """Row of the leaderboard for a member that has no weight yet."""
    unknown = {
        "weight": 0.0,
        "gain": np.nan,
        "error_correlation": np.nan,
        "seconds": float(seconds),
        "bytes": 0,
        "reason": "",
    }
    return {"layer": number + 1, "member": name} | metrics | unknown


class Leaderboard:
    """Metrics of members and layers."""

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose
        self.rows: list[dict[str, Any]] = []  # one for each member of each layer
        self._pruned_rows: list[dict[str, Any]] = []  # members that were left out after one fold
        self._layer_records: list[dict[str, Any]] = []

    def add_layer(
        self,
        number: int,
        task: Task,
        layer: Layer,
        *,
        average: np.ndarray,
        elapsed: float,
    ) -> None:
        """Add the metrics of a layer's members and of the average up to this layer."""
        for evidence in layer.evidence:
            # Members of the first layer are timed one by one; members of later layers grow
            # together.
            seconds = elapsed / len(layer.evidence) if number else evidence.seconds
            metrics = task.metrics(evidence.figure_vectors)
            self.rows.append(leaderboard_row(number, evidence.member.name, metrics, seconds))
        self._pruned_rows += layer.pruned
        metrics = task.ensemble_metrics(average)
        self._layer_records.append({"layer": number + 1} | metrics | {"time": elapsed})
        if is_told(self.verbose):
            figures = ", ".join(
                f"{name.replace('_', '-')} {metrics[name]:.4f}" for name in task.printed_metrics
            )
            line = f"layer {number + 1}: {figures}, {elapsed:.1f} s"
            tell_line(line, verbose=self.verbose, width=LINE_WIDTH)

    def print_weights(self, number: int, weights: np.ndarray) -> None:
        """Print the members by weight, then the members of a layer without weight."""
        if not is_told(self.verbose):
            return
        weighted = [
            (weight, row["layer"], row["member"])
            for row, weight in zip(self.rows, weights, strict=True)
            if weight > 0
        ]
        shares = [
            f"{name} ({layer}) {weight:.2f}"
            for weight, layer, name in sorted(weighted, reverse=True)
        ]
        tell_line("  weights: " + ", ".join(shares), verbose=self.verbose, width=LINE_WIDTH)
        kept_names = {name for _, layer, name in weighted if layer == number + 1}
        for label, rows in (("weight 0", self.rows), ("left out", self._pruned_rows)):
            names = [row["member"] for row in rows if row["layer"] == number + 1]
            names = [name for name in names if name not in kept_names]
            if names:
                line = f"  {label}: {', '.join(names)}"
                tell_line(line, verbose=self.verbose, width=LINE_WIDTH)

    def finish(self, reasons: Sequence[dict[str, Any]]) -> None:
        """Set the members' weights with their reasons, and sort rows by layer.

        Members of a last layer that is not in the average have weight 0.
        """
        for row in self.rows[len(reasons) :]:
            row["reason"] = f"layer {row['layer']} did not help"
        for row, reason in zip(self.rows, reasons, strict=False):
            row.update(reason)
        self.rows = sorted(self.rows + self._pruned_rows, key=lambda row: row["layer"])

    def history(self) -> dict[str, np.ndarray]:
        """Metrics of all layers by name."""
        names = self._layer_records[0]
        return {name: np.array([record[name] for record in self._layer_records]) for name in names}
