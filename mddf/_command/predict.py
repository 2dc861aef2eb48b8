"""``mddf predict``: predict the rows of a table by a saved model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from . import estimators, files, rows, table_options
from .command import Command
from .extras import need
from .scores import Decision

if TYPE_CHECKING:
    import pandas as pd

    from mddf._schema.schema import Schema


def _threshold(text: str) -> float | str:
    """Parse a probability or the word "best"."""
    try:
        return text if text == "best" else estimators.fraction(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"must be 'best', or {error}") from error


def _output_column(text: str) -> tuple[str, str]:
    """Parse a column of the output, such as target=prob:bad: its name and content."""
    name, sign, content = text.partition("=")
    content = content if sign else name
    if not name or not content:
        raise argparse.ArgumentTypeError(f"must be COLUMN or NAME=COLUMN, got {text!r}")
    return name, content


class PredictCommand(Command):
    """``mddf predict``."""

    description = """\
Predict the rows of a table by a model of `mddf fit`.

Classifiers give the class and the probability of each class. With --threshold, a
rare class is predicted from this probability on. Regressors give the
number and, with --interval, an interval that contains this share of new targets.
The table is read like the table of the fit. Columns that the model does not use
are ignored.
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
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
            "--columns", nargs="+", default=[], type=_output_column, metavar="[NAME=]COLUMN",
            help="write these columns and no others, perhaps by other names: columns of the "
            "table, prediction, prob:CLASS, low and high, such as id target=prob:bad",
        )  # fmt: skip
        parser.add_argument(
            "--threshold", type=_threshold, metavar="PROBABILITY",
            help="probability from which the positive class is predicted, or best: the threshold "
            "in the report of the fit (two classes; default: the more likely class)",
        )  # fmt: skip
        parser.add_argument(
            "--positive", metavar="CLASS",
            help="class that --threshold is about (default: as in the fit)",
        )  # fmt: skip
        parser.add_argument(
            "--interval", type=estimators.fraction, metavar="COVERAGE",
            help="add intervals that contain this share of new targets, such as 0.9 (regression)",
        )  # fmt: skip

    def run(self, options: argparse.Namespace) -> None:
        """Read the model and the table, predict, write."""
        if options.out is not None:
            files.check_output("--out", options.out, files.TABLES, options.overwrite)
        if options.columns and options.keep:
            raise SystemExit("--columns and --keep cannot be used together")
        stored = files.read_model(options.model)
        decision = _decision_of_options(options, stored)
        tables = predicted_blocks(
            stored.model,
            options.table,
            table_options.schema_for(options, stored.schema),
            options.keep,
            options.columns,
            coverage=options.interval,
            decision=decision,
        )
        if options.out is None:
            for number, table in enumerate(tables):
                table.to_csv(sys.stdout, index=False, header=number == 0)
        else:
            n_rows = files.write_tables(options.out, tables)
            print(f"{options.out}: {n_rows} predictions of {stored.schema.target.name!r}")


command = PredictCommand()


def predicted_blocks(
    model: BaseEstimator,
    table: Path,
    schema: Schema,
    keep: Sequence[str],
    columns: Sequence[tuple[str, str]],  # names and contents
    *,
    coverage: float | None,
    decision: Decision | None,
) -> Iterator[pd.DataFrame]:
    """Predictions of the blocks of a table, in their order, so that any table fits in memory.

    They have either the columns to keep in front, or the `columns` and no others.
    """
    column = f"predicted {schema.target.name}"
    predicted = _predicted_columns(model, column, coverage)
    copied = [content for _, content in columns if content not in predicted]
    for X, source in rows.read_feature_blocks(table, schema, [*keep, *copied]):
        rows.check_names(f"--keep must be a column of {table}:", keep, source.names)
        rows.check_names(
            f"--columns must be {', '.join(predicted)} or a column of {table}:",
            copied,
            source.names,
        )
        block = predictions(model, X, column, coverage=coverage, decision=decision)
        if columns:
            whole, block = block, block[[]]
            for position, (name, content) in enumerate(columns):
                if content in predicted:
                    cells = whole[predicted[content]]
                    block.insert(position, name, cells, allow_duplicates=True)
                else:
                    rows.insert_column(block, position, name, source.cells[content])
        rows.insert_cells(block, source, keep)
        yield block


def _predicted_columns(
    model: BaseEstimator, column: str, coverage: float | None
) -> dict[str, str]:
    """Columns of `predictions` by their names in `--columns`."""
    names = {"prediction": column}
    if is_classifier(model):
        return names | {f"prob:{label}": f"p({label})" for label in model.classes_}
    return names if coverage is None else names | {"low": "low", "high": "high"}


def _decision_of_options(
    options: argparse.Namespace, stored: files.StoredModel
) -> Decision | None:
    """Read the threshold and its class from the options and the model file."""
    if options.threshold is None:
        if options.positive is not None:
            raise SystemExit("--positive is the class that --threshold is about: give both")
        return None
    model = stored.model
    if not is_classifier(model) or len(model.classes_) != 2:
        kind = f"{len(model.classes_)} classes" if is_classifier(model) else "numbers"
        raise SystemExit(f"--threshold is for two classes, and the model predicts {kind}")
    classes = {str(label): column for column, label in enumerate(model.classes_.tolist())}
    assert stored.decision is not None  # of two classes
    column = stored.decision.column
    if options.positive is not None:
        rows.check_names("--positive must be one of", [options.positive], list(classes))
        column = classes[options.positive]
    if options.threshold != "best":
        return Decision(column, options.threshold)
    if stored.decision.threshold is None:
        raise SystemExit("--threshold best: the model file has no threshold; give a probability")
    if column != stored.decision.column:
        raise SystemExit(
            f"--threshold best is about {list(classes)[stored.decision.column]}, got --positive "
            f"{options.positive}: fit with --positive {options.positive}"
        )
    return stored.decision


def predictions(
    model: BaseEstimator,
    X: pd.DataFrame,
    column: str,
    *,
    coverage: float | None = None,
    decision: Decision | None = None,
) -> pd.DataFrame:
    """Data frame of predictions in a column of this name, and of probabilities or intervals."""
    pandas = need("pandas", "data")
    if is_classifier(model):
        if coverage is not None:
            raise SystemExit(
                "--interval is for regressions, and the model predicts classes: sets of classes "
                "are made in Python, by predict_set of a deep forest"
            )
        probabilities = model.predict_proba(X)
        decision = decision or Decision(0)
        columns = {column: decision.predict(probabilities, model.classes_)}
        columns |= {f"p({label})": probabilities[:, k] for k, label in enumerate(model.classes_)}
        return pandas.DataFrame(columns)
    columns = {column: model.predict(X)}
    if coverage is not None:
        if not hasattr(model, "predict_interval"):
            raise SystemExit(f"--interval: {type(model).__name__} gives no intervals")
        low, high = np.asarray(model.predict_interval(X, coverage=coverage)).T
        columns |= {"low": low, "high": high}
    return pandas.DataFrame(columns)
