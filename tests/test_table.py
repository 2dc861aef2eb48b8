import numpy as np
import pandas as pd
import pytest

from mddf import RandomForestClassifier
from mddf._table import TableReader, category_mask, check_table, is_frame


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, 3.0, 1.0],
            "color": pd.Categorical(["red", "blue", None, "red"]),
            "word": ["a", "b", "a", None],
            "count": [1, 2, 3, 4],
            "flag": [True, False, True, True],
        }
    )


ESTIMATOR = RandomForestClassifier()


def read(X, mask, max_categories=255, new=None):
    reader = TableReader(np.asarray(mask), max_categories)
    fitted = reader.fit_read(X, ESTIMATOR)
    return fitted if new is None else reader.read(new, ESTIMATOR)


def test_is_frame(frame):
    assert is_frame(frame)
    assert not is_frame(frame.to_numpy())
    assert not is_frame([[1]])


def test_mask_from_dtypes(frame):
    assert category_mask(frame, "from_dtype").tolist() == [False, True, True, False, False]
    assert not category_mask(frame, None).any()
    assert not category_mask(frame.to_numpy(), "from_dtype").any()
    others = pd.DataFrame(
        {
            "object": pd.Series(["x", "y"], dtype=object),
            "string": pd.Series(["x", "y"], dtype="string"),
            "integer": pd.Series([1, None], dtype="Int64"),
            "boolean": pd.Series([True, None], dtype="boolean"),
            "small": pd.Series([1, 2], dtype="int8"),
        }
    )
    assert category_mask(others, "from_dtype").tolist() == [True, True, False, False, False]


def test_objects_that_are_numbers():
    X = np.random.default_rng(0).random((200, 2))
    X[::7, 1] = np.nan
    y = X[:, 0] > 0.5
    objects = pd.DataFrame(X).astype(object)
    assert not category_mask(objects, "from_dtype").any()
    assert category_mask(objects.assign(word="a"), "from_dtype").tolist() == [False, False, True]
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    of_objects = RandomForestClassifier(5, random_state=0).fit(objects, y)
    assert np.array_equal(forest.apply(X), of_objects.apply(objects))
    with_na = objects.where(objects.notna(), pd.NA)
    assert np.array_equal(forest.apply(X), of_objects.apply(with_na))
    again = RandomForestClassifier(5, random_state=0).fit(with_na, y)
    assert np.array_equal(forest.apply(X), again.apply(with_na.iloc[:, :]))
    assert with_na.iloc[0, 1] is pd.NA  # the user's frame is as it was
    none = pd.DataFrame(X, columns=["a", "b"]).assign(word=pd.Series([None] * 200, dtype=object))
    assert category_mask(none, "from_dtype").tolist() == [False, False, True]
    RandomForestClassifier(2).fit(none, y).predict(none.assign(word="new"))


def frame_with(**columns):
    return pd.DataFrame({"size": [1.5, np.nan], **columns})


@pytest.mark.parametrize(
    ("X", "mask", "error", "message"),
    [
        (np.array([[1, 2, 3], [4, 5, np.inf]]), [0], ValueError, "got inf in row 1, column 2: "),
        (frame_with(b=[1, np.inf]), None, ValueError, "got inf in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), None, TypeError, "got {} in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), "from_dtype", TypeError, "got .*'dict'.* in column 'b'"),
        (np.array([[1, 10**400]] * 2, dtype=object), None, ValueError, "in row 0, column 1: "),
        (
            frame_with(b=["a", 1.0]),
            "from_dtype",
            TypeError,
            "got .*'str'.* in column 'b'",
        ),
        (
            frame_with(b=pd.to_datetime(["2020-01-01"] * 2)),
            "from_dtype",
            TypeError,
            "got .*2020-01-01.* in row 0, column 1, 'b': ",
        ),
    ],
)
def test_refused_cells_are_named(X, mask, error, message):
    with pytest.raises(error, match=message):
        RandomForestClassifier(2, categorical_features=mask).fit(X, [0, 1])


def test_refused_cells_are_named_at_prediction(frame):
    forest = RandomForestClassifier(2).fit(frame, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="got 'big' in row 0, column 0, 'size'"):
        forest.predict(frame.assign(size="big"))
    with pytest.raises(TypeError, match=r"that fit saw; got \['float64'\] in column 1"):
        RandomForestClassifier(2, categorical_features=[1]).fit(
            np.array([[1, "a"], [2, "b"]], dtype=object), [0, 1]
        ).predict(np.array([[1.0, 2.0]]))


