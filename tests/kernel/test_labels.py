"""Several binary outputs, whose sums the kernel counts in 32 bits."""

from dataclasses import replace

import naive
import numpy as np
from compiled import _core
from forest_cases import same_trees
from value_cases import check_value_tree, make_values

ONE, INT32_MAX = 2**61, 2**31 - 1


def make_labels(rng, n_rows, n_outputs, **options):
    """A case of labels, some of them constant."""
    case = make_values(rng, n_rows, n_outputs=n_outputs, kind="plain", **options)
    share = rng.choice([0, 0.2, 0.5, 1], n_outputs)
    is_set = rng.random((n_rows, n_outputs)) < share
    leaning = (case.codes[:, :1] + np.arange(n_outputs)) % 2 == 1
    is_set = np.where(rng.random(is_set.shape) < 0.5, is_set, leaning)
    return replace(case, fixed=is_set * np.int64(ONE), scale=rng.choice([0.5, 1], n_outputs))


def test_every_split_is_the_best():
    for weighted in [False, True]:
        for categories in [0.0, 0.5]:
            rng = np.random.default_rng([int(2 * categories), weighted])
            for seed in range(12):
                n_rows, n_outputs = int(rng.integers(2, 25)), int(rng.integers(2, 10))
                case = make_labels(rng, n_rows, n_outputs, missing=0.1, categories=categories)
                if weighted:
                    weights = rng.integers(0, 5, n_rows).astype(float)
                    weights[rng.integers(n_rows)] = 1
                    case = replace(case, weights=weights)
                check_value_tree(naive.decode(case.grow([seed]))[0], case)


OPTIONS = [
    {},
    {"max_features": 2},
    {"loss": _core.Loss.ENTROPY},
    {"random_thresholds": True, "max_features": 1},
    {"random_thresholds": True, "max_features": 2, "loss": _core.Loss.ENTROPY},
    {"random_thresholds": True, "max_features": 1, "min_samples_leaf": 3},
    {"min_samples_leaf": 2, "min_weight_leaf": 0.05},
    {"max_leaf_nodes": 9},
    {"min_decrease": 0.01, "prune": 0.005},
]


def test_label_trees_equal_trees_of_general_numbers():
    """An unused row with another value makes the kernel use its general sums."""
    for options in OPTIONS:
        for weights in [None, "few", "most", "more", "real"]:
            rng = np.random.default_rng(0)
            for n_rows, n_outputs in ((60, 2), (90, 3), (300, 4), (130, 11), (400, 17)):
                case = make_labels(rng, n_rows, n_outputs, missing=0.1, categories=0.3)
                if weights is not None:
                    most = {"most": INT32_MAX // (n_rows - 1), "more": 2**28}.get(weights, 4)
                    result = rng.random(n_rows) * most
                    result = result if weights == "real" else np.ceil(result)
                    result[0] = most
                    case = replace(case, weights=result)
                fixed = case.fixed.copy()
                fixed[-1] = 3
                rows = np.arange(n_rows - 1, dtype=np.int32)
                for drawn in ({}, {"n_draws": n_rows - 1}):
                    arguments = {
                        "rows": rows,
                        "held_out": rows[::3].copy(),
                        "importances": True,
                        **options,
                        **drawn,
                    }
                    trees, *figures = case.grow_all((1, 2), **arguments)
                    other_trees, *same = replace(case, fixed=fixed).grow_all((1, 2), **arguments)
                    assert same_trees(trees, other_trees)
                    for figure, other in zip(figures, same, strict=True):
                        np.testing.assert_array_equal(figure, other)
