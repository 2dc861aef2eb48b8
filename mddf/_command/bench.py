"""``mddf bench``: compare models on the same folds of a table."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils._param_validation import InvalidParameterError
from threadpoolctl import threadpool_limits

from mddf._input.date_columns import date_columns, dates_of_frame, with_calendar
from mddf._resampling.folds import make_folds
from mddf._resampling.time_order import TimeOrder

from . import dependent_rows, estimators, files, rows, scores
from .command import Command
from .dependent_rows import DependentRows
from .extras import need
from .progress import Progress
from .rows import LabelledRows
from .table_options import format_from

if TYPE_CHECKING:
    import pandas as pd

# Penalties of the ridge regression: half decades around 1, since its default has only three.
_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# Rarer categories share a code, since scikit-learn's boosting takes at most 255 of them.
_MAX_CATEGORIES = 254

# The estimator whose parameters --set sets.
_SET_ESTIMATOR = "deep-forest"

Fold = tuple[np.ndarray, np.ndarray]


class BenchCommand(Command):
    """``mddf bench``."""

    description = """\
Compare models of mddf with models of scikit-learn, and of LightGBM and CatBoost if
they are installed, on a table. All models keep their defaults and get the same folds
of a cross-validation and as many threads. For the linear model, categories are
one-hot encoded; scikit-learn's trees get their codes. With --groups, the rows of a
group are held out together; with --time, each fold follows its training rows.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        estimators.add_learning_options(parser, settings_help="parameters of the deep forest")
        parser.add_argument("--folds", type=int, default=5, help="number of folds (default: 5)")
        parser.add_argument(
            "--repeats",
            type=int,
            default=1,
            help="number of times the folds are drawn (default: 1)",
        )
        dependent_rows.add_dependence_options(parser)
        parser.add_argument(
            "--models", nargs="+", metavar="MODEL",
            help="models to compare, named as in the table that is printed (default: all)",
        )  # fmt: skip
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help=".csv file for the scores of all folds"
        )

    def run(self, options: argparse.Namespace) -> None:
        """Read, cross-validate all models, print a table."""
        if options.out is not None:
            files.check_output("--out", options.out, (".csv",), options.overwrite)
        dependent_rows.check_options(options)
        groups = dependent_rows.read_groups(options)
        times = dependent_rows.read_times(options)
        table = rows.read_training(
            options.table, options.target, options.drop,
            not_features=[name for name in (options.groups, options.time) if name is not None],
            task=options.task, form=format_from(options),
            drop_unlabelled=options.drop_unlabelled, warn=True,
        )  # fmt: skip
        # All models get the same parts of dates, and scikit-learn's boosting has no bins for empty
        # columns.
        dates = dates_of_frame(table.X, date_columns(table.X, None))
        X = with_calendar(table.X, dates).dropna(axis=1, how="all")
        dependence = DependentRows.from_options(options, groups, times, table.rows)
        folds = _folds(options, X, table.y, table.task, dependence)
        models = _chosen(_models(table.task, options, X, dependence), options)
        n_threads = effective_n_jobs(options.n_jobs)
        with threadpool_limits(n_threads):  # models without n_jobs
            results = _cross_validate(models, X, table.y, folds, dependence)
        if results.empty:
            raise SystemExit(f"no model can be fitted to the folds of {options.table}")
        if options.out is not None:
            files.write_table(options.out, results)
        n_folds = results["fold"].nunique()
        kind_of_score = "mean ± deviation over" if n_folds > 1 else "scores of"
        print(
            f"{options.table.name}: {len(X)} rows, {X.shape[1]} features, {table.task} of "
            f"{options.target!r}; {kind_of_score} {n_folds} fold{'s' * (n_folds > 1)}"
            f"{_kind_of_folds(options)}, seed {options.seed}, threads: {n_threads}"
        )
        print(_summary(results, "log-loss" if table.task == "classification" else "RMSE"))
        if n_folds < len(folds):
            print(f"interrupted after {n_folds} of {len(folds)} folds", file=sys.stderr)
            raise SystemExit(130)


command = BenchCommand()


def _kind_of_folds(options: argparse.Namespace) -> str:
    if options.groups is not None:
        return f" of groups of {options.groups!r}"
    return "" if options.time is None else f" in the order of {options.time!r}"


