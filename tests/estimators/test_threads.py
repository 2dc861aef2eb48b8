"""Fits and predictions in many threads at once; `make sanitize` looks for races in them."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from forest_cases import FORESTS, few_trees, three_classes
from mddf.baselines import AdaBoostClassifier, MultiGrainedScanner, QuadBoostClassifier
from sklearn.base import clone

from mddf import (
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def all_at_once(*functions):
    with ThreadPoolExecutor(len(functions)) as pool:
        return [done.result() for done in [pool.submit(function) for function in functions]]


MODELS = [
    *(Forest(12, n_jobs=2, random_state=0, bootstrap=True, oob_score=True) for Forest in FORESTS),
    RandomForestRegressor(12, n_jobs=2, random_state=0),
    CompletelyRandomForestRegressor(12, n_jobs=2, random_state=0),
    DeepForestClassifier(1, n_estimators=4, members=["random"], cv=2, n_jobs=2, random_state=0),
    AdaBoostClassifier(9, max_depth=2, n_jobs=2),
    QuadBoostClassifier(n_estimators=9, n_jobs=2),
    MultiGrainedScanner([2], n_estimators=4, cv=2, n_jobs=2, random_state=0),
    GradientBoostingClassifier(max_iter=9, n_jobs=2, random_state=0),
    GradientBoostingRegressor(max_iter=9, grow_policy="leaf-wise", n_jobs=2, random_state=0),
]


@few_trees
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_two_fits_and_predictions_at_once(model):
    X, y = three_classes()
    X = np.nan_to_num(X)  # boosting takes no missing values
    fitted = clone(model).fit(X, y)
    ask = "transform"
    if not hasattr(model, "windows"):
        ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    expected = getattr(fitted, ask)(X[1:])
    result = all_at_once(
        *[lambda: getattr(clone(model).fit(X, y), ask)(X[1:])] * 2,
        *[lambda: getattr(fitted, ask)(X[1:])] * 2,
    )
    for values in result:
        assert np.array_equal(values, expected)


@pytest.mark.parametrize(
    "forest",
    [RandomForestClassifier(12, random_state=0), GradientBoostingClassifier(max_iter=12)],
    ids=lambda model: type(model).__name__,
)
def test_first_predictions_of_a_mapped_forest_at_once(forest, tmp_path):
    # Whoever comes first checks the trees, the others wait.
    X, y = three_classes()
    forest = clone(forest).fit(X, y)
    joblib.dump(forest, tmp_path / "forest")
    mapped = joblib.load(tmp_path / "forest", mmap_mode="r")
    work = [lambda: mapped.predict_proba(X), lambda: mapped.apply(X)] * 3
    for probabilities, leaves in zip(*[iter(all_at_once(*work))] * 2, strict=True):
        assert np.array_equal(probabilities, forest.predict_proba(X))
        assert np.array_equal(leaves, forest.apply(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork processes")
def test_a_fork_after_predictions_of_two_threads():
    X, y = three_classes()
    forest = RandomForestClassifier(12, n_jobs=2, random_state=0).fit(X, y)
    expected = forest.predict_proba(X)
    context = multiprocessing.get_context("fork")
    fork = context.Process(
        target=lambda: os._exit(np.array_equal(forest.predict_proba(X), expected))
    )
    fork.start()
    fork.join(60)
    assert fork.exitcode == 1
