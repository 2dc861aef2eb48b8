"""Automatic choices of gradient boosting: growth parameters and number of trees."""

import limits
import numpy as np
import pytest
from boosted_cases import answers, problem

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

OPTIONS = {"max_iter": 200, "learning_rate": 0.2, "random_state": 0}
FIXED = {"max_features": 0.5, "l2_regularization": 3.0, "subsample": 0.8}


def test_the_depth_that_wins():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 8))
    of_many = np.sign(np.prod(X[:, :7] > -0.5, axis=1) - 0.5) + np.sin(3 * X.sum(axis=1))
    of_one = X[:, 0] + 0.5 * rng.normal(size=1000)
    deep, shallow = (GradientBoostingRegressor(**OPTIONS).fit(X, y) for y in (of_many, of_one))
    assert deep.max_depth_ > shallow.max_depth_ == 4
    for options in ({"max_depth": 5}, {"max_depth": 5, "early_stopping": True}):
        assert GradientBoostingRegressor(**OPTIONS, **options).fit(X, of_many).max_depth_ == 5
    plain = GradientBoostingRegressor(**OPTIONS, early_stopping=False).fit(X, of_many)
    assert plain.max_depth_ == 6
    leaf_wise = GradientBoostingRegressor(**OPTIONS, grow_policy="leaf-wise").fit(X, of_many)
    assert leaf_wise.max_depth_ is None


def certain(rng, n_rows):
    """All combinations of bits in random order, and a class that follows from some of them."""
    X = (np.arange(n_rows)[:, None] >> np.arange(9) & 1)[rng.permutation(n_rows)]
    return X.astype(float), (X[:, 0] ^ X[:, 1]) | (X[:, 2] & X[:, 3])


def test_little_is_regularised_where_classes_follow_from_features():
    rng = np.random.default_rng(0)
    X, y = certain(rng, 512)
    sure = GradientBoostingClassifier(**OPTIONS).fit(X, y)
    assert sure.chosen_["l2_regularization"] < 1
    noisy = np.where(rng.random(512) < 0.3, 1 - y, y)
    unsure = GradientBoostingClassifier(**OPTIONS).fit(X, noisy)
    assert unsure.chosen_["l2_regularization"] == 3
    assert unsure.chosen_["subsample"] == 0.8
    parameters = {"l2_regularization": 2.0, "max_features": "sqrt", "subsample": 0.9}
    assert GradientBoostingClassifier(**OPTIONS, **parameters).fit(X, y).chosen_ == parameters


def test_integer_weights_choose_the_same_as_copies():
    X, y = problem(GradientBoostingClassifier, 90)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    options = OPTIONS | {"max_iter": 40}
    weighted = GradientBoostingClassifier(**options).fit(X, y, times.astype(float))
    copied = GradientBoostingClassifier(**options).fit(X.repeat(times, axis=0), y.repeat(times))
    assert weighted.chosen_ == copied.chosen_
    assert np.array_equal(answers(weighted, X), answers(copied, X))


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("n_copies", [1, 3])
@pytest.mark.filterwarnings("ignore:boosting stopped after:UserWarning")
def test_number_of_trees_that_few_rows_are_to_have(rate, n_copies):
    """The log-loss of different rows, and minus the logarithm of the density of a log-normal."""
    X, y = problem(GradientBoostingClassifier, 40)
    X, y = X.repeat(n_copies, axis=0), y.repeat(n_copies)
    options = {"learning_rate": rate, "max_depth": 3, "random_state": 0, **FIXED}
    model = GradientBoostingClassifier(**options).fit(X, y)
    cost = [
        -40 * score + np.log(n * rate / 7.5) ** 2 / 2
        for n, score in enumerate(model.validation_score_[1:], 1)
    ]
    assert model.n_iter_ == 1 + int(np.argmin(cost))
    of_two = GradientBoostingClassifier("exponential", **options).fit(X, y == "ape")
    assert of_two.n_iter_ == max(1, int(of_two.validation_score_.argmax()))


def test_copies_of_few_rows_have_more_than_a_few_trees():
    """Held-out rows are unknown to a fold, but most new rows are known."""
    rng = np.random.default_rng(0)
    cells = np.array(np.meshgrid(*[np.arange(3)] * 3)).reshape(3, -1).T
    X = cells[rng.integers(0, len(cells), 600)].astype(float)
    y = rng.random(600) < rng.random(len(cells))[(X @ [1, 3, 9]).astype(int)]
    model = GradientBoostingClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ > 30


def much_signal(n):
    X = np.random.default_rng(0).normal(size=(n, 6))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + np.cos(2 * X[:, 2] * X[:, 3]) + abs(
        X[:, 4] - X[:, 5]
    )


@pytest.mark.parametrize("early_stopping", [True, "auto"])
def test_rounds_go_on_while_the_held_out_loss_falls(early_stopping):
    X, y = much_signal(1500)
    options = {"early_stopping": early_stopping, "max_depth": 4, "random_state": 0}
    cut = GradientBoostingRegressor(max_iter=1000, **options).fit(X, y)
    model = GradientBoostingRegressor(**options).fit(X, y)
    assert model.n_iter_ > cut.n_iter_ >= 990
    assert model.validation_score_.max() > 0.95 * cut.validation_score_.max()
    # Up to the limit of the shorter fit, the scores are the same.
    n = len(cut.validation_score_)
    assert np.array_equal(model.validation_score_[:n], cut.validation_score_)
    # A warm start has the same rates.
    options["early_stopping"] = False
    whole = GradientBoostingRegressor(max_iter=1060, **options).fit(X, y)
    parts = GradientBoostingRegressor(max_iter=1010, warm_start=True, **options).fit(X, y)
    parts.set_params(max_iter=1060).fit(X, y)
    assert parts.predict(X) == pytest.approx(whole.predict(X), rel=1e-6)
    assert GradientBoostingRegressor(**options).fit(X[:50], y[:50]).n_iter_ == 1000


def test_the_limit_of_rounds_is_told(monkeypatch):
    limits.change(monkeypatch, rounds=30)
    X, y = much_signal(300)
    with pytest.warns(UserWarning, match="ended at 150 trees, the limit of max_iter='auto'"):
        model = GradientBoostingRegressor(max_depth=4, random_state=0).fit(X, y)
    assert model.n_iter_ > 100
    GradientBoostingRegressor(max_iter=40, max_depth=4, random_state=0).fit(X, y)