def _chosen(
    models: Mapping[str, BaseEstimator], options: argparse.Namespace
) -> dict[str, BaseEstimator]:
    """The models that --models names, without regard to upper case."""
    if options.models is None:
        return dict(models)
    asked = [name.casefold() for name in options.models]
    known = {name.casefold(): name for name in models}
    for name in options.models:
        if name.casefold() not in known:
            listed = ", ".join(map(repr, models))
            raise SystemExit(f"--models must be among {listed}; got {name!r}")
    if options.set and f"mddf {_SET_ESTIMATOR}" not in asked:
        raise SystemExit(f"--set is for 'mddf {_SET_ESTIMATOR}', which is not among --models")
    return {known[name]: models[known[name]] for name in asked}


def _summary(results: pd.DataFrame, main_score: str) -> str:
    """Means and standard deviations over folds, the best model first."""
    by_model = results.drop(columns="fold").groupby("model", sort=False)
    means = by_model.mean().sort_values(main_score)
    summary = means.map("{:.4g}".format)
    if results["fold"].nunique() > 1:
        summary += by_model.std().loc[means.index].map(" ± {:.2g}".format)
    summary = summary.rename(columns={"fit_seconds": "fit, s", "predict_seconds": "predict, s"})
    return summary.to_string()


def _folds(
    options: argparse.Namespace,
    X: pd.DataFrame,
    y: np.ndarray,
    task: str,
    dependence: DependentRows,
) -> list[Fold]:
    for name, value, minimum in [("folds", options.folds, 2), ("repeats", options.repeats, 1)]:
        if value < minimum:
            raise SystemExit(f"--{name} must be at least {minimum}, got {value}")
    if dependence.are_dependent:
        return _dependent_folds(options, X, y, task, dependence)
    if task == "classification":
        smallest = int(np.unique(y, return_counts=True)[1].min())
        if smallest < options.folds:
            raise SystemExit(
                f"--folds must be at most the rows of the rarest class, {smallest}, got "
                f"{options.folds}"
            )
    splitter_class = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    splitter = splitter_class(
        n_splits=options.folds, n_repeats=options.repeats, random_state=options.seed
    )
    try:
        return list(splitter.split(X, y))
    except ValueError as error:
        raise SystemExit(f"--folds: {error}") from None


def _dependent_folds(
    options: argparse.Namespace,
    X: pd.DataFrame,
    y: np.ndarray,
    task: str,
    dependence: DependentRows,
) -> list[Fold]:
    """Folds of whole groups, or folds that follow their training rows."""
    if dependence.times is not None:
        if options.repeats > 1:
            raise SystemExit(f"--repeats must be 1 with --time, got {options.repeats}")
        return list(TimeOrder(dependence.times, options.folds, gap=dependence.gap).split(X))
    strata = np.zeros(len(y), np.int64)
    if task == "classification":
        strata = np.unique(y, return_inverse=True)[1]
    folds: list[Fold] = []
    for repeat in range(options.repeats):
        seed = options.seed + repeat
        try:
            folds += make_folds(options.folds, X, y, strata, seed, groups=dependence.groups)
        except ValueError as error:
            raise SystemExit(f"--folds and --groups: {error}") from None
    return folds


def _models(
    task: str, options: argparse.Namespace, X: pd.DataFrame, dependence: DependentRows
) -> dict[str, BaseEstimator]:
    """Models by their names in the table."""
    seed = options.seed
    n_jobs = options.n_jobs
    categories = list(X.select_dtypes("category"))
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MAX_CATEGORIES
    )
    codes = make_column_transformer((encoder, categories), remainder="passthrough")
    one_hot = make_column_transformer(
        (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2), categories),
        remainder=make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()),
    )
    if task == "classification":
        forest_class = RandomForestClassifier
        boosting_class = HistGradientBoostingClassifier
        linear = LogisticRegression(max_iter=1000)
    else:
        forest_class = RandomForestRegressor
        boosting_class = HistGradientBoostingRegressor
        linear = RidgeCV(_PENALTIES)
    boosting = boosting_class(random_state=seed, categorical_features=list(range(len(categories))))
    models = {}
    for name in estimators.CLASS_NAMES:
        settings = options.set if name == _SET_ESTIMATOR else ()
        model = estimators.make(name, task, seed=seed, n_jobs=n_jobs, settings=settings)
        dependence.set_folds(model, settings)
        models[f"mddf {name}"] = model
    return models | {
        "scikit-learn boosting": make_pipeline(codes, boosting),
        "scikit-learn forest": make_pipeline(
            codes, forest_class(random_state=seed, n_jobs=n_jobs)
        ),
        "scikit-learn linear": make_pipeline(one_hot, linear),
        **_other_boosting(task, seed, n_jobs, X, categories),
    }


