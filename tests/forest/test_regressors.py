import naive
import numpy as np
import pandas as pd
import pytest
from forest_cases import codes_of, draws_rows, few_trees, watched_growth
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.tree import DecisionTreeRegressor
from sklearn_checks import sklearn_checks
from value_cases import REGRESSORS, ValueCase, check_value_tree, whole_numbers

from mddf import CompletelyRandomForestRegressor, RandomForestRegressor

both = pytest.mark.parametrize("Forest", REGRESSORS)


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(300, 6, noise=0.5, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, y


def same(a, b, X):
    return np.array_equal(a.predict(X), b.predict(X))


@sklearn_checks(
    [
        RandomForestRegressor(),
        RandomForestRegressor(max_samples=1.0, oob_score=True, n_jobs=2),
        RandomForestRegressor(criterion="absolute_error", bootstrap=False, max_leaf_nodes=12),
        CompletelyRandomForestRegressor(),
        CompletelyRandomForestRegressor(bootstrap=True, max_samples=1.0),
        CompletelyRandomForestRegressor(max_features=3),
    ],
    draws_rows,
)
@pytest.mark.filterwarnings("ignore:with warm_start=True:UserWarning")
@few_trees
def test_sklearn_checks(estimator, check):
    check(estimator)


@both
def test_the_scale_of_targets(Forest, data):
    for exponent in [-1060, -996, 40, 1000, 1016]:
        X, y = data
        y = np.rint(y * 4)
        plain = Forest(9, bootstrap=False, random_state=0).fit(X, y)
        scaled = Forest(9, bootstrap=False, random_state=0).fit(X, np.ldexp(y, exponent))
        assert np.array_equal(np.ldexp(plain.predict(X), exponent), scaled.predict(X))
        assert np.array_equal(plain.feature_importances_, scaled.feature_importances_)


# Targets of every kind


@both
def test_constant_targets_are_predicted(Forest, data):
    for value in [0.0, -0.0, 0.1, -7, 1e-300, 5e-324, -1.7e308, 3**33]:
        X, _ = data
        forest = Forest(7, random_state=0).fit(X, np.full(len(X), value))
        np.testing.assert_allclose(forest.predict(X), value, rtol=1e-15)
        assert forest.apply(X).max() == 0
        assert not forest.feature_importances_.any()
        one_row = Forest(3, random_state=0).fit([[1.0]], [value])
        np.testing.assert_allclose(one_row.predict([[np.nan], [7.0]]), value, rtol=1e-15)


def test_huge_and_tiny_targets():
    X = np.arange(40.0)[:, None]
    for big in (1e300, 1.7e308):
        y = np.where(X[:, 0] < 20, -big, big)
        forest = RandomForestRegressor(100, bootstrap=False, random_state=0, n_jobs=2).fit(X, y)
        np.testing.assert_allclose(forest.predict(X), y, rtol=1e-14)
    most = np.finfo(np.float64).max
    for n_trees in (3, 10, 100):
        forest = RandomForestRegressor(n_trees, random_state=0).fit(X, np.full(40, most))
        np.testing.assert_allclose(forest.predict(X), most, rtol=1e-15)
    forest = RandomForestRegressor(9, oob_score=True, random_state=0).fit(X, 1e300 * X[:, 0])
    assert 0.95 < forest.oob_score_ < 1
    y = np.where(X[:, 0] < 20, 1e-320, 3e-320)
    assert np.array_equal(CompletelyRandomForestRegressor(64).fit(X, y).predict(X), y)


@both
def test_types_and_shapes_of_targets(Forest, data):
    X, y = data
    y = np.rint(y)
    expected = Forest(5, random_state=0).fit(X, y)
    for other in (y.astype(int), y.astype("f4"), y.astype("i1"), y.tolist(), pd.Series(y)):
        assert same(expected, Forest(5, random_state=0).fit(X, other), X)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = Forest(5, random_state=0).fit(X, y[:, None])
    assert same(expected, column, X)
    assert expected.predict(X).shape == (len(X),)
    words = Forest(2).fit(X, (y > 14).astype(object))
    assert set(np.unique(words.predict(X))) <= {0, 0.5, 1}


@both
def test_targets_that_do_not_do(Forest):
    for y, message in [
        (None, "target y is None"),
        ([1.0, np.nan, 2], r"Input y contains NaN.* got nan in row 1$"),
        ([1.0, np.inf, 2], "Input y contains infinity"),
        ([1.0, -np.inf, 2], "Input y contains infinity"),
        ([np.inf, -np.inf, 2], "got inf in row 0, the first of 2 rows$"),
        ([[1, 2], [1, 2], [2, np.nan]], r"NaN.* got \[2.0, nan\] in row 2"),
        (["a", "b", "c"], "y cannot be used: could not convert"),
        ([10**400, 1, 2], "y"),
        ([1j, 2, 3], "(?i)complex"),
        (np.zeros((3, 2, 2)), "dim"),
        (np.zeros((3, 0)), r"y cannot be used"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        (3.0, "y"),
    ]:
        forest = Forest(2).fit(np.zeros((3, 1)), [1.0, 2, 3])
        before = forest.predict([[0.0]])
        with pytest.raises((ValueError, TypeError), match=message):
            forest.fit(np.zeros((3, 1)), y)
        assert np.array_equal(forest.predict([[0.0]]), before)


@pytest.mark.parametrize("unit", ["timedelta64[D]", "datetime64[s]"])
def test_times_are_refused_as_targets(unit):
    y = np.arange(20).astype(unit)
    y[3] = "NaT"
    for targets in (y, pd.Series(y), list(y)):
        with pytest.raises((TypeError, ValueError), match=r"y.*(times|NaT|float)"):
            RandomForestRegressor(2).fit(np.arange(20.0)[:, None], targets)


def test_targets_that_vanish_beside_the_largest():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    y[7] = 1e18
    RandomForestRegressor(2, random_state=0).fit(X, y)
    y[7] = 1e22
    with pytest.warns(UserWarning, match=r"18 of 20 targets are rounded to 0.*1e\+22") as result:
        RandomForestRegressor(2, random_state=0).fit(X, y)
    assert result[0].filename == __file__
    with pytest.warns(UserWarning, match="17 of 20"):  # what has no weight does not count
        RandomForestRegressor(2, random_state=0).fit(X, y, np.arange(20) != 3)


@both
def test_several_outputs(Forest, data):
    X, y = data
    both_outputs = np.column_stack([y, -3 * y])
    deterministic = Forest(10, random_state=0, bootstrap=False).fit(X, y)
    two = Forest(10, random_state=0, bootstrap=False).fit(X, both_outputs)
    assert two.n_outputs_ == 2
    assert two.predict(X).shape == (len(X), 2)
    by_columns = clone(two).fit(X, np.asfortranarray(both_outputs))
    np.testing.assert_array_equal(by_columns.predict(X), two.predict(X))
    np.testing.assert_allclose(two.predict(X), both_outputs, rtol=1e-12)
    np.testing.assert_allclose(deterministic.predict(X), y, rtol=1e-12)
    forest = Forest(60, random_state=0, bootstrap=True, oob_score=True).fit(X, both_outputs)
    assert forest.oob_prediction_.shape == (len(X), 2)
    np.testing.assert_allclose(
        forest.oob_score_, r2_score(both_outputs, forest.oob_prediction_), rtol=1e-12
    )
    # An output that is far smaller than another has no say, but is predicted all the same.
    tiny = Forest(10, random_state=0).fit(X, np.column_stack([y, 1e-300 * X[:, 4] ** 0]))
    np.testing.assert_allclose(tiny.predict(X)[:, 1][~np.isnan(X[:, 4])], 1e-300)


# Against scikit-learn


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_tree_reaches_the_training_error_of_scikit_learns(n_outputs):
    for max_depth in [1, 2, 3, None]:
        rng = np.random.default_rng(12)
        for seed in range(8):
            X = rng.normal(size=(240, 5))  # all values distinct and fewer than bins
            y = (X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=240))[:, None] + rng.normal(
                size=(240, n_outputs)
            )
            y = y[:, 0] if n_outputs == 1 else y
            theirs = DecisionTreeRegressor(max_depth=max_depth, random_state=seed).fit(X, y)
            ours = RandomForestRegressor(
                1, bootstrap=False, max_depth=max_depth, random_state=seed
            )
            errors = [np.mean((m.fit(X, y).predict(X) - y) ** 2) for m in (ours, theirs)]
            np.testing.assert_allclose(*errors, rtol=1e-6, atol=1e-20)


def case_of(forest, X, y):
    bins = forest._binner.bins_
    return ValueCase(
        codes_of(forest, X),
        bins.values,
        bins.start,
        bins.categorical,
        np.zeros(len(y), np.uint16),
        1,
        fixed=whole_numbers(y[:, None]),
        scale=np.ones(1),
    )


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({}, {}),
        ({"max_depth": 3}, {"max_depth": 3}),
        ({"min_samples_split": 20}, {"min_samples_split": 20}),
        ({"min_samples_leaf": 0.0301}, {"min_samples_leaf": 4}),
        ({"min_weight_fraction_leaf": 0.05}, {"min_weight_leaf": 0.05}),
        ({"max_samples": 40}, {}),
        ({"bootstrap": False, "max_bins": 9}, {}),
    ],
)
def test_every_option_changes_the_trees(options, limits, data):
    X, y = data[0][:120], data[1][:120]
    with watched_growth() as blocks:
        forest = RandomForestRegressor(1, random_state=0, **options).fit(X, y)
    case = case_of(forest, X, y)
    rows = case.order()
    trees = [nodes for block in forest._trees for nodes in naive.decode(block)]
    for seed, nodes in zip(blocks[0].seeds, trees, strict=True):
        drawn = np.ones(len(y), int)
        if forest.bootstrap:
            drawn = naive.bootstrap(seed, rows, forest.max_samples or len(y), len(y))
        check_value_tree(nodes, case, rows=np.repeat(case.rows, drawn), **limits)


