"""Linear functions as values of leaves: which numbers they read, and how strongly they shrink."""

from __future__ import annotations

import os

import numpy as np

from mddf._binning.bins import Bins

SLOPE_L2 = float(os.environ.get("SLOPE_L2", "3"))
MOST_POSITION = 256
KIND = os.environ.get("POSITIONS", "code")


def code_positions(bins: Bins) -> np.ndarray:
    positions = np.zeros((bins.n_columns, 256), np.int16)
    for column in range(bins.n_columns):
        if bins.categorical[column]:
            continue
        n = int(bins.start[column + 1] - bins.start[column])
        values = bins.values[bins.start[column] : bins.start[column + 1]]
        if KIND == "code":
            x = (2 * np.arange(n) + 1 - n) / n
        else:
            median = np.median(values)
            q = np.quantile(values, [0.25, 0.75])
            scale = (q[1] - q[0]) / 1.35 or values.std() or 1.0
            z = (values - median) / scale
            x = z / np.sqrt(1 + (z / 3) ** 2) / 3
        positions[column, :n] = np.rint(MOST_POSITION * x)
    return positions
