"""Validation of labels, targets, weights and groups keeps values and types."""

from collections import namedtuple
from datetime import datetime, time, timedelta
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

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

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


def test_integers_that_are_no_doubles_are_kept_apart():
    for kind in OF_INTEGERS:
        y = [LARGE, LARGE + 1] * 20
        X = np.arange(40)[:, None] % 2
        model = RandomForestClassifier(5, random_state=0).fit(X, OF_INTEGERS[kind](y))
        assert model.classes_.dtype.kind in "iu", kind
        assert model.predict(X).tolist() == y, kind


def test_labels_keep_their_type_and_values():
    for model in CLASSIFIERS:
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
        assert (
            clone(SCANNER).fit(X, pd.array([LARGE, LARGE + 1] * 20, "Int64")).classes_[1] % 2 == 1
        )


def test_a_column_of_nullable_labels():
    X, _ = table()
    y = pd.DataFrame({"y": pd.array([LARGE, LARGE + 1] * 20, "Int64")})
    with pytest.warns(DataConversionWarning, match="column-vector y") as warned:
        model = RandomForestClassifier(2).fit(X, y)
    assert warned[0].filename == __file__
    assert model.classes_.tolist() == [LARGE, LARGE + 1]


def test_labels_that_are_refused():
    for y, message in [
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
    ]:
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


def test_times_are_no_targets_and_no_weights():
    for kind in TIMES:
        X, y = table()
        for model in REGRESSORS:
            with pytest.raises(TypeError, match="y must hold numbers, got dates or times: dates"):
                clone(model).fit(X, TIMES[kind])
        for model in (*REGRESSORS, *CLASSIFIERS, SCANNER):
            with pytest.raises(
                TypeError, match="sample_weight must hold numbers, got dates or ti"
            ):
                clone(model).fit(X, y, sample_weight=TIMES[kind])


def test_numbers_of_any_type_are_targets_and_weights():
    for make in [
        lambda y: pd.array(y, "Float64"),
        lambda y: pd.Series(y, dtype="double[pyarrow]"),
        pl.Series,
        pa.array,
        lambda y: [Decimal(v) for v in y],
        lambda y: [Fraction(v) for v in y],
        lambda y: np.ma.array(y, mask=False),
    ]:
        X, _ = table()
        y = (np.arange(40) % 7 / 4).tolist()
        for model in REGRESSORS:
            expected = clone(model).fit(X, y, sample_weight=y).predict(X)
            assert np.array_equal(clone(model).fit(X, make(y), make(y)).predict(X), expected)


def test_numbers_that_are_missing_are_refused():
    for values, message in [
        (np.ma.array(np.ones(40), mask=np.arange(40) == 3), "must have no masked entries, got 1"),
        (pd.array([None, *[1] * 39], "Int64"), "contains NaN"),
        (pd.Series([None, *[1] * 39], dtype=object), "contains NaN"),
        (np.array([Decimal("sNaN"), *[1] * 39], object), "contains NaN"),
        (np.ones(40, complex), "must hold no complex numbers, got complex128"),
    ]:
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


def test_groups_that_are_refused():
    for groups, message in [
        ([{1}, {2}] * 20, "groups must hold numbers, text or other objects with a hash, got set"),
        (as_objects([[1], [2]] * 20), "with a hash, got list in row 0"),
        ([None, "a"] * 20, "groups must have one for every sample, got None in row 0 and 20"),
        (pd.Series(["a", pd.NA] * 20, dtype="string"), "groups must have one .* in row 1"),
        (pd.array([1, None] * 20, "Int64"), "groups must have one .* got <NA> in row 1"),
        (np.array([1.0, np.nan] * 20), "groups must have one .* got nan in row 1 and 20 missing"),
        (pd.Series([DAYS[0], pd.NaT] * 20), r"groups must have one .*NaT.* in row 1"),
        (as_objects([(1, np.nan), (2, 3)] * 20), "groups must have one for every sample, got"),
        (np.ma.array([1, 2] * 20, mask=[0, 1] * 20), "groups must have no masked entries, got 20"),
    ]:
        X, y = table()
        for model in CLASSIFIERS[2:]:
            with pytest.raises((ValueError, TypeError), match=message):
                clone(model).fit(X, y, groups=groups)
