"""``mddf fit``: a table in; a model and a report of it out."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from . import estimators, files, report, rows
from .table_options import add_options as add_table_options
from .table_options import format_from

DESCRIPTION = """\
Fit a model to a table, save it, and write a report that opens in a browser.

A fifth of the rows is held out: the report's scores are of a model that has not
seen them. The model that is saved is then fitted to all rows, with the same
parameters and seed. Columns of text are categories; the task is found from the
labels unless --task says it.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "table", type=Path, help="CSV (perhaps compressed) or Parquet file with a header"
    )
    parser.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="file for the model, .skops (safe to load) or .joblib (default: TABLE's name.skops)",
    )  # fmt: skip
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="page with the report (default: the model's name.html)",
    )
    estimators.add_task(parser)
    parser.add_argument(
        "--estimator", choices=estimators.OF_TASKS, default="deep-forest",
        help="kind of model (default: deep-forest)",
    )  # fmt: skip
    parser.add_argument(
        "--set", nargs="+", default=[], type=estimators.setting, metavar="PARAMETER=VALUE",
        help="parameters of the model, such as n_layers=1",
    )  # fmt: skip
    parser.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--test",
        type=Path,
        metavar="TABLE",
        help="table of held-out rows, used instead of --holdout",
    )
    parser.add_argument(
        "--holdout",
        type=estimators.share,
        default=0.2,
        help="share of rows held out (default: 0.2)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the model and of the held-out rows (default: 0)",
    )
    parser.add_argument(
        "--n-jobs", type=int, default=-1, help="number of threads (default: -1, all cores)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument("--verbose", action="store_true", help="show the progress of the fit")
    add_table_options(parser.add_argument_group("the table"))


def run(options: argparse.Namespace) -> None:
    """Read, hold out, fit, write the report, fit to all rows, save."""
    if not options.table.is_file():
        raise SystemExit(
            f"the table must be a file that is there, got {rows.visible(options.table)}"
        )
    stem = options.table.name.split(".")[0] or "model"
    out = options.out or Path(f"{stem}.skops")
    page = options.report or out.with_suffix(".html")
    files.check_new("--out", out, files.MODELS, options.overwrite)
    files.check_new("--report", page, (".html",), options.overwrite)
    report.check_extras()
    table = rows.read_training(
        options.table, options.target, options.drop,
        task=options.task, form=format_from(options), warn=True,
    )  # fmt: skip
    X = table.X
    y = table.y
    task = table.task
    model = estimators.make(options.estimator, task, options)
    train, test = held_out(options, table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        start = time.perf_counter()
        judged = clone(model).fit(*train)
        seconds = time.perf_counter() - start
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    study = report.Study(
        options.table.name, options.target, task, X, judged, train, test, seconds, warned,
        {name: str(value) for name, value in options.set} | {"random_state": str(options.seed)},
    )  # fmt: skip
    text, summary = report.of_fit(study, out.name)
    if options.test is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report has them
            model.fit(X, y)
    else:
        model = judged
    files.write_model(out, model, table.schema)
    files.write_text(page, text)
    print(f"{task} of {options.target!r}: {len(X)} rows, {X.shape[1]} features")
    print(f"scores on {report.counted(len(test[1]), 'held-out row')}: {summary}")
    print(f"model: {out}\nreport: {page}")


def held_out(
    options: argparse.Namespace, table: rows.TrainingTable
) -> tuple[tuple[Any, np.ndarray], tuple[Any, np.ndarray]]:
    """Features and labels of the rows to fit to, and of the rows held out."""
    X = table.X
    y = table.y
    task = table.task
    if options.test is not None:
        classes = np.unique(y) if task == "classification" else None
        X_test, y_test = rows.read_test(options.test, table.schema, classes)
        if y_test is None:
            raise SystemExit(f"--test: {options.test} must have labels in {options.target!r}")
        return (X, y), (X_test, y_test)
    labels = y if task == "classification" else np.zeros(len(y))
    _, of_row, counts = np.unique(labels, return_inverse=True, return_counts=True)
    alone = counts[of_row] == 1  # the only row of its class is one to fit to
    if alone.all():
        raise SystemExit(
            f"{options.table} must have two rows or more of a class to hold some out, got "
            f"{len(counts)} classes in {len(y)} rows of {options.target!r}"
            + ("; --task regression predicts numbers" if y.dtype.kind in "iuf" else "")
        )
    try:
        train, test = train_test_split(
            np.flatnonzero(~alone), test_size=options.holdout, random_state=options.seed,
            stratify=labels[~alone] if task == "classification" else None,
        )  # fmt: skip
    except ValueError as error:
        raise SystemExit(
            f"{options.table} must have enough rows to hold out {options.holdout:g} of them: "
            f"{error}"
        ) from None
    train = np.concatenate([train, np.flatnonzero(alone)])
    if len(np.unique(labels[train])) < len(counts):
        raise SystemExit(
            f"{options.table} must have enough rows of each class to hold out "
            f"{options.holdout:g} of them, got {counts.min()} of the rarest"
        )
    return (X.iloc[train], y[train]), (X.iloc[test], y[test])
