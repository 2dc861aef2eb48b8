"""``mddf predict``: a model and a table in, predictions out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from . import estimators, files, rows
from .extras import need
from .table_options import add_marks, format_from

DESCRIPTION = """\
Predict the rows of a table by a model of `mddf fit`.

Classifiers give the class and the probability of each; regressors the number
and, with --interval, an interval that holds so large a share of new targets.
The table is read as the one of the fit was; columns that the model does not
know are left out.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", type=Path, help="model that `mddf fit` saved")
    parser.add_argument(
        "table", type=Path, help="CSV or Parquet file with the columns of the model"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=".csv or .parquet file for predictions (default: CSV on the screen)",
    )
    parser.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of the table to copy unchanged into the output, such as its key",
    )
    parser.add_argument(
        "--interval",
        type=estimators.share,
        metavar="COVERAGE",
        help="add intervals that hold this share of new targets, such as 0.9 (regression)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    add_marks(parser.add_argument_group("the table"), "as in the fit")


def run(options: argparse.Namespace) -> None:
    """Read the model and the table, predict, write."""
    if options.out is not None:
        files.check_new("--out", options.out, files.TABLES, options.overwrite)
    model, schema = files.read_model(options.model)
    schema = rows.with_format(schema, format_from(options, schema.format))
    X, source = rows.read_features(options.table, schema, options.keep)
    rows.all_among(f"--keep must be a column of {options.table}:", options.keep, source.names)
    table = predictions(model, X, schema.target.name, options.interval)
    pd = need("pandas", "data")
    for place, name in enumerate(options.keep):
        cells = source.cells[name]  # as they are in the file, not as the model reads them
        kept = pd.Series(cells, dtype=pd.ArrowDtype(cells.type))
        table.insert(place, name, kept, allow_duplicates=True)
    if options.out is None:
        table.to_csv(sys.stdout, index=False)
    else:
        files.write_table(options.out, table)
        print(f"{options.out}: {len(table)} predictions of {schema.target.name!r}")


def predictions(model: Any, X: Any, target: str, interval: float | None = None) -> Any:
    """A data frame of what a model predicts."""
    pd = need("pandas", "data")
    if not is_classifier(model):
        found = {f"predicted {target}": model.predict(X)}
        if interval is not None:
            if not hasattr(model, "predict_interval"):
                raise SystemExit(f"--interval: {type(model).__name__} gives no intervals")
            low, high = np.asarray(model.predict_interval(X, coverage=interval)).T
            found |= {"low": low, "high": high}
        return pd.DataFrame(found)
    if interval is not None:
        raise SystemExit("--interval is for regressions, and the model predicts classes")
    probabilities = model.predict_proba(X)
    found = {f"predicted {target}": model.classes_[probabilities.argmax(axis=1)]}
    found |= {f"p({label})": probabilities[:, k] for k, label in enumerate(model.classes_)}
    return pd.DataFrame(found)
