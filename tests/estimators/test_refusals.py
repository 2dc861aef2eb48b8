"""Estimators accept any parameter value, or refuse it by name."""

import threading

import bad_values
import numpy as np
import pytest
from forest_cases import few_trees
from joblib import parallel_config
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MultiGrainedScanner,
    QuadBoostClassifier,
)
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.rules import MarginRules

MOST = 2**31 - 1
TWO = ["random", "completely-random"]
MODELS = [
    RandomForestClassifier(3, random_state=0),
    CompletelyRandomForestClassifier(3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    CompletelyRandomForestRegressor(3, random_state=0),
    MDDFClassifier(1, n_estimators=2, forests=TWO, cv=2, rules=MarginRules(), random_state=0),
    GCForestClassifier(1, n_estimators=1, forests=TWO, cv=2, random_state=0),
    MultiGrainedScanner([2, 3], n_estimators=2, min_samples_leaf=1, cv=2, random_state=0),
    DeepForestClassifier(1, n_estimators=2, members=["random"], cv=2, random_state=0),
    DeepForestRegressor(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
BOOSTING = [
    AdaBoostClassifier(4),
    DeepBoostClassifier(4),
    QuadBoostClassifier(n_estimators=4),
    LPBoostClassifier(n_estimators=4),
]
# What makes a parameter count that is otherwise ignored, as far as a model has it.
RELEVANT = {
    "alpha_max": {"penalty": "linf"},
    "lambda_": {"penalty": "l1"},
    "max_samples": {"bootstrap": True},
    "n_thresholds": {"weak_learners": "stumps"},
    "random_state": {"early_stopping": True},
    "rules__mu": {"n_layers": 2},
    "rules__strength": {"n_layers": 2},
    "rules__target_margin": {"n_layers": 2},
    "oob_score": {"bootstrap": True},
    "class_weight": {"bootstrap": True},
    "n_iter_no_change": {"n_layers": 3, "early_stopping": True},
    "pooling": {"windows": [2]},
    "scoring": {"n_layers": 2},
    "strides": {"windows": [2]},
    "tol": {"n_layers": 2},
    "validation_fraction": {"early_stopping": True},
}
WEIGHTED = [
    *MODELS,
    RandomForestClassifier(3, max_samples=1.0, class_weight="balanced", random_state=0),
    RandomForestClassifier(3, class_weight="balanced_subsample", oob_score=True, random_state=0),
    RandomForestClassifier(3, bootstrap=False, min_weight_fraction_leaf=0.1, random_state=0),
    MDDFClassifier(2, n_estimators=2, cv="oob", rules=MarginRules(strength=0), random_state=0),
    MDDFClassifier(2, n_estimators=2, class_weight="balanced", scoring=None, random_state=0),
    MDDFClassifier(2, forests=[LogisticRegression()], cv=2, scoring="accuracy", random_state=0),
    MultiGrainedScanner([2], n_estimators=2, max_windows=0.5, cv=2, class_weight="balanced"),
]


def test_misspelt_words_get_a_hint():
    for model, hint in [
        (DeepForestClassifier(scoring="logloss"), "'neg_log_loss'"),
        (DeepForestClassifier(scoring="auc"), "'roc_auc'"),
        (MDDFClassifier(scoring="rocauc"), "'roc_auc'"),
        (GradientBoostingClassifier(scoring="auc"), "'roc_auc'"),
        (GradientBoostingRegressor(scoring="R2"), "'r2'"),
        (RandomForestClassifier(criterion="Gini"), "'gini'"),
        (GradientBoostingRegressor(loss="squared-error"), "'squared_error'"),
    ]:
        X = np.arange(40.0).reshape(20, 2)
        with pytest.raises(
            ValueError, match=rf"Got '.*' instead \(did you mean {hint}\?\)"
        ) as error:
            model.fit(X, np.arange(20) % 2)
        assert len(str(error.value)) < 280


def model_id(model):
    return type(model).__name__ if hasattr(model, "fit") else None


def table(n_classes=3):
    X = np.random.default_rng(0).normal(size=(24, 4))
    return X, (X[:, 0] + X[::-1, 1] > 0) + (n_classes == 3) * (X[:, 1] > 0.5)


@pytest.mark.parametrize("model", [*MODELS, *BOOSTING], ids=model_id)
def test_any_value_of_a_parameter_works_or_is_named(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some make folders
    problems = {}
    nested = [name for name in model.get_params() if name.startswith("rules__")]
    for name in [*model.get_params(deep=False), *nested]:
        options = {k: v for k, v in RELEVANT.get(name, {}).items() if k in model.get_params()}
        variant = clone(model).set_params(**options)
        with parallel_config("threading"):  # processes would have to start for each value
            data = table(n_classes=2 if model in BOOSTING else 3)
            problems[name] = bad_values.problems(variant, name, *data)
    assert not any(problems.values()), problems


@few_trees
@pytest.mark.parametrize("model", WEIGHTED, ids=model_id)
def test_any_sample_weight_works_or_is_named(model):
    assert bad_values.weight_problems(model, *table()) == {}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [*BOOSTING, LPBoostClassifier(C=1.0), DeepBoostClassifier(4, beta=0, lambda_=0)],
    ids=model_id,
)
def test_any_sample_weight_of_boosting_works_or_is_named(model, n_classes):
    assert bad_values.weight_problems(model, *table(n_classes)) == {}


def test_targets_of_another_length_are_named():
    for model in [*MODELS, *BOOSTING]:
        assert bad_values.fit_problems(model, "y", bad_values.VALUES, table()[0]) == {}


@pytest.mark.parametrize("model", [m for m in MODELS if hasattr(m, "checkpoint")], ids=model_id)
def test_any_groups_work_or_are_named(model):
    values = [*bad_values.VALUES, *bad_values.sample_weights(24), np.array([None, "x"] * 12)]
    assert bad_values.fit_problems(model, "groups", values, *table()) == {}


MANY = [
    RandomForestClassifier(3, n_jobs=MOST),
    MDDFClassifier(1, n_estimators=1, cv=2, n_jobs=MOST),
    MDDFClassifier(1, forests=[LogisticRegression()], cv=2, n_jobs=MOST),
    MultiGrainedScanner([2], n_estimators=2, cv=2, n_jobs=MOST),
]


def test_no_more_threads_than_pieces_of_work():
    """As many as `n_jobs` would end in an error."""
    for model in MANY:
        X, y = table()
        X = np.tile(X, (100, 1))
        with parallel_config("threading"):
            model.fit(X, np.tile(y, 100))
            (model.transform if isinstance(model, MultiGrainedScanner) else model.predict)(X[1:])
        assert threading.active_count() < 300
