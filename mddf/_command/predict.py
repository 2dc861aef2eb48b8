"""``mddf predict``: predict the rows of a table by a saved model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from . import estimators, files, rows, table_options
from .extras import need

if TYPE_CHECKING:
    import pandas as pd

    from mddf._schema.schema import Schema

DESCRIPTION = """\
Predict the rows of a table by a model of `mddf fit`.

Classifiers give the class and the probability of each class. Regressors give the
number and, with --interval, an interval that contains this share of new targets.
The table is read like the table of the fit. Columns that the model does not use
are ignored.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    table_options.add_model_and_table(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help=".csv or .parquet file for predictions (default: CSV on the screen)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN",
        help="columns of the table to copy unchanged into the output, such as its key",
    )  # fmt: skip
    parser.add_argument(
        "--interval", type=estimators.fraction, metavar="COVERAGE",
        help="add intervals that contain this share of new targets, such as 0.9 (regression)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Read the model and the table, predict, write."""
    if options.out is not None:
        files.check_output("--out", options.out, files.TABLES, options.overwrite)
    model, schema = files.read_model(options.model)
    schema = replace(schema, format=table_options.format_from(options, schema.format))
    tables = _predicted_blocks(options, model, schema)
    if options.out is None:
        for number, table in enumerate(tables):
            table.to_csv(sys.stdout, index=False, header=number == 0)
    else:
        n_rows = files.write_tables(options.out, tables)
        print(f"{options.out}: {n_rows} predictions of {schema.target.name!r}")


def _predicted_blocks(
    options: argparse.Namespace, model: BaseEstimator, schema: Schema
) -> Iterator[pd.DataFrame]:
    """Predictions of the blocks of a table, in their order, so that any table fits in memory."""
    pandas = need("pandas", "data")
    rule = f"--keep must be a column of {options.table}:"
    for X, source in rows.read_feature_blocks(options.table, schema, options.keep):
        rows.check_names(rule, options.keep, source.names)
        table = predictions(model, X, schema.target.name, options.interval)
        for position, name in enumerate(options.keep):
            cells = source.cells[name]  # as they are in the file, not as the model reads them
            kept = pandas.Series(cells, dtype=pandas.ArrowDtype(cells.type))
            table.insert(position, name, kept, allow_duplicates=True)
        yield table


def predictions(
    model: BaseEstimator, X: pd.DataFrame, target: str, coverage: float | None = None
) -> pd.DataFrame:
    """Data frame of predictions, with probabilities or intervals."""
    pandas = need("pandas", "data")
    if is_classifier(model):
        if coverage is not None:
            raise SystemExit("--interval is for regressions, and the model predicts classes")
        probabilities = model.predict_proba(X)
        columns = {f"predicted {target}": model.classes_[probabilities.argmax(axis=1)]}
        columns |= {f"p({label})": probabilities[:, k] for k, label in enumerate(model.classes_)}
        return pandas.DataFrame(columns)
    columns = {f"predicted {target}": model.predict(X)}
    if coverage is not None:
        if not hasattr(model, "predict_interval"):
            raise SystemExit(f"--interval: {type(model).__name__} gives no intervals")
        low, high = np.asarray(model.predict_interval(X, coverage=coverage)).T
        columns |= {"low": low, "high": high}
    return pandas.DataFrame(columns)
