"""Tables on disk and on clusters give the same bits as tables in memory."""

import gc
import pickle
import tracemalloc
import weakref

import limits
import numpy as np
import pytest
from joblib import parallel_config

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    by_columns,
)
from mddf.batch import predict_file

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def frame(n_rows=300):
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(n_rows, 3)).astype(np.float32), columns=[*"abc"])
    made.loc[::7, "b"] = np.nan
    made["whole"] = rng.integers(0, 9, n_rows)
    made["words"] = pd.Categorical(rng.choice(["x", "y", "z"], n_rows))
    made["text"] = rng.choice(["left", "right", None], n_rows)
    y = (made["a"] + (made["words"] == "x") > 0.3).astype(int).to_numpy()
    return made, y


def parquet(folder, made):
    for number in range(2):
        made.iloc[number::2].to_parquet(folder / f"{number}.parquet", row_group_size=40)
    return pd.concat([made.iloc[::2], made.iloc[1::2]], ignore_index=True)


def from_parquet(folder, made):
    return parquet(folder, made), by_columns(folder)


def from_dask(folder, made):
    dask_frames = pytest.importorskip("dask.dataframe")
    # Its text is pyarrow's.
    partitions = dask_frames.from_pandas(made, npartitions=4)
    return partitions.compute(), by_columns(partitions)


@pytest.mark.parametrize("source", [from_parquet, from_dask])
def test_the_bits_of_the_table_in_memory(source, tmp_path, monkeypatch):
    made, y = frame()
    limits.change(monkeypatch, bytes_of_a_block_of_columns=300 * 8 * 2)  # two columns
    whole, parts = source(tmp_path, made)
    if source is from_parquet:
        y = np.concatenate([y[::2], y[1::2]])
    for model in (
        RandomForestClassifier(10, random_state=0, categorical_features="from_dtype"),
        RandomForestRegressor(10, random_state=0, categorical_features=["words", "text"]),
        MDDFClassifier(2, n_estimators=3, random_state=0, categorical_features="from_dtype"),
        DeepForestClassifier(n_estimators=3, members=["random", "linear"], cv=2, random_state=0),
        GradientBoostingClassifier(max_iter=9, early_stopping=True, random_state=0),
        GradientBoostingRegressor(max_iter=9, grow_policy="leaf-wise", random_state=0),
    ):
        ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        expected = getattr(model.fit(whole, y), ask)(whole)
        model.fit(parts, y)
        assert model.feature_names_in_.tolist() == [*whole.columns]
        for new_rows in (parts, whole):
            np.testing.assert_array_equal(getattr(model, ask)(new_rows), expected)


def test_arrays_of_dask(tmp_path):
    arrays = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    X[::9, 1] = np.nan
    y = X[:, 0] > 0
    parts = by_columns(arrays.from_array(X, chunks=(50, 2)))
    forest = RandomForestClassifier(9, random_state=0)
    for model in (GradientBoostingClassifier(max_iter=9, random_state=0), forest):
        expected = model.fit(X, y).predict_proba(X)
        with parallel_config("threading", n_jobs=2):
            result = model.fit(parts, y).predict_proba(parts)
        np.testing.assert_array_equal(result, expected)
    X[3, 4] = np.inf
    with pytest.raises(ValueError, match=r"got inf in row 3, column 4"):
        forest.fit(by_columns(arrays.from_array(X, chunks=(50, 2))), y)
    unknown = arrays.from_array(X, chunks=(50, 2))
    unknown = unknown[arrays.from_array(y, chunks=50)]
    with pytest.raises(ValueError, match=r"got shape .*compute_chunk_sizes"):
        by_columns(unknown)


@pytest.mark.parametrize("wrong", [np.inf, "text"])
def test_messages_have_the_number_of_the_column_in_the_whole_table(wrong, tmp_path, monkeypatch):
    made, y = frame()
    limits.change(monkeypatch, bytes_of_a_block_of_columns=300 * 8 * 2)  # two columns
    forest = RandomForestClassifier(2, categorical_features="from_dtype").fit(made, y)
    made["c"] = wrong
    parts = from_parquet(tmp_path, made)[1]
    with pytest.raises((TypeError, ValueError), match="column 2, 'c'"):
        forest.predict(parts)


def frame_of_dates(n_rows=300):
    made, y = frame(n_rows)
    moments = pd.date_range("2023-01-30", periods=n_rows, freq="7h").to_series(index=made.index)
    made.insert(1, "moment", moments.where(np.arange(n_rows) % 9 > 0))
    made["day"] = moments.astype("datetime64[s]").dt.normalize()
    made["never"] = pd.Series(pd.NaT, made.index, dtype="datetime64[ns]")
    return made, y ^ (moments.dt.month == 3).to_numpy()


