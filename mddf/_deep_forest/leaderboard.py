"""Leaderboard of a deep forest's members, and the history of its layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._deep_forest.fit_report import print_line
from mddf._deep_forest.out_of_fold_layer import OutOfFoldLayer
from mddf._training.tasks import Task


def leaderboard_row(
    number: int, name: str, metrics: dict[str, float], seconds: float
) -> dict[str, Any]:
    """Row of the leaderboard for a member that has no weight yet."""
    unknown = {"weight": 0.0, "seconds": float(seconds), "bytes": 0}
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
        layer: OutOfFoldLayer,
        *,
        average: np.ndarray,
        elapsed: float,
    ) -> None:
        """Add the metrics of a layer's members and of the average up to this layer."""
        n_members = len(layer.members)
        # Members of the first layer are timed one by one, those of later layers grow together.
        seconds = np.full(n_members, elapsed / n_members) if number else layer.seconds
        for member, vectors, member_seconds in zip(
            layer.members, layer.vectors, seconds, strict=True
        ):
            metrics = task.metrics(vectors)
            self.rows.append(leaderboard_row(number, member.name, metrics, member_seconds))
        self._pruned_rows += layer.pruned
        metrics = task.ensemble_metrics(average)
        self._layer_records.append({"layer": number + 1} | metrics | {"time": elapsed})
        if self.verbose:
            figures = ", ".join(
                f"{name.replace('_', '-')} {metrics[name]:.4f}" for name in task.printed_metrics
            )
            print_line(f"layer {number + 1}: {figures}, {elapsed:.1f} s")

    def print_weights(self, number: int, weights: np.ndarray) -> None:
        """Print the members by weight, and those of a layer that have no weight."""
        if not self.verbose:
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
        print_line("  weights: " + ", ".join(shares))
        kept_names = {name for _, layer, name in weighted if layer == number + 1}
        for label, rows in (("weight 0", self.rows), ("left out", self._pruned_rows)):
            names = [row["member"] for row in rows if row["layer"] == number + 1]
            names = [name for name in names if name not in kept_names]
            if names:
                print_line(f"  {label}: " + ", ".join(names))

    def finish(self, weights: np.ndarray) -> None:
        """Set the members' weights, 0 in layers that are not kept, and sort rows by layer."""
        for row, weight in zip(self.rows, weights.tolist(), strict=False):
            row["weight"] = weight
        self.rows = sorted(self.rows + self._pruned_rows, key=lambda row: row["layer"])

    def history(self) -> dict[str, np.ndarray]:
        """Metrics of all layers by name."""
        names = self._layer_records[0]
        return {name: np.array([record[name] for record in self._layer_records]) for name in names}
