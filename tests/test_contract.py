"""The kernel refuses what does not fit, and never touches memory that is not there."""

import numpy as np
import pytest
from forest_cases import grow, grow_arguments

from mddf import _core

REFUSED = (ValueError, TypeError)


ARRAYS = [name for name, value in grow_arguments().items() if isinstance(value, np.ndarray)]


def changed(name, index, value):
    array = grow_arguments()[name].copy()
    array[index] = value
    return {name: array}


def test_these_arguments_are_fine():
    assert grow().n_trees == 2
    assert grow(seeds=np.empty(0, np.uint64), importances=np.zeros((0, 3))).n_trees == 0


@pytest.mark.parametrize("name", ARRAYS)
def test_wrong_types_and_shapes(name):
    right = grow_arguments()[name]
    other = np.float32 if right.dtype != np.float32 else np.float64
    wrong = [
        right.astype(other),
        right.astype(np.int16),
        right.astype(object),
        right[..., None],
        right.ravel()[0],
        right.tolist(),
        "text",
        np.zeros((1,) * right.ndim, right.dtype),
    ]
    if len(right) > 1:
        wrong += [right[:-1], np.repeat(right, 2, axis=0)]
    if name in {"columns", "rows", "seeds", "held_out_rows"}:
        wrong = wrong[:7]  # any length may be right
    if right.ndim == 1:
        wrong.append(np.repeat(right, 2)[::2])
    elif right.shape[0] > 1:
        wrong.append(np.asfortranarray(right))
    for value in wrong:
        with pytest.raises(REFUSED):
            grow(**{name: value})


@pytest.mark.parametrize("name", ARRAYS)
def test_none_only_where_it_has_a_meaning(name):
    optional = {"weights", "cumulative", "importances", "by_column"}
    if name in optional:
        grow(**{name: None})
    else:
        with pytest.raises(REFUSED):
            grow(**{name: None})


