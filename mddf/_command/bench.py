"""``mddf bench``: what other models are worth on a table, on the same folds."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
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

from . import estimators, files, rows, scores
from .extras import need
from .table_options import add_options as add_table_options
from .table_options import format_from

_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
DESCRIPTION = """\
Compare mddf's models with scikit-learn's on a table, all at their defaults, on the
same folds of a cross-validation, with as many threads each. Categories are one-hot
for the linear model and codes for the forest of scikit-learn.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "table", type=Path, help="CSV (perhaps compressed) or Parquet file with a header"
    )
    parser.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    estimators.add_task(parser)
    parser.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument("--folds", type=int, default=5, help="number of folds (default: 5)")
    parser.add_argument(
        "--repeats", type=int, default=1, help="number of times the folds are drawn (default: 1)"
    )
    parser.add_argument(
        "--set", nargs="+", default=[], type=estimators.setting, metavar="PARAMETER=VALUE",
        help="parameters of the deep forest, such as n_layers=1",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of models and folds (default: 0)"
    )
    parser.add_argument(
        "--n-jobs", type=int, default=-1, help="number of threads (default: -1, all cores)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help=".csv file for the scores of all folds"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    add_table_options(parser.add_argument_group("the table"))
    parser.set_defaults(verbose=False)


def run(options: argparse.Namespace) -> None:
    """Read, cross-validate all models, print a table."""
    if options.out is not None:
        files.check_new("--out", options.out, (".csv",), options.overwrite)
    table = rows.read_training(
        options.table, options.target, options.drop,
        task=options.task, form=format_from(options), warn=True,
    )  # fmt: skip
    X = table.X.dropna(axis=1, how="all")  # scikit-learn's boosting has no bins for such columns
    y = table.y
    task = table.task
    folds = _folds(options, X, y, task)
    models = _models(task, options, X)
    cells = [(name, model, fold) for fold in folds for name, model in models.items()]
    bar = tqdm(cells, desc="fits", leave=False)
    pd = need("pandas", "data")
    failed: dict[str, str] = {}
    found = pd.DataFrame([_cell(name, model, X, y, fold, failed) for name, model, fold in bar])
    for name, why in failed.items():
        warnings.warn(f"{name} is left out, since it failed: {why}", UserWarning, stacklevel=2)
    found = found[~found["model"].isin(failed)]
    if found.empty:
        raise SystemExit(f"no model can be fitted to the folds of {options.table}")
    if options.out is not None:
        files.write_table(options.out, found)
    kinds = scores.names(np.unique(y) if task == "classification" else None)
    main = "log-loss" if task == "classification" else "RMSE"
    means = found.groupby("model", sort=False).mean().sort_values(main)
    spread = found.groupby("model").std().loc[means.index]
    shown = pd.DataFrame(index=means.index)
    for name in kinds:
        shown[name] = [
            f"{a:.4g} ± {b:.2g}" for a, b in zip(means[name], spread[name], strict=True)
        ]
    shown["fit, s"] = means["fit_seconds"].map("{:.2f}".format)
    shown["predict, s"] = means["predict_seconds"].map("{:.3f}".format)
    print(
        f"{options.table.name}: {len(X)} rows, {X.shape[1]} features, {task} of "
        f"{options.target!r}; mean ± deviation over {len(folds)} folds, seed {options.seed}"
    )
    print(shown.to_string())


def _folds(options: argparse.Namespace, X: Any, y: np.ndarray, task: str) -> list[Any]:
    for name in ("folds", "repeats"):
        least = 2 if name == "folds" else 1
        if (value := getattr(options, name)) < least:
            raise SystemExit(f"--{name} must be at least {least}, got {value}")
    kind = RepeatedStratifiedKFold if task == "classification" else RepeatedKFold
    if task == "classification":
        fewest = int(np.unique(y, return_counts=True)[1].min())
        if fewest < options.folds:
            raise SystemExit(
                f"--folds must be at most the rows of the rarest class, {fewest}, got "
                f"{options.folds}"
            )
    splitter = kind(n_splits=options.folds, n_repeats=options.repeats, random_state=options.seed)
    try:
        return list(splitter.split(X, y))
    except ValueError as error:
        raise SystemExit(f"--folds: {error}") from None


def _models(task: str, options: argparse.Namespace, X: Any) -> dict[str, BaseEstimator]:
    """Models by the names that the table shows."""
    classes = task == "classification"
    seed: dict[str, Any] = {"random_state": options.seed}
    plain = argparse.Namespace(**{**vars(options), "set": []})
    words = list(X.select_dtypes("category"))
    numbers = [name for name in X if name not in words]
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    codes = make_column_transformer(
        (OrdinalEncoder(**unknown, max_categories=254), words), ("passthrough", numbers)
    )
    one_hot = make_column_transformer(
        (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2), words),
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
    )
    forest = RandomForestClassifier if classes else RandomForestRegressor
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    boosted = boosting(**seed, categorical_features=list(range(len(words))))
    linear = LogisticRegression(max_iter=1000) if classes else RidgeCV(_PENALTIES)
    return {
        "mddf deep-forest": estimators.make("deep-forest", task, options),
        "mddf gradient-boosting": estimators.make("gradient-boosting", task, plain),
        "mddf random-forest": estimators.make("random-forest", task, plain),
        "scikit-learn boosting": make_pipeline(codes, boosted),
        "scikit-learn forest": make_pipeline(codes, forest(**seed, n_jobs=options.n_jobs)),
        "scikit-learn linear": make_pipeline(one_hot, linear),
    }


def _cell(
    name: str, model: Any, X: Any, y: np.ndarray, fold: Any, failed: dict[str, str]
) -> dict[str, Any]:
    """Scores and times of a model on a fold; why it fails goes to `failed`."""
    train, test = fold
    if name in failed:
        return {"model": name}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unknown categories and the like, in every fold
            fitted = clone(model).fit(X.iloc[train], y[train])
            done = time.perf_counter()
            classes = getattr(fitted, "classes_", None)
            ask = fitted.predict if classes is None else fitted.predict_proba
            predicted = ask(X.iloc[test])
            asked = time.perf_counter() - done
    except InvalidParameterError:  # of --set
        raise
    except Exception as error:  # of this model alone, such as too few rows for its folds
        failed[name] = " ".join(str(error).split()) or type(error).__name__
        return {"model": name}
    found = scores.scores(y[test], predicted, classes)
    cost = {"fit_seconds": done - start, "predict_seconds": asked}
    return {"model": name, **found, **cost}
