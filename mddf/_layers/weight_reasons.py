"""Reasons for the weights of members: the loss of the average with and without each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf._layers.stack import Average, weighted_mean
from mddf._layers.tasks import MIN_WEIGHT, Task

# From this correlation on, a text calls the errors of a member similar to those of the others: the
# others then explain 64 % of the variance of its errors. Set by hand.
_SIMILAR = 0.8
# Changes that round to 0 at four decimals are called no change.
_SMALLEST_CHANGE = 0.00005


def weight_reasons(
    task: Task, votes: Sequence[np.ndarray], average: Average
) -> list[dict[str, Any]]:
    """Find the reasons for the weights of all members, from their out-of-fold votes.

    Each has columns of the leaderboard: "weight"; "gain", the decrease of the average's loss by
    the member at its weight, or at `MIN_WEIGHT` if it has none (with a score of the user's,
    increase of the score), NaN for the only member; "error_correlation" of the member's
    out-of-fold errors with the average of the others; and "reason", a text with these.
    """
    average_loss = task.decision_loss(average.mean)
    return [
        _reason(task, votes, average, number, average_loss=average_loss)
        for number in range(len(votes))
    ]


def _reason(
    task: Task,
    votes: Sequence[np.ndarray],
    average: Average,
    number: int,
    *,
    average_loss: float,
) -> dict[str, Any]:
    vote = votes[number]
    weight = float(average.weights[number])
    other_weights = average.weights.copy()
    other_weights[number] = 0.0
    if not other_weights.any():
        return {
            "weight": weight,
            "gain": np.nan,
            "error_correlation": np.nan,
            "reason": "the only member with a weight",
        }
    if weight == 0:
        rest = average.mean
        gain = average_loss - task.decision_loss((1 - MIN_WEIGHT) * rest + MIN_WEIGHT * vote)
    else:
        rest = weighted_mean(other_weights / other_weights.sum(), votes)
        gain = task.decision_loss(rest) - average_loss
    correlation = _correlation(task.errors(vote), task.errors(rest), task.weight)
    if weight > 0:
        text = f"without it, {_change(task, -gain)}"
    else:
        comparison = _comparison(correlation, helps=gain > 0)
        text = f"{comparison}; at weight {MIN_WEIGHT}, {_change(task, gain)}"
    return {
        "weight": weight,
        "gain": gain,
        "error_correlation": correlation,
        "reason": text,
    }


def _change(task: Task, gain: float) -> str:
    """Describe the change of the loss, or of the user's score, by a gain."""
    if abs(gain) < _SMALLEST_CHANGE:
        return f"the {task.score_name} would not change"
    rises = gain > 0 if task.score is not None else gain < 0
    return f"the {task.score_name} would {'rise' if rises else 'fall'} by {abs(gain):.4f}"


def _comparison(correlation: float, *, helps: bool) -> str:
    """Compare the errors of a member without weight with the errors of the others."""
    if np.isnan(correlation):
        return "its errors do not vary"
    if correlation >= _SIMILAR:
        return f"its errors are similar to those of the others (correlation {correlation:.2f})"
    too_large = "" if helps else ", but are too large"
    return f"its errors differ from those of the others (correlation {correlation:.2f}){too_large}"


def _correlation(errors: np.ndarray, others: np.ndarray, weight: np.ndarray | None) -> float:
    """Correlation of the errors of samples with weights; NaN if either does not vary."""
    deviations = [part - np.average(part, axis=0, weights=weight) for part in (errors, others)]
    first, second = (
        np.average(np.square(part), axis=0, weights=weight).sum() for part in deviations
    )
    covariance = np.average(deviations[0] * deviations[1], axis=0, weights=weight).sum()
    if first <= 0 or second <= 0:
        return np.nan
    return float(covariance / np.sqrt(first * second))