@pytest.mark.parametrize("name", ["sums", "n_trees", "importances"])
def test_arrays_that_cannot_be_written(name):
    array = grow_arguments()[name]
    array.flags.writeable = False
    with pytest.raises(REFUSED):
        grow(**{name: array})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (changed("bins", (3, 1), 200), "bins"),
        (changed("by_column", (2, 5), 200), "by_column"),
        (changed("bin_start", 0, 1), "bin_start"),
        (changed("bin_start", -1, 10**12), "bin_start"),
        (changed("bin_start", 1, -5), "bin_start"),
        (changed("bin_start", 2, 10**15), "bin_start"),
        (changed("labels", 4, 3), "labels"),
        (changed("columns", 0, 3), "columns"),
        (changed("columns", 0, -1), "columns"),
        ({"columns": np.empty(0, np.int32)}, "columns"),
        (changed("rows", 0, 20), "rows"),
        (changed("rows", 0, -1), "rows"),
        ({"rows": np.empty(0, np.int32)}, "rows"),
        (changed("held_out_rows", 1, 20), "held_out_rows"),
        (changed("held_out_rows", 1, -1), "held_out_rows"),
        (changed("weights", 5, -1.0), "weights"),
        (changed("weights", 5, np.nan), "weights"),
        (changed("weights", 5, np.inf), "weights"),
        ({"weights": np.zeros(20)}, "weight"),
        (changed("cumulative", 5, 100), "cumulative"),
        ({"cumulative": np.zeros(20, np.uint64)}, "cumulative"),
        ({"n_classes": 0}, "n_classes"),
        ({"n_classes": -1}, "n_classes"),
        ({"n_classes": 65536}, "n_classes"),
        ({"n_draws": -1}, "n_draws"),
        ({"n_draws": 2**31}, "n_draws"),
        ({"max_features": 0}, "max_features"),
        ({"max_depth": -1}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_weight_leaf": -0.1}, "min_weight_leaf"),
        ({"min_weight_leaf": float("nan")}, "min_weight_leaf"),
        ({"balance": True, "weights": None}, "balance"),
        ({"out_of_bag": True}, "out_of_bag"),
        ({"sums": None}, "sums"),
        ({"n_trees": None}, "n_trees"),
        ({"held_out_rows": None}, "held_out_rows"),
        ({"sums": None, "n_trees": None}, "sums"),
        (changed("rows", 0, -7), "got -7 at position 0"),
        ({"max_features": -3}, "got -3"),
        ({"sums": np.zeros((4, 4))}, "sums"),
        ({"importances": np.zeros((2, 4))}, "importances"),
        (
            {"out_of_bag": True, "held_out_rows": None, "n_draws": 0, "cumulative": None},
            "out_of_bag",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        grow(**changes)


@pytest.mark.parametrize(
    "name", ["n_classes", "n_draws", "max_features", "max_depth", "min_samples_leaf"]
)
def test_numbers_that_are_none(name):
    for value in (2**70, -(2**70), 1.5, "3", None, np.ones(2)):
        with pytest.raises(TypeError):
            grow(**{name: value})


def test_limits_of_any_size_are_fine():
    most = 2**63 - 1
    for name in ("min_samples_split", "min_samples_leaf", "max_features", "max_depth"):
        trees = grow(**{name: most})
        if name.startswith("min"):
            assert trees.n_nodes == 2
    assert grow(min_samples_split=-most).n_nodes > 2
    assert grow(min_weight_leaf=float("inf")).n_nodes == 2


def test_missing_arguments():
    with pytest.raises(TypeError):
        _core.grow()
    with pytest.raises(TypeError):
        _core.grow(**grow_arguments(), surprise=1)


# Prediction


@pytest.fixture
def trees():
    return grow(max_depth=2)


@pytest.mark.parametrize("name", ["add_probabilities", "leaf_indices"])
def test_prediction(trees, name):
    bins = grow_arguments()["bins"]
    method = getattr(trees, name)
    out = np.zeros((20, 3)) if name == "add_probabilities" else np.zeros((20, 2), np.int64)
    method(bins, 0, 20, out)
    method(bins, 20, 20, out)
    frozen = out.copy()
    frozen.flags.writeable = False
    wrong = [
        (bins[:, :2].copy(), 0, 20, out),
        (bins[:10], 0, 10, out),
        (bins.astype(np.int64), 0, 20, out),
        (np.asfortranarray(bins), 0, 20, out),
        (bins, -1, 20, out),
        (bins, 0, 21, out),
        (bins, 5, 4, out),
        (bins, 0, 2**63 - 1, out),
        (bins, 0, 20, out[:, :1].copy()),
        (bins, 0, 20, out.astype(np.float32)),
        (bins, 0, 20, np.asfortranarray(out)),
        (bins, 0, 20, frozen),
        (bins, 0, 20, None),
        (None, 0, 20, out),
    ]
    for arguments in wrong:
        with pytest.raises(REFUSED):
            method(*arguments)


# Binning


def unaligned(x):
    if x.itemsize == 1:
        return None
    copy = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    copy[:] = x
    return copy


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
def test_find_bins(dtype):
    x = np.arange(12).reshape(6, 2).astype(dtype)
    _core.find_bins(x, None, 0, 2, 255)
    wrong = [
        (x.ravel(), None, 0, 2, 255),
        (x.astype(np.float16), None, 0, 2, 255),
        (x.astype(complex), None, 0, 2, 255),
        (x.astype(">f8"), None, 0, 2, 255),
        (x.tolist(), None, 0, 2, 255),
        (unaligned(x), None, 0, 2, 255),
        (x, np.ones(5), 0, 2, 255),
        (x, np.ones(6, np.float32), 0, 2, 255),
        (x, np.ones((6, 1)), 0, 2, 255),
        (x, None, -1, 2, 255),
        (x, None, 0, 3, 255),
        (x, None, 2, 1, 255),
        (x, None, 0, 2, 1),
        (x, None, 0, 2, 256),
        (x, None, 0, 2, 2**40),
    ]
    for arguments in wrong:
        with pytest.raises(REFUSED):
            _core.find_bins(*arguments)


def apply_arguments():
    return {
        "x": np.arange(12.0).reshape(6, 2),
        "edges": np.array([0.5, np.inf, np.inf]),
        "bin_start": np.array([0, 2, 3]),
        "categorical": np.zeros(2, np.uint8),
        "first": 0,
        "last": 6,
        "out": np.zeros((6, 3), np.uint8),
        "first_column": 1,
        "by_column": np.zeros((3, 6), np.uint8),
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"x": np.zeros((5, 2))},
        {"x": np.zeros((6, 3))},
        {"edges": np.array([0.5, np.inf])},
        {"edges": np.array([0.5, 1, 2], np.float32)},
        {"bin_start": np.array([0, 3])},
        {"bin_start": np.array([0, 0, 3])},
        {"bin_start": np.array([0, -1, 3])},
        {"bin_start": np.array([0, 4, 3])},
        {"bin_start": np.array([1, 2, 3])},
        {"bin_start": np.array([0, 2, 3], np.int32)},
        {"edges": np.zeros(300), "bin_start": np.array([0, 299, 300])},
        {"categorical": np.zeros(3, np.uint8)},
        {"categorical": np.zeros(2, bool)},
        {"first": -1},
        {"last": 7},
        {"first": 4, "last": 3},
        {"out": np.zeros((5, 3), np.uint8)},
        {"out": np.zeros((6, 2), np.uint8)},
        {"out": np.zeros((6, 3), np.int8)},
        {"out": np.zeros((6, 6), np.uint8)[:, ::2]},
        {"out": None},
        {"first_column": 2},
        {"first_column": -1},
        {"first_column": 2**63 - 1},
        {"first_column": 2**63 - 2},
        {"by_column": np.zeros((6, 3), np.uint8)},
        {"by_column": np.zeros((2, 6), np.uint8)},
        {"by_column": np.zeros((3, 6))},
    ],
)
def test_apply_bins(changes):
    _core.apply_bins(**apply_arguments())
    with pytest.raises(REFUSED):
        _core.apply_bins(**{**apply_arguments(), **changes})