@few_trees
def test_warm_starts_need_targets_of_the_same_kind(data):
    X, y = data
    forest = RandomForestRegressor(4, warm_start=True, random_state=5).fit(X, y)
    forest.set_params(n_estimators=5)
    with pytest.raises(ValueError, match=r"y must have the 1 outputs.*got 2"):
        forest.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y must not exceed the least power of two"):
        forest.fit(X, 100 * y)


@few_trees
def test_out_of_bag(data):
    X, y = data
    forest = RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, y)
    has_prediction = ~np.isnan(forest.oob_prediction_)
    assert has_prediction.all()
    assert abs(forest.oob_score_ - r2_score(y, forest.oob_prediction_)) < 1e-12
    assert 0.7 < forest.oob_score_ < 0.9
    forest.set_params(oob_score=mean_absolute_error).fit(X, y)
    assert forest.oob_score_ == mean_absolute_error(y, forest.oob_prediction_)
    few = RandomForestRegressor(2, oob_score=True, random_state=0).fit(X, y)
    never = np.isnan(few.oob_prediction_)
    assert 0.3 < never.mean() < 0.5
    assert abs(few.oob_score_ - r2_score(y[~never], few.oob_prediction_[~never])) < 1e-12
    few.set_params(oob_score=False).fit(X, y)
    assert not hasattr(few, "oob_prediction_")
