"""Automatic choices of gradient boosting: growth parameters and number of trees."""

import numpy as np
import pytest
from boosted_cases import answers, both, problem
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from mddf import GradientBoostingClassifier, GradientBoostingRegressor
from mddf._gradient import base, rounds
from mddf._gradient import options as gradient_options
from mddf._gradient import tuning as choosing
from mddf._gradient.options import PLAIN

OPTIONS = {"max_iter": 200, "learning_rate": 0.2, "random_state": 0}


def fixed(model):
    """Explicit parameters that grow the same trees as the automatic choice."""
    chosen = {"max_depth": model.max_depth_, "max_iter": model.n_iter_}
    return OPTIONS | chosen | model.chosen_ | {"early_stopping": False}


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


@both
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_trees_of_many_samples_are_grown_again_on_all(Model, n_jobs, monkeypatch):
    X, y = problem(Model, 700)
    monkeypatch.setattr(base, "MAX_ROWS_WITH_FOLDS", 300)
    monkeypatch.setattr(choosing, "MAX_ROWS_WITH_FOLDS", 300)
    model = Model(**OPTIONS, n_jobs=n_jobs).fit(X, y)
    assert model.do_early_stopping_
    assert model.n_iter_ == max(1, model.validation_score_.argmax())
    assert len(model.train_score_) == model.n_iter_ + 1
    assert np.array_equal(answers(model, X), answers(Model(**fixed(model)).fit(X, y), X))
    stopped = OPTIONS | model.chosen_ | {"max_depth": model.max_depth_, "early_stopping": True}
    first = Model(**stopped).fit(X, y)
    assert first.n_iter_ == model.n_iter_
    assert np.array_equal(first.validation_score_, model.validation_score_)
    assert not np.array_equal(answers(first, X), answers(model, X))
    # With very many samples, held-out rows hardly matter for training.
    monkeypatch.setattr(choosing, "_MAX_ROWS_TO_REGROW", 600)
    kept = Model(**OPTIONS | model.chosen_ | {"max_depth": model.max_depth_}).fit(X, y)
    assert np.array_equal(answers(kept, X), answers(first, X))


