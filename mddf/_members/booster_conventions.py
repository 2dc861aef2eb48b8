"""Conventions of CatBoost, LightGBM and XGBoost: categories, output, files and threads.

None of these packages is imported here. Their estimators are known by the modules of their
classes, and changed by their parameters alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble
from sklearn.pipeline import Pipeline

from mddf._base.messages import short

CATBOOST = "catboost"
LIGHTGBM = "lightgbm"
XGBOOST = "xgboost"
_PACKAGES = (CATBOOST, LIGHTGBM, XGBOOST)
_HIST_GRADIENT_BOOSTING = HistGradientBoostingClassifier | HistGradientBoostingRegressor
# Parameters of composite estimators with the inner estimator to which they pass X unchanged.
_INNER_PARAMETERS = ("estimator", "regressor", "classifier")
# Defaults inside a layer: a parameter, its value, and the names by which users set the same thing.
# CatBoost prints every iteration and writes a folder, and LightGBM prints what it does. Parts of a
# layer are fitted at the same time, so each model has one thread: CatBoost and LightGBM do not
# heed OpenMP's limits, and LightGBM's results depend on the number of threads.
_DEFAULTS: dict[str, list[tuple[str, Any, set[str]]]] = {
    CATBOOST: [
        ("verbose", False, {"verbose", "silent", "logging_level", "verbose_eval"}),
        ("allow_writing_files", False, {"allow_writing_files", "train_dir", "save_snapshot"}),
        ("thread_count", 1, {"thread_count"}),
    ],
    LIGHTGBM: [
        ("verbose", -1, {"verbose", "verbosity"}),
        ("n_jobs", 1, {"n_jobs", "num_threads", "num_thread", "nthread", "nthreads", "n_threads"}),
    ],
    XGBOOST: [("n_jobs", 1, {"n_jobs", "nthread"})],
}
# Characters that LightGBM (JSON) and XGBoost (brackets) refuse in names of columns. LightGBM also
# replaces white space.
_REFUSED_IN_NAMES = str.maketrans(dict.fromkeys('[]<>{}",: \t\n\r', "_"))


def package_of(model: BaseEstimator) -> str | None:
    """Package of a boosting estimator or of its base class; None for other estimators."""
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return next((package for package in _PACKAGES if package in packages), None)


def category_learners(model: BaseEstimator) -> list[BaseEstimator]:
    """Estimators inside a model that can learn categories and get its columns unchanged.

    Estimators behind other steps of a pipeline get the results of these steps, and are left out.
    """
    if _is_category_learner(model):
        return [model]
    return [learner for inner in _inner_estimators(model) for learner in category_learners(inner)]


def learns_categories(model: BaseEstimator) -> bool:
    """Whether all estimators inside a model that get its columns unchanged learn categories."""
    if _is_category_learner(model):
        return True
    inner = _inner_estimators(model)
    return bool(inner) and all(map(learns_categories, inner))


def _is_category_learner(model: BaseEstimator) -> bool:
    if isinstance(model, _HIST_GRADIENT_BOOSTING):
        return isinstance(model.categorical_features, str)  # "from_dtype"
    return package_of(model) is not None


def _inner_estimators(model: BaseEstimator) -> list[BaseEstimator]:
    """Estimators to which a composite estimator passes X unchanged."""
    if isinstance(model, Pipeline):
        *steps, (_, last) = model.steps
        inner = [last] if all(step in (None, "passthrough") for _, step in steps) else []
    elif isinstance(model, _BaseHeterogeneousEnsemble):
        inner = [estimator for _, estimator in model.estimators]
    else:
        inner = [getattr(model, name, None) for name in _INNER_PARAMETERS]
    return [
        estimator
        for estimator in inner
        if hasattr(estimator, "fit") and not isinstance(estimator, type)
    ]


def apply_conventions(
    model: BaseEstimator, names: Sequence[Any], categorical: Iterable[int]
) -> None:
    """Set parameters of the boosting estimators inside a model that users have not set."""
    parts = [model]
    if hasattr(model, "get_params"):
        parts += model.get_params(deep=True).values()
    for part in parts:
        if not isinstance(part, type) and package_of(part) is not None:
            _set_defaults(part)
    categorical = set(categorical)
    for learner in category_learners(model):
        package = package_of(learner)
        if package == CATBOOST:
            _set_cat_features(learner, list(names), categorical)
        elif package == XGBOOST and categorical and not learner.feature_types:
            learner.set_params(enable_categorical=True)


def _set_defaults(booster: BaseEstimator) -> None:
    parameters = booster.get_params()
    package = package_of(booster)
    assert package is not None
    for name, value, aliases in _DEFAULTS[package]:
        if all(parameters.get(alias) is None for alias in aliases):
            booster.set_params(**{name: value})


def _set_cat_features(
    booster: BaseEstimator, names: list[Hashable], categorical: set[int]
) -> None:
    """Add the columns of categories to CatBoost's `cat_features`, and list columns by numbers."""
    parameters = booster.get_params()
    text_features = _column_numbers("text_features", parameters.get("text_features"), names)
    cat_features = _column_numbers("cat_features", parameters.get("cat_features"), names)
    cat_features |= categorical - text_features
    listed = {"cat_features": cat_features, "text_features": text_features}
    for parameter, numbers in listed.items():
        if numbers:
            # A tuple: scikit-learn cannot clone a CatBoost 1.2 estimator that has a list.
            booster.set_params(**{parameter: tuple(sorted(numbers))})


def _column_numbers(parameter: str, columns: Any, names: list[Hashable]) -> set[int]:
    """Numbers of columns that users list by name or number."""
    if columns is None:
        return set()
    if isinstance(columns, str | int | np.integer):
        columns = [columns]
    numbers = set()
    for column in columns:
        if column in names:
            numbers.add(names.index(column))
        elif isinstance(column, int | np.integer) and -len(names) <= column < len(names):
            numbers.add(int(column) % len(names))
        else:
            raise ValueError(
                f"{parameter} must hold names or numbers of columns, got {short(column)}"
            )
    return numbers


@dataclass(frozen=True)
class FrameLayout:
    """Layout of data frames that the estimators inside a model accept."""

    # Columns of categories that are text and never missing, as CatBoost needs them.
    text_categories: frozenset[int]
    text: frozenset[int]  # columns of plain text, CatBoost's `text_features`
    # Whether names of columns have no special characters, and categories are text or integers.
    plain: bool

    @classmethod
    def for_model(cls, model: BaseEstimator) -> FrameLayout:
        """The layout for a model whose parameters `apply_conventions` has set."""
        learners = category_learners(model)
        catboost = [learner for learner in learners if package_of(learner) == CATBOOST]
        return cls(
            text_categories=_listed_columns(catboost, "cat_features"),
            text=_listed_columns(catboost, "text_features"),
            plain=any(package_of(learner) in (LIGHTGBM, XGBOOST) for learner in learners),
        )


def _listed_columns(boosters: list[BaseEstimator], parameter: str) -> frozenset[int]:
    listed: set[int] = set()
    for booster in boosters:
        listed.update(booster.get_params().get(parameter) or ())
    return frozenset(listed)


def plain_names(names: Iterable[Hashable]) -> list[str]:
    """Names without special characters. Names that would become equal are numbered."""
    taken: set[str] = set()
    plain = []
    for name in map(str, names):
        candidate = base = name.translate(_REFUSED_IN_NAMES)
        number = 2
        while candidate in taken:
            candidate = f"{base}_{number}"
            number += 1
        taken.add(candidate)
        plain.append(candidate)
    return plain
