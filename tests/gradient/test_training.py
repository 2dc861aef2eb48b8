"""When boosting stops and continues, and the models of folds."""

import pickle

import numpy as np
import pytest
from boosted_cases import answers, both, growth, problem
from sklearn.metrics import log_loss

from mddf import GradientBoostingClassifier


@both
@growth
def test_warm_start_is_growing_at_once(Model, grow_policy):
    X, y = problem(Model)
    options = {"grow_policy": grow_policy, "random_state": 3, "max_depth": 6}
    options |= {"subsample": 0.7, "max_features": 0.5, "l2_regularization": 3.0}
    whole = Model(max_iter=25, **options).fit(X, y)
    model = Model(max_iter=10, warm_start=True, **options).fit(X, y)
    model = pickle.loads(pickle.dumps(model)).set_params(max_iter=25).fit(X, y)
    assert model.n_iter_ == 25
    assert np.array_equal(answers(whole, X), answers(model, X))
    assert np.array_equal(whole.train_score_, model.train_score_)
    with pytest.raises(ValueError, match="max_iter must be at least 25"):
        model.set_params(max_iter=20).fit(X, y)


@both
def test_a_warm_start_keeps_codes_and_promises(Model):
    X, y = problem(Model)
    y = (X[:, 0] > np.nanmedian(X[:, 0])).astype(float)
    model = Model(max_iter=5, warm_start=True, early_stopping=False, random_state=0)
    model.set_params(monotonic_cst=[1] + [0] * (X.shape[1] - 1), interaction_cst=[{0, 1}, {2}])
    model = pickle.loads(pickle.dumps(model.fit(X, y)))
    before = answers(model, X)
    other_loss = "exponential" if Model is GradientBoostingClassifier else "huber"
    for name, value in (
        ("loss", other_loss),
        ("grow_policy", "leaf-wise"),
        ("max_bins", 16),
        ("categorical_features", None),
        ("monotonic_cst", None),
        ("interaction_cst", [[0], [1]]),
    ):
        kept = getattr(model, name)
        with pytest.raises(ValueError, match=f"^with warm_start=True, {name} must be .*, as in"):
            model.set_params(max_iter=9, **{name: value}).fit(X, y)
        model.set_params(**{name: kept})
    assert np.array_equal(answers(model, X), before)
    model.set_params(
        monotonic_cst=np.array(model.monotonic_cst), interaction_cst=([0, 1], (2,))
    ).fit(X, y)
    assert model.n_iter_ == 9


@both
@pytest.mark.parametrize("scoring", ["loss", None])
def test_early_stopping(Model, scoring):
    X, y = problem(Model, 600)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, rng.permutation(y), y)
    options = {"max_iter": 400, "learning_rate": 0.3, "n_iter_no_change": 10, "random_state": 0}
    model = Model(early_stopping=True, scoring=scoring, **options).fit(X, y)
    scores = model.validation_score_
    assert model.n_iter_ == scores.argmax() < 390
    assert len(scores) == model.n_iter_ + 11 == len(model.train_score_)
    assert model.do_early_stopping_
    assert len(list(model.staged_predict(X))) == model.n_iter_
    none = Model(**options | {"max_iter": 5}, early_stopping=False).fit(X, y)
    assert not none.do_early_stopping_
    assert len(none.validation_score_) == 0


@both
@growth
def test_a_validation_set_is_not_trained_on(Model, grow_policy):
    X, y = problem(Model, 900)
    options = {"learning_rate": 0.3, "grow_policy": grow_policy, "random_state": 0}
    options["early_stopping"] = False
    train, held_out = slice(0, 200), slice(200, 900)
    watched = Model(max_iter=15, **options)
    watched.fit(X[train], y[train], X_val=X[held_out], y_val=y[held_out])
    alone = Model(max_iter=watched.n_iter_, **options).fit(X[train], y[train])  # the best rounds
    assert np.array_equal(answers(alone, X), answers(watched, X))


@both
def test_a_validation_set(Model):
    X, y = problem(Model, 900)
    options = {"max_iter": 200, "learning_rate": 0.3, "n_iter_no_change": 10, "random_state": 0}
    train, held_out = slice(0, 600), slice(600, 900)
    validation = {"X_val": X[held_out], "y_val": y[held_out]}
    model = Model(**options).fit(X[train], y[train], **validation)
    weighted = Model(**options)
    weighted.fit(X[train], y[train], **validation, sample_weight_val=np.full(300, 2.0))
    assert model.n_iter_ == weighted.n_iter_ < 200
    if Model is GradientBoostingClassifier:
        result = -log_loss(y[held_out], model.predict_proba(X[held_out]))
    else:
        result = -np.mean((y[held_out] - model.predict(X[held_out])) ** 2) / 2
    assert model.validation_score_.max() == pytest.approx(result)
    whole = Model(**options, early_stopping=False)
    whole.fit(X[train], y[train], **validation)
    assert len(whole.validation_score_) == 201
    for name, wrong in (
        ("X_val", {"X_val": None}),
        ("y_val", {"y_val": None}),
        ("X_val", {"X_val": 3}),
        ("X_val", {"X_val": X[held_out, :2]}),
        ("y_val", {"y_val": y[train]}),
        ("y_val", {"y_val": np.stack(2 * [y[held_out]], 1)}),
        ("sample_weight_val", {"sample_weight_val": np.full(300, -1.0)}),
        ("X_val", {"X_val": None, "y_val": None, "sample_weight_val": np.ones(300)}),
    ):
        with pytest.raises(ValueError, match=name):
            Model(**options).fit(X[train], y[train], **validation | wrong)


@both
def test_rounds_are_chosen_on_folds_of_few_samples(Model):
    X, y = problem(Model, 600)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, rng.permutation(y), y)
    options = {"max_iter": 300, "learning_rate": 0.2, "random_state": 0}
    model = Model(**options).fit(X, y)
    assert model.do_early_stopping_
    assert model.n_iter_ == max(1, model.validation_score_.argmax()) < 300
    assert len(model.train_score_) == model.n_iter_ + 1
    chosen = {"max_iter": model.n_iter_, "max_depth": model.max_depth_}
    same = Model(**options | chosen, early_stopping=False).fit(X, y)
    assert np.array_equal(answers(model, X), answers(same, X))
    order = rng.permutation(600)
    moved = Model(**options, n_jobs=2).fit(X[order], y[order])
    assert np.array_equal(answers(model, X), answers(moved, X))
    for without_early_stopping in (
        {"early_stopping": False},
        {"warm_start": True},
        {"scoring": None},
    ):
        assert (
            not Model(**options | {"max_iter": 3}, **without_early_stopping)
            .fit(X, y)
            .do_early_stopping_
        )
    assert not Model(**options | {"max_iter": 3}).fit(X[:29], y[:29]).do_early_stopping_


def test_rows_that_differ_by_their_targets_alone_do_not_stop_boosting_early():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (800, 3)).astype(float)  # eight kinds of rows, each of both classes
    y = rng.random(800) < 0.15 + 0.3 * X[:, 0] + 0.3 * X[:, 1] * X[:, 2]
    model = GradientBoostingClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ > 20
    loss = log_loss(y, model.predict_proba(X))
    assert loss < 1.05 * log_loss(y, [y[(row == X).all(axis=1)].mean() for row in X])
