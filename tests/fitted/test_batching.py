"""Predictions by blocks of rows: equal bits in bounded memory."""

import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pandas as pd
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from table_cases import BLOCK_BYTES, FEWEST_ROWS, blocks_of

from mddf import (
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    by_columns,
)

pytestmark = pytest.mark.usefixtures("few_rounds")

LAYERS = {"n_estimators": 3, "cv": 2, "random_state": 0}
MODELS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "regressor": RandomForestRegressor(5, keep_targets=3, random_state=0),
    "outputs": CompletelyRandomForestRegressor(5, keep_targets=2, random_state=0),
    "mddf": MDDFClassifier(3, calibrate=True, **LAYERS),
    "gcforest": GCForestClassifier(2, forests=["random", LogisticRegression()], **LAYERS),
    "deep": DeepForestClassifier(**LAYERS),
    "boosted": GradientBoostingClassifier(max_iter=5, random_state=0),
    "boosted regressor": GradientBoostingRegressor(
        max_iter=5, grow_policy="leaf-wise", random_state=0
    ),
    # Without the linear member, which is scikit-learn's and multiplies by BLAS.
    "deep regressor": DeepForestRegressor(
        members=["random", "kernel", "network", "boosted"], **LAYERS
    ),
}
ONE = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "apply")
ONE += ("predict_quantiles", "predict_interval")
STAGED = ("staged_predict", "staged_predict_proba")


def target(name, X, y):
    numbers = np.nan_to_num(X[:, 0]) + y
    if name == "outputs":
        return np.column_stack([numbers, -numbers])
    return numbers if "regressor" in name else y


def answers(model, X):
    """Results of all methods, as a list of arrays."""
    result = [getattr(model, name)(X) for name in ONE if hasattr(model, name)]
    for name in STAGED:
        if hasattr(model, name):
            result += getattr(model, name)(X)
    return result


def assert_same(model, X, sizes=(7,)):
    expected = answers(model, X)
    for size in sizes:
        with blocks_of(size):
            result = answers(model, X)
        for array, other in zip(result, expected, strict=True):
            assert array.dtype == other.dtype
            np.testing.assert_array_equal(array, other)


def tables(new):
    dense = np.nan_to_num(new)
    yield new.copy()
    yield np.asfortranarray(new)
    yield np.repeat(new, 2, axis=0)[::2]
    yield new.astype(np.float32)
    yield (dense * 10).astype(np.int64)
    yield new.tolist()
    yield sparse.csr_matrix(dense)
    yield sparse.csc_array(dense.astype(np.float32))
    yield pd.DataFrame(new)
    yield by_columns(new)
    yield by_columns((dense * 10).astype(np.int16))


def test_the_same_bits_of_all_tables_of_numbers():
    for name in MODELS:
        X, y = three_classes()
        if name == "gcforest":  # one of its members takes no NaN
            X = np.nan_to_num(X)
        model = MODELS[name].fit(X, target(name, X, y))
        for new in tables(X[::-1][:90]):
            assert_same(model, new)
        assert_same(model, X[:9], (2, 4, 5, 8, 9))


@pytest.mark.parametrize("Deep", [DeepForestClassifier, DeepForestRegressor])
def test_blocks_give_the_same_bits_as_the_whole_table(Deep):
    """Also with external members, which multiply matrices by BLAS."""
    X, y = three_classes()
    model = Deep(**LAYERS).fit(X, y)
    new = np.random.default_rng(0).normal(size=(3 * FEWEST_ROWS + 1, X.shape[1]))
    assert_same(model, new, (FEWEST_ROWS,))


def frame(n_rows=90, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "city": pd.Series(rng.choice(["oslo", "rome", "bonn"], n_rows), dtype="object"),
            "kind": pd.Categorical(rng.choice(["a", "b"], n_rows)),
            "whole": pd.array(rng.integers(0, 9, n_rows), dtype="Int64"),
            # Nothing is in most blocks.
            "rare": pd.Series([1.5] + [None] * (n_rows - 1), dtype="object"),
        }
    )


@cache
def of_frames(name):
    X = frame()
    y = (X["number"] > 0).to_numpy() * 1 + (X["city"] == "rome").to_numpy()
    return clone(MODELS[name]).fit(X, y)


