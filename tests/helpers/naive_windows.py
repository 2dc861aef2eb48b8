"""Slow, obvious twins of the windows, one after another."""

from itertools import product

import numpy as np


def naive_windows(sample, size, stride):
    """Flattened windows of one sample of shape (*grid, n_channels), with their positions."""
    grid = sample.shape[:-1]
    starts = [
        range(0, side - window + 1, step)
        for side, window, step in zip(grid, size, stride, strict=True)
    ]
    grains = {}
    for corner in product(*starts):
        cells = [
            sample[tuple(c + o for c, o in zip(corner, offset, strict=True))]
            for offset in product(*map(range, size))
        ]
        place = tuple(c // step for c, step in zip(corner, stride, strict=True))
        grains[place] = np.concatenate(cells)
    return grains


def naive_pool(vectors, positions, how):
    """Vectors by position; their mean or maximum over squares of two by two positions."""
    pools = {}
    for place in product(*map(range, positions)):
        pools.setdefault(tuple(i // 2 for i in place), []).append(vectors[place])
    return {place: getattr(np, how)(members, axis=0) for place, members in pools.items()}
