"""Losses that users write."""

import custom_losses as functions
import numpy as np
import pytest
from boosted_cases import growth, numbers
from sklearn.base import clone

from mddf import CustomLoss, GradientBoostingClassifier, GradientBoostingRegressor
from mddf.explain import shap_values

ALL_ROWS = {"subsample": 1.0, "early_stopping": False, "random_state": 0}
SQUARED = CustomLoss(functions.squared, functions.squared_losses, functions.weighted_mean)
LOGISTIC = CustomLoss(functions.logistic, functions.logistic_losses, functions.log_odds)


def whole_numbers(n=256):
    """Targets that are multiples of 1/16, whose mean is exact."""
    X, y = numbers(n)
    return X, np.round(y * 16) / 16


def two_classes(n=256):
    X, y = numbers(n)
    return X, np.where(y > np.median(y), "yes", "no")


def same_trees(a, b):
    """Whether the trees of two models are equal bit by bit."""
    assert np.array_equal(a.start, b.start)
    for name, array in a.arrays.items():
        if name != "gain":  # gains are rounded in a unit that depends on the least hessian
            assert np.array_equal(array, b.arrays[name]), name
    assert np.allclose(a.arrays["gain"], b.arrays["gain"], rtol=1e-9)


@growth
def test_squared_errors_have_the_same_bits(grow_policy):
    for weight in [None, "real"]:
        for subsample in [1.0, 0.7]:
            X, y = whole_numbers()
            weights = None
            if weight == "real":
                weights = np.where(X[:, 5] > 0, 0.75, 1.25)
                X, y, weights = (
                    part[np.argsort(weights, kind="stable")] for part in (X, y, weights)
                )
            options = {
                "max_iter": 25,
                "grow_policy": grow_policy,
                **ALL_ROWS,
                "subsample": subsample,
            }
            built_in = GradientBoostingRegressor(**options).fit(X, y, weights)
            custom = SQUARED
            if weights is not None:
                custom = CustomLoss(functions.squared, start=built_in._trees.start[0])
            model = GradientBoostingRegressor(custom, **options).fit(X, y, weights)
            same_trees(model._trees, built_in._trees)
            assert np.array_equal(model.predict(X), built_in.predict(X))


@growth
def test_logistic_losses_have_the_same_bits(grow_policy):
    X, y = two_classes()
    options = {"max_iter": 40, "grow_policy": grow_policy, **ALL_ROWS}
    built_in = GradientBoostingClassifier(**options).fit(X, y)
    model = GradientBoostingClassifier(LOGISTIC, **options).fit(X, y)
    same_trees(model._trees, built_in._trees)
    assert np.array_equal(model.predict_proba(X), built_in.predict_proba(X))
    assert np.allclose(model.train_score_, built_in.train_score_, rtol=1e-12)


@pytest.mark.parametrize("early_stopping", [True, "auto"])
@pytest.mark.parametrize("scoring", ["loss", "r2"])
def test_early_stopping(early_stopping, scoring):
    X, y = whole_numbers(400)
    options = {"max_iter": 60, "early_stopping": early_stopping, "random_state": 0}
    options |= {"scoring": scoring, "n_iter_no_change": 10}
    built_in = GradientBoostingRegressor(**options).fit(X, y)
    model = GradientBoostingRegressor(SQUARED, **options).fit(X, y)
    assert model.n_iter_ == built_in.n_iter_
    assert model.max_depth_ == built_in.max_depth_
    assert np.allclose(model.validation_score_, built_in.validation_score_, rtol=1e-9)
    assert np.allclose(model.predict(X), built_in.predict(X), rtol=1e-9)


def test_a_function_alone_does_not_stop():
    X, y = whole_numbers()
    model = GradientBoostingRegressor(functions.squared, max_iter=20, random_state=0).fit(X, y)
    assert model.n_iter_ == 20
    assert not model.do_early_stopping_
    assert model._trees.start == 0
    message = "loss must be a CustomLoss with the function `loss`"
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y, X_val=X, y_val=y)


def test_an_inverse_link_and_offsets():
    X, _ = numbers(300, missing=0)
    exposure = np.random.default_rng(1).uniform(0.5, 2, 300)
    y = np.random.default_rng(2).poisson(exposure * np.exp(X[:, 0]))
    offset = np.log(exposure)
    # With a large penalty, steps are so small that the built-in loss does not bound them.
    options = {"max_iter": 40, **ALL_ROWS}
    built_in = GradientBoostingRegressor("poisson", l2_regularization=300.0, **options)
    built_in.fit(X, y, offset=offset)
    options["l2_regularization"] = 300.0 * y.mean()  # the built-in penalty has this unit
    loss = CustomLoss(functions.poisson, start=built_in._trees.start[0], inverse_link=np.exp)
    model = GradientBoostingRegressor(loss, **options).fit(X, y, offset=offset)
    assert np.allclose(model.predict(X), built_in.predict(X), rtol=1e-6)
    expected = built_in.predict(X, offset=offset)
    assert np.allclose(model.predict(X, offset=offset), expected, rtol=1e-6)
    explanation = shap_values(model, X[:5])
    raw = explanation.values.sum(axis=1) + explanation.base_values
    assert np.allclose(np.log(model.predict(X[:5])), raw)


