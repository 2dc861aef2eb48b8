"""Groups of columns are shuffled together: a slow twin, all types of tables, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

from mddf import RandomForestClassifier, RandomForestRegressor
from mddf.explain import importances

N_ROWS = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 5))
X[:, 1] = X[:, 0] + 0.05 * RNG.normal(size=N_ROWS)  # has the information of column 0
Y = X[:, 0] + 0.7 * X[:, 2] + 0.1 * RNG.normal(size=N_ROWS)
GROUPS = {"twins": [0, 1], "signal": [2], "noise": [3, 4], "overlap": [4, 2, 0]}
OPTIONS = {"kind": "permutation", "random_state": 7, "n_repeats": 3}


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(20, random_state=0).fit(X[::2], Y[::2])


def slow_twin(model, X, y, groups, *, n_repeats, random_state):
    """Shuffle the rows of each group by scikit-learn's order of random numbers."""
    seed = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max + 1)
    baseline = r2_score(y, model.predict(X))
    falls = np.empty((len(groups), n_repeats))
    for number, columns in enumerate(groups.values()):
        order = np.arange(len(X))
        rows = np.arange(len(X))
        shuffling = np.random.RandomState(seed)
        for repeat in range(n_repeats):
            shuffling.shuffle(order)
            rows = rows[order]
            shuffled = X.copy()
            for row in range(len(X)):
                for column in columns:
                    shuffled[row, column] = X[rows[row], column]
            falls[number, repeat] = baseline - r2_score(y, model.predict(shuffled))
    return falls


def test_a_slow_twin(forest):
    expected = slow_twin(forest, X, Y, GROUPS, n_repeats=3, random_state=7)
    result = importances(forest, X, Y, column_groups=GROUPS, **OPTIONS)
    np.testing.assert_allclose(result.importances_mean, expected.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.importances_std, expected.std(axis=1), atol=1e-12)
    assert result.feature_names.tolist() == list(GROUPS)


def mixed_frame():
    return pd.DataFrame(
        {
            "size": X[:, 0],
            "colour": pd.Categorical(np.where(X[:, 2] > 0, "red", "blue")),
            "noise": X[:, 3],
        }
    )


FRAMES = {
    "pandas": lambda frame: frame,
    "other index": lambda frame: frame.set_index(np.arange(len(frame))[::-1] * 7),
    "repeated index": lambda frame: frame.set_index(np.zeros(len(frame), int)),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def test_all_frames_have_the_same_importances():
    y = (X[:, 0] + 2 * (X[:, 2] > 0) > 0.5).astype(int)
    results = []
    for make in FRAMES.values():
        frame = make(mixed_frame())
        model = RandomForestClassifier(5, min_samples_leaf=5, random_state=0).fit(frame, y)
        for groups in ({"signal": ["size", "colour"], "noise": ["noise"]},
                       {"signal": [0, 1], "noise": [np.int64(2)]}):  # fmt: skip
            result = importances(model, frame, y, column_groups=groups, max_samples=120, **OPTIONS)
            results.append(result.importances_mean)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    assert results[0][0] > 5 * abs(results[0][1])


def test_refusals(forest):
    for groups, message in [
        ({}, r"column_groups must be a dict .*, with at least one, got {}"),
        ([[0, 1]], r"column_groups must be a dict .* got \[\[0, 1\]\]"),
        ({"a": []}, r"column_groups\['a'\] must be a list of columns, .* got \[\]"),
        ({"a": "x0"}, r"column_groups\['a'\] must be a list of columns, .* got 'x0'"),
        ({"a": 3}, r"column_groups\['a'\] must be a list of columns, .* got 3"),
        ({"a": [0, 5]}, r"positions from 0 to 4, got 5"),
        ({"a": [-1]}, r"positions from 0 to 4, got -1"),
        ({"a": [True]}, r"positions from 0 to 4, got True"),
        ({"a": [1.0]}, r"positions from 0 to 4, got 1.0"),
        ({"a": ["y3"]}, r"names of columns or positions from 0 to 4, got 'y3'"),
        ({"a": [0, "x0"]}, r"column_groups\['a'\] must name each column once, got \[0, 'x0'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            importances(forest, X, Y, column_groups=groups, **OPTIONS)