@pytest.mark.parametrize("name", ["forest", "regressor", "mddf", "deep"])
def test_the_same_bits_of_frames(name, tmp_path):
    for kind in ["pandas", "polars", "pyarrow", "parquet"]:
        model = of_frames(name)
        new = frame(seed=1)
        new.loc[3, "city"] = None
        if kind == "polars":
            new = pytest.importorskip("polars").from_pandas(new)
        elif kind != "pandas":
            pyarrow = pytest.importorskip("pyarrow")
            new = pyarrow.Table.from_pandas(new)
            if kind == "parquet":
                import pyarrow.parquet

                pyarrow.parquet.write_table(new, tmp_path / "new.parquet")
                new = by_columns(tmp_path / "new.parquet")
        assert_same(model, new, (7, 40))


def test_the_same_bits_of_wide_tables():
    """Unused columns are not coded, or raw cells are compared."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 300))
    y = (X[:, 0] > 0).astype(int)
    for name in ("forest", "regressor", "mddf"):
        model = MODELS[name].fit(X, target(name, X, y))
        for new in (X[::-1].copy(), np.floor(X[::-1] * 4)):
            assert_same(model, new)


class Counted(LogisticRegression):
    """Records how many rows it predicts at a time."""

    n_rows: list = []

    def predict_proba(self, X):
        self.n_rows.append(len(X))
        return super().predict_proba(X)


def test_no_block_is_short():
    """BLAS may round products of few rows otherwise."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = DeepForestClassifier(1, members=[Counted()], random_state=0).fit(X, X[:, 0] > 0)
    with blocks_of(40):
        Counted.n_rows.clear()
        model.predict_proba(X)
    assert set(Counted.n_rows) == {40, 60}


def test_warnings_and_errors_are_of_the_whole_table():
    X = frame()
    model = MODELS["mddf"].fit(X, (X["number"] > 0).to_numpy())
    new = frame(seed=1)
    new.loc[20, "city"] = "a city that is new, in one row of a block"
    with blocks_of(7):
        model.predict(new)
        new.loc[20:, "city"] = "new"
        with pytest.warns(UserWarning, match="city.* of the rows") as result:
            model.predict(new)
        assert len(result) == 1
        new = frame(seed=1)
        new.loc[80, "number"] = np.inf
        with pytest.raises(ValueError, match="row 80, column 0, 'number'"):
            model.predict(new)
        with pytest.warns(UserWarning, match="fitted on") as result:
            model.transform(X)
        assert len(result) == 1


# Memory

PEAK = """
    import resource, sys, threading, time
    import numpy as np
    from mddf import *
    from mddf.baselines import GCForestClassifier

    n_rows, n_classes, kind, method = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = np.arange(1000) % n_classes
    options = {"n_estimators": 5, "cv": 2, "random_state": 0}
    layers = {"early_stopping": False, **options}
    model = {
        "forest": lambda: RandomForestClassifier(10, random_state=0),
        "gcforest": lambda: GCForestClassifier(3, **layers),
        "mddf": lambda: MDDFClassifier(3, **layers),
        "deep": lambda: DeepForestClassifier(**options),
    }[kind]().fit(X, y)
    getattr(model, method)(X[:10])
    X = rng.normal(size=(n_rows, 10))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is that from here on
    before = resident()
    found = getattr(model, method)(X)
    found = list(found) if method.startswith("staged") else [found]
    with open("/proc/self/status") as file:
        (peak,) = (int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    print(peak - before, sum(array.nbytes for array in found))
"""


def peak(n_rows, n_classes, kind, method):
    """Peak memory of a prediction including its result, and the size of the result, in bytes."""
    arguments = [str(n_rows), str(n_classes), kind, method]
    result = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(PEAK), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return map(int, result.stdout.split())


KINDS = ["forest", "gcforest", "mddf", "deep"]
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[:-1]] + KINDS[-1:]
)
def test_memory_beside_the_result(kind):
    taken, result = peak(60_000, 20, kind, "predict")
    assert taken - result < 2.5 * BLOCK_BYTES


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba", "staged_predict_proba"])
@pytest.mark.parametrize("kind", KINDS)
def test_half_a_million_rows_take_twice_their_result(kind, method):
    if kind == "forest" and method.startswith("staged"):
        pytest.skip("a forest has one stage")
    taken, result = peak(500_000, 20, kind, method)
    assert taken < 2 * result