def test_mask_given(frame):
    X = np.zeros((3, 5))
    assert category_mask(X, [True, False, True, False, False]).tolist() == [1, 0, 1, 0, 0]
    assert category_mask(X, [0, -1]).tolist() == [1, 0, 0, 0, 1]
    assert category_mask(X, np.array([], int)).tolist() == [0] * 5
    assert category_mask(X, []).tolist() == [0] * 5
    assert category_mask(frame, ["count", "size"]).tolist() == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auto", r"'from_dtype'.*got 'auto'"),
        ([[True]], r"one dimension, got an array of shape \(1, 1\)"),
        ([True, False], "each of the 5 columns of X, got 2"),
        ([5], r"below 5.*got \[5\]"),
        ([-6], r"below 5.*got \[-6\]"),
        (["shape"], "names 'shape', which is not a column of X"),
    ],
)
def test_masks_that_do_not_fit(frame, value, message):
    with pytest.raises(ValueError, match=f"categorical_features.*{message}"):
        category_mask(frame, value)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"categorical_features .* if X is a DataFrame.*ndarray"):
        category_mask(np.zeros((2, 2)), ["a"])


def test_numbers_are_passed_on():
    for dtype in ("f8", "f4", "i8", "i4", "u1"):
        X = np.arange(6).reshape(3, 2).astype(dtype)
        assert read(X, [False, False]) is X
    assert read(np.array([[True], [False]]), [False]).tolist() == [[1], [0]]
    assert read(np.arange(4, dtype=np.int16)[:, None], [False]).dtype == np.float64


def test_categories_become_codes(frame):
    mask = category_mask(frame, "from_dtype")
    numbers = read(frame, mask)
    expected = [
        [1.5, 1, 0, 1, 1],
        [np.nan, 0, 1, 2, 0],
        [3, np.nan, 0, 3, 1],
        [1, 1, np.nan, 4, 1],
    ]
    np.testing.assert_array_equal(numbers, expected)
    reader = TableReader(mask, 255)
    reader.fit_read(frame, ESTIMATOR)
    assert reader.n_categories().tolist() == [0, 2, 2, 0, 0]


def test_unseen_and_missing_categories(frame):
    mask = category_mask(frame, "from_dtype")
    new = frame.assign(color=["green", "blue", "red", None], word=["b", "zz", None, np.nan])
    codes = read(frame, mask, new=new)
    np.testing.assert_array_equal(codes[:, 1], [np.nan, 0, 1, np.nan])
    np.testing.assert_array_equal(codes[:, 2], [1, np.nan, np.nan, np.nan])


def test_the_order_of_categories_in_the_dtype_does_not_matter(frame):
    mask = category_mask(frame, "from_dtype")
    new = frame.assign(color=frame["color"].cat.reorder_categories(["red", "blue"]))
    np.testing.assert_array_equal(read(frame, mask), read(frame, mask, new=new))


def test_rare_categories_share_a_code():
    words = np.repeat([f"w{i:03d}" for i in range(300)], [2] * 9 + [1] * 291)
    X = np.array(words, dtype=object)[:, None]
    reader = TableReader(np.array([True]), 10)
    codes = reader.fit_read(X, ESTIMATOR).ravel()
    assert reader.n_categories().tolist() == [10]
    assert sorted(np.bincount(codes.astype(int)).tolist()) == [*[2] * 9, 291]


def test_arrays_with_categories():
    X = np.array([["a", 1.5], ["b", None], ["a", "nan"]], dtype=object)
    np.testing.assert_array_equal(read(X, [True, False])[:, 0], [0, 1, 0])
    numbers = np.array([[3.0, 1.5], [7.0, np.nan], [3.0, 2.0]])
    np.testing.assert_array_equal(read(numbers, [True, False])[:, 0], [0, 1, 0])
    codes = read(numbers, [True, True], new=np.array([[7, 2], [8, np.nan]]))
    np.testing.assert_array_equal(codes, [[1, 1], [np.nan, np.nan]])


def test_check_table_keeps_categories(frame):
    forest = RandomForestClassifier()
    assert check_table(forest, frame, reset=True) is frame
    assert forest.n_features_in_ == 5
    assert forest.feature_names_in_.tolist() == list(frame.columns)
    numbers = check_table(RandomForestClassifier(), frame[["size", "count"]], reset=True)
    assert isinstance(numbers, np.ndarray)


def test_check_table_refuses():
    for X, message in [
        (np.zeros(3), "2D array"),
        (np.zeros((2, 2, 2)), "dim"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), "0 feature"),
        ([[1, np.inf]], "X contains infinity"),
        ([[1, "x"]], "convert string to float"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_table(RandomForestClassifier(), X, reset=True)
