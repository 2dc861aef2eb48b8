"""The registry of methods, equal budgets, and tuning."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold


@pytest.fixture
def models(script):
    return script("_lab.models")


@pytest.fixture
def table():
    """A table with all kinds of columns, text labels and missing values."""
    rng = np.random.default_rng(0)
    y = rng.choice(["lo", "mid", "hi"], 90)
    X = pd.DataFrame({"a [cm]": (y == "hi") + rng.normal(0, 0.1, 90), "b,c": rng.random(90)})
    X['d"'] = pd.Categorical(np.where(y == "lo", "u", "v"), categories=["u", "v", "w"])
    X.iloc[3, 0], X.iloc[4, 2] = np.nan, None
    return X, y


def test_all_methods_have_the_same_budget(models):
    budget = models.Budget(n_estimators=7, n_layers=3, n_folds=4)
    installed = [name for name in models.EQUAL[:-1] if not models.METHODS[name].missing()]
    made = {n: models.build(models.METHODS[n], 0, budget=budget) for n in installed}
    assert made["rf"].n_estimators == budget.n_trees == 4 * 7 * 4
    assert budget.n_rounds == 4 * 7 * 4
    if "xgboost" in made:
        assert made["xgboost"].model.n_estimators == budget.n_rounds
    assert models.Budget(rounds=5).n_rounds == 5
    for name in models.CASCADES:
        model = models.build(models.METHODS[name], 0, budget=budget)
        assert (model.n_estimators, model.cv, model.n_layers) == (7, 4, 3)
        default = [] if name == "gcforest" else [None] * 4
        assert len(model.forests or default) == 4
    whole = models.build(models.METHODS["mddf"], 0, budget=models.Budget())
    assert whole.n_layers == type(whole)().n_layers
    assert "at most 3 layers" in str(budget)
    assert "layers" not in str(models.Budget())


def test_a_league_has_the_libraries_defaults(models):
    for name in models.LEAGUE["classification"]:
        method = models.METHODS[name]
        if method.missing():
            continue
        model = models.build(method, 3, n_jobs=1)
        model = getattr(model, "steps", [(None, model)])[-1][1]
        model = getattr(model, "model", model)
        allowed = {*method.fixed, "random_state", method.threads}
        plain = type(model)().get_params()
        changed = {k for k, v in model.get_params().items() if repr(plain.get(k)) != repr(v)}
        assert changed <= allowed, name
        assert model.get_params()["random_state"] == 3


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_peer_takes_every_table(script, models, table, task):
    X, y = table
    y = y if task == "classification" else X["b,c"].to_numpy() * 10
    names = models.EQUAL if task == "classification" else ()
    for name in dict.fromkeys((*models.LEAGUE[task], *names)):
        method = models.METHODS[name]
        if method.missing(task):
            continue
        fixed = {k: 4 for k in method.budget if k not in ("cv", "n_layers", "max_epochs")}
        fixed |= {"max_epochs": 5} if "max_epochs" in method.budget else {}
        method = script("dataclasses").replace(method, fixed={**method.fixed, **fixed})
        model = models.build(method, 0, task=task, n_jobs=1, n_rows=len(y)).fit(X, y)
        predicted = model.predict(X)
        assert predicted.shape == y.shape
        if task == "classification":
            assert set(predicted) <= set(y), name
            assert model.predict_proba(X).shape == (90, 3)
            assert list(model.classes_) == ["hi", "lo", "mid"]
        else:
            assert np.isfinite(predicted).all()


@pytest.mark.parametrize("name", ["sklearn-rf", "histgb", "xgboost", "lightgbm", "catboost"])
def test_search_spaces_name_existing_parameters(models, name):
    method = models.METHODS[name]
    if method.missing():
        pytest.skip(method.missing())
    model = models.tuned(models.build(method, 0), method, 0, "accuracy", [0, 1], n_iter=1)
    drawn = {k: v[0] if isinstance(v, list) else v.rvs(random_state=np.random.RandomState(0))
             for k, v in model.param_distributions.items()}  # fmt: skip
    model.estimator.set_params(**drawn)  # unknown ones raise


def test_tuning(script, models, table):
    X, y = table
    method = models.METHODS["extratrees"]
    space = {"max_depth": [1, 3], "n_estimators": [5]}
    method = script("dataclasses").replace(method, space=space)
    search = models.tuned(models.build(method, 0), method, 0, "log_loss", y, n_iter=2).fit(X, y)
    assert search.best_params_ == {"model__max_depth": 3, "model__n_estimators": 5}
    assert models.details(search) == "n_estimators=5, max_depth=3"
    y = np.append(y[:-1], "rare")  # one row of a class: folds without shares
    folds = models.tuned(search.estimator, method, 0, "log_loss", y).cv
    assert type(folds) is KFold
    assert len(list(folds.split(X, y))) == 3


def test_margin_parameters_and_depth_are_chosen_on_training_rows(
    script, models, table, monkeypatch
):
    chosen = script("_lab.chosen")
    few = {name: values[:2] for name, values in chosen.PAPER_GRID.items()}
    monkeypatch.setattr(chosen, "PAPER_GRID", few)
    X, y = table
    budget = models.Budget(n_estimators=1, n_layers=2, n_folds=2)
    model = models.build(models.METHODS["mddf-cv"], 0, budget=budget).fit(X, y)
    assert set(model.best_params_) == {
        "rules__target_margin",
        "rules__mu",
        "rules__depth_step",
    }
    assert model.best_estimator_.rules.strength == 1.0
    assert models.details(model).startswith("depth_step=")
