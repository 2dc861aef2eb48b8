"""The depth and the number of trees that gradient boosting chooses."""

import numpy as np
import pytest
from boosted_cases import answers, both, problem

from mddf import GradientBoostingRegressor
from mddf._gradient import base, choosing

OPTIONS = {"max_iter": 200, "learning_rate": 0.2, "random_state": 0}


def fixed(model):
    """The parameters by which the same trees are grown without a choice."""
    chosen = {"max_depth": model.max_depth_, "max_iter": model.n_iter_}
    return OPTIONS | chosen | {"early_stopping": False}


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
    monkeypatch.setattr(base, "MANY_ROWS", 300)
    monkeypatch.setattr(choosing, "MANY_ROWS", 300)
    model = Model(**OPTIONS, n_jobs=n_jobs).fit(X, y)
    assert model.do_early_stopping_
    assert model.n_iter_ == max(1, model.validation_score_.argmax())
    assert len(model.train_score_) == model.n_iter_ + 1
    assert np.array_equal(answers(model, X), answers(Model(**fixed(model)).fit(X, y), X))
    stopped = OPTIONS | {"max_depth": model.max_depth_, "early_stopping": True}
    first = Model(**stopped).fit(X, y)
    assert first.n_iter_ == model.n_iter_
    assert np.array_equal(first.validation_score_, model.validation_score_)
    assert not np.array_equal(answers(first, X), answers(model, X))
    # Of very many samples, those held out are not missed.
    monkeypatch.setattr(choosing, "_MOST_ROWS", 600)
    kept = Model(**OPTIONS | {"max_depth": model.max_depth_}).fit(X, y)
    assert np.array_equal(answers(kept, X), answers(first, X))


@both
def test_steps_of_the_race(Model, monkeypatch):
    """They are four times as large, if that is not above .4, and reach as far."""
    X, y = problem(Model, 200)
    seen, scores = [], choosing.Trials.scores

    def watch(self, model):
        seen.append((model.max_depth, model.learning_rate, model.max_iter, model.n_iter_no_change))
        return scores(self, model)

    monkeypatch.setattr(choosing.Trials, "scores", watch)
    for rate, faster in ((0.05, 4), (0.2, 2), (0.8, 1)):
        seen.clear()
        Model(learning_rate=rate, max_iter=17, n_iter_no_change=6, random_state=0).fit(X, y)
        race, (last,) = seen[:3], seen[3:]
        assert [depth for depth, *_ in race] == [4, 6, 8]
        assert {step for _, step, *_ in race} == {rate * faster}
        assert {most for *_, most, _ in race} == {-(-17 // faster)}
        assert {patience for *_, patience in race} == {-(-6 // faster)}
        assert last[1:] == (rate, 17, 6)
