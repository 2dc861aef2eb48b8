"""What users read of how a deep forest grew."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._deep_forest.fit_report import print_line
from mddf._deep_forest.fold_trainer import OutOfFoldLayer, leaderboard_row


class Report:
    """Figures of layers and members.

    Parameters
    ----------
    verbose : bool
        Whether lines are printed.

    Attributes
    ----------
    leaderboard : list of dict
        All members of all layers.
    """

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose
        self.leaderboard: list[dict[str, Any]] = []
        self._pruned: list[dict[str, Any]] = []  # rows, of members that were tried on one fold
        self._records: list[dict[str, Any]] = []

    def add(
        self,
        number: int,
        task: Any,
        found: OutOfFoldLayer,
        probabilities: np.ndarray,
        elapsed: float,
    ) -> None:
        """Keep a layer's figures: of its members, and of the average up to it."""
        n = len(found.members)
        seconds = np.full(n, elapsed / n) if number else found.seconds
        for member, vectors, of_one in zip(found.members, found.vectors, seconds, strict=True):
            row = leaderboard_row(number, member.name, task.figures(vectors), of_one)
            self.leaderboard.append(row)
        self._pruned += found.pruned
        figures = task.vote_figures(probabilities)
        self._records.append({"layer": number + 1} | figures | {"time": elapsed})
        if self.verbose:
            shown = [f"{name.replace('_', '-')} {figures[name]:.4f}" for name in task.shown]
            print_line(f"layer {number + 1}: {', '.join(shown)}, {elapsed:.1f} s")

    def print_members(self, number: int, weights: np.ndarray) -> None:
        """Members by layer and weight, those of weight 0, and those that lost the race."""
        if not self.verbose:
            return
        rows = zip(self.leaderboard, weights, strict=True)
        kept = [(w, row["layer"], row["member"]) for row, w in rows if w > 0]
        shares = [f"{name} ({layer}) {w:.2f}" for w, layer, name in sorted(kept, reverse=True)]
        print_line("  weights: " + ", ".join(shares))
        there = {name for _, layer, name in kept if layer == number + 1}
        for what, these in (("weight 0", self.leaderboard), ("left out", self._pruned)):
            names = [row["member"] for row in these if row["layer"] == number + 1]
            if names := [name for name in names if name not in there]:
                print_line(f"  {what}: " + ", ".join(names))

    def finish(self, weights: np.ndarray) -> None:
        """Put the members' weights into the leaderboard; 0 of layers that are not kept."""
        for row, weight in zip(self.leaderboard, weights.tolist(), strict=False):
            row["weight"] = weight
        self.leaderboard = sorted(self.leaderboard + self._pruned, key=lambda row: row["layer"])

    def history(self) -> dict[str, np.ndarray]:
        """Figures of all layers by name."""
        return {name: np.array([r[name] for r in self._records]) for name in self._records[0]}
