"""Shapley values in the kernel: a tree by hand, and arrays that do not fit."""

import numpy as np
import pytest
from compiled import _core

# A root and two leaves, whose weights are the values of the integral at its only point, 1/2. The
# row goes left with the share 1/4 of the background: o - z = 3/4 on the left, -3/4 on the right.
SHARE = 0.25


def arguments():
    known, unknown = 0.5 + 0.5 * SHARE, 0.5 * (1 - SHARE)
    ratio = np.array([[1, known, 0.5 + 0.5 * (1 - SHARE)], [1, 0.5 * SHARE, unknown], [1, 1, 1]])
    slope = np.array([[0, 0.75 / known, 0], [0, 0, -0.75 / unknown], [0, 0, 0]])
    return {
        "start": np.array([0, 3]),
        "left": np.array([1, -1, -1]),
        "before": np.array([-1, -1, -1]),
        "group": np.array([0, 1, 1]),
        "value": np.array([[np.nan], [8.0], [4.0]]),
        "weights": np.array([1.0]),
        "ratio": ratio[..., None],
        "slope": slope[..., None],
        "leads": np.array([[1, 1, 0], [1, 1, 0]], np.uint8),
        "contributions": np.ones((2, 2, 1)),
        "interactions": np.ones((2, 2, 2, 1)),
    }


def test_a_tree_by_hand():
    case = arguments()
    _core.add_shapley_values(**case)
    # The prediction 8 less the mean 0.25 * 8 + 0.75 * 4 = 5 belongs to group 1.
    np.testing.assert_allclose(case["contributions"][..., 0], [[1, 4], [1, 4]])
    assert np.all(case["interactions"] == 1)  # of a single group
    again = arguments() | {"interactions": None}
    _core.add_shapley_values(**again)
    np.testing.assert_array_equal(again["contributions"], case["contributions"])


def test_refusals():
    for name, value in [
        ("start", [0, 2]),
        ("start", [1, 3]),
        ("start", [0, 0, 3]),
        ("start", [3]),
        ("start", []),
        ("left", [1, -1]),
        ("left", [0, -1, -1]),
        ("left", [2, -1, -1]),
        ("left", [-1, -1, -1]),
        ("left", [-2, -1, -1]),
        ("left", [1, 1, -1]),
        ("before", [-1, -1]),
        ("before", [-1, 1, -1]),
        ("before", [-1, 0, -1]),
        ("before", [-2, -1, -1]),
        ("group", [0, 2, 1]),
        ("group", [0, 1, -1]),
        ("value", [[1.0], [2.0]]),
        ("value", [[1.0, 2.0]] * 3),
        ("weights", [0.5, 0.5]),
        ("ratio", np.ones((3, 2, 1))),
        ("slope", np.ones((2, 3, 1))),
        ("leads", np.ones((2, 2), np.uint8)),
        ("leads", np.ones((1, 3), np.uint8)),
        ("leads", np.ones((2, 3), bool)),
        ("contributions", np.ones((1, 2, 1))),
        ("contributions", np.ones((2, 2, 2))),
        ("interactions", np.ones((2, 2, 1, 1))),
        ("interactions", np.ones((2, 2, 2))),
    ]:
        case = arguments()
        dtype = case[name].dtype if isinstance(value, list) else None
        with pytest.raises((ValueError, TypeError)):
            _core.add_shapley_values(**case | {name: np.asarray(value, dtype)})


def test_other_types():
    for name in [name for name in arguments() if name != "interactions"]:
        case = arguments()
        with pytest.raises(TypeError):
            _core.add_shapley_values(**case | {name: case[name].astype(np.float32)})
        with pytest.raises(TypeError):
            _core.add_shapley_values(**case | {name: None})


def test_cancelled():
    cancel = _core.Cancel()
    cancel.stop()
    with pytest.raises(_core.Cancelled):
        _core.add_shapley_values(**arguments(), cancel=cancel)
