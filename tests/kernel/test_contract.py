"""The kernel refuses invalid arguments, and never accesses memory out of bounds."""

import numpy as np
import pytest
from compiled import _core
from forest_cases import NO_LIMIT, OUT_OF_BAG, kernel_case, same_trees, trees_from_reader

REFUSED = (ValueError, TypeError)
CASE = kernel_case()


def table_arguments():
    return {
        "codes": CASE.codes.copy(),
        "by_column": np.ascontiguousarray(CASE.codes.T),
        "values": CASE.values,
        "bin_start": CASE.start,
        "categorical": CASE.categorical,
    }


def sampling_arguments():
    return {
        "rows": CASE.rows,
        "n_draws": 9,
        "cumulative": np.arange(1, 21, dtype=np.uint64),
        "weights": np.ones(20),
        "balance": True,
    }


MAKERS = {
    "table": (_core.BinnedTable, table_arguments),
    "target": (_core.ClassTarget, lambda: {"labels": CASE.labels, "n_classes": 3}),
    "sampling": (_core.Sampling, sampling_arguments),
}
ARRAYS = [
    (of, name)
    for of, (_, arguments) in MAKERS.items()
    for name, value in arguments().items()
    if isinstance(value, np.ndarray)
]


def make(of, **changes):
    maker, arguments = MAKERS[of]
    return maker(**{**arguments(), **changes})


def grow_arguments():
    return {
        "table": make("table"),
        "target": make("target"),
        "sampling": make("sampling"),
        "options": _core.TreeOptions(),
        "seeds": np.arange(2, dtype=np.uint64),
        "columns": np.arange(3, dtype=np.int32),
        "held_out": np.arange(4, dtype=np.int32),
        "importances": True,
    }


def grow(**changes):
    """Call _core.grow with some of grow_arguments() changed."""
    reader, *rest = _core.grow(**{**grow_arguments(), **changes})
    return trees_from_reader(reader), *rest


def test_these_arguments_are_fine():
    trees, sums, n_trees, importances = grow()
    assert trees.n_trees == 2
    assert sums.shape == (4, 3)
    assert n_trees.tolist() == [2] * 4
    assert importances.shape == (2, 3)
    trees, sums, n_trees, importances = grow(seeds=np.empty(0, np.uint64))
    assert trees.n_trees == len(importances) == 0
    assert grow(held_out=None, importances=False)[1:] == (None, None, None)


def wrong_forms(right, any_length):
    other = np.float32 if right.dtype != np.float32 else np.float64
    wrong = [
        right.astype(other),
        right.astype(np.int16),
        right.astype(object),
        right[..., None],
        right.ravel()[0],
        right.tolist(),
        "text",
    ]
    if not any_length:
        wrong += [np.zeros((1,) * right.ndim, right.dtype), right[:-1]]
        wrong.append(np.repeat(right, 2, axis=0))
    if right.ndim == 1:
        wrong.append(np.repeat(right, 2)[::2])
    else:
        wrong.append(np.asfortranarray(right))
    return wrong


def test_wrong_types_and_shapes():
    for of, name in ARRAYS:
        # The lengths of these are compared with the table's when something is grown.
        any_length = (of, name) in {("target", "labels"), ("sampling", "weights")}
        for value in wrong_forms(MAKERS[of][1]()[name], any_length):
            with pytest.raises(REFUSED):
                make(of, **{name: value})


def test_wrong_types_for_growing():
    for name in ["seeds", "columns", "held_out"]:
        for value in wrong_forms(grow_arguments()[name], True):
            with pytest.raises(REFUSED):
                grow(**{name: value})


def test_none_is_only_accepted_where_it_has_a_meaning():
    for of, name in ARRAYS:
        if name in {"cumulative", "by_column"}:
            make(of, **{name: None})
        elif name == "weights":
            make(of, weights=None, balance=False)
        else:
            with pytest.raises(REFUSED):
                make(of, **{name: None})


def changed(of, name, index, value):
    array = MAKERS[of][1]()[name].copy()
    array[index] = value
    return of, {name: array}


