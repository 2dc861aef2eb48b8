"""Sets by name or from a CSV file, their splits and encodings."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def data(script):
    return script("_lab.data")


def test_standard_split_and_random_splits(data, data_home):
    yeast = data.Source("yeast", str(data_home))
    first, second = (data.split(yeast, seed) for seed in (0, 1))
    assert (len(first.y), len(first.y_test)) == (1038, 446)
    assert not np.array_equal(first.y_test, second.y_test)
    satimage = data.Source("satimage", str(data_home))
    first, second = (data.split(satimage, seed) for seed in (0, 1))
    assert (len(first.y), len(first.y_test)) == (4435, 2000)
    assert np.array_equal(first.y_test, second.y_test)
    few = data.split(satimage, 0, max_train=500)
    assert (len(few.y), len(few.y_test)) == (500, 2000)
    counts = np.unique(few.y, return_counts=True)[1] / 500
    assert counts == pytest.approx(np.unique(first.y, return_counts=True)[1] / 4435, abs=0.003)


def test_user_tables_are_not_data_sets_of_the_same_name(data, tmp_path):
    path = tmp_path / "yeast.csv"
    pd.DataFrame({"a": range(40), "kind": ["x", "y"] * 20}).to_csv(path, index=False)
    own = data.Source("yeast", csv=path, target="kind")
    assert len(data.split(own, 0).y_test) == 12
    options = SimpleNamespace(csv=path, target="kind")
    assert list(data.sources(options, [])) == ["yeast.csv"]
    options.csv = path.rename(tmp_path / "mine.csv")
    assert list(data.sources(options, [])) == ["mine"]


def test_a_class_with_one_row_does_not_stop_a_split(data):
    y = np.array([0] * 10 + [1] * 10 + [2])
    assert data.strata_of(y) is None
    assert data.strata_of(y[:20]) is not None
    assert data.strata_of(np.arange(5.0), "regression") is None
    assert len(data.subset(y, np.arange(21), 7, seed=0)) == 7


def test_realistic_sets_leave_out_columns_known_too_late(data, data_home):
    from argparse import Namespace

    # The first one is left out already.
    options = Namespace(data_home=str(data_home), drop=["duration", "age"])
    result = data.load(data.sources(options, ["bank"], realistic=True)["bank"]).X
    assert not {"duration", "age"} & set(result)
    assert "job" in result
    options.drop = []
    assert data.sources(options, ["bank"], realistic=True)["bank"].options
    assert not data.sources(options, ["bank"])["bank"].options


def test_nested_subsets(data):
    y = np.repeat(["a", "b", "c"], [100, 60, 3])
    result = {s: data.nested_subset(y, s, seed=0) for s in (0.01, 0.1, 0.5, 1.0)}
    counts = [[int(np.sum(y[rows] == label)) for label in "abc"] for rows in result.values()]
    assert counts == [[1, 1, 1], [10, 6, 1], [50, 30, 2], [100, 60, 3]]
    for smaller, larger in zip(result.values(), list(result.values())[1:], strict=False):
        assert set(smaller) < set(larger)
    assert not np.array_equal(data.nested_subset(y, 0.1, seed=1), result[0.1])


def test_the_largest_class_against_the_rest(data):
    assert data.binary(np.array(["b", "a", "b"])).tolist() == [1, 0, 1]
    assert data.binary(np.array([3, 1, 2, 2])).tolist() == [0, 0, 1, 1]


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.Categorical(["x", "y", "z"])})


def test_encodings(data, frame):
    np.testing.assert_array_equal(
        data.encoded(frame), [[1, 0, 0, 1], [0, 1, 0, np.nan], [0, 0, 1, 3]]
    )
    assert data.to_numbers().fit_transform(frame).tolist() == [
        [1, 0, 0, 1],
        [0, 1, 0, 2],
        [0, 0, 1, 3],
    ]
    codes = data.to_codes().fit(frame)
    np.testing.assert_array_equal(codes.transform(frame), [[0, 1], [1, np.nan], [2, 3]])
    new = pd.DataFrame({"a": [5.0, 6.0], "b": pd.Categorical(["w", None])})
    np.testing.assert_array_equal(codes.transform(new), [[-1, 5], [-1, 6]])
    np.testing.assert_array_equal(data.to_codes().fit_transform(np.eye(2)), np.eye(2))
    scaled = data.to_scaled().fit_transform(np.array([[0.0], [np.nan], [4.0]]))
    np.testing.assert_allclose(scaled.ravel(), [-(1.5**0.5), 0, 1.5**0.5])


def test_medians_of_training_rows_fill_gaps(data):
    numbers = data.to_numbers().fit(np.array([[1.0, np.nan], [3.0, 5.0]]))
    np.testing.assert_array_equal(numbers.transform([[np.nan, np.nan]]), [[2, 5]])


def test_two_classes_and_codes(data):
    X, y = data.two_classes("digits-49")
    assert X.shape == (len(y), 64)
    assert set(y) == {0, 1}
    part = data.codes("iris", rows=60)
    assert (part.X.shape, part.X_test.shape, part.X.dtype) == ((60, 4), (45, 4), float)


def csv(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_columns_to_leave_out(data, tmp_path, data_home):
    path = csv(tmp_path / "t.csv", **{"a,b": [1, 2], "a": [3, 4], "c": [5, 6], "kind": [0, 1]})
    options = SimpleNamespace(csv=path, target="kind", data_home=None, drop=["a,b", "c"])
    (source,) = data.sources(options, []).values()
    assert list(data.load(source).X) == ["a"]
    options = SimpleNamespace(data_home=str(data_home), drop=["age,job", "day"])
    result = data.sources(options, ["bank", "wine"])
    assert result["wine"].drop == result["bank"].drop == ("age", "job", "day")
    with pytest.raises(SystemExit, match="--drop must be a column of wine: ; got 'hue'"):
        data.sources(SimpleNamespace(data_home=None, drop=["hue"]), ["wine"])
