"""Boosting on divided rows gives the model of one machine, however the rows are divided.

Each shard has a thread, and the kernel exchanges sums between them as it does between processes.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_cases import Data, boosting_shards, made_weights
from sklearn.base import clone

from mddf import GradientBoostingClassifier, GradientBoostingRegressor, fingerprint

QUANTILE_LOSSES = ["absolute_error", "quantile", "huber"]
LOSSES = ["squared_error", "poisson", "gamma", "tweedie", *QUANTILE_LOSSES]


def assert_same_models(model, shard_models):
    for other in shard_models:
        assert model._trees.arrays.keys() == other._trees.arrays.keys()
        for name, array in model._trees.arrays.items():
            np.testing.assert_array_equal(array, other._trees.arrays[name], name)
        np.testing.assert_array_equal(model.train_score_, other.train_score_)
        np.testing.assert_array_equal(model.validation_score_, other.validation_score_)
        assert fingerprint(model) == fingerprint(other)


def assert_sharding_changes_nothing(
    model, data, cuts, validation=None, validation_cuts=(), **fit_parameters
):
    if validation is not None:
        fit_parameters |= {
            "X_val": validation.X,
            "y_val": validation.y,
            "sample_weight_val": validation.sample_weight,
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of validation sets without gain and the like
        whole = clone(model).fit(data.X, data.y, data.sample_weight, **fit_parameters)
        shards = boosting_shards(model, data, cuts, validation, validation_cuts)
    assert_same_models(whole, shards)
    return whole


def make_data(rng, n, *, kind="numbers", weights=None):
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 5, n)
    X[:, 2] = np.round(X[:, 2], 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X) @ [1, -0.5, 1, 0] + rng.normal(0, 0.5, n)
    y = np.abs(signal) + 0.1 if kind == "numbers" else np.digitize(signal, kind)
    return Data(X, y, made_weights(rng, n, weights))


@st.composite
def cases(draw):
    """A model, data with a validation set or without, and cuts of both into shards."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(8, 400))
    n_shards = draw(st.integers(1, 4))
    is_classifier = draw(st.booleans())
    kind = draw(st.sampled_from([[0.0], [-1.0, 0.0, 1.0]])) if is_classifier else "numbers"
    weights = draw(st.sampled_from([None, "whole", "real", "equal"]))
    data = make_data(rng, n, kind=kind, weights=weights)
    options = {
        "max_iter": draw(st.integers(1, 6)),
        "learning_rate": draw(st.sampled_from([0.1, 1.0, 3.0])),
        "grow_policy": draw(st.sampled_from(["symmetric", "leaf-wise"])),
        "max_depth": draw(st.sampled_from([None, 2])),
        "min_samples_leaf": draw(st.sampled_from([1, 5])),
        "l2_regularization": draw(st.sampled_from([0.0, 3.0])),
        "max_features": draw(st.sampled_from([1.0, 0.5, 0.25])),
        "subsample": draw(st.sampled_from([1.0, 0.7])),
        "max_bins": draw(st.sampled_from([4, 16, 255])),
        "categorical_features": draw(st.sampled_from([None, [1]])),
        "early_stopping": False,
        "n_iter_no_change": 2,
        "random_state": draw(st.integers(0, 9)),
    }
    validation = None
    validation_cuts = []
    if draw(st.booleans()):
        validation = make_data(rng, n // 2, kind=kind, weights=weights)
        if is_classifier:
            counted = data.y if data.sample_weight is None else data.y[data.sample_weight > 0]
            known = np.isin(validation.y, counted)
            y = np.where(known, validation.y, counted[0])
            validation = Data(validation.X, y, validation.sample_weight)
        validation_cuts = sorted(draw(st.integers(0, n // 2)) for _ in range(n_shards - 1))
        options["early_stopping"] = draw(st.booleans())
    if is_classifier:
        options["class_weight"] = draw(st.sampled_from([None, "balanced"]))
        model = GradientBoostingClassifier(**options)
    else:
        loss = draw(st.sampled_from(LOSSES))
        if loss == "quantile":
            options["quantile"] = draw(st.sampled_from([0.1, 0.5, 0.83]))
        model = GradientBoostingRegressor(loss, **options)
    places = st.lists(st.integers(1, n - 1), max_size=n_shards - 1, unique=True)
    cuts = sorted(draw(places))
    return model, data, cuts, validation, validation_cuts[: len(cuts)]


@settings(max_examples=40, deadline=None)
@given(cases())
def test_any_division_gives_the_same_bits(case):
    model, data, cuts, validation, validation_cuts = case
    if model.loss in QUANTILE_LOSSES and data.sample_weight is not None:
        data = Data(data.X, data.y, np.ceil(data.sample_weight))  # others are refused
    assert_sharding_changes_nothing(model, data, cuts, validation, validation_cuts)


@pytest.mark.parametrize("grow_policy", ["symmetric", "leaf-wise"])
def test_more_rows_than_a_thread_takes(grow_policy, two_threads):
    data = make_data(np.random.default_rng(0), 12_000, kind=[0.0])
    model = GradientBoostingClassifier(
        max_iter=5, grow_policy=grow_policy, early_stopping=False, random_state=0, n_jobs=2
    )
    assert_sharding_changes_nothing(model, data, [9000])


def test_more_classes_than_sums_have_gradients():
    rng = np.random.default_rng(0)
    data = make_data(rng, 600, kind=[*np.linspace(-2, 2, 11)])
    model = GradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0)
    assert_sharding_changes_nothing(model, data, [100, 350])


def test_constraints():
    data = make_data(np.random.default_rng(0), 500)
    model = GradientBoostingRegressor(
        max_iter=8,
        monotonic_cst=[1, 0, 1, 0],
        interaction_cst=[[0, 1], [2, 3]],
        early_stopping=False,
        random_state=0,
    )
    assert_sharding_changes_nothing(model, data, [20, 200])


def frame(rng, n):
    colours = np.array(["red", "green", "blue", None], object)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "colour": colours[rng.integers(0, 4, n)],
            "size": pd.Categorical(np.array(list("SML"))[rng.integers(0, 3, n)]),
            "day": np.datetime64("2024-01-01", "ns")
            + rng.integers(0, 100, n).astype("timedelta64[D]"),
            "whole": rng.integers(0, 9, n),
        }
    )


def test_frames_with_categories_dates_and_labels():
    rng = np.random.default_rng(0)
    X = frame(rng, 300)
    y = np.where((X["colour"] == "red") ^ (X["number"] > 0.3), "yes", "no")
    model = GradientBoostingClassifier(max_iter=10, early_stopping=False, random_state=0)
    whole = assert_sharding_changes_nothing(model, Data(X, y), [40, 150])
    assert whole.is_categorical_.sum() == 2


def test_dates_that_one_shard_lacks():
    rng = np.random.default_rng(0)
    X = frame(rng, 300)
    X.loc[:149, "day"] = pd.NaT
    days = pd.date_range("2024-01-01", periods=100).to_pydatetime().tolist()
    X["other day"] = pd.Series([*[None] * 200, *days], dtype=object)
    X["never"] = pd.Series(pd.NaT, X.index, dtype="datetime64[ns]")
    y = np.where(X["day"].dt.month == 2, 1.0, X["number"])
    model = GradientBoostingRegressor(max_iter=4, early_stopping=False, random_state=0)
    assert_sharding_changes_nothing(model, Data(X, y), [150, 180])


def test_rare_categories_share_a_bin():
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.2, 400), 20).astype(float)
    codes[rng.random(400) < 0.1] = np.nan
    data = Data(np.column_stack([codes, rng.normal(size=400)]), np.nan_to_num(codes) % 3)
    model = GradientBoostingRegressor(
        max_iter=5, max_bins=6, categorical_features=[0], early_stopping=False, random_state=0
    )
    assert_sharding_changes_nothing(model, data, [50, 260])