def test_wrong_values_are_refused_by_name():
    for wrong, message in [
        (changed("table", "codes", (3, 1), 200), "codes"),
        (changed("table", "by_column", (2, 5), 200), "by_column"),
        (changed("table", "bin_start", 0, 1), "bin_start"),
        (changed("table", "bin_start", -1, 10**12), "bin_start"),
        (changed("table", "bin_start", 1, -5), "bin_start"),
        (changed("table", "bin_start", 2, 10**15), "bin_start"),
        (changed("target", "labels", 4, 3), "labels"),
        (("target", {"n_classes": 0}), "n_classes"),
        (("target", {"n_classes": -1}), "n_classes"),
        (("target", {"n_classes": 65536}), "n_classes"),
        (changed("sampling", "rows", 0, -1), "rows"),
        (changed("sampling", "rows", 0, -7), "got -7 at position 0"),
        (("sampling", {"rows": np.empty(0, np.int32)}), "rows"),
        (changed("sampling", "weights", 5, -1.0), "weights"),
        (changed("sampling", "weights", 5, np.nan), "weights"),
        (changed("sampling", "weights", 5, np.inf), "weights"),
        (changed("sampling", "cumulative", 5, 100), "cumulative"),
        (("sampling", {"cumulative": np.zeros(20, np.uint64)}), "cumulative"),
        (("sampling", {"n_draws": -1}), "n_draws"),
        (("sampling", {"n_draws": 2**31}), "n_draws"),
        (("sampling", {"weights": None}), "balance"),
    ]:
        of, changes = wrong
        with pytest.raises(ValueError, match=message):
            make(of, **changes)


def test_incompatible_options_are_refused_by_name():
    for changes, message in [
        ({"columns": np.array([0, 3], np.int32)}, "columns"),
        ({"columns": np.array([-1], np.int32)}, "columns"),
        ({"columns": np.empty(0, np.int32)}, "columns"),
        ({"held_out": np.array([1, 20], np.int32)}, "held_out"),
        ({"held_out": np.array([-1], np.int32)}, "held_out"),
        (
            {"held_out": OUT_OF_BAG, "sampling": make("sampling", n_draws=0, cumulative=None)},
            "held_out",
        ),
        ({"sampling": make("sampling", weights=np.zeros(20))}, "weight"),
        ({"sampling": make("sampling", weights=np.ones(19))}, "weights must have length 20"),
        ({"target": make("target", labels=CASE.labels[:-1])}, "target must have length 20"),
        (
            {"sampling": make("sampling", rows=np.full(20, 20, np.int32))},
            "rows of the table, which has 20, got 20",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            grow(**changes)


def test_wrong_options_are_refused_by_name():
    for options, message in [
        ({"max_features": 0}, "max_features"),
        ({"max_features": -3}, "got -3"),
        ({"max_depth": -1}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_weight_leaf": -0.1}, "min_weight_leaf"),
        ({"min_weight_leaf": float("nan")}, "min_weight_leaf"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.TreeOptions(**options)


def test_values_that_are_not_numbers():
    for value in [2**70, -(2**70), 1.5, "3", None, np.ones(2)]:
        for name in ("max_features", "max_depth", "min_samples_leaf"):
            with pytest.raises(TypeError):
                _core.TreeOptions(**{name: value})
        for of, name in (("target", "n_classes"), ("sampling", "n_draws")):
            with pytest.raises(TypeError):
                make(of, **{name: value})


def grown_with(**options):
    return grow(options=_core.TreeOptions(**options))[0]


def test_limits_of_any_size_are_fine():
    most = 2**63 - 1
    for name in ("min_samples_split", "min_samples_leaf", "max_features", "max_depth"):
        trees = grown_with(**{name: most})
        if name.startswith("min"):
            assert trees.n_nodes == 2
    assert grown_with(min_samples_split=-most).n_nodes > 2
    assert grown_with(min_weight_leaf=float("inf")).n_nodes == 2
    assert same_trees(grown_with(), grown_with(max_depth=NO_LIMIT))


# Replacing columns


def new_columns(n_rows=20, n_columns=2):
    codes = np.arange(n_rows * n_columns, dtype=np.uint8).reshape(n_rows, -1) % 7
    start = 7 * np.arange(n_columns + 1)
    return {
        "first": 1,
        "codes": codes,
        "values": np.tile(np.arange(7.0), n_columns),
        "bin_start": start,
        "categorical": np.zeros(n_columns, np.uint8),
    }


def test_replaced_columns_are_checked():
    for changes in [
        {"first": -1},
        {"first": 2},
        {"first": 2**62},
        {"codes": np.zeros((19, 2), np.uint8)},
        {"codes": np.zeros((20, 3), np.uint8)},
        {"codes": np.full((20, 2), 7, np.uint8)},
        {"values": np.zeros(13)},
        {"bin_start": np.array([0, 14, 7])},
        {"categorical": np.zeros(3, np.uint8)},
    ]:
        table = make("table")
        with pytest.raises(REFUSED):
            table.replace_columns(**{**new_columns(), **changes})
        assert same_trees(grow(table=table)[0], grow()[0])


def test_arrays_that_cannot_be_written_make_a_table_that_stays():
    codes = CASE.codes.copy()
    codes.flags.writeable = False
    table = make("table", codes=codes)
    assert same_trees(grow(table=table)[0], grow()[0])
    with pytest.raises(ValueError, match="cannot be written"):
        table.replace_columns(**new_columns())
