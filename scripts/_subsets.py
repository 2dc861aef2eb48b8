"""Stratified subsets of a training set, the larger ones holding the smaller, and their results."""

from __future__ import annotations

import numpy as np


def nested_subsets(y, fractions, seed) -> dict[float, np.ndarray]:
    """Rows of a share of every class.

    Parameters
    ----------
    y : array of shape (n_samples,)
    fractions : sequence of float
        In (0, 1].
    seed : int

    Returns
    -------
    dict of float to ndarray of int
        Rising row numbers for each fraction: of each class the share, rounded, and at least one
        row. A subset holds all smaller ones of the same seed.
    """
    wrong = [fraction for fraction in fractions if not 0 < fraction <= 1]
    if wrong:
        raise ValueError(f"fractions must lie in (0, 1], got {wrong}")
    random = np.random.default_rng(seed)
    by_class = [random.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    return {
        fraction: np.sort(
            np.concatenate([rows[: max(1, round(fraction * len(rows)))] for rows in by_class])
        )
        for fraction in fractions
    }


def by_subset(results) -> dict[tuple[str, float], dict[str, dict[int, float]]]:
    """Test accuracy in % by (set, share), method and seed."""
    found: dict[tuple[str, float], dict[str, dict[int, float]]] = {}
    for cell in results.values():
        of_share = found.setdefault((cell["dataset"], cell["fraction"]), {})
        of_share.setdefault(cell["method"], {})[cell["seed"]] = 100 * cell["accuracy"]
    return found