@growth
def test_warm_starts_and_threads(grow_policy):
    X, y = whole_numbers()
    options = {"loss": SQUARED, "grow_policy": grow_policy, **ALL_ROWS}
    whole = GradientBoostingRegressor(max_iter=12, **options).fit(X, y)
    model = GradientBoostingRegressor(max_iter=5, warm_start=True, n_jobs=2, **options).fit(X, y)
    model.set_params(max_iter=12).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    assert np.array_equal(model.train_score_, whole.train_score_)
    other = CustomLoss(functions.poisson, inverse_link=functions.exp)
    with pytest.raises(ValueError, match=r"warm_start=True, loss must be .* as in the fit before"):
        model.set_params(loss=other, max_iter=15).fit(X, y)


def returns(gradient, hessian=None):
    """A loss that returns the same for all rows, or a single value."""

    def gradient_hessian(y_true, raw_prediction, sample_weight):
        if hessian is None:
            return gradient
        return gradient * np.ones_like(raw_prediction), hessian * np.ones_like(raw_prediction)

    return gradient_hessian


def fails(*arguments):
    raise RuntimeError("this function fails")


def writes(y_true, raw_prediction, sample_weight):
    raw_prediction -= y_true
    return raw_prediction, raw_prediction


REFUSED = [
    (returns(None), "loss must return a gradient and a hessian, got None"),
    (returns((1.0,)), "loss must return a gradient and a hessian"),
    (returns((np.zeros(3), np.zeros(3))), r"gradient of loss must have the shape \(256,\)"),
    (returns(("x", "y")), "gradient of loss must be an array of numbers, got 'x'"),
    (returns(np.nan, 1.0), "gradient of loss must be finite and below 1e.100, got nan in row 0"),
    (returns(1.0, np.inf), "hessian of loss must be finite and below 1e.100, got inf in row 0"),
    (returns(1.0, -1.0), "hessian without negative numbers, got -1 in row 0"),
    (writes, "read-only"),
    (CustomLoss(functions.squared, start=np.nan), "start of CustomLoss must be a finite number"),
    (CustomLoss(functions.squared, start=np.zeros(2)), "start of CustomLoss must be"),
    (CustomLoss(functions.squared, start="x"), "start of CustomLoss must be .* got 'x'"),
    (CustomLoss(functions.squared, lambda y, raw: 1.0), r"must return an array of shape \(256,\)"),
    (CustomLoss(functions.squared, lambda y, raw: y * np.nan), "must return finite numbers"),
    (CustomLoss, "loss must not be a class"),
    (CustomLoss(3), "gradient_hessian of CustomLoss must be a function, got 3"),
    (CustomLoss(functions.squared, "x"), "loss of CustomLoss must be a function, got 'x'"),
    (
        CustomLoss(functions.squared, inverse_link=1),
        "inverse_link of CustomLoss must be a function",
    ),
    (CustomLoss(functions.squared, lambda y: y), "loss cannot be used: .* takes 1 positional"),
    (CustomLoss(functions.squared, start=lambda y: 0.0), "start cannot be used"),
]


def test_refused_results():
    for loss, message in REFUSED:
        X, y = whole_numbers()
        model = GradientBoostingRegressor("squared_error", max_iter=3, **ALL_ROWS).fit(X, y)
        before = dict(vars(model))
        model.loss = loss
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, y)
        model.loss = "squared_error"
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())


def test_an_error_leaves_the_estimator_as_it_was():
    for n_jobs in [1, 2]:
        for early_stopping in [True, False, "auto"]:
            X, y = whole_numbers()
            options = {**ALL_ROWS, "early_stopping": early_stopping, "n_jobs": n_jobs}
            model = GradientBoostingRegressor(SQUARED, max_iter=10, **options).fit(X, y)
            expected = model.predict(X)
            model.set_params(loss=CustomLoss(fails, functions.squared_losses))
            with pytest.raises(RuntimeError, match="this function fails"):
                model.fit(X, y)
            assert np.array_equal(model.predict(X), expected)


def test_inverse_links_that_give_no_probabilities():
    for link, message in [
        (lambda raw: np.full_like(raw, 1.5), r"from 0 to 1, got \[1\.5.* in row 0"),
        (lambda raw: np.full_like(raw, -0.1), r"from 0 to 1, got \[-0\.1.* in row 0"),
    ]:
        for n_classes in [2, 3]:
            X, y = whole_numbers()
            gradients = functions.logistic if n_classes == 2 else functions.multinomial
            loss = CustomLoss(gradients, inverse_link=link)
            model = GradientBoostingClassifier(loss, max_iter=3, **ALL_ROWS)
            model.fit(X, np.argsort(y) % n_classes)
            with pytest.raises(ValueError, match=message):
                model.predict_proba(X)


@pytest.mark.parametrize("l2_regularization", [0.0, "auto"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_scale_of_a_loss_does_not_matter(n_outputs, l2_regularization):
    X, y = whole_numbers(400)
    y = y if n_outputs == 1 else np.column_stack([y, -y])

    def fit(scale, max_iter=60, **options):
        def gradient_hessian(y_true, raw_prediction, sample_weight):
            return scale * (raw_prediction - y_true), np.full(y_true.shape, scale)

        options |= {"l2_regularization": l2_regularization, "max_iter": max_iter, **ALL_ROWS}
        return GradientBoostingRegressor(CustomLoss(gradient_hessian), **options).fit(X, y)

    usual = fit(1.0)
    for scale in (1e-200, 1e-6, 1e-4, 1e6, 1e90):
        np.testing.assert_allclose(fit(scale).predict(X), usual.predict(X), atol=1e-9)
    steps = fit(1e-6, max_iter=20, warm_start=True).set_params(max_iter=60).fit(X, y)
    assert np.array_equal(steps.predict(X), fit(1e-6).predict(X))
