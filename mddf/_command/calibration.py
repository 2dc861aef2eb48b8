"""Calibration of probabilities on held-out rows: groups of rows, and their chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Expected events of a group, times its share of other rows: with 4, a group has 16 rows at
# probabilities near 0.5, and 80 rows with 4 events near 0.05. The intervals show how exact such a
# share is. Groups of 8 gave only two points on 400 rows with a good model. Not tuned further.
_INFORMATION_OF_GROUP = 4
_MIN_GROUPS = 3
_MAX_GROUPS = 10
# Certain predictions have no information. This share keeps groups of them apart.
_LEAST_INFORMATION_OF_ROW = 1e-9
# A scale of log-odds is harder to read, so it has to draw the points clearly further apart. In
# simulations the gain is 0.5 to 1.0 for classes above 5 %, and 1.1 to 1.9 below 2 %.
_GAIN_OF_LOG_ODDS = 1.2
_TICKS = np.array([1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5])
# Labels of ticks overlap if they are closer than this share of an axis of 3 inches.
_TICK_DISTANCE = 0.11


@dataclass(frozen=True)
class CalibrationGroups:
    """Groups of rows with similar probabilities, in increasing order.

    `share` is the share of events in a group, `low` and `high` the ends of its 95 % interval.
    """

    n_rows: np.ndarray
    mean_probability: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def group_rows(probability: np.ndarray, is_event: np.ndarray) -> CalibrationGroups:
    """Group rows by their probability, with equal expected variance of the number of events.

    Groups of equal numbers of rows would have hardly any event of a rare class, except the last
    one. The groups do not depend on the events, which would bias the shares.
    """
    value, block = np.unique(probability, return_inverse=True)  # equal values stay together
    n_rows = np.bincount(block)
    information = n_rows * np.maximum(value * (1 - value), _LEAST_INFORMATION_OF_ROW)
    n_groups = int(np.clip(information.sum() // _INFORMATION_OF_GROUP, _MIN_GROUPS, _MAX_GROUPS))
    middle = (np.cumsum(information) - information / 2) / information.sum()
    _, group_of_block = np.unique((middle * n_groups).astype(int), return_inverse=True)
    group = group_of_block[block]
    n_rows = np.bincount(group)
    n_events = np.bincount(group, weights=is_event).astype(int)
    intervals = [
        binomtest(events, rows).proportion_ci(method="wilson")
        for events, rows in zip(n_events.tolist(), n_rows.tolist(), strict=True)
    ]
    return CalibrationGroups(
        n_rows=n_rows,
        mean_probability=np.bincount(group, weights=probability) / n_rows,
        share=n_events / n_rows,
        low=np.array([interval.low for interval in intervals]),
        high=np.array([interval.high for interval in intervals]),
    )


def draw(axis: Axes, groups: CalibrationGroups) -> None:
    """Draw shares against probabilities, on the scale that draws the groups further apart.

    Both axes have the same limits, so that calibrated groups are on the dotted diagonal.
    """
    # So many rows cannot tell smaller probabilities from this one.
    smallest = 0.1 / groups.n_rows.sum()
    values = [groups.mean_probability, groups.share, groups.low, groups.high]
    inside = np.clip(np.concatenate(values), smallest, 1 - smallest)
    points = np.clip(groups.mean_probability, smallest, 1 - smallest)
    # Shares and ends of intervals that are 0 or 1 have no place on the scale of log-odds.
    reachable = np.concatenate([points, inside[(inside > smallest) & (inside < 1 - smallest)]])
    gain = _GAIN_OF_LOG_ODDS * _spread(points, _padded(inside))
    if _spread(logit(points), _padded(logit(reachable))) > gain:
        low, high = expit(_padded(logit(reachable)))
        axis.set(xscale="logit", yscale="logit")
        ticks = _log_odds_ticks(low, high)
        for side in (axis.xaxis, axis.yaxis):
            side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
            side.set_ticks([], minor=True)
    else:
        low, high = np.clip(_padded(inside), 0, 1)
    share, share_low, share_high = (
        np.clip(bound, low, high) for bound in (groups.share, groups.low, groups.high)
    )
    axis.plot([low, high], [low, high], ":", color="0.5")
    axis.errorbar(
        points, share, [share - share_low, share_high - share], fmt="o", capsize=3, clip_on=False
    )
    axis.set(xlim=(low, high), ylim=(low, high))


def _padded(values: np.ndarray) -> np.ndarray:
    """Limits of an axis that shows these values."""
    margin = 0.05 * np.ptp(values)
    return np.array([values.min() - margin, values.max() + margin])


def _spread(positions: np.ndarray, limits: np.ndarray) -> float:
    """Share of an axis that the densest half of the points covers."""
    n_half = len(positions) // 2 + 1
    positions = np.sort(positions)
    widths = positions[n_half - 1 :] - positions[: len(positions) - n_half + 1]
    return widths.min() / (limits[1] - limits[0])


def _log_odds_ticks(low: float, high: float) -> list[float]:
    """Round probabilities between the limits whose labels do not overlap."""
    ticks: list[float] = []
    least_distance = _TICK_DISTANCE * (logit(high) - logit(low))
    for tick in np.unique(np.concatenate([_TICKS, (1 - _TICKS).round(4)])).tolist():
        if low <= tick <= high and (not ticks or logit(tick) - logit(ticks[-1]) > least_distance):
            ticks.append(tick)
    return ticks
