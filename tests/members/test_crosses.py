"""Columns made from other columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mddf._members.crosses import DIFFERENCE, N_CODES, PRODUCT, Crosses


def table(n=40, seed=0):
    """Three numbers, some of them missing, and a category."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)) * [1, 10, 0.3], rng.integers(0, 3, n)])
    X[::7, 0] = np.nan
    X[::5, 3] = np.nan
    return X


def learn(X, **options):
    columns = {"numbers": [0, 1, 2], "grouped_numbers": [0, 1], "categories": [3]}
    return Crosses.from_rows(X, **columns | options)


def twin(crosses, X):
    """Made columns, one cell at a time."""
    made = np.full((len(X), crosses.n_columns), np.nan)
    for i, row in enumerate(X.tolist()):
        for place, (first, second) in enumerate(crosses.pairs.tolist()):
            a, b = row[first], row[second]
            made[i, place] = a * b if crosses.operations[place] == PRODUCT else a - b
        for place, (number, category) in enumerate(crosses.grouped.tolist()):
            group = N_CODES if np.isnan(row[category]) else int(row[category])
            mean = crosses.group_means[place, group]
            made[i, len(crosses.pairs) + place] = row[number] - mean
    return made


def test_made_columns_are_those_of_the_twin():
    X = table()
    X[3] = 0
    crosses = learn(X)
    assert crosses.n_columns == 2 * 3 + 2
    assert crosses.operations.tolist() == [DIFFERENCE] * 3 + [PRODUCT] * 3
    np.testing.assert_array_equal(crosses.transform(X), twin(crosses, X))


def test_new_categories_have_the_mean_of_all_rows():
    X = table()
    crosses = learn(X)
    new = np.array([[1.0, 2.0, 3.0, 200.0]])
    made = crosses.transform(new)[:, len(crosses.pairs) :]
    np.testing.assert_allclose(made, new[:, :2] - np.nanmean(X[:, :2], axis=0))


def test_columns_without_values_and_constant_columns():
    X = table()
    X[:, 0] = np.nan
    X[:, 1] = 5.0
    crosses = learn(X)
    np.testing.assert_array_equal(crosses.transform(X), twin(crosses, X))
    assert np.isfinite(crosses.group_means).all()


def test_numbers_of_any_size_have_finite_results():
    X = np.array([[1e100, -1e100, 1e-300, 0], [-1e100, 1e100, 1e-100, 1], [0, 0, 0, 1]])
    made = learn(X).transform(X)
    assert not np.isinf(made).any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_each_row_is_transformed_on_its_own(seed, n):
    X = table(n, seed)
    crosses = learn(X)
    alone = np.vstack([crosses.transform(row[None]) for row in X])
    np.testing.assert_array_equal(crosses.transform(X), alone)


def test_huge_numbers_overflow_silently():
    X = np.array([[1e200, 1e200], [-1e308, 1e308], [1.0, 2.0]])
    crosses = Crosses.from_rows(X, numbers=[0, 1], grouped_numbers=[], categories=[])
    assert crosses.transform(X).tolist() == [[0, np.inf], [-np.inf, -np.inf], [-1, 2]]
