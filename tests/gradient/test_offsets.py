"""Offsets: known parts of raw predictions, such as logarithms of exposures."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import both, growth

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

ALL_ROWS = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False, "random_state": 0}
IDENTITY = ["squared_error", "absolute_error", "quantile", "huber"]


def counts(n=400, seed=0):
    """A table of small whole numbers, counts, and exposures."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n, 3)).astype(float)
    exposure = rng.uniform(0.1, 3, n)
    rate = np.exp(np.sin(X[:, 0]) + 0.1 * X[:, 1])
    return X, rng.poisson(rate * exposure).astype(float), exposure


def labels(n=400, n_classes=2, seed=0):
    X, y, exposure = counts(n, seed)
    places = np.searchsorted(np.quantile(y / exposure, np.arange(1, n_classes) / n_classes), y)
    return X, np.array(["ape", "bee", "cat"])[places]


@growth
def test_counts_with_exposures_are_weighted_rates(grow_policy):
    for l2 in [0.0, 3.0]:
        X, y, exposure = counts()
        model = GradientBoostingRegressor(
            "poisson", max_iter=30, l2_regularization=l2, grow_policy=grow_policy, **ALL_ROWS
        )
        rates = model.fit(X, y / exposure, exposure).predict(X)
        gain = model.feature_importances_
        model.fit(X, y, offset=np.log(exposure))
        assert np.allclose(model.predict(X), rates, rtol=1e-10)
        assert np.allclose(model.feature_importances_, gain, rtol=1e-10)
        expected = model.predict(X, offset=np.log(exposure))
        assert np.allclose(expected, rates * exposure, rtol=1e-10)


@growth
def test_an_offset_of_numbers_is_a_difference(grow_policy):
    for loss in IDENTITY:
        X, y, _ = counts()
        offset = np.round(4 * np.cos(X[:, 2]))  # whole numbers: differences are exact
        model = GradientBoostingRegressor(
            loss, quantile=0.6, max_iter=25, grow_policy=grow_policy, **ALL_ROWS
        )
        rest = model.fit(X, y - offset).predict(X)
        model.fit(X, y, offset=offset)
        assert np.allclose(model.predict(X), rest, rtol=1e-9, atol=1e-9)
        assert np.allclose(model.predict(X, offset=offset), rest + offset, rtol=1e-9)


@growth
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_an_offset_may_be_the_scores_of_another_model(loss, grow_policy):
    X, y = labels()
    options = {"loss": loss, "grow_policy": grow_policy, **ALL_ROWS}
    first = GradientBoostingClassifier(max_iter=20, **options).fit(X, y)
    whole = GradientBoostingClassifier(max_iter=50, **options).fit(X, y)
    offset = first.decision_function(X)
    second = GradientBoostingClassifier(max_iter=30, **options).fit(X, y, offset=offset)
    # The two fits differ in the constant of the second one.
    joined = second.decision_function(X, offset=offset)
    assert np.corrcoef(joined, whole.decision_function(X))[0, 1] > 0.99
    assert second.train_score_[-1] == pytest.approx(whole.train_score_[-1], rel=0.03)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_the_start_is_the_best_constant_of_two_classes(loss):
    X, y = labels()
    offset = np.random.default_rng(1).normal(size=len(y)) * 3
    weight = np.random.default_rng(2).exponential(size=len(y))
    sign = np.where(y == "bee", 1.0, -1.0)

    def mean_loss(constant):
        margin = sign * (offset + constant)
        losses = np.log1p(np.exp(-margin)) if loss == "log_loss" else np.exp(-margin)
        return np.average(losses, weights=weight)

    model = GradientBoostingClassifier(loss, max_iter=1, **ALL_ROWS)
    (start,) = model.fit(X, y, weight, offset=offset)._trees.start
    assert mean_loss(start) == pytest.approx(-model.train_score_[0], rel=1e-9)
    assert mean_loss(start) <= min(mean_loss(start - 1e-4), mean_loss(start + 1e-4))


@both
@growth
def test_an_offset_of_zeros_changes_nothing(Model, grow_policy):
    if Model is GradientBoostingClassifier:
        X, y = labels()
    else:
        X, y, _ = counts()
    options = {"max_iter": 20, "grow_policy": grow_policy, "random_state": 0}
    model = Model(early_stopping=True, **options)
    method = "predict_proba" if Model is GradientBoostingClassifier else "predict"
    expected = getattr(model.fit(X, y), method)(X)
    model.fit(X, y, offset=np.zeros(len(X)))
    assert np.allclose(getattr(model, method)(X, offset=np.zeros(len(X))), expected, rtol=1e-6)