def test_a_shard_of_rows_without_weight():
    data = make_data(np.random.default_rng(0), 300, weights="whole")
    data.sample_weight[100:200] = 0
    model = GradientBoostingRegressor(
        max_iter=5, subsample=0.7, early_stopping=False, random_state=0
    )
    assert_sharding_changes_nothing(model, data, [100, 200])


@pytest.mark.parametrize("loss", QUANTILE_LOSSES)
def test_quantiles_of_equal_and_negative_targets(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    options = {"max_iter": 6, "early_stopping": False, "random_state": 0}
    if loss == "quantile":
        options["quantile"] = 0.3
    model = GradientBoostingRegressor(loss, **options)
    for y in (np.round(X[:, 0]), -np.exp(9 * X[:, 0]), np.full(300, -2.0)):
        for weight in (None, rng.integers(1, 5, 300).astype(float), np.full(300, 0.3)):
            assert_sharding_changes_nothing(model, Data(X, y, weight), [40, 41, 200])


def test_parameters_that_need_all_rows():
    for parameters, message in [
        ({"early_stopping": True}, "early_stopping must be 'auto' or False"),
        ({"warm_start": True}, "warm_start must be False"),
        ({"cv": 3}, "cv must be None"),
        ({"scoring": "r2"}, "scoring must be 'loss'"),
        ({"loss": lambda y, raw: (y, raw)}, "loss must be the name of a loss"),
        (
            {"loss": "absolute_error", "monotonic_cst": [1, 0, 0, 0]},
            "monotonic_cst must be None with the loss 'absolute_error'",
        ),
    ]:
        data = make_data(np.random.default_rng(0), 40)
        model = GradientBoostingRegressor(
            **({"early_stopping": False} | parameters), random_state=0
        )
        with pytest.raises(ValueError, match=f"{message}.* got"):
            boosting_shards(model, data, [])


def frame_with_many_levels(rng, n):
    """Columns of 40 and of 300 levels with missing cells, and targets that depend on them."""
    towns, streets = rng.integers(0, 40, n), rng.integers(0, 300, n)
    X = pd.DataFrame(
        {
            "town": pd.Series(towns).map("town {}".format),
            "street": pd.Series(streets).map("street {}".format),
            "size": rng.normal(size=n),
            "kind": rng.choice(["flat", "house", None], n),
        }
    )
    y = rng.normal(size=40)[towns] + rng.normal(size=300)[streets] + X["size"].to_numpy()
    X.loc[rng.random(n) < 0.1, "town"] = None
    X.loc[rng.random(n) < 0.1, "street"] = None
    return X, y


@pytest.mark.parametrize("cuts", [[], [700], [300, 1100]])
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_columns_with_many_levels(cuts, weights):
    rng = np.random.default_rng(0)
    X, y = frame_with_many_levels(rng, 1500)
    sample_weight = made_weights(rng, 1500, weights)
    options = {"max_iter": 8, "early_stopping": False, "random_state": 0}
    classifier = GradientBoostingClassifier(subsample=0.7, **options)
    for model, target in [
        (GradientBoostingRegressor(grow_policy="leaf-wise", **options), y),
        (classifier, np.digitize(y, [-1, 1])),
        (classifier, np.round(2 * y).astype(int)),  # more classes than have statistics
    ]:
        assert_sharding_changes_nothing(model, Data(X, target, sample_weight), cuts)


@pytest.mark.parametrize("weights", [None, "whole"])
def test_equal_rows_with_many_levels(weights):
    rng = np.random.default_rng(0)
    X, y = frame_with_many_levels(rng, 1500)
    sample_weight = made_weights(rng, 1500, weights)
    model = GradientBoostingRegressor(max_iter=8, early_stopping=False, random_state=0)
    for columns in (["town"], ["town", "kind"]):
        assert_sharding_changes_nothing(model, Data(X[columns], y, sample_weight), [200, 800])


def test_many_levels_and_a_validation_set():
    rng = np.random.default_rng(0)
    X, y = frame_with_many_levels(rng, 1500)
    model = GradientBoostingRegressor(max_iter=30, learning_rate=0.5, random_state=0)
    training, validation = Data(X[:1000], y[:1000]), Data(X[1000:], y[1000:])
    assert_sharding_changes_nothing(model, training, [400, 600], validation, [0, 250])


def test_columns_of_different_kinds():
    X = pd.DataFrame({"mixed": ["a", "b"] * 10 + [1.5, 2.5] * 10}, dtype=object)
    model = GradientBoostingRegressor(max_iter=3, early_stopping=False, random_state=0)
    with pytest.raises(TypeError, match=r"mixed.*must have the same type in all partitions"):
        boosting_shards(model, Data(X, np.arange(40.0)), [20])
