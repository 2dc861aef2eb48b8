import numpy as np
import pandas as pd
import pytest
from forest_cases import FORESTS, same_predictions, three_classes
from scipy import sparse

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier, by_columns

both = pytest.mark.parametrize("Forest", FORESTS)


@pytest.fixture
def data():
    return three_classes()


# Input of every kind


def test_dates_are_no_numbers():
    X = np.array([[1], [2], [3], ["NaT"]], "M8[D]")
    for cells in (X, list(X), X[3:]):
        with pytest.raises(TypeError, match="numbers"):
            RandomForestClassifier(2).fit(cells, np.arange(len(cells)))


@both
def test_types_and_memory_order(Forest):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, (120, 5))
    y = (X[:, 0] + X[:, 1] > 200).astype(int)
    expected = Forest(5, random_state=0).fit(X.astype(float), y).predict_proba(X.astype(float))
    wide = np.zeros((240, 15))
    wide[::2, ::3] = X
    packed = np.zeros(120, [("pad", "u1"), ("x", "f8", 5)])
    packed["x"] = X
    views = [X.astype(t) for t in ("f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", ">f8")]
    views += [np.asfortranarray(X), wide[::2, ::3], packed["x"], X.tolist(), pd.DataFrame(X)]
    views += [pd.DataFrame(X).astype("Int64"), pd.DataFrame(X).astype("Float32")]
    for view in views:
        forest = Forest(5, random_state=0).fit(view, y)
        assert np.array_equal(forest.predict_proba(view), expected)
        for other in (X.astype("f4"), np.asfortranarray(X, "f8")):
            assert np.array_equal(forest.predict_proba(other), expected)


@both
def test_infinities_are_refused_by_name(Forest, data):
    X, y = data
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        Forest().fit(bad, y)
    of_both_signs = bad.copy()
    of_both_signs[4, 2] = -np.inf
    for kind in (np.asarray, sparse.csr_matrix, pd.DataFrame, by_columns):
        with pytest.raises(ValueError, match="infinity"):
            Forest().fit(kind(of_both_signs), y)
    forest = Forest(2).fit(X, y)
    for method in (forest.predict, forest.predict_proba, forest.apply):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            method(-bad)
    frame = pd.DataFrame(bad).assign(c=pd.Categorical(["a", "b", "c"] * 100))
    frame.columns = frame.columns.astype(str)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        Forest().fit(frame, y)


@both
def test_missing_values(Forest):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = rng.integers(0, 2, 400)
    X[y == 1, 1] = np.where(rng.random((y == 1).sum()) < 0.9, np.nan, X[y == 1, 1])
    forest = Forest(30, random_state=0).fit(X[:300], y[:300])
    assert forest.score(X[300:], y[300:]) > 0.85
    everything = Forest(3, random_state=0).fit(np.full((9, 2), np.nan), np.arange(9) % 3)
    if Forest is CompletelyRandomForestClassifier:
        np.testing.assert_allclose(everything.predict_proba(np.zeros((1, 2))), 1 / 3)


@both
def test_frames_with_categories(Forest):
    rng = np.random.default_rng(4)
    n = 600
    color = rng.choice(["red", "green", "blue", "pink", "gold"], n)
    word = rng.choice(["x", "y", "z"], n)
    y = np.isin(color, ["red", "blue", "gold"]) ^ (word == "y")
    frame = pd.DataFrame(
        {"noise": rng.normal(size=n), "color": pd.Categorical(color), "word": word}
    )
    forest = Forest(40, random_state=0, n_jobs=2).fit(frame[:400], y[:400])
    assert forest.score(frame[400:], y[400:]) > 0.97
    assert forest.feature_importances_[0] < 0.3
    assert forest.feature_names_in_.tolist() == ["noise", "color", "word"]
    # The same by mask, by numbers, by names, and as an array of objects.
    for categorical in ([False, True, True], [1, 2], ["color", "word"]):
        other = Forest(40, random_state=0, categorical_features=categorical).fit(
            frame[:400], y[:400]
        )
        assert same_predictions(forest, other, frame)
    other = Forest(40, random_state=0, categorical_features=[1, 2])
    objects = frame.to_numpy(dtype=object)
    other.fit(objects[:400], y[:400])
    assert np.array_equal(other.predict_proba(objects), forest.predict_proba(frame))
    # Unseen and missing categories.
    new = frame[400:420].assign(color="violet", word=None)
    with pytest.warns(
        UserWarning, match=r"fit did not see.*; column 1, 'color': 100% of the rows"
    ):
        probabilities = forest.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame[["color", "noise", "word"]])


@both
def test_labels(Forest):
    for y in [
        ["no", "yes", "no", "maybe"] * 10,
        np.array(["b", "a"] * 20, dtype=object),
        np.arange(40) % 4 - 7,
        np.arange(40) % 3 * 1.0,
        np.arange(40) % 2 == 0,
        pd.Series(["u", "v"] * 20),
        pd.Series(["u", "v"] * 20, dtype="category"),
        [3] * 40,
    ]:
        X = np.arange(40.0)[:, None]
        forest = Forest(15, random_state=0).fit(X, y)
        assert forest.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
        assert (forest.predict(X) == np.asarray(y)).mean() > 0.8
        assert forest.predict_proba(X).shape == (40, len(forest.classes_))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_do_not_do():
    with pytest.raises(ValueError, match=r"y must have at most 65535 classes, got 70000"):
        RandomForestClassifier(1).fit(np.zeros((70000, 1)), np.arange(70000))
    for y in (
        [0.5, 1.25, 3],
        [0, np.nan, 1.0],
        [0, np.inf, 1],
        [-np.inf, np.inf, 1],
    ):
        with pytest.raises(ValueError):
            RandomForestClassifier(1).fit(np.zeros((3, 1)), y)
    assert RandomForestClassifier(1).fit(np.zeros((3, 1)), [5, 5, 2]).classes_.tolist() == [2, 5]
