"""Validation of labels, targets, weights and groups keeps values and types."""

import pickle
from collections import namedtuple
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mddf.baselines import AdaBoostClassifier, GCForestClassifier, MultiGrainedScanner
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GroupKFold

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf._input.cell_values import is_missing
from mddf._resampling.folds import make_folds
from mddf._targets.target_validation import encode_groups, encode_labels, known_labels, plain_array

CLASSIFIERS = [
    RandomForestClassifier(3, random_state=0),
    AdaBoostClassifier(3, random_state=0),
    MDDFClassifier(1, n_estimators=2, cv=2, random_state=0),
    GCForestClassifier(1, n_estimators=2, cv=2, random_state=0),
    DeepForestClassifier(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
REGRESSORS = [
    RandomForestRegressor(3, random_state=0),
    DeepForestRegressor(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
SCANNER = MultiGrainedScanner([2], n_estimators=2, min_samples_leaf=1, cv=2, random_state=0)


def model_id(model):
    return type(model).__name__


def table(n=40):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.arange(n) % 2


# Labels

LARGE = 2**53
OF_INTEGERS = {
    "Int64": lambda y: pd.Series(y, dtype="Int64"),
    "UInt64": lambda y: pd.Series(y, dtype="UInt64"),
    "array of pandas": lambda y: pd.array(y, dtype="Int64"),
    "index": lambda y: pd.Index(y, dtype="Int64"),
    "arrow in pandas": lambda y: pd.Series(y, dtype="int64[pyarrow]"),
    "category": lambda y: pd.Series(pd.Categorical(pd.array(y, "Int64"))),
    "objects": lambda y: pd.Series(y, dtype=object),
    "objects of numpy": lambda y: np.array([np.int64(v) for v in y], object),
    "list": list,
    "pyarrow": pa.array,
    "chunks of pyarrow": lambda y: pa.chunked_array([y[:3], y[3:]]),
    "polars": pl.Series,
    "unsigned polars": lambda y: pl.Series(y, dtype=pl.UInt64),
    "wide polars": lambda y: pl.Series(y, dtype=pl.Int128),
    "sparse": lambda y: pd.Series(pd.arrays.SparseArray(y)),
}


@pytest.mark.parametrize("kind", OF_INTEGERS)
def test_integers_that_are_no_doubles_are_kept_apart(kind):
    y = [LARGE, LARGE + 1] * 20
    classes, codes = encode_labels(OF_INTEGERS[kind](y))
    assert classes.dtype.kind in "iu"
    assert classes.tolist() == [LARGE, LARGE + 1]
    assert codes.tolist() == [0, 1] * 20
    assert known_labels(OF_INTEGERS[kind](y), classes, 40).tolist() == [0, 1] * 20


@pytest.mark.parametrize("model", CLASSIFIERS, ids=model_id)
def test_labels_keep_their_type_and_values(model):
    X, y = table()
    for dtype, labels in (
        ("Int64", [LARGE, LARGE + 1]),
        ("UInt64", [2**64 - 2, 2**64 - 1]),
        ("boolean", [False, True]),
        ("bool[pyarrow]", [False, True]),
        ("uint8[pyarrow]", [3, 7]),
    ):
        model = clone(model).fit(X, pd.Series(np.array(labels)[y], dtype=dtype))
        assert model.classes_.tolist() == labels
        assert model.classes_.dtype == pd.array(labels, dtype).dtype.numpy_dtype
        result = model.predict(X)
        assert set(map(type, result.tolist())) == {type(labels[0])}
        assert result.tolist() == np.array(labels)[clone(model).fit(X, y).predict(X)].tolist()
    assert clone(SCANNER).fit(X, pd.array([LARGE, LARGE + 1] * 20, "Int64")).classes_[1] % 2 == 1


def test_a_column_of_nullable_labels():
    X, _ = table()
    y = pd.DataFrame({"y": pd.array([LARGE, LARGE + 1] * 20, "Int64")})
    with pytest.warns(DataConversionWarning, match="column-vector y") as warned:
        model = RandomForestClassifier(2).fit(X, y)
    assert warned[0].filename == __file__
    assert model.classes_.tolist() == [LARGE, LARGE + 1]


def test_large_integers_of_lists():
    assert encode_labels([2**64 - 1, 0, 2**64 - 2] * 2)[0].tolist() == [0, 2**64 - 2, 2**64 - 1]
    for y in ([2**63, -1], [2**64, 2**64 + 1], [2**53, 2**53 + 1, 2**70]):
        with pytest.raises(ValueError, match="Unknown label type"):
            encode_labels(y)
    assert plain_array([2**63, -1], "y").tolist() == [2**63, -1]


def test_known_labels_of_other_types():
    classes = np.array([LARGE, LARGE + 1], np.uint64)
    assert known_labels(np.array([LARGE + 1, LARGE]), classes, 2).tolist() == [1, 0]
    assert known_labels(pd.array([LARGE + 1], "Int64"), classes, 1).tolist() == [1]
    assert known_labels([True, False], np.array([0, 1]), 2).tolist() == [1, 0]
    assert known_labels([1.0, 0.0], np.array([0, 1]), 2).tolist() == [1, 0]
    assert known_labels(["b", "a"], np.array(["a", "b"], object), 2).tolist() == [1, 0]
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    assert known_labels(days.astype("datetime64[ns]"), days, 2).tolist() == [0, 1]
    for wrong in (LARGE + 2, -1, 0.5, "x"):
        with pytest.raises(ValueError, match="y must hold labels seen in fit, "):
            known_labels([wrong], classes, 1)
    with pytest.raises(ValueError, match=r"got \[9007199254740992\.0\]"):
        known_labels([float(LARGE)], np.array([LARGE + 1]), 1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.array([1, None], "Int64"), "y must have a label for every sample, got <NA> in row 1"),
        (pd.array([True, None], "boolean"), "y must have a label .* <NA> in row 1 and 1 missing"),
        (pd.Series([1, None], dtype="int64[pyarrow]"), "y must have a label .* in row 1"),
        (pa.array([1, None]), "y contains NaN"),
        (pd.array([1.5, None], "Float64"), "y must have a label|contains NaN"),
        (np.array(["a", Decimal("sNaN")], object), "y must have a label .* in row 1"),
        (np.array(["a", pd.NaT], object), "y must have a label .* got NaT in row 1"),
        (np.ma.array([0, 1], mask=[0, 1]), "y must have no masked entries, got 1"),
        ([np.ma.array([0, 1], mask=[0, 1])] * 2, "y must have no masked entries, got 2"),
        (np.array(["a", 1], object), "y must hold labels of one kind.* got int, str"),
        (np.array([0, 1j]), "y must hold no complex numbers, got complex128"),
        ([frozenset("a"), frozenset("b")], "Unknown label type"),
        ([[1], [1, 2]], "y cannot be used: .*inhomogeneous"),
    ],
)
def test_labels_that_are_refused(y, message):
    for model in CLASSIFIERS[:2]:
        with pytest.raises((ValueError, TypeError), match=message):
            clone(model).fit(np.zeros((2, 2)), y)


def test_masks_without_a_masked_entry_change_nothing():
    X, y = table()
    expected = RandomForestClassifier(3, random_state=0).fit(X, y)
    result = clone(expected).fit(X, np.ma.array(y, mask=False), np.ma.array(np.ones(40)))
    assert np.array_equal(result.predict_proba(X), expected.predict_proba(X))


# Numbers

NOW = datetime(2020, 1, 1)
DAYS = pd.date_range("2020", periods=40)
TIMES = {
    "numpy": DAYS.to_numpy(),
    "naive": pd.Series(DAYS),
    "zone": pd.Series(DAYS.tz_localize("UTC")),
    "index": DAYS.tz_localize("Europe/Oslo"),
    "periods": pd.Series(DAYS.to_period("D")),
    "differences": pd.Series(DAYS - DAYS[0]),
    "arrow in pandas": pd.Series(DAYS).astype(pd.ArrowDtype(pa.timestamp("ns"))),
    "arrow of a zone": pd.Series(DAYS).astype(pd.ArrowDtype(pa.timestamp("ns", "UTC"))),
    "arrow differences": pd.Series(DAYS - DAYS[0]).astype(pd.ArrowDtype(pa.duration("ns"))),
    "arrow days": pd.Series(DAYS.date).astype(pd.ArrowDtype(pa.date32())),
    "pyarrow": pa.array(DAYS),
    "pyarrow time": pa.array([time(1)] * 40),
    "polars": pl.Series(DAYS),
    "polars dates": pl.Series(DAYS).cast(pl.Date),
    "polars zone": pl.Series(DAYS).dt.replace_time_zone("UTC"),
    "list": list(DAYS),
    "dates": list(DAYS.date),
    "datetimes": [NOW] * 40,
    "objects": np.array([1.0] * 39 + [NOW], object),
    "times": [time(1)] * 40,
    "timedeltas": [timedelta(1)] * 40,
    "scalars of numpy": np.array([np.datetime64("2020")] * 40, object),
    "categories": pd.Series(pd.Categorical(DAYS.tz_localize("UTC"))),
    "table": pd.DataFrame({"a": 1.0, "b": DAYS.tz_localize("UTC")}),
    "table of naive": pd.DataFrame({"a": "x", "b": DAYS.astype("datetime64[ns]")}),
    "table of polars": pl.DataFrame({"a": [1.0] * 40, "b": DAYS}),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_are_no_targets_and_no_weights(kind):
    X, y = table()
    for model in REGRESSORS:
        with pytest.raises(TypeError, match="y must hold numbers, got dates or times: dates"):
            clone(model).fit(X, TIMES[kind])
    for model in (*REGRESSORS, *CLASSIFIERS, SCANNER):
        with pytest.raises(TypeError, match="sample_weight must hold numbers, got dates or ti"):
            clone(model).fit(X, y, sample_weight=TIMES[kind])


@pytest.mark.parametrize(
    "make",
    [
        lambda y: pd.array(y, "Float64"),
        lambda y: pd.Series(y, dtype="double[pyarrow]"),
        pl.Series,
        pa.array,
        lambda y: [Decimal(v) for v in y],
        lambda y: [Fraction(v) for v in y],
        lambda y: np.ma.array(y, mask=False),
    ],
)
def test_numbers_of_any_type_are_targets_and_weights(make):
    X, _ = table()
    y = (np.arange(40) % 7 / 4).tolist()
    for model in REGRESSORS:
        expected = clone(model).fit(X, y, sample_weight=y).predict(X)
        assert np.array_equal(clone(model).fit(X, make(y), make(y)).predict(X), expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ma.array(np.ones(40), mask=np.arange(40) == 3), "must have no masked entries, got 1"),
        (pd.array([None, *[1] * 39], "Int64"), "contains NaN"),
        (pd.Series([None, *[1] * 39], dtype=object), "contains NaN"),
        (np.array([Decimal("sNaN"), *[1] * 39], object), "contains NaN"),
        (np.ones(40, complex), "must hold no complex numbers, got complex128"),
    ],
)
def test_numbers_that_are_missing_are_refused(values, message):
    X, y = table()
    for model in REGRESSORS:
        with pytest.raises(ValueError, match=f"y {message}"):
            clone(model).fit(X, values)
        with pytest.raises(ValueError, match=f"sample_weight {message}"):
            clone(model).fit(X, y, values)


# Groups

Pair = namedtuple("Pair", "a b")


def as_objects(values):
    result = np.empty(len(values), object)
    result[:] = values
    return result


@pytest.mark.parametrize(
    "values",
    [
        [frozenset({k, -k}) for k in range(1, 9)],
        [frozenset(range(k)) for k in range(8)],
        [(k, None) for k in range(8)],
        [(None, "a")] + [(k, "a") for k in range(7)],
        [Pair(k, "x") for k in range(8)],
        [1, "a", 2.5, b"x", None.__class__, (), frozenset(), "1"],
        [2**53 + k for k in range(8)],
        [Decimal(k) / 3 for k in range(8)],
        [1j * k for k in range(8)],
        [f"g{k}" for k in range(8)],
        list(DAYS[:8].tz_localize("UTC")),
        list(DAYS[:8].date),
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_equal_values_are_one_group(values):
    at = np.random.default_rng(0).permutation(np.arange(64) % 8)
    groups = as_objects([pickle.loads(pickle.dumps(values[k])) for k in at])
    numbers = encode_groups(groups)[0]
    assert len(np.unique(numbers)) == 8
    assert all(len(np.unique(at[numbers == k])) == 1 for k in range(8))
    labels = np.arange(64) % 2
    for cv in (4, GroupKFold(4)):
        for train, test in make_folds(cv, np.zeros((64, 1)), labels, labels, 0, groups=groups):
            assert not set(at[train]) & set(at[test])


def test_groups_of_nullable_integers_are_kept_apart():
    groups = pd.array([LARGE, LARGE + 1] * 20, "Int64")
    labels = np.arange(40) // 2 % 2
    for train, test in make_folds(2, np.zeros((40, 1)), labels, labels, 0, groups=groups):
        assert len(set(train % 2)) == len(set(test % 2)) == 1


@pytest.mark.parametrize("model", CLASSIFIERS[2:], ids=model_id)
def test_models_of_groups_of_any_objects(model, tmp_path):
    X, y = table()
    at = np.arange(40) // 2 % 10
    values = as_objects([frozenset({k, k + 1}) for k in at])
    model = clone(model).set_params(checkpoint=str(tmp_path))
    expected = clone(model).set_params(checkpoint=None).fit(X, y, groups=at)
    result = model.fit(X, y, groups=values)
    assert np.array_equal(result.oof_probabilities_, expected.oof_probabilities_)
    clone(model).fit(X, y, groups=values)  # goes on from the checkpoint


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([{1}, {2}] * 20, "groups must hold numbers, text or other objects with a hash, got set"),
        (as_objects([[1], [2]] * 20), "with a hash, got list in row 0"),
        ([None, "a"] * 20, "groups must have one for every sample, got None in row 0 and 20"),
        (pd.Series(["a", pd.NA] * 20, dtype="string"), "groups must have one .* in row 1"),
        (pd.array([1, None] * 20, "Int64"), "groups must have one .* got <NA> in row 1"),
        (np.array([1.0, np.nan] * 20), "groups must have one .* got nan in row 1 and 20 missing"),
        (pd.Series([DAYS[0], pd.NaT] * 20), r"groups must have one .*NaT.* in row 1"),
        (as_objects([(1, np.nan), (2, 3)] * 20), "groups must have one for every sample, got"),
        (np.ma.array([1, 2] * 20, mask=[0, 1] * 20), "groups must have no masked entries, got 20"),
    ],
)
def test_groups_that_are_refused(groups, message):
    X, y = table()
    for model in CLASSIFIERS[2:]:
        with pytest.raises((ValueError, TypeError), match=message):
            clone(model).fit(X, y, groups=groups)


def test_missing():
    for value in (None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")):
        assert is_missing(value)
    for value in (Decimal("NaN"), Decimal("sNaN"), np.float32("nan")):
        assert is_missing(value)
    for value in (0, "", False, date.min, NOW, Decimal(0), np.datetime64(0, "s"), (), 1j):
        assert not is_missing(value)
