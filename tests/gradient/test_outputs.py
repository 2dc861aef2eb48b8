"""Several targets for each sample, which the same trees predict."""

import pickle

import custom_losses as functions
import numpy as np
import pytest
from boosted_cases import growth, numbers

from mddf import CustomLoss, GradientBoostingRegressor

ALL_ROWS = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False, "random_state": 0}
outputs = pytest.mark.parametrize("n_outputs", [2, 3, 9])
LOSSES = ["squared_error", "poisson", "gamma", "tweedie"]


def targets(n_outputs=3, n=300, seed=0):
    """Targets of different units, which depend on the same columns."""
    X, y = numbers(n, seed, missing=0.05)
    rng = np.random.default_rng(seed)
    parts = [np.sin((k + 1) * y) + 0.5 * y + 0.1 * rng.normal(size=n) for k in range(n_outputs)]
    return X, np.column_stack(parts) * 10.0 ** np.arange(n_outputs)


def positive(n_outputs=3, n=300):
    X, y = targets(n_outputs, n)
    return X, np.exp(y / np.abs(y).max(axis=0)) * 10.0 ** np.arange(n_outputs)


@growth
def test_copies_of_a_target_are_predicted_as_one(grow_policy):
    """With equal targets, all gains are multiples of those of one target."""
    for loss in LOSSES:
        X, y = positive(1)
        options = {"loss": loss, "max_iter": 20, "grow_policy": grow_policy, **ALL_ROWS}
        single = GradientBoostingRegressor(**options).fit(X, y[:, 0])
        model = GradientBoostingRegressor(**options).fit(X, np.column_stack([y, y, 4 * y]))
        predicted = model.predict(X)
        assert predicted.shape == (len(X), 3)
        assert np.allclose(predicted[:, 0], single.predict(X), rtol=1e-6)
        assert np.array_equal(predicted[:, 1], predicted[:, 0])
        assert np.allclose(predicted[:, 2], 4 * predicted[:, 0], rtol=1e-12)


