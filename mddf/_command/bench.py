"""``mddf bench``: compare models on the same folds of a table."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
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
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils._param_validation import InvalidParameterError
from tqdm import tqdm

from mddf._input.date_columns import date_columns, dates_of_frame, with_calendar

from . import estimators, files, rows, scores
from .command import Command
from .extras import need
from .table_options import format_from

if TYPE_CHECKING:
    import pandas as pd

# Penalties of the ridge regression: half decades around 1, since its default has only three.
_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# Rarer categories share a code, since scikit-learn's boosting takes at most 255 of them.
_MAX_CATEGORIES = 254

Fold = tuple[np.ndarray, np.ndarray]


class BenchCommand(Command):
    """``mddf bench``."""

    description = """\
Compare models of mddf with models of scikit-learn on a table. All models keep their
defaults and get the same folds of a cross-validation and as many threads. For the
linear model, categories are one-hot encoded; scikit-learn's trees get their codes.
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
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help=".csv file for the scores of all folds"
        )

    def run(self, options: argparse.Namespace) -> None:
        """Read, cross-validate all models, print a table."""
        if options.out is not None:
            files.check_output("--out", options.out, (".csv",), options.overwrite)
        table = rows.read_training(
            options.table, options.target, options.drop,
            task=options.task, form=format_from(options),
            drop_unlabelled=options.drop_unlabelled, warn=True,
        )  # fmt: skip
        # All models get the same parts of dates, and scikit-learn's boosting has no bins for empty
        # columns.
        dates = dates_of_frame(table.X, date_columns(table.X, None))
        X = with_calendar(table.X, dates).dropna(axis=1, how="all")
        folds = _folds(options, X, table.y, table.task)
        results = _cross_validate(_models(table.task, options, X), X, table.y, folds)
        if results.empty:
            raise SystemExit(f"no model can be fitted to the folds of {options.table}")
        if options.out is not None:
            files.write_table(options.out, results)
        print(
            f"{options.table.name}: {len(X)} rows, {X.shape[1]} features, {table.task} of "
            f"{options.target!r}; mean ± deviation over {len(folds)} folds, seed {options.seed}"
        )
        print(_summary(results, "log-loss" if table.task == "classification" else "RMSE"))


command = BenchCommand()


def _summary(results: pd.DataFrame, main_score: str) -> str:
    """Means and standard deviations over folds, the best model first."""
    by_model = results.groupby("model", sort=False)
    means = by_model.mean().sort_values(main_score)
    deviations = by_model.std().loc[means.index]
    summary = means.map("{:.4g}".format) + deviations.map(" ± {:.2g}".format)
    summary = summary.rename(columns={"fit_seconds": "fit, s", "predict_seconds": "predict, s"})
    return summary.to_string()


def _folds(options: argparse.Namespace, X: pd.DataFrame, y: np.ndarray, task: str) -> list[Fold]:
    for name, value, minimum in [("folds", options.folds, 2), ("repeats", options.repeats, 1)]:
        if value < minimum:
            raise SystemExit(f"--{name} must be at least {minimum}, got {value}")
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


def _models(task: str, options: argparse.Namespace, X: pd.DataFrame) -> dict[str, BaseEstimator]:
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
    models = {
        f"mddf {name}": estimators.make(
            name, task, seed=seed, n_jobs=n_jobs,
            settings=options.set if name == "deep-forest" else (),
        )
        for name in estimators.CLASS_NAMES
    }  # fmt: skip
    return models | {
        "scikit-learn boosting": make_pipeline(codes, boosting),
        "scikit-learn forest": make_pipeline(
            codes, forest_class(random_state=seed, n_jobs=n_jobs)
        ),
        "scikit-learn linear": make_pipeline(one_hot, linear),
    }


def _cross_validate(
    models: Mapping[str, BaseEstimator], X: pd.DataFrame, y: np.ndarray, folds: Sequence[Fold]
) -> pd.DataFrame:
    """Data frame with scores and times of each model on each fold.

    Models that fail are left out with a warning.
    """
    results = []
    failures: dict[str, str] = {}
    for name, (train, test) in tqdm(
        [(name, fold) for fold in folds for name in models], desc="fits", leave=False
    ):
        if name in failures:
            continue
        try:
            results.append({"model": name, **_fit_and_score(models[name], X, y, train, test)})
        except InvalidParameterError:  # from --set
            raise
        except Exception as error:  # of this model alone, such as too few rows for its folds
            failures[name] = " ".join(str(error).split()) or type(error).__name__
    for name, reason in failures.items():
        warnings.warn(f"{name} is left out, since it failed: {reason}", UserWarning, stacklevel=3)
    complete = [result for result in results if result["model"] not in failures]
    return need("pandas", "data").DataFrame(complete)


def _fit_and_score(
    model: BaseEstimator, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories and the like, in every fold
        start = time.perf_counter()
        fitted = clone(model).fit(X.iloc[train], y[train])
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
