"""The kernel refuses invalid trees and tables, and writes only into its outputs."""

import numpy as np
import pytest
from compiled import _core
from forest_cases import kernel_case

REFUSED = (ValueError, TypeError)
CASE = kernel_case()


# Prediction


@pytest.mark.parametrize("name", ["add_leaf_values", "leaf_indices"])
def test_prediction(name):
    trees = CASE.grow((0, 1))
    codes = CASE.codes
    method = getattr(trees.reader, name)
    out = np.zeros((20, 3)) if name == "add_leaf_values" else np.zeros((20, 2), np.int64)
    method(codes, 0, 20, out)
    method(codes, 20, 20, out)
    frozen = out.copy()
    frozen.flags.writeable = False
    wrong = [
        (codes[:, :2].copy(), 0, 20, out),
        (codes[:10], 0, 10, out),
        (codes.astype(np.int64), 0, 20, out),
        (np.asfortranarray(codes), 0, 20, out),
        (codes, -1, 20, out),
        (codes, 0, 21, out),
        (codes, 5, 4, out),
        (codes, 0, 2**63 - 1, out),
        (codes, 0, 20, out[:, :1].copy()),
        (codes, 0, 20, out.astype(np.float32)),
        (codes, 0, 20, np.asfortranarray(out)),
        (codes, 0, 20, frozen),
        (codes, 0, 20, None),
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


def test_find_bins():
    for dtype in ["f8", "f4", "i8", "i4", "u1"]:
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


def test_apply_bins():
    for changes in [
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
        {"wanted": np.ones(3, bool)},
        {"wanted": np.ones(2, np.uint8)},
    ]:
        _core.apply_bins(**apply_arguments())
        with pytest.raises(REFUSED):
            _core.apply_bins(**{**apply_arguments(), **changes})


def test_bin_by_rank():
    good = {
        "x": np.arange(12.0).reshape(6, 2),
        "first": 0,
        "last": 2,
        "out": np.zeros((6, 3), np.uint8),
        "first_column": 1,
        "by_column": np.zeros((3, 6), np.uint8),
    }
    _core.bin_by_rank(**good)
    wrong = [
        {"x": np.zeros((256, 2)), "out": np.zeros((256, 3), np.uint8), "by_column": None},
        {"x": np.zeros((5, 2))},
        {"x": np.zeros((6, 3))},
        {"x": np.zeros((6, 2), np.float16)},
        {"first": -1},
        {"last": 3},
        {"first": 2, "last": 1},
        {"out": np.zeros((5, 3), np.uint8)},
        {"out": np.zeros((6, 3), np.int8)},
        {"out": None},
        {"first_column": 2},
        {"first_column": -1},
        {"by_column": np.zeros((6, 3), np.uint8)},
    ]
    for changes in wrong:
        with pytest.raises(REFUSED):
            _core.bin_by_rank(**{**good, **changes})


def test_bin_by_rank_writes_nowhere_else():
    out = np.full((4, 12), 77, np.uint8)
    _core.bin_by_rank(np.zeros((4, 10)), 3, 9, out, 1)
    untouched = np.full((4, 12), 77)
    untouched[:, 4:10] = 0
    assert np.array_equal(out, untouched)


SPARSE = {
    "cells": np.array([1.0, 2, 3]),
    "rows": np.array([0, 5, 2], np.int32),
    "start": np.array([0, 2, 3]),
    "n_rows": 6,
    "first": 0,
    "last": 2,
}
WRONG_SPARSE = [
    {"cells": np.array([1.0, 2])},
    {"cells": np.array([1, 2, 3])},
    {"rows": np.array([0, 5], np.int32)},
    {"rows": np.array([0, 5, 2])},
    {"start": np.array([0, 2])},
    {"start": np.array([], np.int64)},
    {"start": np.array([1, 2, 3])},
    {"start": np.array([0, 4, 3])},
    {"start": np.array([0, 2, 3], np.int32)},
    {"n_rows": 1},
    {"n_rows": -1},
    {"n_rows": 2**31},
    {"first": -1},
    {"last": 3},
    {"first": 2, "last": 1},
]


def test_find_bins_of_sparse():
    for changes in [*WRONG_SPARSE, {"max_bins": 1}, {"max_bins": 256}]:
        good = {**SPARSE, "max_bins": 9}
        _core.find_bins_of_sparse(**good)
        with pytest.raises(REFUSED):
            _core.find_bins_of_sparse(**{**good, **changes})


def test_apply_bins_to_sparse():
    for changes in [
        *WRONG_SPARSE,
        {"rows": np.array([0, 6, 2], np.int32)},
        {"rows": np.array([0, -1, 2], np.int32)},
        {"edges": np.array([0.5, np.inf])},
        {"bin_start": np.array([0, 3])},
        {"out": np.zeros((5, 3), np.uint8)},
        {"out": np.zeros((6, 3), np.int8)},
        {"first_column": 2},
        {"first_column": -1},
        {"by_column": np.zeros((6, 3), np.uint8)},
    ]:
        good = {key: value for key, value in apply_arguments().items() if key != "x"}
        good = {**good, **SPARSE}
        del good["categorical"]
        _core.apply_bins_to_sparse(**good)
        with pytest.raises(REFUSED):
            _core.apply_bins_to_sparse(**{**good, **changes})


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


def test_prediction_of_numbers():
    trees = CASE.grow((0, 1))
    edges, start = np.array([0.5, np.inf, 1.5, np.inf, np.inf]), np.array([0, 2, 4, 5])
    x, out = np.zeros((6, 3)), np.zeros((6, 3))
    good = {"x": x, "edges": edges, "bin_start": start, "first": 0, "last": 6, "out": out}
    trees.reader.add_leaf_values_of_numbers(**good)
    wrong = [
        {"x": x[:, :2]},
        {"x": x.astype(int)},
        {"x": x[:5]},
        {"edges": edges[:4]},
        {"edges": edges.astype(np.float32)},
        {"bin_start": start[:3]},
        {"bin_start": np.array([0, 2, 2, 5])},
        {"first": -1},
        {"last": 7},
        {"first": 4, "last": 3},
        {"out": out[:5]},
        {"out": out[:, :2].copy()},
        {"out": None},
    ]
    for changes in wrong:
        with pytest.raises(REFUSED):
            trees.reader.add_leaf_values_of_numbers(**{**good, **changes})


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