@pytest.mark.parametrize("source", [from_parquet, from_dask])
@pytest.mark.parametrize("model", [RandomForestClassifier, GradientBoostingClassifier])
def test_dates_become_calendar_features(source, model, tmp_path, monkeypatch):
    made, y = frame_of_dates()
    limits.change(monkeypatch, bytes_of_a_block_of_columns=300 * 8 * 2)  # two columns
    whole, parts = source(tmp_path, made)
    options = {"random_state": 0}
    if model is GradientBoostingClassifier:
        options |= {"max_iter": 20, "early_stopping": False}
    expected = model(**options).fit(whole, y)
    fitted = model(**options).fit(parts, y)
    assert fitted.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert "moment" in fitted.feature_names_in_
    probabilities = expected.predict_proba(whole)
    np.testing.assert_array_equal(fitted.predict_proba(whole), probabilities)
    np.testing.assert_array_equal(fitted.predict_proba(parts), probabilities)
    np.testing.assert_array_equal(expected.predict_proba(parts), probabilities)


def test_dates_that_are_missing_in_a_later_table(tmp_path):
    made, y = frame_of_dates()
    _, parts = from_parquet(tmp_path, made[["a", "day"]])
    forest = RandomForestClassifier(2, random_state=0).fit(parts, y)
    (tmp_path / "other").mkdir()
    _, other = from_parquet(tmp_path / "other", made[["a"]])
    with pytest.raises(ValueError, match="now missing"):
        forest.predict(other)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_file_is_not_copied(order, tmp_path):
    shape = 100_000, 40
    X = np.memmap(tmp_path / "table", np.float32, "w+", shape=shape, order=order)
    X[:] = np.random.default_rng(0).standard_normal(shape, np.float32)
    X[::5, 3] = np.nan
    y = X[:, 0] > 0
    forest = RandomForestClassifier(1, max_depth=3, random_state=0)
    tracemalloc.start()
    forest.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Two bytes a cell, where the table has four, and some for each row.
    assert peak < 2.2 * X.size + 40 * len(X) < X.nbytes


def test_empty_tables_are_refused(tmp_path):
    made, y = frame()
    forest = RandomForestClassifier(2).fit(by_columns(made[["a", "b"]].to_numpy()), y)
    (tmp_path / "none").mkdir()
    made[:0].to_parquet(tmp_path / "rows.parquet")
    for table in (np.empty((0, 2), np.int16), tmp_path / "none", tmp_path / "rows.parquet"):
        with pytest.raises(ValueError, match="X must not be empty, got 0 sample"):
            RandomForestClassifier(2).fit(by_columns(table), [])
    with pytest.raises(ValueError, match="X must not be empty, got 0 sample"):
        forest.predict(by_columns(np.empty((0, 2), np.int16)))


@pytest.mark.parametrize("dtype", [float, int])
def test_masks_of_dask_count_as_in_numpy(dtype):
    arrays = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    is_masked = rng.random((200, 3)) < 0.2
    cells = np.where(is_masked, 1e6, rng.normal(0, 9, (200, 3))).astype(dtype)
    X = np.ma.array(cells, mask=is_masked)
    y = cells[:, 0] > 0
    lazy = arrays.from_array(X, chunks=(60, 2), asarray=False)
    expected = RandomForestClassifier(5, random_state=0).fit(X, y)
    for source in (lazy, by_columns(lazy)):
        forest = RandomForestClassifier(5, random_state=0).fit(source, y)
        for rows in (X, source):
            assert np.array_equal(forest.predict_proba(rows), expected.predict_proba(X))
    masked = arrays.from_array(
        np.ma.array(y * 1.0, mask=is_masked[:, 0]), chunks=60, asarray=False
    )
    for values in ({"y": masked}, {"y": y, "sample_weight": masked}):
        with pytest.raises(ValueError, match=f"{list(values)[-1]} must have no masked entries"):
            RandomForestClassifier(5).fit(X, **values)


def test_arrays_of_dask_that_are_refused():
    arrays = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="Complex data not supported"):
        by_columns(arrays.ones((4, 2), dtype=complex))
    unknown_width = arrays.ones((4, 2))[:, arrays.from_array(np.array([True, False]))]
    with pytest.raises(ValueError, match="known numbers of rows and columns"):
        by_columns(unknown_width)