@pytest.mark.parametrize("early_stopping", [True, "auto"])
def test_held_out_rows_have_their_offsets(early_stopping):
    """A steep offset explains the counts: without it, the held-out loss would be enormous."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    offset = rng.normal(0, 3, 300)
    y = rng.poisson(np.exp(offset + 0.3 * X[:, 0]))
    model = GradientBoostingRegressor(
        "poisson", max_iter=40, early_stopping=early_stopping, random_state=0
    ).fit(X, y, offset=offset)
    least = np.mean(y - y * np.log(np.maximum(y, 1)))
    assert -model.validation_score_[0] - least < 2
    assert model.validation_score_.max() > model.validation_score_[0]


def test_a_validation_set_with_offsets():
    X, y, exposure = counts()
    offset = np.log(exposure)
    train, held_out = slice(0, 300), slice(300, None)
    model = GradientBoostingRegressor("poisson", max_iter=30, scoring="loss", random_state=0)
    model.fit(
        X[train],
        y[train],
        offset=offset[train],
        X_val=X[held_out],
        y_val=y[held_out],
        offset_val=offset[held_out],
    )
    predicted = model.predict(X[held_out], offset=offset[held_out])
    deviance_part = np.mean(predicted - y[held_out] * np.log(predicted))
    assert -model.validation_score_.max() == pytest.approx(deviance_part, rel=1e-9)
    by_scorer = GradientBoostingRegressor("poisson", max_iter=30, scoring="r2", random_state=0)
    by_scorer.fit(
        X[train],
        y[train],
        offset=offset[train],
        X_val=X[held_out],
        y_val=y[held_out],
        offset_val=offset[held_out],
    )
    score = by_scorer.score(X[held_out], y[held_out], offset=offset[held_out])
    assert score == pytest.approx(by_scorer.validation_score_.max(), rel=1e-9)
    for offsets in ({"offset": offset[train]}, {"offset_val": offset[held_out]}):
        with pytest.raises(ValueError, match="offset_val must be passed with offset"):
            model.fit(X[train], y[train], X_val=X[held_out], y_val=y[held_out], **offsets)


@both
def test_stages_and_warm_starts_keep_offsets(Model):
    is_classifier = Model is GradientBoostingClassifier
    X, y = labels(n_classes=3) if is_classifier else counts()[:2]
    offset = np.random.default_rng(3).normal(size=(len(X), 3) if is_classifier else len(X))
    whole = Model(max_iter=12, **ALL_ROWS).fit(X, y, offset=offset)
    model = Model(max_iter=5, warm_start=True, **ALL_ROWS).fit(X, y, offset=offset)
    model.set_params(max_iter=12).fit(X, y, offset=offset)
    assert np.array_equal(model.predict(X, offset=offset), whole.predict(X, offset=offset))
    *_, last = whole.staged_predict(X, offset=offset)
    assert np.array_equal(last, whole.predict(X, offset=offset))
    if is_classifier:
        *_, last = whole.staged_decision_function(X, offset=offset)
        scores = whole.decision_function(X, offset=offset)
        assert np.array_equal(last, scores)
        assert np.allclose(scores, whole.decision_function(X) + offset)
        logs = whole.predict_log_proba(X, offset=offset)
        assert np.allclose(logs, np.log(whole.predict_proba(X, offset=offset)), rtol=1e-12)
        hits = np.mean(whole.predict(X, offset=offset) == y)
        assert whole.score(X, y, offset=offset) == hits


def test_categories_are_encoded_by_rates():
    """With many categories, the statistics divide sums of counts by sums of exposures."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 40, 3000)
    rate = np.exp(rng.normal(size=40))[place]
    exposure = np.exp(rng.normal(0, 2, 3000))
    y = rng.poisson(rate * exposure)
    X = pd.DataFrame({"place": [f"p{number}" for number in place]})
    model = GradientBoostingRegressor("poisson", max_iter=100, random_state=0)
    model.fit(X, y, offset=np.log(exposure))
    assert np.corrcoef(np.log(model.predict(X)), np.log(rate))[0, 1] > 0.95
    target = model._target
    values, sizes = target.without_offset(y.astype(float), np.log(exposure)[:, None])
    assert values.sum() / sizes.sum() == pytest.approx(
        y.sum() / exposure.sum() * exposure.max(), rel=1e-9
    )


REFUSED = [
    (np.zeros(9), ValueError, r"offset cannot be used: .* inconsistent numbers .* \[400, 9\]"),
    (np.full(400, np.nan), ValueError, "offset must be finite, got nan in row 0"),
    (np.full(400, -np.inf), ValueError, "exposure is finite if the exposure is above 0"),
    (np.full(400, 501.0), ValueError, "offset must have numbers from -500 to 500, got 501"),
    (np.zeros((400, 2)), ValueError, r"offset must have the shape \(n_samples,\), got \(400, 2\)"),
    (np.full(400, "x"), TypeError, "offset must hold numbers, got 'x'"),
]


def test_refused_offsets():
    for offset, error, message in REFUSED:
        X, y, _ = counts()
        model = GradientBoostingRegressor("poisson", max_iter=3, random_state=0)
        with pytest.raises(error, match=message):
            model.fit(X, y, offset=offset)
        assert not hasattr(model, "n_iter_")
        model.fit(X, y, offset=np.zeros((400, 1)))
        with pytest.raises(error, match=message):
            model.predict(X, offset=offset)