@both
def test_steps_of_the_race(Model, monkeypatch):
    """Learning rates are four times as large, up to 0.4, with the same product of rounds."""
    X, y = problem(Model, 200)
    steps, scores = [], choosing.Trials.scores

    def watch(self, model):
        steps.append(
            (model.max_depth, model.learning_rate, model.max_iter, model.n_iter_no_change)
        )
        return scores(self, model)

    monkeypatch.setattr(choosing.Trials, "scores", watch)
    for rate, faster in ((0.05, 4), (0.2, 2), (0.8, 1)):
        steps.clear()
        Model(learning_rate=rate, max_iter=17, n_iter_no_change=6, random_state=0).fit(X, y)
        *race, last = steps
        assert [depth for depth, *_ in race[:3]] == [4, 6, 8]
        # Regressors try all features if the trees times the learning rate are at least 10.
        assert len(race) in ([8] if Model is GradientBoostingClassifier else [3, 4])
        assert {step for _, step, *_ in race} == {rate * faster}
        assert {most for *_, most, _ in race} == {-(-17 // faster)}
        assert {patience for *_, patience in race} == {-(-6 // faster)}
        assert last[1:] == (rate, 17, 6)


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


@both
@pytest.mark.parametrize(
    "options", [{"early_stopping": False}, {"grow_policy": "leaf-wise"}, {"warm_start": True}]
)
def test_meaning_of_auto_without_a_race(Model, options):
    X, y = problem(Model, 100)
    options = {"max_iter": 10, "random_state": 0, **options}
    plain = Model(**options, **PLAIN).fit(X, y)
    model = Model(**options, **dict.fromkeys(PLAIN, "auto")).fit(X, y)
    assert model.chosen_ == plain.chosen_ == PLAIN
    assert np.array_equal(answers(model, X), answers(plain, X))


def test_regressors_race_on_request():
    X, y = certain(np.random.default_rng(0), 512)
    auto = dict.fromkeys(PLAIN, "auto")
    model = GradientBoostingRegressor(**OPTIONS, max_features=0.5)
    assert model.fit(X, y).chosen_ == PLAIN
    assert GradientBoostingRegressor(**OPTIONS, **auto).fit(X, y).chosen_ != PLAIN


def watched_folds(monkeypatch):
    """Number of folds of each choice."""
    result, scores = [], choosing.Trials.scores

    def watch(self, model):
        result.append(len(self.folds))
        return scores(self, model)

    monkeypatch.setattr(choosing.Trials, "scores", watch)
    return result


@both
@pytest.mark.parametrize(("n_rows", "expected"), [(40, 10), (200, 10), (390, 5), (700, 3)])
def test_folds_are_more_where_different_rows_are_few(Model, n_rows, expected, monkeypatch):
    X, y = problem(Model, n_rows)
    result = watched_folds(monkeypatch)
    for weights, copies in ((None, 1), (None, 2), (np.full(n_rows, 2.0), 1)):
        Model(max_iter=2, max_depth=1, **PLAIN).fit(
            np.repeat(X, copies, axis=0), np.repeat(y, copies), weights
        )
    assert result == [expected if Model is GradientBoostingClassifier else 3] * 3


def test_few_different_rows_have_fewer_folds(monkeypatch):
    """If one of ten folds would be empty, there are three folds."""
    X = np.repeat(np.arange(6.0), 8)[:, None]
    result = watched_folds(monkeypatch)
    GradientBoostingClassifier(max_iter=2, max_depth=1, **PLAIN).fit(X, X[:, 0] > 2)
    assert result == [3]


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
    options = {"learning_rate": rate, "max_depth": 3, "random_state": 0, **PLAIN}
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


def test_large_tables_have_a_higher_rate_deeper_trees_and_all_features(monkeypatch):
    monkeypatch.setattr(gradient_options, "_MAX_ROWS_OF_SMALL_TABLES", 150)
    X, y = load_breast_cancer(return_X_y=True)
    common = {"max_iter": 20, "early_stopping": False, "random_state": 0}
    large = GradientBoostingClassifier(**common).fit(X[:151], y[:151])
    of_large = {"learning_rate": 0.1, "max_depth": 8}
    twin = GradientBoostingClassifier(max_features=1.0, **of_large, **common)
    twin.fit(X[:151], y[:151])
    np.testing.assert_array_equal(large.predict_proba(X), twin.predict_proba(X))
    assert large.chosen_["max_features"] == 1.0
    small = GradientBoostingClassifier(**common).fit(X[:150], y[:150])
    twin.set_params(learning_rate=0.05, max_depth=6, max_features=0.5).fit(X[:150], y[:150])
    np.testing.assert_array_equal(small.predict_proba(X), twin.predict_proba(X))
    regressor = GradientBoostingRegressor(**common).fit(X[:151, 1:], X[:151, 0])
    twin = GradientBoostingRegressor(**of_large, **common).fit(X[:151, 1:], X[:151, 0])
    np.testing.assert_array_equal(regressor.predict(X[:, 1:]), twin.predict(X[:, 1:]))
    leaf_wise = clone(regressor).set_params(grow_policy="leaf-wise").fit(X[:151, 1:], X[:151, 0])
    twin = clone(leaf_wise).set_params(learning_rate=0.15).fit(X[:151, 1:], X[:151, 0])
    np.testing.assert_array_equal(leaf_wise.predict(X[:, 1:]), twin.predict(X[:, 1:]))


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
    monkeypatch.setattr(rounds, "N_ROUNDS", 30)
    X, y = much_signal(300)
    with pytest.warns(UserWarning, match="ended at 150 trees, the limit of max_iter='auto'"):
        model = GradientBoostingRegressor(max_depth=4, random_state=0).fit(X, y)
    assert model.n_iter_ > 100
    GradientBoostingRegressor(max_iter=40, max_depth=4, random_state=0).fit(X, y)
