"""Arrays and sparse matrices, column by column."""

import numpy as np
import pytest
from forest_cases import codes_of
from mddf.baselines import AdaBoostClassifier, MultiGrainedScanner
from scipy import sparse
from sklearn.base import clone
from table_cases import read

from mddf import RandomForestClassifier, by_columns


def test_numbers_are_passed_on():
    for dtype in ("f8", "f4", "i8", "i4", "u1"):
        X = np.arange(6).reshape(3, 2).astype(dtype)
        assert read(X).numbers(range(2)) is X
    assert read(np.array([[True], [False]])).numbers(range(1)).tolist() == [[1], [0]]
    assert read(np.arange(4, dtype=np.int16)[:, None]).numbers(range(1)).dtype == np.float64


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_matrices(kind):
    dense = np.random.default_rng(0).normal(size=(50, 30))
    dense[np.random.default_rng(1).random(dense.shape) < 0.8] = 0
    dense[3, 4] = np.nan
    table = read(kind(dense))
    np.testing.assert_array_equal(table.numbers(range(3, 9)), dense[:, 3:9])
    np.testing.assert_array_equal(table.numbers([5, 2]), dense[:, [5, 2]])
    np.testing.assert_array_equal(table.column(7).values, dense[:, 7])
    y = dense[:, 0] > 0
    forest = RandomForestClassifier(9, random_state=0).fit(kind(dense), y)
    expected = RandomForestClassifier(9, random_state=0).fit(dense, y)
    np.testing.assert_array_equal(forest.predict_proba(kind(dense)), expected.predict_proba(dense))


@pytest.mark.parametrize("n_rows", [60, 600])
def test_sparse_matrices_with_categories(n_rows):
    rng = np.random.default_rng(0)
    dense = rng.choice([0, 3, 7, 300], (n_rows, 5), p=[0.82, 0.06, 0.06, 0.06]).astype(float)
    y = np.isin(dense[:, 0], [3, 300]).astype(int)
    model = RandomForestClassifier(5, categorical_features=[0, 3], random_state=0)
    of_sparse, of_dense = (clone(model).fit(X, y) for X in (sparse.csr_matrix(dense), dense))
    assert of_sparse._binner.bins_.categorical.tolist() == [1, 0, 0, 1, 0]
    codes = (
        codes_of(of_sparse, sparse.csr_matrix(dense)),
        codes_of(of_dense, dense),
    )
    assert np.array_equal(*codes)
    assert np.array_equal(of_sparse.predict_proba(dense), of_dense.predict_proba(dense))


def test_cells_that_are_stored_twice_count_as_their_sum():
    stored = np.array([1.0, 4, 2, 3]), np.array([1, 0, 1, 0]), np.array([0, 3, 4])
    X = sparse.csc_matrix(stored, (2, 2))
    assert np.array_equal(read(X).numbers(range(2)), [[4, 3], [3, 0]])
    assert np.array_equal(X.data, stored[0])  # the user's matrix stays what it is
    y = [0, 1]
    model = RandomForestClassifier(3, random_state=0)
    X = sparse.csc_matrix((*stored[:2], np.append(stored[2], [4] * 18)), (2, 20))  # stays sparse
    codes = [codes_of(model.fit(table, y), table) for table in (X, X.toarray())]
    assert np.array_equal(*codes)
    # Sums of many are rounded, in the order in which they stand.
    rng = np.random.default_rng(0)
    rows, stored = (
        rng.integers(0, 20, 400),
        rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, 400),
    )
    X = sparse.csc_matrix((stored, rows, [0, 200, 400]), (20, 2))
    assert np.array_equal(read(X).numbers(range(2)), X.toarray())


def test_invalid_sparse_matrices():
    X = sparse.csc_matrix(([1.7e308, 1.7e308, 1.0], [0, 0, 1], [0, 2, 3]), (2, 2))
    with pytest.raises(ValueError, match="X contains infinity"):
        read(X)
    for row in (-1, 2, 2**31 - 2):
        X = sparse.csc_matrix(([1.0], [0], [0, 0, 1]), (2, 2))
        X.indices[0] = row
        with pytest.raises(ValueError, match="indices"):
            read(X)


def test_masked_cells_are_missing():
    for dtype in [float, np.float32, int, bool, np.uint8]:
        rng = np.random.default_rng(0)
        X, mask = rng.integers(0, 5, (60, 4)).astype(dtype), rng.random((60, 4)) < 0.2
        masked, missing = np.ma.array(X, mask=mask), np.where(mask, np.nan, X)
        for table in (read(masked), read(list(masked)), by_columns(masked)):
            assert np.array_equal(table.numbers(range(4)), missing, equal_nan=True)
        y = np.arange(60) % 2
        for model in (
            RandomForestClassifier(3, random_state=0),
            MultiGrainedScanner([2], n_estimators=2, cv=2, random_state=0),
            AdaBoostClassifier(2),
        ):
            result, expected = (clone(model).fit(cells, y) for cells in (masked, missing))
            ask = "transform" if isinstance(model, MultiGrainedScanner) else "predict_proba"
            answers = getattr(result, ask)(masked[1:]), getattr(expected, ask)(missing[1:])
            assert np.array_equal(*answers)
        assert np.array_equal(masked.mask, mask)
        assert read(np.ma.array(X)).numbers(range(4)).dtype == read(X).numbers(range(4)).dtype


def test_masked_objects_are_missing():
    cells = np.array([["a", 1.5], ["b", 2]] * 3, object)
    table = read(np.ma.array(cells, mask=[[0, 1], [1, 0]] * 3), categorical_features=[0])
    assert table.column(0).missing.tolist() == [False, True] * 3
    assert np.array_equal(table.numbers([1]), [[np.nan], [2]] * 3, equal_nan=True)
