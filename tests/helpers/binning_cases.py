"""Columns that are hard to bin."""

import numpy as np


def make_column(rng, n):
    """Values with ties, of many scales and signs."""
    kind = rng.integers(7)
    if kind == 0:
        return rng.integers(0, 256, n).astype(float)
    if kind == 1:
        return rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
    if kind == 2:
        return rng.integers(-3000, 3000, n) / 4
    if kind == 3:
        return np.round(rng.exponential(size=n), int(rng.integers(3)))
    if kind == 4:
        return rng.choice([0.0, -0.0, 1e-320, -1e-320, 1e308, -1e308, 5.5], n)
    if kind == 5:
        return rng.integers(0, 1500, n).astype(float)
    return np.where(rng.random(n) < 0.6, 3.0, rng.normal(size=n))
