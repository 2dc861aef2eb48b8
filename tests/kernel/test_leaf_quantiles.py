"""Quantiles of targets in leaves, against sorted sums of weights."""

import numpy as np
import pytest
from compiled import _core


def made(n_samples=400, n_trees=6, n_rows=50, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, 40)
    leaf_start = np.concatenate([[0], counts.cumsum()])
    return {
        "leaves": rng.integers(0, 40, (n_rows, n_trees)),
        "leaf_start": leaf_start,
        "rows": rng.integers(0, n_samples, leaf_start[-1]).astype(np.int32),
        "weights": rng.integers(1, 4, n_samples).astype(float),
        "rank": rng.permutation(n_samples).astype(np.int32),
        "shares": np.array([1e-9, 0.05, 0.3, 0.5, 0.77, 1]) - 5e-10,  # no ties with rounded sums
    }


def slow(leaves, leaf_start, rows, weights, rank, shares):
    result = []
    for of_row in leaves:
        total = {}
        for leaf in of_row:
            leaf_rows = rows[leaf_start[leaf] : leaf_start[leaf + 1]]
            for row in leaf_rows:
                share = weights[row] / weights[leaf_rows].sum() / len(of_row)
                total[rank[row]] = total.get(rank[row], 0) + share
        ranks = sorted(total)
        reached = np.cumsum([total[r] for r in ranks])
        result.append([ranks[int(np.argmax(reached >= share))] for share in shares])
    return np.array(result)


def test_quantiles():
    for n_samples in [1, 2, 30, 400, 5000, 100_000]:
        arguments = made(n_samples)
        np.testing.assert_array_equal(_core.leaf_quantiles(**arguments), slow(**arguments))


def test_hostile_arrays():
    for change, message in [
        ({"leaves": np.array([[40]])}, "leaves"),
        ({"leaves": np.array([[-1]])}, "leaves"),
        ({"leaf_start": np.array([0, 5, 3])}, "leaf_start"),
        ({"leaf_start": np.array([0, 10**9])}, "leaf_start"),
        ({"rows": np.full(400, 400, np.int32)}, "rows"),
        ({"rows": np.full(400, -1, np.int32)}, "rows"),
        ({"rank": np.zeros(3, np.int32)}, "rank"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.leaf_quantiles(**made() | change)
