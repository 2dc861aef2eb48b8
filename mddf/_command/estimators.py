"""The estimators that commands fit, and the options that choose them."""

from __future__ import annotations

import argparse
import ast
import math
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator

import mddf

from . import rows, table_options

# Class names for classification and regression.
CLASS_NAMES = {
    "deep-forest": ("DeepForestClassifier", "DeepForestRegressor"),
    "gradient-boosting": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "random-forest": ("RandomForestClassifier", "RandomForestRegressor"),
}


def setting(text: str) -> tuple[str, Any]:
    """Parse a parameter and its value, such as n_layers=1."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be parameter=value, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def fraction(text: str) -> float:
    """Parse a number between 0 and 1, both excluded."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text!r}")
    return value


def add_learning_options(parser: argparse.ArgumentParser, *, settings_help: str) -> None:
    """Add the options of commands that fit models to a table."""
    table_options.add_training_table(parser)
    parser.add_argument(
        "--set", nargs="+", default=[], type=setting, metavar="PARAMETER=VALUE",
        help=f"{settings_help}, such as n_layers=1",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=table_options.seed, default=0,
        help="seed of models, folds and held-out rows (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--n-jobs", type=int, default=-1, help="number of threads (default: -1, all cores)"
    )


def make(
    name: str,
    task: str,
    *,
    seed: int,
    n_jobs: int,
    settings: Iterable[tuple[str, Any]] = (),
    verbose: bool = False,
) -> BaseEstimator:
    """Make an estimator of mddf for a task; settings name its parameters."""
    estimator_class = getattr(mddf, CLASS_NAMES[name][task == "regression"])
    model = estimator_class(random_state=seed, n_jobs=n_jobs)
    parameters = model.get_params()
    names = [parameter.partition("__")[0] for parameter, _ in settings]
    rows.check_names(
        f"--set must name a parameter of {estimator_class.__name__}:", names, parameters
    )
    if "verbose" in parameters:
        model.set_params(verbose=2 if verbose else 0)
    return model.set_params(**dict(settings))