@growth
def test_a_split_adds_up_the_gains_of_all_targets(grow_policy):
    """The first split of a tree against the best one by enumeration."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(80, 4)).astype(float)
    y = np.column_stack([X[:, 0] + rng.normal(size=80), 3 * (X[:, 2] > 2) + rng.normal(size=80)])
    model = GradientBoostingRegressor(
        max_iter=1, max_depth=1, l2_regularization=0.0, grow_policy=grow_policy, **ALL_ROWS
    ).fit(X, y)
    scaled = model._target.scaled(y)
    rest = scaled - scaled.mean(axis=0)

    def gain(column, threshold):
        is_left = X[:, column] <= threshold
        return sum(
            np.sum(rest[side].sum(axis=0) ** 2) / side.sum() for side in (is_left, ~is_left)
        )

    gains = {(c, t): gain(c, t) for c in range(4) for t in range(4)}
    column, threshold = max(gains, key=gains.get)
    assert model._trees.arrays["column"][0] == column
    assert model.predict(np.full((1, 4), threshold)).shape == (1, 2)
    is_left = X[:, column] <= threshold
    for side in (is_left, ~is_left):
        expected = y.mean(axis=0) + 0.05 * (y[side].mean(axis=0) - y.mean(axis=0))
        assert np.allclose(model.predict(X[side]), expected, rtol=1e-9)


@growth
@outputs
def test_several_targets_are_learnt(n_outputs, grow_policy):
    X, y = targets(n_outputs, 600)
    # A share of the features that is not chosen, so that all models have the same.
    options = {"max_iter": 80, "learning_rate": 0.2, "max_features": 0.5, "random_state": 0}
    model = GradientBoostingRegressor(grow_policy=grow_policy, **options).fit(X[:400], y[:400])
    apart = [
        GradientBoostingRegressor(grow_policy=grow_policy, **options)
        .fit(X[:400], column)
        .score(X[400:], target)
        for column, target in zip(y[:400].T, y[400:].T, strict=True)
    ][:3]
    together = 1 - np.mean((model.predict(X[400:]) - y[400:]) ** 2, axis=0) / y[400:].var(axis=0)
    assert np.all(together[:3] > np.array(apart) - 0.05)
    assert model.n_outputs_ == n_outputs
    assert model.score(X[400:], y[400:]) == pytest.approx(np.mean(together))


def test_whole_weights_are_copies_and_order_does_not_matter():
    X, y = targets()
    times = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    options = {"max_iter": 20, "max_bins": 20, "random_state": 0}
    weighted = GradientBoostingRegressor(**options).fit(X, y, times)
    copies = [np.repeat(part, times.astype(int), axis=0) for part in (X, y)]
    copied = GradientBoostingRegressor(**options, n_jobs=2).fit(*copies)
    assert np.array_equal(weighted.predict(X), copied.predict(X))
    order = np.random.default_rng(2).permutation(len(X))
    shuffled = GradientBoostingRegressor(**options).fit(X[order], y[order], times[order])
    assert np.array_equal(weighted.predict(X), shuffled.predict(X))


@pytest.mark.parametrize("early_stopping", [True, "auto", False])
def test_early_stopping_and_validation_sets(early_stopping):
    X, y = targets(2)
    model = GradientBoostingRegressor(
        max_iter=40, early_stopping=early_stopping, random_state=0, warm_start=True
    ).fit(X, y)
    assert model.predict(X).shape == y.shape
    held_out = GradientBoostingRegressor(max_iter=20, scoring="r2", random_state=0)
    held_out.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    best = held_out.score(X[200:], y[200:])
    assert best == pytest.approx(held_out.validation_score_.max(), rel=1e-9)
    with pytest.raises(ValueError, match="y_val must have as many targets as y, 2, got 1"):
        held_out.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:, 0])


def test_warm_starts_and_stages():
    X, y = targets(2)
    whole = GradientBoostingRegressor(max_iter=12, **ALL_ROWS).fit(X, y)
    model = GradientBoostingRegressor(max_iter=5, warm_start=True, **ALL_ROWS).fit(X, y)
    model.set_params(max_iter=12).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    *_, last = whole.staged_predict(X)
    assert np.array_equal(last, whole.predict(X))
    restored = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(restored.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="y must have 2 targets for each sample"):
        model.set_params(max_iter=15).fit(X, y[:, 0])


def test_custom_losses_of_several_targets():
    X, y = targets(2)
    y = np.round(y * 16) / 16

    def gradient_hessian(y_true, raw_prediction, sample_weight):
        return raw_prediction - y_true, np.ones_like(y_true)

    def row_losses(y_true, raw_prediction):
        return ((y_true - raw_prediction) ** 2).sum(axis=1) / 2

    loss = CustomLoss(gradient_hessian, row_losses, functions.weighted_mean)
    model = GradientBoostingRegressor(loss, max_iter=60, learning_rate=0.2, random_state=0).fit(
        X, y
    )
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.5


def test_losses_of_one_target():
    for loss in ["huber", "absolute_error", "quantile"]:
        X, y = targets(2)
        with pytest.raises(ValueError, match=rf"loss must be one of .* got '{loss}'.*MultiOutput"):
            GradientBoostingRegressor(loss, quantile=0.5).fit(X, y)


def test_refused_targets():
    X, y = positive(2)
    with pytest.raises(ValueError, match=r"monotonic_cst is for .* one output"):
        GradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, y)
    y[:, 1] = 0
    with pytest.raises(ValueError, match="y must not be negative, and not all 0"):
        GradientBoostingRegressor("poisson").fit(X, y)
    with pytest.raises(ValueError, match="y must have at most 1024 targets"):
        GradientBoostingRegressor().fit(X, np.zeros((len(X), 1025)))
