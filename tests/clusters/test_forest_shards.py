"""Forests on divided rows have the bits of forests on one machine, however the rows are divided.

Each shard has a thread. Nodes of more than 64 rows are split by sums over the shards, which are
all nodes that may be: larger copies would leave few of them in small tables.
"""

import warnings

import limits
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shard_cases import Data, forest_shards, made_weights
from sklearn.base import clone

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    fingerprint,
)

FORESTS = [
    RandomForestClassifier,
    CompletelyRandomForestClassifier,
    RandomForestRegressor,
    CompletelyRandomForestRegressor,
]


@pytest.fixture(autouse=True)
def small_copies(monkeypatch):
    limits.change(monkeypatch, rows_of_a_copied_node=0, share_of_a_copied_node=0.0)


def assert_sharding_changes_nothing(model, data, cuts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that look like times and the like
        whole = clone(model).fit(data.X, data.y, data.sample_weight)
        fitted = forest_shards(model, data, cuts)[0]
    predict = "predict_proba" if hasattr(whole, "predict_proba") else "predict"
    expected = getattr(whole, predict)(data.X)
    np.testing.assert_array_equal(getattr(fitted, predict)(data.X), expected)
    assert fingerprint(whole) == fingerprint(fitted)
    return whole


def make_data(rng, n, *, kind, weights=None):
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 12, n)
    X[:, 2] = np.round(X[:, 2], 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X) @ [1, -0.2, 1, 0, 0.1] + rng.normal(0, 0.5, n)
    if kind == "classes":
        y = np.digitize(signal, [-1.0, 0.0, 1.5][: int(rng.integers(1, 4))])
    elif kind == "counts":
        y = np.round(np.abs(signal))
        y[0] = 1
    else:
        y = signal * 10.0 ** rng.integers(-3, 4)
    return Data(X, y, made_weights(rng, n, weights))


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(80, 700))
    forest = draw(st.sampled_from(FORESTS))
    is_classifier = forest in FORESTS[:2]
    bootstrap = draw(st.booleans())
    options = {
        "n_estimators": draw(st.integers(1, 4)),
        "max_depth": draw(st.sampled_from([None, None, 2])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 7, 0.1])),
        "min_samples_split": draw(st.sampled_from([2, 100])),
        "min_weight_fraction_leaf": draw(st.sampled_from([0.0, 0.0, 0.05])),
        "min_impurity_decrease": draw(st.sampled_from([0.0, 0.0, 0.01])),
        "ccp_alpha": draw(st.sampled_from([0.0, 0.0, 0.01])),
        "max_features": draw(st.sampled_from([1, 2, 1.0])),
        "bootstrap": bootstrap,
        "max_samples": draw(st.sampled_from([None, 0.7])) if bootstrap else None,
        "max_bins": draw(st.sampled_from([4, 255])),
        "categorical_features": draw(st.sampled_from([None, [1]])),
        "random_state": draw(st.integers(0, 9)),
    }
    kind = "classes" if is_classifier else "numbers"
    if not is_classifier:
        options["criterion"] = draw(st.sampled_from(["squared_error", "poisson", "friedman_mse"]))
        if options["criterion"] == "poisson":
            kind = "counts"
    elif bootstrap:
        options["class_weight"] = draw(st.sampled_from([None, "balanced"]))
    allowed = [None, "whole", "equal"]
    if bootstrap:
        allowed.append("real")
    weights = draw(st.sampled_from(allowed))
    data = make_data(rng, n, kind=kind, weights=weights)
    if draw(st.booleans()) and (not is_classifier or data.y.max() == 1):
        options["monotonic_cst"] = [1, 0, -1, 0, 0]
    places = st.lists(st.integers(1, n - 1), max_size=3, unique=True)
    return forest(**options), data, sorted(draw(places))


FIXTURE_IS_CONSTANT = [HealthCheck.function_scoped_fixture]


@settings(max_examples=60, deadline=None, suppress_health_check=FIXTURE_IS_CONSTANT)
@given(cases())
def test_any_division_gives_the_same_bits(case):
    assert_sharding_changes_nothing(*case)


@pytest.mark.parametrize("forest", FORESTS)
def test_copies_of_middle_size(forest, monkeypatch, two_threads):
    limits.change(monkeypatch, rows_of_a_copied_node=300)
    kind = "classes" if forest in FORESTS[:2] else "numbers"
    data = make_data(np.random.default_rng(3), 3000, kind=kind)
    model = forest(6, random_state=0, bootstrap=True, n_jobs=2)
    assert_sharding_changes_nothing(model, data, [900, 901, 2000])


def test_more_trees_than_a_block_has():
    data = make_data(np.random.default_rng(0), 90, kind="classes")
    model = RandomForestClassifier(130, max_depth=2, random_state=0)
    assert_sharding_changes_nothing(model, data, [20, 50])