def test_apply_bins_writes_nowhere_else():
    arguments = apply_arguments()
    arguments["out"][:] = arguments["by_column"][:] = 77
    _core.apply_bins(**{**arguments, "first": 2, "last": 4})
    untouched = np.full((6, 3), 77)
    untouched[2:4, 1:] = [[1, 0], [1, 0]]
    assert np.array_equal(arguments["out"], untouched)
    assert np.array_equal(arguments["by_column"], untouched.T)


def test_edges_that_make_no_sense_give_codes_in_range():
    rng = np.random.default_rng(1)
    for n_rows in (9, 700):
        for _ in range(50):
            edges = rng.normal(size=20)
            edges[rng.random(20) < 0.3] = rng.choice([np.nan, np.inf, -np.inf, 1e308])
            x = rng.choice([np.nan, np.inf, -np.inf, 0, 1e308, -1e308, 0.3], (n_rows, 1))
            out = np.zeros((n_rows, 1), np.uint8)
            start, categorical = np.array([0, 20]), np.zeros(1, np.uint8)
            _core.apply_bins(x, edges, start, categorical, 0, n_rows, out)
            assert ((out < 20) | (out == 255)).all()


def test_hash_rows():
    bins, labels = np.zeros((4, 3), np.uint8), np.zeros(4, np.uint16)
    _core.hash_rows(bins, 3, labels)
    wrong = [
        (bins, 4, labels),
        (bins, -1, labels),
        (bins, 3, labels[:3]),
        (bins, 3, labels.astype(np.int64)),
        (bins.astype(np.int8), 3, labels),
        (bins.ravel(), 3, labels),
    ]
    for arguments in wrong:
        with pytest.raises(REFUSED):
            _core.hash_rows(*arguments)
