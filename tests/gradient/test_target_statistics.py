"""Target statistics of categories with many levels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosted_cases import answers, both, growth

from mddf import GradientBoostingClassifier
from mddf._gradient.target_statistics import TargetSums
from mddf._input.frame import FrameTable

FEW = {"max_iter": 30, "learning_rate": 0.2, "random_state": 0, "early_stopping": False}


def people(n=600, seed=0, n_levels=60, n_classes=2):
    """Numbers, few colours, many towns and trades, some missing; a target that depends on them."""
    rng = np.random.default_rng(seed)
    towns, trades = rng.integers(0, n_levels, n), rng.integers(0, 40, n)
    of_town, of_trade = rng.normal(size=n_levels), rng.normal(size=40)
    table = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "town": np.array([f"town {i}" for i in range(n_levels)])[towns],
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
            "trade": np.array([f"trade {i}" for i in range(40)])[trades],
        }
    )
    y = table["age"].to_numpy() + 2 * of_town[towns] + of_trade[trades] + rng.normal(size=n)
    table.loc[::17, "town"] = None
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return table, y


def problem(Model, n_classes=2, **options):
    return people(n_classes=n_classes if Model is GradientBoostingClassifier else 0, **options)


def naive_before(keys, y, weights, order, prior):
    """The statistic of each row from earlier rows, one by one."""
    result, sums = np.empty(len(y)), {}
    for row in order:
        total, weight = sums.get(keys[row], (0.0, 0.0))
        result[row] = (total + prior) / (weight + 1)
        sums[keys[row]] = total + weights[row] * y[row], weight + weights[row]
    return result


@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_statistics_match_a_slow_twin(weights):
    rng = np.random.default_rng(3)
    keys, y, order = rng.integers(0, 12, 80), rng.normal(size=80), rng.permutation(80)
    of_rows = {"whole": rng.integers(1, 4, 80).astype(float), "real": rng.uniform(0.5, 2, 80)}
    w = of_rows.get(weights, np.ones(80))
    outcomes = TargetSums.from_outputs(y[:, None], None if weights is None else w)
    prior = np.average(y, weights=w)
    assert outcomes.prior[0] == pytest.approx(prior, rel=1e-12)
    result = outcomes.before(keys, order)[:, 0]
    assert result == pytest.approx(naive_before(keys, y, w, order, prior), rel=1e-9, abs=1e-12)
    different, means = outcomes.all_means(keys)
    assert np.array_equal(different, np.unique(keys))
    for key, mean in zip(different, means[:, 0], strict=False):
        has_key = keys == key
        expected = (w[has_key] @ y[has_key] + prior) / (w[has_key].sum() + 1)
        assert mean == pytest.approx(expected, rel=1e-9)
    assert means[-1, 0] == outcomes.prior[0]


def test_statistics_of_a_row_exclude_its_target():
    rng = np.random.default_rng(0)
    keys, y, order = rng.integers(0, 5, 50), rng.normal(size=50), rng.permutation(50)
    before = TargetSums.from_outputs(y[:, None], None).before(keys, order)
    for row in range(0, 50, 7):
        other = y.copy()
        swapped = order[-1]  # the last row's target is in no statistic but the prior
        other[row], other[swapped] = y[swapped], y[row]
        after = TargetSums.from_outputs(other[:, None], None).before(keys, order)
        assert after[row] == pytest.approx(before[row], rel=1e-9)


@both
def test_levels_that_decide_are_learnt(Model):
    X, y = problem(Model, n=4000, n_levels=300)
    train, test = slice(0, 3000), slice(3000, None)
    options = {**FEW, "max_iter": 100}
    model = Model(**options).fit(X[train], y[train])
    plain = Model(**options, categorical_features=["colour"])
    without = plain.fit(X[["age", "colour"]][train], y[train])
    assert model.score(X[test], y[test]) > without.score(X[["age", "colour"]][test], y[test]) + 0.1


@both
def test_order_of_rows_number_of_threads_and_pickles(Model):
    X, y = problem(Model, n_classes=3)
    model = Model(**FEW).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    for other in (
        Model(**FEW).fit(X.iloc[order], y[order]),
        Model(**FEW, n_jobs=3).fit(X, y),
        pickle.loads(pickle.dumps(model)),
    ):
        assert np.array_equal(answers(model, X), answers(other, X))
        assert np.array_equal(model.apply(X), other.apply(X))
    result = Model(**FEW | {"random_state": 1}).fit(X, y)
    assert not np.array_equal(answers(model, X), answers(result, X))


@both
def test_missing_and_unseen_levels(Model):
    X, y = problem(Model)
    y = np.where(X["town"].isna(), y.max(), y)  # what is missing is a level of its own
    model = Model(**FEW).fit(X, y)
    row = X[:1].assign(town="town 1", trade="trade 1")
    with pytest.warns(UserWarning, match="did not see"):
        unseen = answers(model, row.assign(town="Atlantis"))
    assert np.array_equal(unseen, answers(model, row.assign(town="El Dorado")))
    missing = answers(model, row.assign(town=None))
    assert np.ravel(missing)[-1] > np.ravel(unseen)[-1]
    statistics = model._statistics
    table = FrameTable(pd.concat([row.assign(town="Atlantis", trade="Atlantis")] * 200))
    codes = statistics.transform(model._binner.levels(table, statistics.columns))
    assert np.array_equal(codes[0], np.hstack([codes[-1] for codes in statistics.codes]))


def test_sets_of_one_column_and_statistics_of_another():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 60, 3000)
    X = pd.DataFrame({"number": rng.normal(size=3000)})
    X["kind"] = [f"kind {number}" for number in kind]
    X["noise"] = [f"noise {number}" for number in rng.integers(0, 400, 3000)]
    y = rng.choice([-1, 1], 60)[kind] * X["number"] > 0
    model = GradientBoostingClassifier(max_iter=60, random_state=0).fit(X, y)
    statistics = model._statistics
    assert statistics.columns == [2]
    table = FrameTable(X)
    levels = model._binner.levels(table, statistics.columns)
    codes = np.hstack([model._binner.encode(table).codes, statistics.transform(levels)])
    raw = model._trees.raw(codes)[:, 0]
    np.testing.assert_array_equal(model.decision_function(X), raw)


@both
def test_weights_enter(Model):
    X, y = problem(Model)
    town = X["town"] == "town 3"
    high = y > np.median(y)
    light = Model(**FEW).fit(X, y, np.where(town & high, 0.01, 1.0))
    heavy = Model(**FEW).fit(X, y, np.where(town & high, 100.0, 1.0))
    row = X[:1].assign(town="town 3")
    assert np.ravel(answers(heavy, row))[-1] > np.ravel(answers(light, row))[-1]
    none = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    a = Model(**FEW).fit(X[none > 0], y[none > 0])
    b = Model(**FEW).fit(X, y, none)
    assert np.array_equal(answers(a, X), answers(b, X))


@both
@growth
def test_warm_start_equals_a_single_fit(Model, grow_policy):
    X, y = problem(Model, n_classes=3)
    options = {**FEW, "grow_policy": grow_policy}
    whole = Model(**options).fit(X, y)
    model = Model(**options | {"max_iter": 13}, warm_start=True).fit(X, y)
    model.set_params(max_iter=30).fit(X, y)
    assert answers(model, X) == pytest.approx(answers(whole, X), rel=1e-9)


@both
def test_held_out_rows(Model):
    X, y = problem(Model, n=1500)
    model = Model(**FEW | {"early_stopping": True, "max_iter": 60}).fit(X, y)
    assert len(model.validation_score_) > 1
    other = Model(**FEW).fit(X[:1000], y[:1000], X_val=X[1000:], y_val=y[1000:])
    kept = Model(**FEW | {"max_iter": other.n_iter_}).fit(X[:1000], y[:1000])
    assert np.array_equal(answers(other, X), answers(kept, X))


@both
def test_levels_act_together_with_a_small_column(Model):
    rng = np.random.default_rng(0)
    many, few = rng.integers(0, 40, 1500), rng.integers(0, 5, 1500)
    f = np.where(rng.random((40, 5)) < 0.5, 1, -1)[many, few]
    y = f if Model is GradientBoostingClassifier else f + 0.3 * rng.normal(size=1500)
    X = pd.DataFrame({"many": [f"level {v}" for v in many], "few": few})
    model = Model(random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], f[1000:]) > 0.8
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