def test_frames_with_categories_dates_and_labels():
    rng = np.random.default_rng(0)
    colours = np.array(["red", "green", "blue", None], object)
    n = 500
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "colour": colours[rng.integers(0, 4, n)],
            "name": [f"name {i}" for i in rng.integers(0, 60, n)],
            "day": np.datetime64("2024-01-01", "ns")
            + rng.integers(0, 100, n).astype("timedelta64[D]"),
        }
    )
    X.loc[:149, ["colour", "day"]] = None  # no value in the first shard
    y = np.where((X["colour"] == "red") ^ (X["number"] > 0.3), "yes", "no")
    y[150:] = np.where(rng.random(350) < 0.1, "perhaps", y[150:])  # a class the first shard lacks
    for forest in FORESTS[:2]:
        assert_sharding_changes_nothing(forest(3, random_state=0), Data(X, y), [150, 200])


@pytest.mark.parametrize("forest", FORESTS)
def test_constant_columns_and_targets(forest):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), np.full(300, 3.0), np.full(300, np.nan)])
    model = forest(2, random_state=0)
    assert_sharding_changes_nothing(model, Data(X, np.ones(300)), [10, 200])
    assert_sharding_changes_nothing(model, Data(X, rng.integers(0, 2, 300)), [10, 200])


def test_targets_of_any_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    for scale in (1e-300, 1e300):
        y = rng.normal(size=400) * scale
        for forest in FORESTS[2:]:
            model = forest(2, random_state=0, bootstrap=True, max_depth=3)
            assert_sharding_changes_nothing(model, Data(X, y), [100, 399])


def test_a_shard_of_rows_without_weight():
    data = make_data(np.random.default_rng(0), 400, kind="numbers", weights="whole")
    data.sample_weight[100:200] = 0
    assert_sharding_changes_nothing(RandomForestRegressor(3, random_state=0), data, [100, 200])


@pytest.mark.parametrize("forest", FORESTS[2:])
def test_a_row_that_is_drawn_very_often(forest):
    """Small nodes store counts of at most 65 535 by themselves."""
    data = make_data(np.random.default_rng(0), 300, kind="numbers")
    # Targets of a wide range: small nodes have finer units of their own.
    y = np.exp(12 * data.y / np.abs(data.y).max())
    weights = np.ones(300)
    weights[150] = 1e4
    model = forest(9, bootstrap=True, max_samples=200_000, random_state=0)
    assert_sharding_changes_nothing(model, Data(data.X, y, weights), [100, 200])


def test_parameters_that_need_all_rows():
    for forest, parameters, message in [
        (RandomForestClassifier, {"criterion": "entropy"}, "criterion must be 'gini'"),
        (RandomForestRegressor, {"criterion": "absolute_error"}, "criterion must be 'squared"),
        (RandomForestClassifier, {"max_leaf_nodes": 4}, "max_leaf_nodes must be None"),
        (RandomForestClassifier, {"oob_score": True}, "oob_score must be False"),
        (RandomForestClassifier, {"warm_start": True}, "warm_start must be False"),
        (RandomForestClassifier, {"bootstrap": "balanced"}, "bootstrap must be True or False"),
        (RandomForestClassifier, {"class_weight": "balanced_subsample"}, "class_weight must be"),
        (RandomForestRegressor, {"keep_targets": 3}, "keep_targets must be None"),
        (
            RandomForestClassifier,
            {"bootstrap": False, "class_weight": "balanced"},
            "sample_weight, times class_weight if there is one, must be whole numbers",
        ),
        (
            RandomForestClassifier,
            {"bootstrap": False, "class_weight": {0: 70_000}},
            "must be whole numbers up to 65535 with bootstrap=False",
        ),
    ]:
        data = make_data(np.random.default_rng(0), 40, kind="classes")
        with pytest.raises(ValueError, match=f"{message}.* got"):
            forest_shards(forest(2, random_state=0, **parameters), data, [20])


@pytest.mark.parametrize("forest", FORESTS)
def test_one_row_in_each_shard(forest):
    kind = "classes" if forest in FORESTS[:2] else "numbers"
    data = make_data(np.random.default_rng(0), 9, kind=kind)
    assert_sharding_changes_nothing(forest(3, random_state=0), data, list(range(1, 9)))


def test_rare_classes_that_no_tree_draws():
    data = make_data(np.random.default_rng(0), 300, kind="classes")
    y = np.zeros(300, int)
    y[[7, 8]] = [1, 2]
    model = RandomForestClassifier(6, max_samples=3, random_state=0)
    assert_sharding_changes_nothing(model, Data(data.X, y), [100])
    model = RandomForestClassifier(6, class_weight={0: 1, 1: 0, 2: 3}, random_state=0)
    assert_sharding_changes_nothing(model, Data(data.X, y), [8])


def test_an_error_of_a_tree_ends_all_processes(monkeypatch):
    def fail(*args):
        raise MemoryError("no memory for copies")

    limits.change(monkeypatch, copies_of_nodes=fail)
    data = make_data(np.random.default_rng(0), 200, kind="classes")
    with pytest.raises(MemoryError, match="no memory for copies"):
        forest_shards(RandomForestClassifier(4, random_state=0), data, [50, 120])
