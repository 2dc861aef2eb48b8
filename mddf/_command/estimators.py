"""The estimators that commands fit, with parameters from the command line."""

from __future__ import annotations

import argparse
import ast
from typing import Any

from sklearn.base import BaseEstimator

import mddf
from mddf._base.messages import nearest

OF_TASKS = {
    "deep-forest": ("DeepForestClassifier", "DeepForestRegressor"),
    "gradient-boosting": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "random-forest": ("RandomForestClassifier", "RandomForestRegressor"),
}


def setting(text: str) -> tuple[str, Any]:
    """A parameter and its value, such as n_layers=1."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be parameter=value, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def share(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text!r}")
    return value


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add the option that says whether labels are classes or numbers."""
    parser.add_argument(
        "--task", choices=("auto", "classification", "regression"), default="auto",
        help="task of the model (default: auto, which decides by the labels)",
    )  # fmt: skip


def make(name: str, task: str, options: argparse.Namespace) -> BaseEstimator:
    """An estimator of mddf for a task, with the seed, threads and --set of a command."""
    kind = getattr(mddf, OF_TASKS[name][task == "regression"])
    model = kind(random_state=options.seed, n_jobs=options.n_jobs)
    known = model.get_params()
    for parameter, _ in options.set:
        if parameter.partition("__")[0] not in known:
            hint = nearest(parameter, known)
            raise SystemExit(
                f"--set must name a parameter of {kind.__name__}, got {parameter!r}{hint}"
            )
    if "verbose" in known:
        model.set_params(verbose=2 if options.verbose else 0)
    return model.set_params(**dict(options.set))
