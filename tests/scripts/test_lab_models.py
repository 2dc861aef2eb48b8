"""The registry of methods, equal budgets, and tuning."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, loguniform
from sklearn.model_selection import KFold

from mddf import MDDFClassifier


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


def test_methods_that_cannot_be_had_are_left_out_with_a_line(models, monkeypatch, capsys):
    from argparse import Namespace

    def fail(name):
        raise ImportError(name)

    options = Namespace(own=None, methods=None, set=[])
    monkeypatch.setattr(models.pkgutil, "resolve_name", fail)
    assert models.chosen(options, ["xgboost"]) == {}
    assert 'xgboost left out: XGBoost is not installed: pip install "mddf[bench]"' in (
        capsys.readouterr().out
    )
    assert models.METHODS["mddf"].missing("regression") == "mdDF is not for regression"


@pytest.mark.parametrize(
    ("text", "low", "high", "kind"),
    [
        ("uniform 0.5 1", 0.5, 1, float),
        ("log 1e-3 1", 1e-3, 1, float),
        ("log-int 1.5 50.5", 1, 51, int),
        ("int 2 10", 2, 10, int),
        ("normal-int 31 5 2", 2, 60, int),
        ("lognormal 2.3 0.01", 0, 1e4, float),
    ],
)
def test_distributions(models, text, low, high, kind):
    of, random = models.distribution(text), np.random.RandomState(0)
    drawn = [of.rvs(random_state=random) for _ in range(500)]
    assert all(low <= value <= high and isinstance(value, kind | np.integer) for value in drawn)
    assert len(set(drawn)) > 5
    if text == "log 1e-3 1":
        assert kstest(drawn, loguniform(1e-3, 1).cdf).pvalue > 1e-3


def test_zero_half_of_the_time(models):
    of, random = models.distribution("zero or log 1 2"), np.random.RandomState(0)
    drawn = np.array([of.rvs(random_state=random) for _ in range(500)])
    assert 200 < (drawn == 0).sum() < 300
    assert ((drawn == 0) | ((drawn >= 1) & (drawn <= 2))).all()
    assert models.distribution(["None", 2]) == [None, 2]


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


def test_methods_of_the_paper_are_the_named_cascades(models):
    names = {"mddf-paper": "paper", "mddf-sf": "SF", "mddf-st": "ST", "mddf-np": "NP"}
    for method, name in names.items():
        made = models.build(models.METHODS[method], 0).get_params()
        assert made == MDDFClassifier.named(name, random_state=0, n_jobs=1).get_params()


def test_margin_parameters_and_depth_are_chosen_on_training_rows(models, table):
    X, y = table
    budget = models.Budget(n_estimators=1, n_layers=2, n_folds=2)
    model = models.build(models.METHODS["mddf-cv"], 0, budget=budget).fit(X, y)
    assert set(model.best_params_) == {"target_margin", "mu", "depth_step"}
    assert model.best_estimator_.strength == 1.0
    assert models.details(model).startswith("depth_step=")


def test_perceptron_is_chosen_on_held_out_rows(script, models, table):
    X, y = table
    model = models.build(models.METHODS["mlp"], 0, budget=models.Budget(max_epochs=20))
    model.fit(X, np.append(y[:-1], "rare"))  # the only row of a class is trained on
    assert model[-1].architecture_ in script("_lab.chosen").ARCHITECTURES
    assert "epochs" in models.details(model)
    assert np.mean(model.predict(X)[:-1] == y[:-1]) > 0.5