def test_folders_with_a_key_and_a_value(tmp_path):
    made, y = frame()
    made = made.sort_values("words", kind="stable", ignore_index=True)
    made.to_parquet(tmp_path / "by", partition_cols=["words"])
    table = by_columns(tmp_path / "by")
    assert table.names == ["a", "b", "c", "whole", "text", "words"]
    forest = RandomForestClassifier(5, categorical_features="from_dtype", random_state=0)
    result = forest.fit(table, y).predict_proba(table)
    in_memory = made[table.names]
    assert np.array_equal(forest.fit(in_memory, y).predict_proba(in_memory), result)


@pytest.mark.parametrize("kind", ["i2", "f2"])
def test_a_mapped_file_of_short_numbers_is_read_by_columns(kind, tmp_path):
    X = np.memmap(tmp_path / "table", kind, "w+", shape=(50_000, 30))
    X[:] = np.random.default_rng(0).integers(0, 99, X.shape)
    y = np.asarray(X[:, 0] > 50)
    tracemalloc.start()
    table = by_columns(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * X.nbytes
    forest = RandomForestClassifier(2, max_depth=3, random_state=0)
    result = forest.fit(table, y).predict_proba(table)
    assert np.array_equal(forest.fit(np.asarray(X), y).predict_proba(X), result)


def test_columns_to_read_and_to_leave_out(tmp_path):
    made, y = frame()
    made.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    forest = RandomForestClassifier(5, random_state=0, categorical_features="from_dtype")
    expected = forest.fit(made, y).predict_proba(made)
    for chosen in ({"drop": ["y"]}, {"columns": list(made)}):
        table = pickle.loads(pickle.dumps(by_columns(tmp_path, **chosen)))
        assert table.names == list(made)
        np.testing.assert_array_equal(forest.fit(table, y).predict_proba(table), expected)
    for wrong, message in (
        ({"columns": ["a", "wole"]}, "columns must name columns .* .*whole"),
        ({"drop": ["z"]}, "drop must name columns of the source, .* got 'z'"),
        ({"columns": ["a"], "drop": ["b"]}, "must not be given both.* got columns=.*drop="),
        ({"drop": "abc"}, "drop must be a list of names, got 'abc'"),
        ({"columns": []}, "columns must leave a column to read"),
    ):
        with pytest.raises(ValueError, match=message):
            by_columns(tmp_path, **wrong)
    with pytest.raises(ValueError, match=r"must be None for arrays.* got columns="):
        by_columns(made[["a"]].to_numpy(), ["a"])


def test_all_files_of_a_folder_decide_the_columns(tmp_path):
    made, y = frame()
    out = tmp_path / "out.csv"
    tmp_path = tmp_path / "folder"
    tmp_path.mkdir()
    made["late"] = made["whole"] + 0.5
    early = made.assign(late=made["whole"], b=pd.Series([None] * len(made), dtype=object))
    early.to_parquet(tmp_path / "0.parquet")
    made.to_parquet(tmp_path / "1.parquet")
    table = by_columns(tmp_path)
    whole = pd.concat([early.assign(b=np.nan), made], ignore_index=True)
    for name in ("late", "b"):
        expected = whole[name].to_numpy(float)
        np.testing.assert_array_equal(table.numbers([table.names.index(name)])[:, 0], expected)
    forest = RandomForestClassifier(3, random_state=0, categorical_features="from_dtype")
    labels = np.concatenate([y, y])
    forest.fit(table, labels)
    predict_file(forest, tmp_path, out)
    predicted = pd.read_csv(out)["predicted"]
    np.testing.assert_array_equal(predicted, forest.predict(table))
    for file in ("0.parquet", "1.parquet"):
        made.drop(columns="a").to_parquet(tmp_path / file)
        message = f"{file} must have a column 'a', as other files"
        with pytest.raises(ValueError, match=message):
            by_columns(tmp_path)
        with pytest.raises(ValueError, match=message):
            predict_file(forest, tmp_path, out, overwrite=True)
        assert "a" not in by_columns(tmp_path, drop=["a"]).names
        made.to_parquet(tmp_path / file)
    made.assign(a="text").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="column 'a' must have one type in"):
        by_columns(tmp_path)


# Bins of fewer rows


def test_a_block_is_freed_before_the_next_one_is_read(tmp_path, monkeypatch):
    """Even while cycles of references are not collected, as for long in a fit of large arrays."""
    made, _ = frame(limits.value("cells_of_a_small_frame") // 6 + 100)
    _, parts = from_parquet(tmp_path, made)
    blocks = []

    def read_and_note(columns):
        blocks.append(weakref.ref(part := read(columns)))
        return part

    read = parts._read
    monkeypatch.setattr(parts, "_read", read_and_note)
    gc.disable()
    try:
        parts.numbers([0, 1])
        text = parts.column(5)
        assert len(text.values) == len(made)
        assert [block() for block in blocks] == [None, None]
    finally:
        gc.enable()
