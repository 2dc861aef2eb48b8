"""Forests, cascades and the scanner accept any parameter value, or refuse it by name."""

import bad_values
import joblib
import numpy as np
import pytest
from forest_cases import few_trees
from joblib import parallel_config
from mddf.baselines import GCForestClassifier, MultiGrainedScanner
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
from mddf._base import parallel
from mddf._trees import grower

MOST = 2**31 - 1
TWO = ["random", "completely-random"]
MODELS = [
    RandomForestClassifier(3, random_state=0),
    CompletelyRandomForestClassifier(3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    CompletelyRandomForestRegressor(3, random_state=0),
    MDDFClassifier(1, n_estimators=2, forests=TWO, cv=2, random_state=0),
    GCForestClassifier(1, n_estimators=1, forests=TWO, cv=2, random_state=0),
    MultiGrainedScanner([2, 3], n_estimators=2, min_samples_leaf=1, cv=2, random_state=0),
    DeepForestClassifier(1, n_estimators=2, members=["random"], cv=2, random_state=0),
    DeepForestRegressor(1, n_estimators=2, members=["random"], cv=2, random_state=0),
]
# What makes a parameter count that is otherwise ignored, as far as a model has it.
RELEVANT = {
    "max_samples": {"bootstrap": True},
    "oob_score": {"bootstrap": True},
    "class_weight": {"bootstrap": True},
    "mu": {"n_layers": 2},
    "n_iter_no_change": {"n_layers": 3},
    "pooling": {"windows": [2]},
    "scoring": {"n_layers": 2},
    "strength": {"n_layers": 2},
    "strides": {"windows": [2]},
    "target_margin": {"n_layers": 2},
    "tol": {"n_layers": 2},
    "transform_layers": {"n_layers": 2},
}
PARAMETERS = [(model, name) for model in MODELS for name in model.get_params(deep=False)]
WEIGHTED = [
    *MODELS,
    RandomForestClassifier(3, max_samples=1.0, class_weight="balanced", random_state=0),
    RandomForestClassifier(3, class_weight="balanced_subsample", oob_score=True, random_state=0),
    RandomForestClassifier(3, bootstrap=False, min_weight_fraction_leaf=0.1, random_state=0),
    MDDFClassifier(2, n_estimators=2, cv="oob", reweighting="weights", random_state=0),
    MDDFClassifier(2, n_estimators=2, class_weight="balanced", scoring=None, random_state=0),
    MDDFClassifier(2, forests=[LogisticRegression()], cv=2, scoring="accuracy", random_state=0),
    MultiGrainedScanner([2], n_estimators=2, max_windows=0.5, cv=2, class_weight="balanced"),
]


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (DeepForestClassifier(scoring="logloss"), "'neg_log_loss'"),
        (DeepForestClassifier(scoring="auc"), "'roc_auc'"),
        (MDDFClassifier(scoring="rocauc"), "'roc_auc'"),
        (GradientBoostingClassifier(scoring="auc"), "'roc_auc'"),
        (GradientBoostingRegressor(scoring="R2"), "'r2'"),
        (RandomForestClassifier(criterion="Gini"), "'gini'"),
        (GradientBoostingRegressor(loss="squared-error"), "'squared_error'"),
    ],
)
def test_misspelt_words_get_a_hint(model, hint):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match=rf"Got '.*' instead \(did you mean {hint}\?\)") as error:
        model.fit(X, np.arange(20) % 2)
    assert len(str(error.value)) < 280


def model_id(model):
    return type(model).__name__ if hasattr(model, "fit") else None


def table():
    X = np.random.default_rng(0).normal(size=(24, 4))
    return X, (X[:, 0] + X[::-1, 1] > 0) + (X[:, 1] > 0.5)


@pytest.mark.parametrize(("model", "name"), PARAMETERS, ids=model_id)
def test_any_value_of_a_parameter_works_or_is_named(model, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some make folders
    options = {k: v for k, v in RELEVANT.get(name, {}).items() if k in model.get_params()}
    model = clone(model).set_params(**options)
    assert bad_values.problems(model, name, *table()) == {}


@few_trees
@pytest.mark.parametrize("model", WEIGHTED, ids=model_id)
def test_any_sample_weight_works_or_is_named(model):
    assert bad_values.weight_problems(model, *table()) == {}


@pytest.mark.parametrize("model", MODELS, ids=model_id)
def test_targets_of_another_length_are_named(model):
    assert bad_values.fit_problems(model, "y", bad_values.VALUES, table()[0]) == {}


@pytest.mark.parametrize("model", [m for m in MODELS if hasattr(m, "checkpoint")], ids=model_id)
def test_any_groups_work_or_are_named(model):
    values = [*bad_values.VALUES, *bad_values.sample_weights(24), np.array([None, "x"] * 12)]
    assert bad_values.fit_problems(model, "groups", values, *table()) == {}


# Numbers of jobs


@pytest.fixture
def started(monkeypatch):
    """Numbers of threads requested by this package and by joblib."""
    job_counts = []
    plain, from_threads = joblib.Parallel.__init__, parallel.from_threads

    def init(self, n_jobs=None, **options):
        job_counts.append(n_jobs or 1)
        plain(self, n_jobs, **options)

    def ours(tasks, n_jobs, cancel):
        job_counts.append(n_jobs)
        return from_threads(tasks, n_jobs, cancel)

    monkeypatch.setattr(joblib.Parallel, "__init__", init)
    for module in (parallel, grower):
        monkeypatch.setattr(module, "from_threads", ours)
    return job_counts


MANY = [
    RandomForestClassifier(3, n_jobs=MOST),
    MDDFClassifier(1, n_estimators=1, cv=2, n_jobs=MOST),
    MDDFClassifier(1, forests=[LogisticRegression()], cv=2, n_jobs=MOST),
    MultiGrainedScanner([2], n_estimators=2, cv=2, n_jobs=MOST),
]


@pytest.mark.parametrize("model", MANY, ids=model_id)
def test_no_more_jobs_than_pieces_of_work(model, started):
    X, y = table()
    X = np.tile(X, (100, 1))
    model.fit(X, np.tile(y, 100))
    (model.transform if isinstance(model, MultiGrainedScanner) else model.predict)(X[1:])
    assert 1 < max(started) < 200


def test_jobs_of_a_context_are_counted_too(started):
    with parallel_config("threading", n_jobs=MOST):
        RandomForestClassifier(3, random_state=0).fit(*table())
    assert [n for n in started if n > 1] == [3]


@pytest.mark.parametrize("model", MODELS, ids=model_id)
@pytest.mark.parametrize(
    "options",
    [
        *({"n_jobs": np.uint8(2)}, {"n_jobs": np.int8(-1)}, {"n_jobs": np.uint64(2)}),
        *({"n_estimators": np.uint8(200)}, {"n_estimators": np.int8(100)}),
        {"depth_step": np.uint8(200), "n_layers": 2},
    ],
    ids=str,
)
def test_small_numbers_of_numpy_are_numbers(model, options):
    """Arithmetic with small NumPy types could overflow or lose precision."""
    options = {name: value for name, value in options.items() if name in model.get_params()}
    X, y = table()
    plain, small = (
        clone(model).set_params(**{name: kind(value) for name, value in options.items()}).fit(X, y)
        for kind in (int, lambda value: value)
    )
    assert np.array_equal(bad_values.answers(small, X), bad_values.answers(plain, X))