def _other_boosting(
    task: str, seed: int, n_jobs: int, X: pd.DataFrame, categories: list[str]
) -> dict[str, BaseEstimator]:
    """LightGBM and CatBoost, if they are installed; both take categories as they are."""
    kind = "Classifier" if task == "classification" else "Regressor"
    models = {}
    with suppress(ImportError):
        model = getattr(import_module("lightgbm"), f"LGBM{kind}")(
            random_state=seed, n_jobs=n_jobs, verbose=-1
        )
        models["LightGBM"] = make_pipeline(FunctionTransformer(_with_plain_names), model)
    with suppress(ImportError):
        model = getattr(import_module("catboost"), f"CatBoost{kind}")(
            random_seed=seed,
            thread_count=n_jobs,
            verbose=False,
            allow_writing_files=False,
            cat_features=[list(X).index(name) for name in categories],
        )
        models["CatBoost"] = make_pipeline(FunctionTransformer(_with_texts), model)
    return models


def _with_plain_names(X: pd.DataFrame) -> pd.DataFrame:
    """The table with names that LightGBM takes, which refuses some characters."""
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def _with_texts(X: pd.DataFrame) -> pd.DataFrame:
    """The table with categories as texts, of which CatBoost allows none to be missing."""
    categories = list(X.select_dtypes("category"))
    return X.assign(**{name: X[name].astype(str).fillna("") for name in categories})


def _cross_validate(
    models: Mapping[str, BaseEstimator],
    X: pd.DataFrame,
    y: np.ndarray,
    folds: Sequence[Fold],
    dependence: DependentRows,
) -> pd.DataFrame:
    """Data frame with scores and times of each model on each fold.

    Models that fail are left out with a warning. An interrupt leaves the folds that are complete.
    """
    results = []
    failures: dict[str, str] = {}
    number = 0
    share = 1 / (len(folds) * len(models))
    try:
        with Progress(shown=True).running() as progress:
            for number, name in product(range(len(folds)), models):
                if name in failures:
                    continue
                with progress.step(f"fold {number + 1} of {len(folds)}: {name}", share):
                    result = _scores_or_reason(models[name], X, y, folds[number], dependence)
                if isinstance(result, str):
                    failures[name] = result
                else:
                    results.append({"model": name, "fold": number, **result})
    except KeyboardInterrupt:
        if number == 0:
            raise
        results = [result for result in results if result["fold"] < number]
    for name, reason in failures.items():
        warnings.warn(f"{name} is left out, since it failed: {reason}", UserWarning, stacklevel=3)
    complete = [result for result in results if result["model"] not in failures]
    return need("pandas", "data").DataFrame(complete)


def _scores_or_reason(
    model: BaseEstimator,
    X: pd.DataFrame,
    y: np.ndarray,
    fold: Fold,
    dependence: DependentRows,
) -> dict[str, float] | str:
    """Scores and times of a model on a fold, or why it cannot be fitted, such as too few rows."""
    try:
        return _fit_and_score(model, X, y, fold, dependence)
    except InvalidParameterError:  # from --set
        raise
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__


def _fit_and_score(
    model: BaseEstimator,
    X: pd.DataFrame,
    y: np.ndarray,
    fold: Fold,
    dependence: DependentRows,
) -> dict[str, float]:
    train, test = fold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories and the like, in every fold
        start = time.perf_counter()
        # scikit-learn's clone refuses CatBoost with categories.
        fitted = dependence.fit(deepcopy(model), LabelledRows(X.iloc[train], y[train]))
        fit_end = time.perf_counter()
        predict = fitted.predict_proba if is_classifier(fitted) else fitted.predict
        predictions = predict(X.iloc[test])
        predict_end = time.perf_counter()
    classes = fitted.classes_ if is_classifier(fitted) else None
    decision = None
    if classes is not None and len(classes) == 2:
        decision = scores.Decision.for_class(y, classes)
    return {
        **scores.evaluate(y[test], predictions, classes, decision),
        "fit_seconds": fit_end - start,
        "predict_seconds": predict_end - fit_end,
    }
